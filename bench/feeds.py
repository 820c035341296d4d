"""Feeds: our reader against feedparser, and its parts against bare ones, in one run. `python bench/feeds.py [--parts]`.

Parsing is bytes to fields, on both sides without looking into the markup. All of it is what a poll pays: addresses
resolved and markup sanitised, on our side also identities, moments and a comic's pages. Parts are what a poll with new
items spends its computing on, each beside the least that could do something like it: lxml alone, one cleaning by nh3,
the words at blanks. Each case is timed in turns and in CPU
time, so that a busy machine does not decide; the ratio is of the medians.
"""

import io
import statistics
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import feedparser  # type: ignore[import-untyped]  # it ships no types
import nh3
from lxml import etree
from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench._publisher import feed
from tests.data.feeds.make import URL, corpus
from tests.data.feeds.recipes.shapes import atom, rss
from tsuzuki.connectors.feed.parser import parse_fast, read_fast
from tsuzuki.connectors.html.sanitiser import Sanitiser
from tsuzuki.db.fulltext import words_of
from tsuzuki.model.harvest import FeedHarvest, FoundItem
from tsuzuki.model.tokens import text_of, tokens

T = TypeVar("T")

ROUNDS = 5
PARAGRAPH = (
    "<p>The lamplighter walks the <a href='/streets/{n}'>long street</a> and counts the <b>lamps</b> he has lit.</p>"
    "<p>There are <em>many</em> of them, and the night is not yet old. &amp; so he goes on.</p>"
    "<blockquote>He never looked back.</blockquote><ul><li>one</li><li>two</li><li>three</li></ul>"
)
BODIES = {
    "headlines": "The lamplighter walks the long street, and the night is not yet old. There are many lamps to light.",
    "articles": "<p><img src='/pictures/{n}.jpg' alt='a street'></p>" + PARAGRAPH * 6,
    "strips": "<p><img src='/strips/{n}.png' alt='strip {n}' title='a joke'></p><p>Thursday's page.</p>",
}


def rss_item(n: int, body: str) -> str:
    return (
        f"<item><title>Part {n}</title><link>https://comic.example/part/{n}</link><guid>https://comic.example/?p={n}</guid>"
        f"<pubDate>Fri, 01 Mar 2024 10:{n % 60:02}:00 +0000</pubDate><dc:creator>Ada Lamp</dc:creator>"
        f"<category>Comics</category><description>A short text about part {n}.</description>"
        f"<content:encoded><![CDATA[{body.format(n=n)}]]></content:encoded></item>"
    )


def atom_entry(n: int, body: str) -> str:
    escaped = body.format(n=n).replace("&", "&amp;").replace("<", "&lt;")
    return (
        f"<entry><title>Part {n}</title><link href='https://comic.example/part/{n}'/><id>tag:comic.example,2024:{n}</id>"
        f"<published>2024-03-01T10:{n % 60:02}:00Z</published><updated>2024-03-02T10:00:00Z</updated>"
        f"<author><name>Ada Lamp</name></author><content type='html'>{escaped}</content></entry>"
    )


def cases() -> dict[str, bytes]:
    files = {}
    for size, count in (("small", 15), ("large", 400)):
        for name, body in BODIES.items():
            files[f"RSS, {size}, {name}"] = rss(*(rss_item(n, body) for n in range(count)), use=("dc", "content"))
            files[f"Atom, {size}, {name}"] = atom(*(atom_entry(n, body) for n in range(count)))
    return files


def feedparser_parse(body: bytes) -> object:
    """Only parsing: no addresses resolved, nothing sanitised."""
    return feedparser.parse(io.BytesIO(body), resolve_relative_uris=False, sanitize_html=False)


def feedparser_all(body: bytes) -> object:
    return feedparser.parse(io.BytesIO(body), response_headers={"content-location": URL})


def our_parse(body: bytes) -> object:
    raw = read_fast(body, URL)
    assert raw is not None, "the fast reader did not take it"
    return raw


def harvest_of(body: bytes) -> FeedHarvest:
    harvest = parse_fast(body, URL)
    assert harvest is not None, "the fast reader did not take it"
    return harvest


def timed(function: Callable[[T], object], argument: T, times: int) -> float:
    """CPU milliseconds of one call, over as many as make the clock's grain invisible."""
    started = time.process_time()
    for _ in range(times):
        function(argument)
    return (time.process_time() - started) * 1000 / times


