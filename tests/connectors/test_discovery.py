"""From a page to its feeds, politely."""

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.connectors.feed.builders import Outside, a_reply
from tests.data.feeds.make import corpus
from tests.data.feeds.recipes.shapes import atom, item, rss
from tests.growth import within
from tests.scale import examples
from tsuzuki.connectors.discovery import MAX_ALIKE, MAX_PROBES, discover
from tsuzuki.connectors.page_feeds import COMMON_PATHS, FOLDER_PATHS, DiscoveredFeed, read_page
from tsuzuki.connectors.wellknown import directory_lookup, known_feeds
from tsuzuki.model.errors import Blocked, Gone, HttpStatus, SourceError, TimedOut, TooLarge, Unreachable
from tsuzuki.model.requests import Reply

PAGE = "https://blog.example/about/me"
FEED = rss(item())


def page(head: str = "", body: str = "", *, url: str = PAGE, header: str = "") -> Reply:
    text = f"<!DOCTYPE html><html><head><title>My blog</title>{head}</head><body>{body}</body></html>"
    return a_reply(text.encode(), url=url, content_type="text/html; charset=utf-8", link=header)


def discovered(answers: Mapping[str, Reply | Exception], url: str = PAGE) -> tuple[tuple[DiscoveredFeed, ...], Outside]:
    outside = Outside(answers)
    return outside.run(discover(url)).feeds, outside


def link(href: str, title: str = "", media_type: str = "application/rss+xml", rel: str = "alternate") -> str:
    return f'<link rel="{rel}" type="{media_type}" href="{href}" title="{title}">'


def test_a_feed_is_its_own_answer():
    found, outside = discovered({PAGE: a_reply(FEED, url=PAGE)})
    assert found == (DiscoveredFeed(PAGE, "The Lamplighter"),)
    assert len(outside.asked) == 1


def test_a_broken_feed_is_its_own_answer_too():
    found, _ = discovered({PAGE: a_reply(corpus()["broken-html-entity.xml"], url=PAGE)})
    assert found[0].title == "The Lamplighter"


