"""SEC-14, SEC-17: nothing that runs comes out of the sanitiser, and what comes out goes through it unchanged."""

import gc
import weakref
from html.parser import HTMLParser
from random import Random
from typing import get_type_hints

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import html as second_parser

from tests.cases import hold
from tests.connectors.html.mixtures import mixture
from tests.connectors.html.payloads import payloads
from tests.growth import within
from tests.scale import examples
from tsuzuki.connectors.feed.assemble import pages_of
from tsuzuki.connectors.html.sanitiser import TAGS, SafeHtml, Sanitiser, plain_text, sanitise, text_to_html

BASE = "https://blog.example/posts/1"
ALLOWED_ATTRIBUTES = {
    "alt", "cite", "colspan", "controls", "datetime", "dir", "headers", "height", "href", "id", "lang", "loading",
    "media", "open", "poster", "rel", "reversed", "rowspan", "scope", "sizes", "span", "src", "srcset", "start",
    "title", "type", "value", "width",
}  # fmt: skip


class Inspector(HTMLParser):
    """An independent reader that lists what a browser could act on."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.offences: list[str] = []

    def handle_starttag(self, tag, attrs):
        if tag not in TAGS:
            self.offences.append(tag)
        for name, value in attrs:
            self._judge(name, value or "")

    def _judge(self, name: str, value: str) -> None:
        if name not in ALLOWED_ATTRIBUTES:
            self.offences.append(name)
        if name == "id" and not value.startswith("item-"):
            self.offences.append(f"{name}={value}")
        if name == "href" and value.startswith("#item-"):
            return
        if name in {"href", "src", "poster", "cite"} and not value.startswith(("http://", "https://", "mailto:")):
            self.offences.append(f"{name}={value}")
        if name == "srcset" and not all(part.strip().startswith(("http://", "https://")) for part in value.split(",")):
            self.offences.append(f"{name}={value}")

    def handle_comment(self, data):
        self.offences.append(f"comment {data}")

    def handle_decl(self, decl):
        self.offences.append(f"declaration {decl}")

    def handle_pi(self, data):
        self.offences.append(f"instruction {data}")


def offences_in(html: str) -> list[str]:
    inspector = Inspector()
    inspector.feed(html)
    inspector.close()
    return inspector.offences


def test_there_are_enough_payloads():
    assert len(payloads()) >= 150


def must_be_harmless_and_fixed(html: str) -> None:
    safe = sanitise(html, BASE)
    assert offences_in(safe) == []
    assert sanitise(safe, BASE) == safe


@pytest.mark.parametrize(
    "html", [">\r0", "a\r\nb", "<p>a\rb</p>", "a&#13;b", "<pre>a&#13;&#10;b</pre>", "\r<b>a</b>\r"]
)
def test_line_breaks_are_those_of_html_whoever_wrote_them(html):
    must_be_harmless_and_fixed(html)
    assert "\r" not in sanitise(html, BASE)


@pytest.mark.parametrize(
    "html", ["\ufeff\xa0=é", "\ufeff \ufeffa&amp;b", "<x>\ufeff&nbsp;</x>a", "a&amp;\ufeff", "\ufeff"]
)
def test_a_byte_order_mark_at_an_end_is_no_text(html):
    must_be_harmless_and_fixed(html)
    assert "\ufeff" not in sanitise(html, BASE)


def test_a_payload_comes_out_harmless_and_as_a_fixed_point():
    hold(must_be_harmless_and_fixed, payloads())


def test_a_payload_is_harmless_to_a_second_parser_too():
    def check(payload: str) -> None:
        tree = second_parser.fragment_fromstring(sanitise(payload, BASE), create_parent="div")
        names = {name for element in tree.iter() for name in element.attrib}
        assert not {name for name in names if str(name).startswith("on") or str(name) in {"style", "srcdoc", "action"}}
        assert not {str(element.tag) for element in tree.iter()} & {"script", "iframe", "svg", "math", "form", "style"}

    hold(check, payloads())


def test_text_made_of_a_payload_is_only_text():
    def check(payload: str) -> None:
        assert offences_in(text_to_html(payload)) == []
        assert sanitise(text_to_html(payload), BASE) == text_to_html(payload)

    hold(check, payloads())


FRAGMENTS = st.lists(
    st.sampled_from(payloads())
    | st.text(max_size=8)
    | st.sampled_from(
        ["<p>", "</p>", "<a href=x>", "</a>", "<b>", "</b>", "<table>", "<tr>", "<td>", "</table>", "<pre>", "\n",
         "<li>", "<ul>", "<img src=i.png>", "<noscript>", "</noscript>", "<picture>", "<h1>", "<ruby>", "<rt>",
         "<select>", "<svg>", "<math>", "<style>", "<title>", "<div>", "</div>", "&nbsp;", "&lt;", "<!--", "-->",
         "<details>", "<summary>"]
    ),
    max_size=14,
)  # fmt: skip


@given(FRAGMENTS)
@examples(3000)
def test_any_mixture_comes_out_harmless_and_as_a_fixed_point(parts: list[str]):
    must_be_harmless_and_fixed("".join(parts))


@given(st.integers(0, 2**48))
@examples(20_000, share=20)
def test_markup_as_people_write_it_comes_out_harmless_and_fixed(number: int):
    must_be_harmless_and_fixed(mixture(Random(number)))


@pytest.mark.parametrize("host", ["h.exa\ufffdmple", "1.2.3.4.5", "xn--a", "h|x.example", "ẞ\u0378.example", "[::g]"])
def test_a_bad_host_in_srcset_keeps_the_picture(host: str):
    safe = sanitise(f'<img srcset="/a.png 2x" src="https://{host}/">', BASE)
    assert 'src="https://blog.example/a.png"' in safe
    assert sanitise(safe, BASE) == safe


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ('<a href="/x">x</a>', '<a href="https://blog.example/x" rel="noopener noreferrer">x</a>'),
        ('<a href="y">x</a>', '<a href="https://blog.example/posts/y" rel="noopener noreferrer">x</a>'),
        ('<img src="/i" alt="&quot;">', '<img src="https://blog.example/i" alt="&quot;" loading="lazy">'),
        ('<img src="//cdn.example/i.png">', '<img src="https://cdn.example/i.png" loading="lazy">'),
        ('<img src="a b.png">', '<img src="https://blog.example/posts/a%20b.png" loading="lazy">'),
        ('<video src="v.mp4" autoplay></video>', '<video src="https://blog.example/posts/v.mp4" controls=""></video>'),
        ('<video poster="/p.jpg"></video>', '<video poster="https://blog.example/p.jpg" controls=""></video>'),
        ("<p>one<p>two", "<p>one</p><p>two</p>"),
        ("plain > text", "plain &gt; text"),
        ("1 < 2", "1 &lt; 2"),
        ("<form><input>words</form>", "words"),
        ("<p>a<script>b</script>c</p>", "<p>ac</p>"),
    ],
)  # fmt: skip
def test_what_is_harmless_stays_and_gets_absolute_addresses(html: str, expected: str):
    assert sanitise(html, BASE) == expected


@pytest.mark.parametrize(
    "text", ["a\xa0b >", "a\r\nb", "a\rb\r\r&amp;", "\xa0", "a\u2028b <", "\u00ad&shy;", "a&b\xa0"]
)
def test_blanks_of_every_kind_are_a_fixed_point(text: str):
    for safe in (sanitise(text, BASE), text_to_html(text)):
        assert sanitise(safe, BASE) == safe


def test_plain_text_keeps_its_lines_whatever_ends_them():
    assert text_to_html("a\r\nb\rc\n\n\nd") == "<p>a<br>b<br>c</p><p>d</p>"


def test_a_srcset_becomes_absolute_and_loses_what_is_no_address():
    safe = sanitise('<img src="/1.jpg" srcset="/1.jpg 1x, javascript:alert(1) 2x, //cdn.example/3.jpg 3x">', BASE)
    assert 'srcset="https://blog.example/1.jpg 1x, https://cdn.example/3.jpg 3x"' in safe


def test_links_tell_nobody_where_the_reader_came_from():
    assert 'rel="noopener noreferrer"' in sanitise(
        '<a href="https://x.example/" rel="opener" target="_blank">x</a>', BASE
    )


@pytest.mark.parametrize(
    "tag", ["div", "ul><li", "b", "a href=x", "table><tr><td", "span", "blockquote", "p", "svg", "x"]
)
def test_nesting_without_end_is_text(tag: str):
    """SEC-20: parsers take time by the square of the depth, so that what is too deep never reaches them."""
    html = f"<{tag}>" * 60_000 + "deep &amp; <script>down</script>"
    safe, words = within(3, lambda: (sanitise(html, BASE), plain_text(html)))
    assert offences_in(safe) == []
    assert sanitise(safe, BASE) == safe
    assert "deep &" in words


def test_nesting_as_deep_as_people_write_it_stays():
    assert sanitise("<div>" * 100 + "x" + "</div>" * 100, BASE).startswith("<div><div>")


def test_plain_text_has_the_words_and_nothing_else():
    assert (
        plain_text("<p>One</p><p>t<b>w</b>o &amp; three</p><script>no</script><style>no</style>") == "One two & three"
    )


def test_what_stands_for_a_picture_is_no_text():
    assert plain_text('<img src="/i" alt="A boat" title="At sea">') == ""


def test_only_the_sanitiser_makes_safe_html():
    """SEC-17: what shows markup takes this type, so that a path around the sanitiser does not type-check."""
    assert get_type_hints(sanitise)["return"] is SafeHtml
    assert get_type_hints(pages_of)["content"] is SafeHtml


@pytest.mark.parametrize("html", ["<p>words</p>", "a &amp; b", "<a href='/x'>x</a><br/>", "<ul><li>one</li></ul>"])
def test_nothing_bypasses_the_parser_however_plain(html: str):
    """R106."""
    sanitiser, seen = Sanitiser(), []
    cleaner = sanitiser._cleaner

    class Watched:
        def clean(self, markup: str) -> str:
            seen.append(markup)
            return cleaner.clean(markup)

    vars(sanitiser)["_cleaner"] = Watched()
    assert [sanitiser.sanitise(html, BASE) for _ in range(3)] == [sanitise(html, BASE)] * 3
    assert seen == [html] * 3


def test_characters_that_a_reference_means_are_judged_too():
    """REL-37."""
    assert sanitise("<p>a&#1;b&#xfffe;c</p>", BASE) == "<p>abc</p>"


def test_a_dropped_address_leaves_attributes_in_their_order():
    safe = sanitise('<img srcset="" alt="x" src="/a">', BASE)
    assert safe == '<img alt="x" src="https://blog.example/a" loading="lazy">'
    assert sanitise(safe, BASE) == safe


def test_a_dropped_sanitiser_frees_its_memory():
    """One is made for every feed that is read; no collector sees through a cleaner that holds who holds it."""
    sanitiser = Sanitiser()
    sanitiser.sanitise("<a href='/x'>words</a>", "https://example.org/")
    kept = weakref.ref(sanitiser)
    del sanitiser
    gc.collect()
    assert kept() is None
