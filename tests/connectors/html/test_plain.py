"""SEC-14, SEC-17: what is made harmless without a parser is what parsers would have made of it, to the letter."""

import time
from html.entities import html5
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cases import hold
from tests.connectors.html.mixtures import mixture
from tests.connectors.html.payloads import payloads
from tests.connectors.html.test_safe import ALLOWED_ATTRIBUTES, offences_in
from tests.scale import examples
from tests.web.xss.corpus import BREAKS
from tsuzuki.connectors.html.plain import ATTRIBUTES, EVERYWHERE, KINDS, plain_markup, plain_words
from tsuzuki.connectors.html.safe import TAGS, Sanitiser, one_line, valid_text, words_thoroughly

BASE = "https://blog.example/posts/1"
THOROUGH = Sanitiser()

PLAIN = [
    ("<p>words</p>", "<p>words</p>"),
    (" <p>one</p>\n<p>two<br/>three<br /></p> ", "<p>one</p>\n<p>two<br>three<br></p>"),
    ("a &amp; b", "a &amp; b"),
    ("it&#8217;s &ldquo;said&rdquo;&hellip; &#38; &#x3c;b&#62;", "it’s “said”… &amp; &lt;b&gt;"),
    ("a\xa0b&nbsp;c&#160;d", "a&nbsp;b&nbsp;c&nbsp;d"),
    ("<ul><li>one<ul><li>two</li></ul></li></ul>", "<ul><li>one<ul><li>two</li></ul></li></ul>"),
    ("<dl><dt>a</dt><dd><p>b</p></dd></dl><hr>", "<dl><dt>a</dt><dd><p>b</p></dd></dl><hr>"),
    ('<h2 id="a" class="b c">x</h2>', "<h2>x</h2>"),
    ("<div style='color: red' data-id='1'><b>x</b></div>", "<div><b>x</b></div>"),
    ('<p dir="rtl" title="a &amp; b">x</p>', '<p dir="rtl" title="a &amp; b">x</p>'),
    ("<a href='/x'>x</a>", '<a href="https://blog.example/x" rel="noopener noreferrer">x</a>'),
    ('<a target="_blank" rel="me" href="https://e.example/?a=1&amp;b=2" title="t">x</a>',
     '<a href="https://e.example/?a=1&amp;b=2" title="t" rel="noopener noreferrer">x</a>'),
    ('<img loading="eager" src="/i.png" alt="" width="640" height="480" />',
     '<img src="https://blog.example/i.png" alt="" width="640" height="480" loading="lazy">'),
    ('<a id="here"></a>', '<a rel="noopener noreferrer"></a>'),
    ('<a href="#here">x</a>', '<a href="https://blog.example/posts/1#here" rel="noopener noreferrer">x</a>'),
    ('<a href="https://e.example/?a=1&copy=2&utm_b=3">x</a>',
     '<a href="https://e.example/?a=1&amp;copy=2&amp;utm_b=3" rel="noopener noreferrer">x</a>'),
    ('<img src="/i.png" srcset="/j.png 2x" sizes="100vw">',
     '<img src="https://blog.example/i.png" srcset="https://blog.example/j.png 2x" sizes="100vw" loading="lazy">'),
    ("<pre><code class='language-c'>\na &lt; b\n</code></pre>", "<pre><code>\na &lt; b\n</code></pre>"),
]  # fmt: skip

NOT_PLAIN = [
    "<p>open", "closed</p>", "<p><p>", "<p></b></p>", "<b><p>x</p></b>", "<p><div>x</div></p>", "<b><b>x</b></b>",
    "<h1><h2>x</h2></h1>", "<li>x</li>", "<ul><div><li>x</li></div></ul>", "<dd>x</dd>", "<p/>", "</br>", "<P>x</P>",
    "<a href='/x'><i><a href='/y'>x</a></i></a>", "<p ><hr></p>", "<p>a > b</p>", "<p>a < b</p>", "<>", "< p>x</p>",
    "<p>x</p >", "a & b", "a &copy b", "a &#0; b", "a &#128; b", "a &#xd800; b", "a &unknown; b", "a\r<br>",
    "\ufeff<br>", "<!-- x --><br>", "<br><!doctype html>", "<?x?><br>", "<pre>\nx</pre>", "<table></table>",
    "<script>x</script>", "<svg></svg>", "<custom>x</custom>", "<p onclick='x'>x</p>", "<p class=x>x</p>",
    "<p CLASS='x'>x</p>", "<p lang='a' lang='b'>x</p>", "<p title='\"'>x</p>", '<p title="&quot;">x</p>',
    "<p title='a'lang='b'>x</p>", "<p title>x</p>", "<a href='javascript:alert(1)'>x</a>",
    "<a href='mailto:a@b.example'>x</a>", "<a href=' https://e.example/'>x</a>", "<a href='https:'>x</a>",
    "<a href='https://1.2.3.4.5/'>x</a>", "<a href='https://xn--a.example/'>x</a>", "<a href='https://u@e.example/'>x</a>",
    "<a href='https://e.example/&nbsp;'>x</a>", "<img>", "<img src=''>",
    "<img src='data:image/png;base64,AA=='>", "<img src='/i' data-src='/j'>",
    "<img src='/blank.gif' srcset='/j 2x'>", "<img src='/i' srcset=''>", "<a href='/?a=1&copy_b=2'>x</a>",
    "<img src='/i' width='1' height='1'>", "<img src='/i' style='display:none'>", "<img src='/pixel.gif'>",
    "<img src='https://pixel.wp.com/g.gif'>", "<div>" * 61 + "</div>" * 61,
]  # fmt: skip


