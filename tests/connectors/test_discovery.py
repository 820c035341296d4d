"""From a page to its feeds, politely."""

import time
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.connectors.feed.builders import Outside, a_reply
from tests.data.feeds.make import corpus
from tests.data.feeds.recipes.shapes import atom, item, rss
from tests.scale import examples
from tsuzuki.connectors.discovery import COMMON_PATHS, MAX_PROBES, FoundFeed, discover
from tsuzuki.connectors.wellknown import known_feeds
from tsuzuki.model.errors import Blocked, HttpStatus, SourceError, Unreachable
from tsuzuki.model.fetching import Reply

PAGE = "https://blog.example/about/me"
FEED = rss(item())


def page(head: str = "", body: str = "", *, url: str = PAGE, header: str = "") -> Reply:
    text = f"<!DOCTYPE html><html><head><title>My blog</title>{head}</head><body>{body}</body></html>"
    return a_reply(text.encode(), url=url, content_type="text/html; charset=utf-8", link=header)


def discovered(answers: Mapping[str, Reply | Exception], url: str = PAGE) -> tuple[tuple[FoundFeed, ...], Outside]:
    outside = Outside(answers)
    return outside.run(discover(url)), outside


def link(href: str, title: str = "", media_type: str = "application/rss+xml", rel: str = "alternate") -> str:
    return f'<link rel="{rel}" type="{media_type}" href="{href}" title="{title}">'


def test_a_feed_is_its_own_answer():
    found, outside = discovered({PAGE: a_reply(FEED, url=PAGE)})
    assert found == (FoundFeed(PAGE, "The Lamplighter"),)
    assert len(outside.asked) == 1


def test_a_broken_feed_is_its_own_answer_too():
    found, _ = discovered({PAGE: a_reply(corpus()["broken-html-entity.xml"], url=PAGE)})
    assert found[0].title == "The Lamplighter"


def test_link_tags_are_taken_at_their_word():
    found, outside = discovered({PAGE: page(link("/rss", "Posts") + link("atom.xml", "", "application/atom+xml"))})
    assert found == (
        FoundFeed("https://blog.example/rss", "Posts"),
        FoundFeed("https://blog.example/about/atom.xml", "My blog"),
    )
    assert len(outside.asked) == 1


@pytest.mark.parametrize(
    "tag",
    [
        link("/feed", media_type="application/feed+json"),
        link("/feed", media_type="application/json"),
        link("/feed", media_type="APPLICATION/RSS+XML; charset=utf-8"),
        link("/feed", rel="alternate home"),
        link("/feed", rel="feed", media_type=""),
        "<LINK REL=Alternate TYPE=application/rss+xml HREF=/feed>",
    ],
)
def test_every_way_to_write_a_link_tag_counts(tag: str):
    assert [feed.url for feed in discovered({PAGE: page(tag)})[0]] == ["https://blog.example/feed"]


@pytest.mark.parametrize(
    "tag",
    [
        link("/style.css", rel="stylesheet", media_type="text/css"),
        link("/de/", media_type="text/html"),
        link("/wp-json/posts/1", media_type="application/json"),
        link("javascript:alert(1)"),
        link("", rel="feed").replace('href=""', ""),
        "<!-- " + link("/rss") + " -->",
    ],
)
def test_other_links_do_not(tag: str):
    assert discovered({PAGE: page(tag)})[0] == ()


def test_the_base_of_the_page_counts():
    found, _ = discovered({PAGE: page('<base href="https://cdn.example/blog/">' + link("rss.xml"))})
    assert found[0].url == "https://cdn.example/blog/rss.xml"


def test_the_feed_of_comments_comes_last():
    found, _ = discovered({PAGE: page(link("/comments/feed", "Comments Feed") + link("/feed", "Posts"))})
    assert [feed.title for feed in found] == ["Posts", "Comments Feed"]


def test_a_feed_named_twice_is_one():
    assert len(discovered({PAGE: page(link("/feed") * 3)})[0]) == 1


def test_a_link_header_counts():
    reply = page(header='</feed.xml>; rel="alternate"; type="application/rss+xml", </de>; rel="alternate"')
    assert [feed.url for feed in discovered({PAGE: reply})[0]] == ["https://blog.example/feed.xml"]


def test_addresses_are_relative_to_where_the_page_was_found():
    found, _ = discovered({PAGE: page(link("rss"), url="https://www.blog.example/new/")})
    assert found[0].url == "https://www.blog.example/new/rss"


def test_links_in_the_text_that_look_like_feeds_are_tried_before_common_paths():
    answers = {PAGE: page(body='<a href="/news.php">News</a> <a href="/export/rss.php">RSS</a>')}
    answers["https://blog.example/export/rss.php"] = a_reply(FEED, url="https://blog.example/export/rss.php")
    found, outside = discovered(answers)
    assert [feed.url for feed in found] == ["https://blog.example/export/rss.php"]
    assert len(outside.asked) == 2


@pytest.mark.parametrize("path", COMMON_PATHS)
def test_common_paths_are_tried(path: str):
    address = f"https://blog.example{path}"
    found, _ = discovered({PAGE: page(), address: a_reply(atom(), url=address)})
    assert found == (FoundFeed(address, "The Lamplighter"),)


def test_a_page_without_feeds_costs_the_page_and_six_probes():
    found, outside = discovered({PAGE: page(body="".join(f'<a href="/feed/{n}">x</a>' for n in range(50)))})
    assert found == ()
    assert len(outside.asked) == 1 + MAX_PROBES
    assert MAX_PROBES == 6


