"""No parser takes more than the length of a document: hostile ones of every kind grow tenfold, and so does the time.

By the ratio, not by the clock, so that a slow machine changes nothing. What refuses a document is quick, too.
"""

from collections.abc import Callable
from functools import partial
from random import Random

import pytest

from tests.growth import growth
from tests.scale import scaled
from tsuzuki.connectors.article import read_article
from tsuzuki.connectors.chapter_names import read_name
from tsuzuki.connectors.feed.parser import parse_anyhow
from tsuzuki.connectors.html.sanitiser import plain_text, sanitise
from tsuzuki.connectors.local import read_comic_info
from tsuzuki.connectors.opml import read_opml
from tsuzuki.connectors.page_feeds import read_page
from tsuzuki.connectors.selectors.extraction import ExtractionPlan, extract_html, extract_json
from tsuzuki.connectors.wellknown import read_lookup
from tsuzuki.inbox.search.policy import Passage, parse_search, snippets
from tsuzuki.model.errors import TsuzukiError
from tsuzuki.model.tokens import parse_terms, text_of, tokens

URL = "https://example.org/blog/"
PLAN = ExtractionPlan(each="div", row={"title": ("a", "a@href", "", "@title")}, whole={"all": ("p",)})
JSON_FEED = '{"version":"https://jsonfeed.org/version/1","items":['
WORDS = parse_search('a b "a b" 第話 x-y').terms


def rss(text: str) -> bytes:
    return (
        '<rss version="2.0" xmlns:media="http://search.yahoo.com/mrss/" xmlns:dc="http://purl.org/dc/elements/1.1/" '
        'xmlns:itunes="http://www.itunes.com/dtds/podcast-1.0.dtd"><channel><title>x</title><item><guid>1</guid>'
        f"{text}</item></channel></rss>"
    ).encode()


PARSERS: dict[str, Callable[[str], object]] = {
    "feed": lambda text: parse_anyhow(rss(text), URL),
    "feed, broken": lambda text: parse_anyhow(rss(f"<title>a & b</title>{text}"), URL),
    "feed, its text": lambda text: parse_anyhow(rss(f"<description><![CDATA[{text}]]></description>"), URL),
    "feed, a date": lambda text: parse_anyhow(rss(f"<pubDate><![CDATA[{text}]]></pubDate>"), URL),
    "feed, no root": lambda text: parse_anyhow(text.encode(), URL),
    "JSON feed": lambda text: parse_anyhow((JSON_FEED + text).encode(), URL),
    "sanitise": lambda text: sanitise(text, URL),
    "plain text": plain_text,
    "discovery": lambda text: read_page(text.encode(), URL, None, text[:4096]),
    "directory": lambda text: read_lookup(b'{"results":[' + text.encode()),
    "OPML": lambda text: read_opml(f"<opml><body>{text}</body></opml>".encode()),
    "OPML, an attribute": lambda text: read_opml(f"<opml><body><outline text='{text}'/></body></opml>".encode()),
    "OPML, no root": lambda text: read_opml(text.encode()),
    "article": lambda text: read_article(f"<html><body><article>{text}</article></body></html>".encode(), URL, None),
    "selectors": lambda text: extract_html(text.encode(), None, PLAN),
    "selectors, JSON": lambda text: extract_json(text.encode(), PLAN),
    "snippets": lambda text: snippets(WORDS, [], [Passage(text, text)]),
    "tokens": tokens,
    "tokens, markup": text_of,
    "search": lambda text: parse_search(text[:10_000]),
    "search, its words": lambda text: parse_terms(text[:10_000]),
    "chapter name": read_name,
    "ComicInfo": lambda text: read_comic_info(f"<ComicInfo>{text}</ComicInfo>".encode()),
}  # fmt: skip

