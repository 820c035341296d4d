"""Images that scripts would have shown are shown; pictures that only count readers are not."""

import pytest

from tsuzuki.connectors.html.addresses import absolute_srcset, http_url, largest_of
from tsuzuki.connectors.html.media import link_for
from tsuzuki.connectors.html.sanitiser import sanitise

BASE = "https://blog.example/posts/1"
REAL = '<img src="https://blog.example/real.jpg" loading="lazy">'


@pytest.mark.parametrize(
    "html",
    [
        '<img data-src="/real.jpg">',
        '<img src="data:image/gif;base64,R0lGODlhAQABAAAAACw=" data-src="/real.jpg">',
        '<img src="/blank.gif" data-lazy-src="/real.jpg">',
        '<img src="/loading.svg" data-original="/real.jpg">',
        '<noscript><img src="/real.jpg"></noscript>',
        '<img src="/placeholder.png"><noscript><img src="/real.jpg"></noscript>',
        '<img src="data:x" data-src="/real.jpg">\n<noscript><img src="/real.jpg"></noscript>',
        '<img class="lazy"><noscript><img data-src="/real.jpg"></noscript>',
    ],
)
def test_the_real_image_is_shown_once(html: str):
    safe = sanitise(html, BASE)
    assert safe.count("<img") == 1
    assert REAL in safe


def test_an_image_with_only_a_srcset_shows_its_largest():
    safe = sanitise('<img srcset="/s.jpg 400w, /l.jpg 1600w">', BASE)
    assert 'src="https://blog.example/l.jpg"' in safe


def test_a_lazy_srcset_is_one_too():
    safe = sanitise('<img src="data:x" data-srcset="/s.jpg 1x, /l.jpg 2x">', BASE)
    assert 'srcset="https://blog.example/s.jpg 1x, https://blog.example/l.jpg 2x"' in safe


def test_noscript_without_images_is_gone():
    assert sanitise("<p>a<noscript>Please turn on scripts</noscript></p>", BASE) == "<p>a</p>"


@pytest.mark.parametrize(
    "html",
    [
        '<img src="https://x.example/p" width="1" height="1">',
        '<img src="https://x.example/p" height="0">',
        '<img src="https://x.example/p" width="1px">',
        '<img src="https://x.example/p" style="display:none">',
        '<img src="https://x.example/p" style="height:1px; width:1px">',
        '<img src="https://pixel.wp.com/b.gif?host=x">',
        '<img src="https://feeds.feedburner.com/~r/x/~4/y">',
        '<img src="https://x.example/pixel.gif?u=1">',
        '<img src="/track.php">',
        '<img data-src="https://www.google-analytics.com/collect">',
        '<noscript><img src="https://www.facebook.com/tr?id=1"></noscript>',
    ],
)
def test_a_tracker_is_removed(html: str):
    assert sanitise(f"<p>words</p>{html}", BASE) == "<p>words</p>"


@pytest.mark.parametrize("size", ['width="600"', 'height="11"', 'style="width:100px"', 'style="border:1px solid"'])
def test_a_picture_that_can_be_seen_stays(size: str):
    assert "<img" in sanitise(f'<img src="/p.jpg" {size}>', BASE)


@pytest.mark.parametrize(
    ("frame", "link"),
    [
        ("https://www.youtube.com/embed/abc_-1?rel=0", "https://www.youtube.com/watch?v=abc_-1"),
        ("//www.youtube-nocookie.com/embed/abc", "https://www.youtube.com/watch?v=abc"),
        ("https://www.youtube.com/embed/videoseries?list=PL1", "https://www.youtube.com/playlist?list=PL1"),
        ("https://player.vimeo.com/video/123", "https://vimeo.com/123"),
        ("https://www.dailymotion.com/embed/video/x7", "https://www.dailymotion.com/video/x7"),
    ],
)
def test_a_video_frame_becomes_a_link(frame: str, link: str):
    known = link_for(frame, BASE)
    assert known is not None
    assert known[0] == link
    assert sanitise(f'<iframe src="{frame}" title="A &lt;film&gt;"></iframe>', BASE) == (
        f'<a href="{link}" rel="noopener noreferrer">A &lt;film&gt;</a>'
    )


