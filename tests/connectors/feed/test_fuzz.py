"""A grammar of feeds: whatever it makes is answered by a harvest or by a named error, never by anything else."""

import re

from hypothesis import given
from hypothesis import strategies as st

from tests.connectors.feed.builders import URL, Outside, a_reply
from tests.data.feeds.make import corpus
from tests.data.feeds.recipes.shapes import NAMESPACES
from tests.scale import examples
from tsuzuki.connectors.feed import parse_anyhow, visit
from tsuzuki.connectors.feed.parser import parse_fast, parse_leniently
from tsuzuki.model.errors import SourceError
from tsuzuki.model.harvest import FeedHarvest

ELEMENTS = """
title link guid id description summary content author name email category pubDate published updated enclosure source
image url comments language ttl item entry channel feed rss dc:creator dc:date dc:subject content:encoded media:group
media:content media:thumbnail media:description itunes:duration itunes:episode itunes:image itunes:summary itunes:owner
sy:updatePeriod atom:link atom:author atom:updated podcast:episode yt:videoId x unknown:y
"""
ATTRIBUTES = "isPermaLink type mode href rel url length xml:base xml:lang term label src medium"
VALUES = """
false html xhtml text base64 text/html image/png alternate self hub enclosure replies https://x.example/1 data:,x
audio/mpeg 12 javascript:1 http://[ escaped
"""
PIECES = """
https://x.example/1 /relative javascript:alert(1) http://[ 2024-13-45 2024-03-01T10:20:30Z &lt;p&gt;x&lt;/p&gt;
<![CDATA[<img/src=x>]]> &amp; &nbsp; &#0; &#xD800; &#99999999999; <b> </item> ]]> <!-- --> <![CDATA[ <?x \x00 \ufffe & <
1:02:03 99 日本
"""
TEXTS = st.text(max_size=30) | st.sampled_from(PIECES.split())


@st.composite
def attributes(draw: st.DrawFn) -> str:
    names = draw(st.lists(st.sampled_from(ATTRIBUTES.split()), max_size=2, unique=True))
    return "".join(f' {name}="{draw(st.sampled_from(VALUES.split()))}"' for name in names)


@st.composite
def elements(draw: st.DrawFn, inside: st.SearchStrategy[str]) -> str:
    name = draw(st.sampled_from(ELEMENTS.split()))
    return f"<{name}{draw(attributes())}>{draw(inside)}</{name}>"


NESTED = st.recursive(TEXTS, lambda inner: st.lists(elements(inner) | TEXTS, max_size=4).map("".join), max_leaves=8)
ITEMS = st.lists(st.lists(elements(NESTED), max_size=5).map("".join), max_size=4)
ROOTS = st.sampled_from(
    [("<rss version='2.0'{}><channel>", "item", "</channel></rss>"),
     ("<feed xmlns='http://www.w3.org/2005/Atom'{}>", "entry", "</feed>"),
     ("<feed version='0.3' xmlns='http://purl.org/atom/ns#'{}>", "entry", "</feed>"),
     ("<rdf:RDF xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#' xmlns='http://purl.org/rss/1.0/'{}>", "item",
      "</rdf:RDF>"),
     ("<RSS{}>", "ITEM", "</RSS>"), ("<channel{}>", "item", ""), ("junk <rss{}>", "item", "</rss> junk")]
)  # fmt: skip
DECLARED = "".join(f' xmlns:{prefix}="{uri}"' for prefix, uri in NAMESPACES.items())