PIECES = (
    "<", "<a", "<a ", "<a b", "<a b=", '<a b="', "<a b='", '<a b="c" ', "<a =", '="<a ', "<x", "<x y", "</a", "</",
    "<!--", "<!-", "<!", "<?", "-->", "<![CDATA[", "]]>", "<!DOCTYPE", "<!DOCTYPE a [", "<!ENTITY a 'b'>", "<svg>",
    "<math><mi>", "<script>", "<style ", "<textarea>", "<title>", "<select>", "<template>", "<iframe>", "<b>",
    "<p>", "<p><b>x</p>", "<div>", '<div title="<">', "<div/>", "<div><a href=x>y</a></div>",
    "<div><object></div></object>", "<b><div></b>", "<div><b></div>", "<table><tr><td>", "<ul><li>",
    "<p><a href=x>", "<a href=/feed>RSS</a>", "<link rel=alternate type=application/rss+xml href=/f>",
    "<img src=x>", "<img srcset='a 1x, ", "<img src='x' srcset='" + "a 1x," * 50 + "'>", "<details><summary>",
    "<x-y>", "</p>", "<br>", "<meta charset=x>", "<base href=/>", "<frame src=x>", "<form><input>", "<h1><h2>", "&",
    "&amp;", "&#", "&#1", "&#x41;", "&nbsp;", "&a", "%41", "\\", '"', "'", "{", "[", "[[", '{"a":', '"a",', "{},",
    "1e9,", '{"feedUrl":"https://x.example/"},', '{"id":"1"},', "a", "a ", "a b ", "A", "\n", "\t", " ", "\x00",
    "é", "\u0301", "第1話", "話", "1", "1.", "1:", "1-", "-", ",", ", ", ".", "://", "http://", "a.b", "a@b.", "#1 ",
    "ch. ", "vol", "Mon, ", "+00", "(", "()", "x<y ", "<item>", "<item><guid>2</guid></item>",
    "<link>https://example.org/</link>", "<guid>x</guid>", "<title>x</title>", "<category>x</category>",
    "<media:keywords>x,y,z</media:keywords>", "<media:keywords>" + "a," * 50 + "</media:keywords>",
    "<media:content url='/x.jpg' medium='image'/>", "<media:group><media:content url='/x'/></media:group>",
    "<media:thumbnail url='/t'/>", "<enclosure url='/x.mp3' type='audio/mpeg'/>", "<dc:creator>x</dc:creator>",
    "<dc:subject>x</dc:subject>", "<author>x (y)</author>", "<itunes:keywords>x,y</itunes:keywords>",
    "<pubDate>Mon, 1 Jan 2024 00:00:00 GMT</pubDate>", "<comments>/x</comments>", "<description>x",
    "<entry><id>1</id></entry>", "<outline text='x'>", "<outline xmlUrl='https://x.example/'/>",
    "<outline a='1' b='2'/>", "<rss>", "<feed>", "<opml>", "<Genre>x</Genre>", "<Pages><Page/></Pages>",
)  # fmt: skip
NESTED = (
    ("<div>", "</div>"), ("<b>", "</b>"), ("<a href=x>", "</a>"), ("<x>", "</x>"),
    ("<blockquote><p>", "</p></blockquote>"), ("<table><tr><td>", "</td></tr></table>"),
    ("<outline text='x'>", "</outline>"), ("[", "]"), ('{"a":', "}"), ("<svg>", "</svg>"),
    ("<media:group>", "</media:group>"), ("<span title='<'>", "</span>"), ("<ul><li>", "</li></ul>"),
)  # fmt: skip


ENDED_BY_ITS_PROCESS = {("article", "<link>https://example.org/</link>"), ("article", "words")}
"""Trafilatura compares parts of a text with one another; beyond some 400 kB the bound of computing ends that."""


def repeated(unit: str, size: int) -> str:
    return unit * (size // len(unit))


def nested(begin: str, end: str, size: int) -> str:
    return repeated(begin, size // 2) + "x" + end * (size // 2 // len(begin))


def documents() -> dict[str, Callable[[int], str]]:
    """Makers of documents of a size; nested ones, crowded tags, numbers that never repeat, and mixtures."""
    made: dict[str, Callable[[int], str]] = {piece: partial(repeated, piece) for piece in PIECES}
    made |= {f"{begin}…{end}": partial(nested, begin, end) for begin, end in NESTED}
    made["attributes"] = lambda size: "<a " + " ".join(f"a{n}" for n in range(size // 7)) + ">x</a>"
    made["values"] = lambda size: "<a " + " ".join(f'a{n}="{n}"' for n in range(size // 15)) + ">x</a>"
    made["names"] = lambda size: "".join(f"<a{n}>" for n in range(size // 8))
    made["items"] = lambda size: "".join(f"</item><item><title>x{n}</title>" for n in range(size // 38))
    made["formats"] = lambda size: "<p>" + "".join(f"<b title={n}>" for n in range(20)) + "</p><p>x" * (size // 20)
    made["words"] = lambda size: " ".join(f"w{n}" for n in range(size // 7))
    chance = Random(0)
    for number in range(40):
        unit = "".join(chance.choices(PIECES, k=3))
        made[f"mixture {number}: {unit}"] = partial(repeated, unit)
    return made


@pytest.mark.soak
@pytest.mark.parametrize("parser", PARSERS)
def test_a_document_that_grows_takes_its_length(parser: str):
    def work(text: str) -> None:
        try:
            PARSERS[parser](text)
        except TsuzukiError:
            return

    every, size = documents(), scaled(2000, 20_000)
    names = Random(parser).sample(sorted(every), scaled(20, len(every)))
    slow = {name: found for name in names if (found := growth(work, every[name], size, name=repr(name))) is not None}
    assert {name: str(found) for name, found in slow.items() if (parser, name) not in ENDED_BY_ITS_PROCESS} == {}