def test_link_tags_are_taken_at_their_word():
    found, outside = discovered({PAGE: page(link("/rss", "Posts") + link("atom.xml", "", "application/atom+xml"))})
    assert found == (
        DiscoveredFeed("https://blog.example/rss", "Posts"),
        DiscoveredFeed("https://blog.example/about/atom.xml", "My blog"),
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


@pytest.mark.parametrize("rel", ['rel="alternate"', 'REL="Alternate"', "Rel=ALTERNATE"])
def test_a_link_header_counts(rel: str):
    reply = page(header=f'</feed.xml>; {rel}; type="application/rss+xml", </de>; rel="alternate"')
    assert [feed.url for feed in discovered({PAGE: reply})[0]] == ["https://blog.example/feed.xml"]


def test_addresses_are_relative_to_where_the_page_was_found():
    found, _ = discovered({PAGE: page(link("rss"), url="https://www.blog.example/new/")})
    assert found[0].url == "https://www.blog.example/new/rss"


def test_feed_like_links_are_tried_before_common_paths():
    answers = {PAGE: page(body='<a href="/news.php">News</a> <a href="/export/rss.php">RSS</a>')}
    answers["https://blog.example/export/rss.php"] = a_reply(FEED, url="https://blog.example/export/rss.php")
    found, outside = discovered(answers)
    assert [feed.url for feed in found] == ["https://blog.example/export/rss.php"]
    assert len(outside.asked) == 2


@pytest.mark.parametrize("path", COMMON_PATHS)
def test_common_paths_are_tried(path: str):
    address = f"https://blog.example/{path}"
    found, _ = discovered({PAGE: page(), address: a_reply(atom(), url=address)})
    assert found == (DiscoveredFeed(address, "The Lamplighter"),)


def test_a_page_without_feeds_costs_the_page_and_ten_probes():
    found, outside = discovered({PAGE: page(body="".join(f'<a href="/feed/{n}">x</a>' for n in range(50)))})
    assert found == ()
    assert len(outside.asked) == 1 + MAX_PROBES
    assert MAX_PROBES == 10


def test_probes_that_fail_are_passed_over():
    answers: dict[str, Reply | Exception] = {
        PAGE: page(),
        **{f"https://blog.example/about/{path}": TooLarge("no") for path in (*FOLDER_PATHS, "?format=rss")},
        "https://blog.example/feed": Unreachable("no"),  # once: a connection may break
        "https://blog.example/rss.xml": page(url="https://blog.example/rss.xml"),
        "https://blog.example/atom.xml": a_reply(b"", url="https://blog.example/atom.xml"),
        "https://blog.example/index.xml": a_reply(FEED, url="https://blog.example/index.xml"),
    }
    found, outside = discovered(answers)
    assert [feed.url for feed in found] == ["https://blog.example/index.xml"]
    assert len(outside.asked) == 9


@pytest.mark.parametrize(
    "body",
    [
        "<div>" * 190_000,
        "<div title='<'>" * 100_000,
        "<a " + " ".join(f"a{n}" for n in range(100_000)) + ">",
        "<p>" * 10**6,
    ],
    ids=["deep", "deep in disguise", "crowded", "many"],
)
def test_a_page_made_to_be_slow_is_skipped(body: str):
    """SEC-20."""

    def refused() -> None:
        with pytest.raises(TooLarge, match="nested too deeply"):
            discovered({PAGE: page(link("/feed"), body=body)})

    within(1, refused)


def test_a_page_that_cannot_be_had_is_an_error():
    with pytest.raises(HttpStatus):
        discovered({})


def test_a_known_host_gives_its_feed_despite_blocked_pages():
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
        ("https://youtu.be/abcdefghijk?list=PL12", [f"{YOUTUBE}/feeds/videos.xml?playlist_id=PL12"]),
        ("https://music.youtube.com/channel/UCabcdefghij1234",
         [f"{YOUTUBE}/feeds/videos.xml?channel_id=UCabcdefghij1234"]),
        ("https://open.substack.com/pub/ada/p/story?utm=1", ["https://ada.substack.com/feed"]),
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


CHANNEL = "UCabcdefghij1234567890ab"
CHANNEL_FEED = f"{YOUTUBE}/feeds/videos.xml?channel_id={CHANNEL}"


@pytest.mark.parametrize(
    ("url", "words"),
    [
        (f"{YOUTUBE}/@lamp", f'<script>{{"channelId":"UCother12345","externalId":"{CHANNEL}"}}</script>'),
        (f"{YOUTUBE}/c/lamp", f'<link rel="canonical" href="{YOUTUBE}/channel/{CHANNEL}">'),
        (
            f"{YOUTUBE}/watch?v=abcdefghijk",
            f'<meta itemprop="channelId" content="{CHANNEL}">"channelId":"UCother123456"',
        ),
        (f"{YOUTUBE}/shorts/abcdefghijk", f'<script>{{"videoDetails":{{"channelId":"{CHANNEL}"}}}}</script>'),
        (f"{YOUTUBE}/user/lamp", f'"externalId":"{CHANNEL}"'),
    ],
)
def test_a_youtube_page_gives_away_its_channel(url: str, words: str):
    answers = {url: page(words, url=url), CHANNEL_FEED: a_reply(FEED, url=CHANNEL_FEED)}
    assert [feed.url for feed in discovered(answers, url)[0]] == [CHANNEL_FEED]


def test_a_short_link_leads_to_the_channel_of_its_video():
    url = "https://youtu.be/abcdefghijk"
    watched = page(f'"channelId":"{CHANNEL}"', url=f"{YOUTUBE}/watch?v=abcdefghijk&feature=youtu.be")
    found, _ = discovered({url: watched, CHANNEL_FEED: a_reply(FEED, url=CHANNEL_FEED)}, url)
    assert [feed.url for feed in found] == [CHANNEL_FEED]


def test_channels_are_looked_for_on_youtube_only():
    found, outside = discovered({PAGE: page(f'"channelId":"{CHANNEL}"')})
    assert found == ()
    assert CHANNEL_FEED not in [ask.url for ask in outside.asked]


def test_known_feeds_of_a_host_join_its_link_tags():
    root = "https://github.com/ada/lamp"
    feeds = {url: a_reply(FEED.replace(b"The Lamplighter", url.encode()), url=url) for url in known_feeds(root)}
    tags = link("/ada/lamp/commits/main.atom", "Recent Commits") + link("/ada/lamp/tags.atom", "Tags")
    found, outside = discovered({root: page(tags, url=root), **feeds}, root)
    expected = [f"{root}/{name}" for name in ("releases.atom", "commits.atom", "commits/main.atom", "tags.atom")]
    assert [feed.url for feed in found] == expected
    assert len(outside.asked) == 3


PODCAST = "https://podcasts.apple.com/us/podcast/the-lamp/id123456789?i=1000"
LOOKUP = "https://itunes.apple.com/lookup?id=123456789&entity=podcast"


@pytest.mark.parametrize("answer", [page("<title>The Lamp</title>", url=PODCAST), Blocked("no")])
def test_an_apple_podcast_is_looked_up_in_its_directory(answer: Reply | Exception):
    feed = "https://pod.example/lamp.xml"
    body = b'{"resultCount":1,"results":[{"kind":"podcast","feedUrl":"https://pod.example/lamp.xml"},{"kind":"x"}]}'
    answers = {PODCAST: answer, LOOKUP: a_reply(body, url=LOOKUP), feed: a_reply(FEED, url=feed)}
    assert [one.url for one in discovered(answers, PODCAST)[0]] == [feed]


@pytest.mark.parametrize(
    "body", [b"", b"[]", b'{"results":[{"feedUrl":"file:///etc/passwd"}]}', b'{"results":7}', b"\xff", b"[" * 10**6]
)
def test_a_directory_that_says_nonsense_is_passed_over(body: bytes):
    found, _ = discovered({PODCAST: page(url=PODCAST), LOOKUP: a_reply(body, url=LOOKUP)}, PODCAST)
    assert found == ()


@pytest.mark.parametrize(
    "url",
    [
        "https://podcasts.apple.com/us/charts",
        "https://apple.example/us/podcast/x/id1",
        "https://podcasts.apple.com/id1",
    ],
)
def test_other_addresses_are_looked_up_nowhere(url: str):
    assert directory_lookup(url) is None


@pytest.mark.parametrize(
    ("words", "feed"),
    [
        ('<link rel="preconnect" href="https://substackcdn.com">', "https://blog.example/feed"),
        (
            "<script>Static.SQUARESPACE_CONTEXT = {}</script><img src='//images.squarespace.com/x'>",
            f"{PAGE}?format=rss",
        ),
        ('<link rel="stylesheet" href="/wp-content/themes/x.css">', "https://blog.example/feed/"),
        ('<meta name="generator" content="Ghost 5.0">', "https://blog.example/rss/"),
    ],
)
def test_the_software_of_a_page_gives_away_its_feed(words: str, feed: str):
    found, outside = discovered({PAGE: page(words), feed: a_reply(FEED, url=feed)})
    assert [one.url for one in found] == [feed]
    assert len(outside.asked) == 2


@pytest.mark.parametrize(
    ("url", "feed"),
    [
        ("https://x.example/blog/", "https://x.example/blog/feed"),
        ("https://x.example/blog", "https://x.example/blog/rss.xml"),
        ("https://x.example/blog/post.html?a=1#b", "https://x.example/blog/atom.xml"),
        ("https://x.example/news", "https://x.example/news/?format=rss"),
        ("https://x.example/news/", "https://x.example/news/?format=rss"),
        ("https://x.example/", "https://x.example/?format=rss"),
    ],
)
def test_the_folder_of_a_page_is_looked_into(url: str, feed: str):
    found, _ = discovered({url: page(url=url), feed: a_reply(FEED, url=feed)}, url)
    assert [one.url for one in found] == [feed]


def test_a_comment_feed_does_not_hide_the_blogs_feed():
    url = "https://x.example/2024/post/"
    comments, posts = f"{url}feed", "https://x.example/feed"
    answers = {
        url: page(url=url),
        comments: a_reply(FEED.replace(b"The Lamplighter", b"Comments on: Post"), url=comments),
        posts: a_reply(FEED, url=posts),
    }
    assert [one.url for one in discovered(answers, url)[0]] == [posts, comments]


@pytest.mark.parametrize(
    "anchor",
    [
        '<a type="application/rss+xml" href="/x/1">News</a>',
        '<a type="application/atom+xml; charset=utf-8" href="/x/1"></a>',
        '<a href="feed:https://blog.example/x/1">here</a>',
        '<a href="feed://blog.example/x/1">here</a>',
        '<a href="feed:/x/1">here</a>',
        '<a href="Feed:/x/1#top">here</a>',
        '<a href="feed:/https://blog.example/x/1">here</a>',
        '<a href="FEED:/x/1#top" type="application/rss+xml">here</a>'.replace("FEED:", ""),
    ],
)
def test_an_anchor_that_names_a_feed_is_believed(anchor: str):
    found, outside = discovered({PAGE: page(body=anchor)})
    assert [feed.url for feed in found] == ["https://blog.example/x/1"]
    assert len(outside.asked) == 1


@pytest.mark.parametrize(
    "anchor",
    [
        '<a href="/x/1">RSS</a>',
        '<a href="/x/1">Subscribe (Atom)</a>',
        '<a href="/x/1">RSS 2.0</a>',
        '<a href="/x/1">RSS2.0</a>',
        '<a href="/x/1">Atom1.0</a>',
        '<a href="/x/1"><span>News</span> <b>Feed</b></a>',
        '<a href="/x/1"><img src="i.png" alt="RSS feed"></a>',
        '<a href="/x/1" title="RSS"><svg></svg></a>',
        '<a href="/x/1" aria-label="Atom feed"></a>',
        '<a href="/x/1">フィード</a>',
    ],
)
def test_an_anchor_that_calls_itself_a_feed_is_tried_first(anchor: str):
    address = "https://blog.example/x/1"
    found, outside = discovered({PAGE: page(body=anchor), address: a_reply(FEED, url=address)})
    assert [feed.url for feed in found] == [address]
    assert len(outside.asked) == 2


def test_all_anchors_that_call_themselves_feeds_are_listed():
    addresses = [f"https://blog.example/x/{n}" for n in range(3)]
    body = "".join(f'<a href="{address}">RSS</a>' for address in addresses)
    found, _ = discovered({PAGE: page(body=body), **{one: a_reply(FEED, url=one) for one in addresses}})
    assert [feed.url for feed in found] == addresses


def test_scripts_and_long_values_do_not_crowd_a_page():
    """Words of a script and of a quoted value are no attributes."""
    words = " ".join(f"a{n}" for n in range(1000))
    body = f"<script>if (i<n {words}</script><!-- <a {words} --><p title=\"{words}\" data-x='{words}'>x</p>"
    assert [feed.url for feed in discovered({PAGE: page(link("/feed"), body)})[0]] == ["https://blog.example/feed"]


def test_words_that_only_sound_like_feeds_name_none():
    _, outside = discovered({PAGE: page(body='<a href="/x/1">feedback</a><a href="/x/2">anatomy</a>')})
    assert not {f"https://blog.example/x/{n}" for n in (1, 2)} & {ask.url for ask in outside.asked}


@pytest.mark.parametrize("size", [1, 3, 9])
def test_link_tags_far_down_the_page_count(size: int):
    found, _ = discovered({PAGE: page("<style>" + "x" * size * 1024 * 1024 + "</style>" + link("/feed"))})
    assert [feed.url for feed in found] == ["https://blog.example/feed"]


@pytest.mark.parametrize(
    "problem", [Blocked("no", status=403), HttpStatus("no", status=401), HttpStatus("no", status=500)]
)
def test_a_page_that_may_not_be_seen_is_passed_over(problem: SourceError):
    feed = "https://blog.example/about/rss.xml"
    found, outside = discovered({PAGE: problem, feed: a_reply(FEED, url=feed)})
    assert [one.url for one in found] == [feed]
    assert len(outside.asked) == 3


def test_a_refused_page_is_the_error_without_other_feeds():
    outside = Outside({PAGE: Blocked("It refuses us.", status=403)})
    with pytest.raises(Blocked, match="It refuses us") as raised:
        outside.run(discover(PAGE))
    assert len(outside.asked) == 1 + MAX_ALIKE
    assert "There is no feed at the usual addresses either: /about/feed, /about/rss.xml, " in str(raised.value)


def test_a_missing_address_is_reported_beside_the_feeds():
    url, feed = "https://x.example/old", "https://x.example/rss"
    outside = Outside({feed: a_reply(FEED, url=feed), "https://x.example/rss.xml": TooLarge("no")})
    found = outside.run(discover(url))
    assert (found.problem, found.status) == ("https://x.example/old answered 404 (not found).", 404)
    assert [one.url for one in found.feeds] == [feed]


def test_a_host_of_404s_is_asked_seven_times():
    outside = Outside({})
    with pytest.raises(HttpStatus, match=r"/feed, /rss.xml, /atom.xml, /[?]format=rss, /index.xml, /feed.xml[.]"):
        outside.run(discover("https://x.example/old"))
    assert len(outside.asked) == 7


@pytest.mark.parametrize("failure", [Unreachable("no"), TimedOut("no"), HttpStatus("no", status=500)])
def test_a_struggling_host_is_not_asked_for_usual_paths(failure: SourceError):
    outside = Outside(
        {PAGE: page(), **dict.fromkeys((f"https://blog.example/about/{p}" for p in FOLDER_PATHS), failure)}
    )
    assert outside.run(discover(PAGE)).guessed == tuple(f"https://blog.example/about/{p}" for p in FOLDER_PATHS[:2])
    assert len(outside.asked) == 3


@pytest.mark.parametrize("problem", [Unreachable("no"), Gone("no"), TooLarge("no")])
def test_a_site_that_does_not_answer_is_asked_once(problem: SourceError):
    outside = Outside({PAGE: problem})
    with pytest.raises(type(problem)):
        outside.run(discover(PAGE))
    assert len(outside.asked) == 1


@pytest.mark.parametrize("prefix", ["feed:https://", "feed://", "FEED:", "pcast://", "itpc://", "feed:HTTPS://"])
def test_an_address_of_the_feed_scheme_is_the_webs(prefix: str):
    address = PAGE if "HTTPS" not in prefix else PAGE.replace("https", "HTTPS")
    found, outside = discovered({address: a_reply(FEED, url=PAGE)}, PAGE.replace("https://", prefix))
    assert found[0].url == PAGE
    assert [ask.url for ask in outside.asked] == [address]


def test_pages_are_read_by_the_parsers_alone():
    """Foreign text is never parsed where it would stop everybody else."""
    _, outside = discovered({PAGE: page(link("/feed"))})
    assert outside.parsed[-1] is read_page


@given(st.binary(max_size=300) | st.text(max_size=200).map(lambda text: ("<html>" + text).encode(errors="replace")))
@examples(1000)
def test_whatever_a_page_is_the_answer_is_feeds_or_none(body: bytes):
    try:
        found, outside = discovered({PAGE: a_reply(body, url=PAGE)})
    except SourceError:
        return
    assert all(feed.url.startswith("http") for feed in found)
    assert len(outside.asked) <= 1 + MAX_PROBES