def must_agree(html: str) -> None:
    """What is plain is harmless, and what two parsers would have made of it; whether it is plain."""
    html = valid_text(html)
    markup, words = plain_markup(html, BASE), plain_words(html)
    if markup is not None:
        assert markup == THOROUGH.sanitise_thoroughly(html, BASE)
        assert offences_in(markup) == []
    if words is not None:
        assert one_line(words) == one_line(words_thoroughly(html))


def test_plain_markup_is_made_harmless():
    def check(case: tuple[str, str]) -> None:
        html, expected = case
        assert plain_markup(html, BASE) == expected
        must_agree(html)

    hold(check, PLAIN)


def test_what_is_odd_in_any_way_is_left_to_the_parsers():
    def check(html: str) -> None:
        assert plain_markup(html, BASE) is None
        assert plain_markup(f"<p>words</p>{html}<p>words</p>", BASE) is None

    hold(check, NOT_PLAIN)


def test_a_payload_is_left_to_the_parsers_or_becomes_what_they_make_of_it():
    def check(payload: str) -> None:
        for html in (payload, f"<p>{payload}</p>", f'<p title="{payload}">x</p>', f'<a href="{payload}">x</a>'):
            must_agree(html)

    hold(check, [*payloads(), *BREAKS])


def test_every_name_of_a_character_stands_for_the_same_one():
    def check(name: str) -> None:
        must_agree(f"<p>a &{name} b</p>")
        must_agree(f'<p title="a &{name} b">x</p>')

    hold(check, sorted(html5))


def test_every_number_that_is_read_stands_for_the_same_character():
    edges = (0x7F, 0x80, 0xA0, 0xD800, 0xE000, 0xFDD0, 0xFE00, 0xFFFE, 0x10000, 0x1FFFE, 0x20000, 0x10FFFF)
    codes = [*range(0x100), *(edge + step for edge in edges for step in (-2, -1, 0, 1))]
    hold(must_agree, [f"<p>a &#{code}; &#x{code:x}; b</p>" for code in codes])


def test_an_attribute_that_the_sanitiser_keeps_is_not_lost():
    names = sorted({*ALLOWED_ATTRIBUTES, "onclick", "style", "name", "background", "ping", "is", "slot", "xmlns"})
    hold(must_agree, [f"<{tag} {name}='12'>" for tag in ("br", "hr", "img src='/i'") for name in names])
    hold(must_agree, [f"<{tag} {name}='12'>x</{tag}>" for tag in KINDS for name in names])
    hold(must_agree, [f"<ul><li {name}='12'>x</li></ul>" for name in names])


def test_bodies_of_all_kinds_come_out_the_same_whichever_came_before():
    dice = Random(14)
    made = [html for html in (valid_text(mixture(dice)) for _ in range(300)) if "<" in html or "&" in html]
    sanitiser = Sanitiser()
    assert [sanitiser.sanitise(html, BASE) for html in made] == [
        THOROUGH.sanitise_thoroughly(html, BASE) for html in made
    ]


def test_no_picture_of_a_host_that_counts_readers_is_shown():
    """The feed itself is at such a host, and there is a reason to look closely."""
    base = "https://feeds.feedburner.com/blog"
    html = "<p data-id='1'>x</p><img src='/i.png'>"
    assert plain_markup(html, base) is None
    assert "<img" not in Sanitiser().sanitise(html, base)


def test_only_what_the_sanitiser_shows_is_ever_plain():
    assert KINDS.keys() <= TAGS
    assert EVERYWHERE.union(*ATTRIBUTES.values()) <= ALLOWED_ATTRIBUTES


@given(st.integers(0, 2**48))
@examples(20_000, share=20)
def test_any_mixture_is_left_to_the_parsers_or_becomes_what_they_make_of_it(number: int):
    must_agree(mixture(Random(number)))


def test_much_of_the_mixtures_is_plain():
    """Else the property above would hold of nothing."""
    made = [valid_text(mixture(Random(number))) for number in range(500)]
    plain = [html for html in made if "<" in html and plain_markup(html, BASE) is not None]
    assert len(plain) > 100
    assert len([html for html in plain if "<a " in html]) > 10
    assert len([html for html in plain if "<img " in html]) > 10


@pytest.mark.parametrize(
    "html",
    ["<b></b>" * 100_000, "<div>" * 100_000, "<" * 300_000, "<p" + " " * 300_000 + "x>", "&amp;" * 100_000,
     "<a " * 100_000, "<a href='/" + "a-" * 100_000 + "'>x</a>", "<p " + "title='x' " * 50_000 + ">x</p>"],
    ids=["many", "deep", "signs", "blanks", "references", "starts", "address", "attributes"],
)  # fmt: skip
def test_nothing_takes_longer_than_its_length(html: str):
    """SEC-20."""
    started = time.process_time()
    plain_markup(html, BASE)
    plain_words(html)
    assert time.process_time() - started < 3