@pytest.mark.parametrize(
    ("frame", "link", "words"),
    [
        ("<iframe src='https://m.example/?x=1&amp;y=2'></iframe>", "https://m.example/?x=1&amp;y=2", "m.example"),
        (
            "<iframe src='//www.maps.example/' title='A map'></iframe>",
            "https://www.maps.example/",
            "A map (maps.example)",
        ),
        ("<iframe data-src='/own' src=''></iframe>", "https://blog.example/own", "blog.example"),
        ("<iframe src='/own'/>", "https://blog.example/own", "blog.example"),
        ("<embed src='https://files.example/a.pdf'>", "https://files.example/a.pdf", "files.example"),
        (
            "<object data='https://files.example/b.swf'><p>no</p></object>",
            "https://files.example/b.swf",
            "files.example",
        ),
        (
            "<object><param name=movie value='https://v.example/1'><embed src='https://v.example/1'></object>",
            "https://v.example/1",
            "v.example",
        ),
        (
            "<iframe src='https://youtube.com.evil.example/embed/x'></iframe>",
            "https://youtube.com.evil.example/embed/x",
            "youtube.com.evil.example",
        ),
        ("<iframe src='https://www.youtube.com/embed/'></iframe>", "https://www.youtube.com/embed/", "youtube.com"),
        ("<iframe src='https://a.example/' title='&lt;b&gt;'></iframe>", "https://a.example/", "&lt;b&gt; (a.example)"),
    ],
)
def test_an_unknown_frame_becomes_a_link_with_its_host(frame: str, link: str, words: str):
    """R105."""
    assert sanitise(f"<p>x</p>{frame}", BASE) == f'<p>x</p><a href="{link}" rel="noopener noreferrer">{words}</a>'


@pytest.mark.parametrize(
    "frame",
    [
        "<iframe src='javascript:1'></iframe>",
        "<iframe></iframe>",
        "<iframe src='https://[x'></iframe>",
        "<object></object>",
        "<iframe srcdoc='<b>x</b>'></iframe>",
        "<iframe src='about:blank'></iframe>",
        "<embed src='data:text/html,x'>",
        "<iframe src='https://count.example/' width='1' height='1'></iframe>",
        "<iframe src='https://x.example/' style='display:none'>",
        "<iframe src='https://pixel.wp.com/x'></iframe>",
    ],
)
def test_a_frame_that_shows_nothing_is_gone(frame: str):
    assert sanitise(f"<p>words</p>{frame}", BASE) == "<p>words</p>"


def test_what_stands_in_for_an_object_without_an_address_stays():
    assert sanitise("<object><p>words</p></object>", BASE) == "<p>words</p>"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("https://x.example/a", "https://x.example/a"),
        ("/a", "https://blog.example/a"),
        ("?q=1", "https://blog.example/posts/1?q=1"),
        ("  https://x.example/a\n b ", "https://x.example/ab"),
        ("https://x.example/a b", "https://x.example/a%20b"),
        ('https://x.example/"<>', "https://x.example/%22%3C%3E"),
        ("https:\\\\x.example\\a", "https://x.example/a"),
        ("HTTPS://x.example/", "https://x.example/"),
        ("https://x.example:99999/", None),
        ("https://[::1/", None),
        ("https:///a", "https://blog.example/a"),
        ("javascript:alert(1)", None),
        ("JAVA\tSCRIPT:alert(1)", None),
        ("data:text/html,x", None),
        ("ftp://x.example/", None),
        ("mailto:a@b.example", None),
        ("", None),
        (None, None),
        ("x" * 5000, None),
    ],
)
def test_an_address_is_absolute_http_or_none(text: str | None, expected: str | None):
    """SEC-08."""
    assert http_url(text, BASE) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a.jpg", "https://blog.example/posts/a.jpg"),
        ("a.jpg 1x,b.jpg 2x", "https://blog.example/posts/a.jpg 1x, https://blog.example/posts/b.jpg 2x"),
        ("a.jpg 100w , b.jpg 200w", "https://blog.example/posts/a.jpg 100w, https://blog.example/posts/b.jpg 200w"),
        ("javascript:alert(1) 1x", None),
        (",,,", None),
        ("", None),
    ],
)
def test_a_srcset_is_read_candidate_by_candidate(text: str, expected: str | None):
    assert absolute_srcset(text, BASE) == expected


def test_the_largest_of_nothing_is_none():
    assert largest_of("", BASE) is None
