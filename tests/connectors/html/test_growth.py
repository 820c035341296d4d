"""SEC-20: text that is made to be slow takes time by its length, and memory too; what comes out is never deep."""

from collections.abc import Callable

import pytest
from selectolax.lexbor import LexborHTMLParser

from tests.connectors.html.test_sanitiser import BASE, offences_in
from tests.growth import must_be_linear, within
from tsuzuki.connectors.html.addresses import srcset_of
from tsuzuki.connectors.html.media import is_placeholder, is_tracker
from tsuzuki.connectors.html.sanitiser import MAX_NESTING, MAX_TAGS, SafeHtml, flattened, is_deep, plain_text, sanitise
from tsuzuki.connectors.html.tags import is_deeper, normalise, shape_of


def repeated(piece: str) -> Callable[[int], str]:
    return lambda size: piece * (size // len(piece))


@pytest.mark.parametrize("piece", ["a", ",", " ", "a,", "a ,", "1 ", ", 1x", "a 1x,", "a 1.1.1.", "x\t"])
def test_a_srcset_is_read_in_time_by_its_length(piece: str):
    must_be_linear(lambda text: srcset_of(text, BASE), repeated(piece), 2000)
    within(0.5, lambda: srcset_of(repeated(piece)(20_000), BASE))


@pytest.mark.parametrize("piece", ["pixel", "lazy.", "1x1/", "a", ".gif", "blank.pn"])
def test_a_placeholder_is_known_in_time_by_its_length(piece: str):
    must_be_linear(is_placeholder, repeated(piece))


@pytest.mark.parametrize("piece", ["width", "; width :  ", "style ", "display", " ", "; ", "width:1p"])
def test_a_tracker_is_known_in_time_by_its_length(piece: str):
    must_be_linear(lambda text: is_tracker(text, {"width": text, "height": text, "style": text}), repeated(piece))


PIECES = [
    "<", "<a", "<a ", "<a b", "<a b=", '<a b="', "<a b='", '<a b="c" ', "<a =", '="<a ', '<a ="" ="', "<x", "<x y",
    "</a", "</", "<!--", "<!-", "<!", "<?", "-->", "<svg>", "<svg", "</svg>", "<math>", "<math><mi>", "</math",
    "<script>", "<style ", "<textarea>", "<title>", "<select>", "<template>", "<iframe>", "<iframe/>", "<b>", "<p>",
    "<p><b>x</p>", "<div>", '<div title="<">', "<div/>", "<div><object></div></object>",
    "<select><style></select><div>", "<svg><style><g>", "<b><div></b>", "<div><b></div>", "<table><tr><td>",
    "<ul><li>", "<p><a href=x>", "<img src=x>", "<noscript><div>", "&", "&amp;", "&#", "&#1", "a", " ", "\n",
    "<a href='/x'>x</a>", "<details><summary>", "<h1><h2>", "<x-y>", "</p>", "<br>", "<li><b>", "<video><source>",
    "<img srcset='a 1x, ", "<noscript>", "<object data=x>", "<embed src=/x>", "<a id=x href=#x>",
]  # fmt: skip


@pytest.mark.parametrize("piece", PIECES)
def test_markup_is_read_in_time_by_its_length(piece: str):
    must_be_linear(lambda html: sanitise(html, BASE), repeated(piece))
    must_be_linear(plain_text, repeated(piece))


@pytest.mark.parametrize("tag", ["<p {}>", "<p {}", "<p {}/>x", '<p a=">" {}>', "<p a='<' {}>", "</p {}>", "<b><p {}>"])
@pytest.mark.parametrize("attribute", ["a{n}=1 ", "a{n} ", 'a{n}="x"', "a{n}/", "data-{n}='>' ", 'a{n}="<"'])
def test_attributes_without_end_are_read_in_time_by_their_number(tag: str, attribute: str):
    def text(size: int) -> str:
        return tag.format("".join(attribute.replace("{n}", str(n)) for n in range(size // 10)))

    must_be_linear(lambda html: sanitise(html, BASE), text, 10_000)


def test_a_picture_in_many_sizes_keeps_them():
    srcset = ", ".join(f"/picture-{n}.jpg?width={n}00&amp;quality=80 {n}00w" for n in range(1, 120))
    safe = sanitise(f'<img src="/p.jpg" srcset="{srcset}" alt="A picture">', BASE)
    assert safe.count("00w") == 119
    assert 'alt="A picture"' in safe


@pytest.mark.parametrize("piece", ["<a", "<a-b.c", "<a x='", "<!--", "<![CDATA[", "</a", "<a>", "<a/>"])
def test_xml_is_recognised_in_linear_time(piece: str):
    must_be_linear(lambda text: shape_of(text, max_depth=10**6, max_tags=10**6), repeated(piece))
    must_be_linear(lambda text: is_deeper(text, 10**6), repeated(piece))


def depth_of(html: str) -> int:
    """Of a parsed tree, on its own count."""
    deepest, level = 0, [(LexborHTMLParser(html, is_fragment=True).root, 0)]
    while level:
        node, depth = level.pop()
        deepest = max(deepest, depth)
        if node is not None:
            level.extend((child, depth + 1) for child in node.iter())
    return deepest


HIDDEN_DEPTH = [
    '<div title="<">', "<div title='</div>'>", "<div title=a/>", "<div/>", "<div a=b=c>", '<div ="><div>',
    "<div a = '>'>", "<div><object></div></object>", "<select><style></select><div>", "<b><div></b>",
    "<div><b title={n}></div>", "<svg><foreignObject><div>", "<math><mi><div>", "<div><!--></div>-->",
    "<div><![CDATA[></div>]]>", "<ul><li><p>", "<table><tr><td>", "<noscript><div></noscript>", "<div\u00a0x></div>",
    "<span><p></span>", "<font size={n}>", "<blockquote><p><b title={n}></p>", "<q></div>",
    "<div><template></div></template>", "<marquee><div></marquee>",
]  # fmt: skip


@pytest.mark.parametrize("piece", HIDDEN_DEPTH)
def test_what_comes_out_is_never_deeper_than_the_limit(piece: str):
    html = "".join(piece.replace("{n}", str(n)) for n in range(12_000)) + "the end"
    safe, words = within(3, lambda: (sanitise(html, BASE), plain_text(html)))
    assert not is_deep(safe)
    assert depth_of(safe) <= MAX_NESTING + 1
    assert offences_in(safe) == []
    assert sanitise(safe, BASE) == safe
    assert "the end" in safe
    assert "the end" in words


def test_repeatedly_opened_formats_do_not_leak_memory():
    html = "<p>" + "".join(f"<b title={n}>" for n in range(390)) + "</p>" + "<p>x</p>" * 20_000
    assert len(sanitise(html, BASE)) < 10 * len(html)


def test_the_depth_of_what_is_safe_is_exact():
    deep = "<div>" * MAX_NESTING + 'x<img alt="<div>">' + "</div>" * MAX_NESTING
    assert not is_deep(deep + "<p></p>" * 500)
    assert is_deep(f"<div>{deep}</div>")


def test_what_people_write_is_not_taken_for_deep():
    article = "<div><p>one <b>two</b><i>three</b></i><li>four<br/><img src=x>" * 30 + "</div>" * 30
    table = "<table>" + "<tr><td>x<td><b>y</b>" * 5000 + "</table>"
    sloppy = "<p><font size=2>x</font><b>y<p>z</b>" * 2000
    for html in (article, table, sloppy):
        assert not normalise(html, MAX_NESTING).is_too_deep


def test_what_was_stored_too_deep_is_shown_as_text():
    stored = SafeHtml("<div>" * 27_000 + "a &lt; b" + "</div>" * 27_000)
    assert within(1, lambda: flattened(stored)) == "a &lt; b"


def test_what_has_too_many_tags_is_cut_after_them():
    safe = sanitise("<p>x</p>" * 100_000, BASE)
    assert safe == "<p>x</p>" * (MAX_TAGS // 2)
    assert sanitise(safe, BASE) == safe