def test_probes_that_fail_are_passed_over():
    answers: dict[str, Reply | Exception] = {
        PAGE: page(),
        "https://blog.example/feed": Unreachable("no"),
        "https://blog.example/rss.xml": page(url="https://blog.example/rss.xml"),
        "https://blog.example/atom.xml": a_reply(b"", url="https://blog.example/atom.xml"),
        "https://blog.example/index.xml": a_reply(FEED, url="https://blog.example/index.xml"),
    }
    found, outside = discovered(answers)
    assert [feed.url for feed in found] == ["https://blog.example/index.xml"]
    assert len(outside.asked) == 5


def test_a_page_that_is_made_to_be_slow_is_not_looked_at():
    """SEC-20."""
    started = time.process_time()
    assert discovered({PAGE: page(link("/feed"), body="<div>" * 190_000)})[0] == ()
    assert time.process_time() - started < 3


def test_a_page_that_cannot_be_had_is_an_error():
    with pytest.raises(HttpStatus):
        discovered({})


def test_a_known_host_that_blocks_its_pages_still_gives_its_feed():
    address = "https://www.reddit.com/r/comics"
    found, _ = discovered({address: Blocked("no"), f"{address}/.rss": a_reply(atom(), url=f"{address}/.rss")}, address)
    assert [feed.url for feed in found] == [f"{address}/.rss"]


def test_a_known_host_with_several_feeds_gives_them_all():
    root = "https://github.com/ada/lamp"
    feeds = {url: a_reply(atom(), url=url) for url in known_feeds(root)}
    found, _ = discovered({root: page(url=root), **feeds}, root)
    assert [feed.url for feed in found] == list(feeds)


def test_a_tapas_page_is_found_by_its_own_words():
    address = "https://tapas.io/series/lamp/info"
    feed = "https://tapas.io/rss/series/42"
    found, _ = discovered(
        {address: page('<meta content="tapastic://series/42/info">', url=address), feed: a_reply(FEED, url=feed)},
        address,
    )
    assert [one.url for one in found] == [feed]


YOUTUBE = "https://www.youtube.com"


@pytest.mark.parametrize(
    ("url", "feeds"),
    [
        (f"{YOUTUBE}/channel/UCabcdefghij1234", [f"{YOUTUBE}/feeds/videos.xml?channel_id=UCabcdefghij1234"]),
        (f"{YOUTUBE}/user/lamp", [f"{YOUTUBE}/feeds/videos.xml?user=lamp"]),
        (f"{YOUTUBE}/playlist?list=PL12", [f"{YOUTUBE}/feeds/videos.xml?playlist_id=PL12"]),
        (f"{YOUTUBE}/@lamp", []),
        ("https://github.com/ada/lamp/issues", ["https://github.com/ada/lamp/releases.atom",
                                                "https://github.com/ada/lamp/tags.atom",
                                                "https://github.com/ada/lamp/commits.atom"]),
        ("https://github.com/ada", ["https://github.com/ada.atom"]),
        ("https://github.com/explore", []),
        ("https://gitlab.com/ada/lamp", ["https://gitlab.com/ada/lamp/-/releases.atom",
                                         "https://gitlab.com/ada/lamp/-/tags?format=atom"]),
        ("https://codeberg.org/ada/lamp", ["https://codeberg.org/ada/lamp/releases.rss"]),
        ("https://old.reddit.com/r/comics/top", ["https://www.reddit.com/r/comics/top/.rss"]),
        ("https://medium.com/@ada", ["https://medium.com/feed/@ada"]),
        ("https://medium.com/a-publication/story", ["https://medium.com/feed/a-publication"]),
        ("https://ada.medium.com/story", ["https://ada.medium.com/feed"]),
        ("https://ada.substack.com/p/story", ["https://ada.substack.com/feed"]),
        ("https://ada.wordpress.com/2024/03", ["https://ada.wordpress.com/feed/"]),
        ("https://ada.tumblr.com/post/1", ["https://ada.tumblr.com/rss"]),
        ("https://ada.blogspot.com/", ["https://ada.blogspot.com/feeds/posts/default"]),
        ("https://mastodon.example/@ada", ["https://mastodon.example/@ada.rss"]),
        ("https://bsky.app/profile/ada.example", ["https://bsky.app/profile/ada.example/rss"]),
        ("https://letterboxd.com/ada/", ["https://letterboxd.com/ada/rss/"]),
        ("https://news.ycombinator.com/", ["https://news.ycombinator.com/rss"]),
        ("https://xkcd.com/353/", ["https://xkcd.com/atom.xml"]),
        ("https://blog.example/", []),
        ("https://[broken", []),
    ],
)  # fmt: skip
def test_hosts_whose_addresses_give_their_feeds_away(url: str, feeds: list[str]):
    assert list(known_feeds(url)) == feeds


@given(st.binary(max_size=300) | st.text(max_size=200).map(lambda text: ("<html>" + text).encode(errors="replace")))
@examples(1000)
def test_whatever_a_page_is_the_answer_is_feeds_or_none(body: bytes):
    try:
        found, outside = discovered({PAGE: a_reply(body, url=PAGE)})
    except SourceError:
        return
    assert all(feed.url.startswith("http") for feed in found)
    assert len(outside.asked) <= 1 + MAX_PROBES