@st.composite
def feeds(draw: st.DrawFn) -> bytes:
    start, tag, end = draw(ROOTS)
    head = draw(st.lists(elements(NESTED), max_size=3).map("".join))
    items = "".join(f"<{tag}>{inside}</{tag}>" for inside in draw(ITEMS))
    text = start.format(draw(st.sampled_from([DECLARED, DECLARED, ""]))) + head + items + end
    encoding = draw(st.sampled_from(["utf-8", "utf-8", "utf-16", "latin-1", "cp932"]))
    body = text.encode(encoding, "replace")
    cut = draw(st.integers(0, 9))
    return body[: len(body) * (cut + 1) // 5] if cut < 4 else body


def answered(body: bytes) -> FeedHarvest | None:
    try:
        outcome = Outside({URL: a_reply(body)}).run(visit(URL))
    except SourceError:
        return None
    harvest = outcome.harvest
    assert isinstance(harvest, FeedHarvest)
    keys = [item.key for item in harvest.items]
    assert len(set(keys)) == len(keys)
    assert all(keys)
    return harvest


@given(feeds())
@examples(3000, share=20)
def test_whatever_the_grammar_makes_is_answered(body: bytes):
    answered(body)


@given(st.sampled_from(sorted(corpus())), st.lists(st.tuples(st.floats(0, 1), st.binary(max_size=3)), max_size=6))
@examples(3000)
def test_a_feed_with_bytes_changed_anywhere_is_answered(name: str, changes: list[tuple[float, bytes]]):
    body = bytearray(corpus()[name])
    for place, value in changes:
        position = int(place * len(body))
        body[position : position + len(value)] = value
    answered(bytes(body))


@given(st.binary(max_size=200))
@examples(1000)
def test_any_bytes_are_answered(body: bytes):
    answered(body)


@given(feeds())
@examples(1000)
def test_a_body_parsed_twice_is_the_same_harvest(body: bytes):
    """R27 and R32 stand on this: nothing in a harvest is by chance."""
    try:
        first = parse_anyhow(body, URL)
    except SourceError:
        return
    assert parse_anyhow(body, URL) == first


@given(feeds())
@examples(500)
def test_the_forgiving_reader_answers_what_the_fast_one_takes(body: bytes):
    try:
        fast = parse_fast(body, URL)
    except SourceError:
        return
    if fast is not None:
        assert isinstance(parse_leniently(body, URL), FeedHarvest)


# -- sound feeds, and the same with one bare `&`: both readers have to give each entry the same key

PARTS = """
<guid>0</guid>
<guid>{n}</guid>
<guid>https://x.example/?a=1&amp;b={n}</guid>
<guid/>
<id>tag:x.example,2024:{n}</id>
<link>https://x.example/</link>
<link>https://x.example/{n}?utm_source=a&amp;id={n}</link>
<link>/{n}</link>
<link href='/{n}'/>
<link rel='enclosure' href='/{n}.mp3'/>
<atom:link href='/atom/{n}'/>
<enclosure url='/{n}.mp3' type='audio/mpeg'/>
<media:content url='/{n}.png'/>
<pubDate>2024-03-01</pubDate>
<pubDate>2024-03-0{n}</pubDate>
<updated>2024-03-0{n}T10:20:30Z</updated>
<dc:date>soon</dc:date>
<title>Same</title>
<title>Part {n}</title>
<description>Salt &amp;amp; pepper</description>
<description><![CDATA[<p>A & B {n}</p>]]></description>
<author>Ada &amp; Bo</author>
<content type='xhtml'><div xmlns='http://www.w3.org/1999/xhtml'><p>{n}</p></div></content>
<feedburner:origLink>https://y.example/{n}</feedburner:origLink>
<category>a&amp;b</category>
<x>other</x>
""".strip().splitlines()


@st.composite
def sound_feeds(draw: st.DrawFn) -> str:
    start, tag, end = draw(ROOTS.filter(lambda root: root[2] not in {"", "</rss> junk"}))
    parts = st.lists(st.sampled_from(PARTS), max_size=6)
    chosen = draw(st.lists(st.tuples(parts, st.integers(1, 4)), min_size=1, max_size=6))
    items = "".join(f"<{tag}>{''.join(inside).replace('{n}', str(n))}</{tag}>" for inside, n in chosen)
    return f"{start.format(DECLARED)}<title>A feed</title>{items}{end}"


@given(sound_feeds(), st.floats(0, 1, exclude_max=True))
@examples(10_000, share=20)
def test_both_parsers_give_entries_the_same_keys(text: str, place: float):
    sound = parse_fast(text.encode(), URL)
    assert sound is not None
    assert parse_leniently(text.encode(), URL) == sound
    ends = [found.start() for found in re.finditer(r"(?<=[^>\]])</(?!p>)", text)]
    at = ends[int(place * len(ends))]
    escaped = parse_fast(f"{text[:at]} &amp; x{text[at:]}".encode(), URL)
    bare = f"{text[:at]} & x{text[at:]}".encode()
    assert parse_fast(bare, URL) is None
    assert parse_leniently(bare, URL) == escaped


@given(sound_feeds())
@examples(1000)
def test_keys_do_not_depend_on_the_order_of_entries(text: str):
    """R93: and every entry that says something of its own is there."""
    items = re.findall(r"<(item|entry|ITEM)>(.*?)</\1>", text, re.DOTALL)
    body = "".join(f"<{tag}>{inside}</{tag}>" for tag, inside in items)
    turned = text.replace(body, "".join(f"<{tag}>{inside}</{tag}>" for tag, inside in reversed(items)))
    first, second = parse_fast(text.encode(), URL), parse_fast(turned.encode(), URL)
    assert first is not None
    assert second is not None
    assert {found.key for found in first.items} == {found.key for found in second.items}
