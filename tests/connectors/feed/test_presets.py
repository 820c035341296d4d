"""Comic hosts that speak RSS: page -> feed, entry -> number."""

from decimal import Decimal

import pytest

from tsuzuki.connectors.feed.presets import feed_url_for, feed_url_in, number_of

WEBTOONS = "https://www.webtoons.com"


@pytest.mark.parametrize(
    ("page", "feed"),
    [
        (f"{WEBTOONS}/en/fantasy/tower/list?title_no=95", f"{WEBTOONS}/en/fantasy/tower/rss?title_no=95"),
        (f"{WEBTOONS}/en/fantasy/tower/list?title_no=95&page=3", f"{WEBTOONS}/en/fantasy/tower/rss?title_no=95"),
        (f"{WEBTOONS}/en/canvas/mine/list?title_no=7", f"{WEBTOONS}/en/canvas/mine/rss?title_no=7"),
        (f"{WEBTOONS}/en/challenge/mine/list?title_no=7", f"{WEBTOONS}/en/challenge/mine/rss?title_no=7"),
        (
            f"{WEBTOONS}/zh-hant/drama/x/ep-1/viewer?title_no=5&episode_no=1",
            f"{WEBTOONS}/zh-hant/drama/x/rss?title_no=5",
        ),
        ("https://m.webtoons.com/en/drama/x/list?title_no=5", f"{WEBTOONS}/en/drama/x/rss?title_no=5"),
        (f"{WEBTOONS}/en/fantasy/tower/rss?title_no=95", f"{WEBTOONS}/en/fantasy/tower/rss?title_no=95"),
        (f"{WEBTOONS}/en/fantasy/tower/list", None),
        (f"{WEBTOONS}/en/fantasy/tower/list?title_no=x", None),
        (f"{WEBTOONS}/en/", None),
        ("https://tapas.io/series/123", "https://tapas.io/rss/series/123"),
        ("https://tapas.io/series/123/info", "https://tapas.io/rss/series/123"),
        ("https://tapastic.com/series/123", "https://tapas.io/rss/series/123"),
        ("https://tapas.io/rss/series/123", "https://tapas.io/rss/series/123"),
        ("https://tapas.io/series/some-name/info", None),
        ("https://comicfury.com/read/lamp", "https://comicfury.com/read/lamp/rss"),
        ("https://comicfury.com/read/lamp/comics/12", "https://comicfury.com/read/lamp/rss"),
        ("https://comicfury.com/comicprofile.php?url=lamp", "https://comicfury.com/read/lamp/rss"),
        ("https://comicfury.com/comicprofile.php?url=../x", None),
        ("https://lamp.thecomicseries.com/comics/3", "https://lamp.thecomicseries.com/rss/"),
        ("https://thecomicseries.com/", None),
        ("https://xkcd.com/353/", "https://xkcd.com/atom.xml"),
        ("https://www.xkcd.com", "https://xkcd.com/atom.xml"),
        ("https://XKCD.com/", "https://xkcd.com/atom.xml"),
        ("https://xkcd.com.evil.example/353/", None),
        ("https://comic.example/", None),
        ("https://[broken", None),
        ("", None),
    ],
)
def test_the_feed_of_a_page(page: str, feed: str | None):
    assert feed_url_for(page) == feed


@pytest.mark.parametrize(
    ("link", "number"),
    [
        (f"{WEBTOONS}/en/fantasy/tower/ep-1/viewer?title_no=95&episode_no=12", 12),
        (f"{WEBTOONS}/en/fantasy/tower/ep-1/viewer?title_no=95", None),
        ("https://xkcd.com/353/", 353),
        ("https://xkcd.com/about", None),
        ("https://comicfury.com/read/lamp/comics/12", 12),
        ("https://lamp.thecomicseries.com/comics/3/", 3),
        ("https://tapas.io/episode/999", None),
        ("https://comic.example/12", None),
        (None, None),
    ],
)
def test_the_number_in_a_link(link: str | None, number: int | None):
    assert number_of(link) == (None if number is None else Decimal(number))


def test_a_tapas_page_gives_its_number_away():
    assert (
        feed_url_in('<meta property="al:ios:url" content="tapastic://series/42/info">')
        == "https://tapas.io/rss/series/42"
    )
    assert feed_url_in("<p>tapas</p>") is None