def in_turns(
    ours: Callable[[T], object], theirs: Callable[[T], object], argument: T, times: int
) -> tuple[float, float]:
    """Both medians."""
    turns = [(timed(ours, argument, times), timed(theirs, argument, times)) for _ in range(ROUNDS)]
    mine, other = zip(*turns, strict=True)
    return statistics.median(mine), statistics.median(other)


def speed(title: str, ours: Callable[[bytes], object], theirs: Callable[[bytes], object]) -> Table:
    table = Table(title=title)
    for column in ("feed", "size", "ours", "feedparser", "ratio"):
        table.add_column(column, justify="left" if column == "feed" else "right")
    for name, body in sorted(cases().items(), reverse=True):
        one, two = in_turns(ours, theirs, body, max(1, 200_000 // len(body)))
        table.add_row(name, f"{len(body) / 1024:.0f} KiB", f"{one:.2f} ms", f"{two:.1f} ms", f"{two / one:.1f}x")
    return table


# -- the parts


def bare_parse(body: bytes) -> object:
    """A tree, and every text in it."""
    return [(element.tag, element.text) for element in etree.fromstring(body).iter()]


def bodies(body: bytes) -> list[str]:
    """The markup of the entries, as it came."""
    raw = read_fast(body, URL)
    assert raw is not None
    texts = [item.content or item.summary for item in raw.items]
    return [text.value for text in texts if text is not None]


def clean(markup: list[str]) -> object:
    sanitiser = Sanitiser()
    return [sanitiser.sanitise(each, URL) for each in markup]


def bare_clean(markup: list[str]) -> object:
    return [nh3.clean(each) for each in markup]


def words(items: tuple[FoundItem, ...]) -> object:
    """As PostgreSQL takes them, with their places."""
    return [words_of("postgres", tokens(each.title), tokens(text_of(each.content))) for each in items]


def bare_words(items: tuple[FoundItem, ...]) -> object:
    """A list of places for each word at a blank, not written out."""
    found = []
    for each in items:
        places: dict[str, list[int]] = {}
        for place, word in enumerate(each.content.lower().split()):
            places.setdefault(word, []).append(place)
        found.append(places)
    return found


def parts() -> Table:
    table = Table(title="Parts of a poll, each beside a bare one")
    for column in ("feed", "part", "ours", "bare", "ratio"):
        table.add_column(column, justify="left" if column in {"feed", "part"} else "right")

    def row(part: str, ours: Callable[[T], object], bare: Callable[[T], object], of: T) -> None:
        one, two = in_turns(ours, bare, of, 40)
        table.add_row(name, part, f"{one * 1000:.0f} us", f"{two * 1000:.0f} us", f"{two / one:.2f}x")

    for name, body in ({"Ten short items": feed("5", 7)} | cases()).items():
        if "large" not in name:
            markup, items = bodies(body), harvest_of(body).items
            row("all of it; lxml", harvest_of, bare_parse, body)
            row("sanitise; nh3", clean, bare_clean, markup)
            row("words; split", words, bare_words, items)
    return table


def share() -> Table:
    files = corpus()
    table = Table(title="Which reader takes the corpus")
    for column in ("files", "number", "fast reader", "share"):
        table.add_column(column, justify="left" if column == "files" else "right")
    groups = {
        "all": list(files),
        "sound XML and JSON": [name for name in files if not name.startswith(("broken-", "encoding-"))],
        "odd encodings": [name for name in files if name.startswith("encoding-")],
        "broken on purpose": [name for name in files if name.startswith("broken-")],
    }
    for group, names in groups.items():
        taken = sum(read_fast(files[name], URL) is not None for name in names)
        table.add_row(group, str(len(names)), str(taken), f"{taken / len(names):.0%}")
    return table


def main() -> None:
    warnings.simplefilter("ignore", DeprecationWarning)
    console = Console()
    console.print(parts())
    if "--parts" in sys.argv:
        return
    console.print(speed("Parsing: bytes to fields", our_parse, feedparser_parse))
    console.print(speed("All of it: bytes to a sanitised harvest", harvest_of, feedparser_all))
    console.print(share())


if __name__ == "__main__":
    main()
