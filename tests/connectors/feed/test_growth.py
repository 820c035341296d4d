"""Every element by the ten thousand: ten times as many take about ten times as long, and lists stay short."""

import json
from collections.abc import Callable
from contextlib import suppress

import pytest

from tests.connectors.feed.builders import URL
from tests.data.feeds.recipes.shapes import NAMESPACES, XML, atom, entry, item, rss
from tests.growth import must_be_linear
from tsuzuki.connectors.feed import channels, items
from tsuzuki.connectors.feed.parser import parse_anyhow, parse_leniently
from tsuzuki.connectors.feed.raw import MAX_ITEMS, MAX_LIST, MAX_LISTED
from tsuzuki.connectors.feed.repairs import balanced, with_sound_references
from tsuzuki.model.errors import SourceError
from tsuzuki.model.harvest import FeedHarvest

FEW = 1_000
ALL = tuple(NAMESPACES)
FOREIGN = {"xhtml": "http://www.w3.org/1999/xhtml"}


def read_linearly(document: Callable[[int], bytes]) -> FeedHarvest:
    """What the longest document is read as."""
    found: dict[int, FeedHarvest] = {}

    def read(body: bytes) -> None:
        found[len(body)] = parse_anyhow(body, URL)

    must_be_linear(read, document, FEW)
    return found[max(found)]


def repeated(name: str, count: int) -> str:
    """An element over and over, each with all that any element may have."""
    spaces = "".join(f' xmlns:{prefix}="{uri}"' for prefix, uri in FOREIGN.items() if name.startswith(f"{prefix}:"))
    return "".join(
        f'<{name}{spaces} url="https://x.example/{n}.png" href="/{n}" rel="enclosure" term="t{n}" label="l{n}" '
        f'medium="image">'
        f"https://x.example/words/{n}, a{n}@x.example (Name {n})</{name}>"
        for n in range(count)
    )


def is_short(harvest: FeedHarvest) -> bool:
    lists = [values for found in harvest.items for values in (found.categories, found.enclosures)]
    texts = [found.author or "" for found in harvest.items] + [harvest.author or ""]
    return all(len(values) <= MAX_LIST for values in lists) and all(len(text) <= 300 for text in texts)


@pytest.mark.parametrize("name", sorted(items._HANDLERS))
def test_any_element_of_an_entry_by_the_ten_thousand(name: str):
    assert is_short(read_linearly(lambda count: rss(item(repeated(name, count)), use=ALL)))
    assert is_short(read_linearly(lambda count: atom(entry(repeated(name, count)), use=ALL)))


@pytest.mark.parametrize("name", sorted({*channels._HANDLERS} - {"item", "entry", "channel"}))
def test_any_element_of_a_feed_by_the_ten_thousand(name: str):
    assert is_short(read_linearly(lambda count: rss(item(), channel=repeated(name, count), use=ALL)))


@pytest.mark.parametrize("inside", ["", "<guid>0</guid>", "<link>/</link>", "<title>{n}</title><guid>0</guid>"])
def test_entries_by_the_ten_thousand_also_of_one_key(inside: str):
    def document(count: int) -> bytes:
        return rss(*(f"<item>{inside.format(n=n)}</item>" for n in range(count + 10)))

    assert len(read_linearly(document).items) <= MAX_ITEMS


@pytest.mark.parametrize("name", ["media:keywords", "itunes:keywords"])
def test_ten_thousand_keywords_in_one_element(name: str):
    def document(count: int) -> bytes:
        return rss(item(f"<{name}>{','.join(f'word{n}' for n in range(count))}</{name}>"), use=ALL)

    assert len(read_linearly(document).items[0].categories) == MAX_LIST


@pytest.mark.parametrize("count", [1, 1_000, 10_000])
def test_a_harvest_lists_no_more_than_ingest_takes(count: int):
    """What the parsers hand on is taken in by one step of the event loop, all entries of a feed at once."""
    words = ",".join(f"word{n}" for n in range(MAX_LIST))
    files = '<enclosure url="/1.mp3"/><enclosure url="/2.mp3"/>'
    entry = f"<item><guid>%d</guid><media:keywords>{words}</media:keywords>{files}</item>"
    items = parse_anyhow(rss(*(entry % n for n in range(count)), use=ALL), URL).items
    assert {len(found.categories) for found in items} == {min(MAX_LIST, MAX_LISTED // count)}
    assert {len(found.enclosures) for found in items} == {2}


@pytest.mark.parametrize("name", ["items", "tags", "authors", "attachments", "hubs"])
def test_any_list_of_a_json_feed_by_the_ten_thousand(name: str):
    def document(count: int) -> bytes:
        things = ({"url": f"/{n}", "name": f"N{n}", "mime_type": "image/png"} for n in range(count))
        many = [f"t{n}" for n in range(count)] if name == "tags" else list(things)
        items = many if name == "items" else [{"id": "1", name: many}]
        version = "https://jsonfeed.org/version/1.1"
        return json.dumps({"version": version, "title": "x", name: many, "items": items}).encode()

    assert is_short(read_linearly(document))


PIECES = [
    "&", "&x", "&#1;", "<", "</", "</a>", "<a>", "<p>", "<item>", "<br>", "<!--", "<?", "<![CDATA[", "]]>", "<a b='",
    '<a b="', "<a b=c", "<a b= ", "<a b=c d='e' ", "'", "=", "<item><a b=c>&x", "<!DOCTYPE x [", "a", " ",
]  # fmt: skip


@pytest.mark.parametrize("piece", PIECES)
def test_mending_takes_one_pass(piece: str):
    must_be_linear(lambda text: balanced(with_sound_references(text)), lambda count: "<rss>" + piece * count, FEW)


@pytest.mark.parametrize("piece", ["'", '"', "<!--", "<?", "[", "]", "<!ENTITY x 'y'>", "<!-- -->", ">"])
def test_skipping_a_dtd_takes_one_pass(piece: str):
    def read(body: bytes) -> None:
        with suppress(SourceError):
            parse_leniently(body, URL)

    must_be_linear(read, lambda count: f"{XML}<!DOCTYPE rss [{piece * count}]><rss/>".encode(), FEW)
