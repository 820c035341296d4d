"""Feeds: our reader against feedparser, in one run. `python bench/feeds.py` prints three tables.

Parsing is bytes to fields, on both sides without looking into the markup. All of it is what a poll pays: addresses
resolved and markup sanitised, on our side also identities, moments and a comic's pages. Each case is timed in turns
and in CPU time, so that a busy machine does not decide; the ratio is of the medians.
"""

import io
import statistics
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import feedparser  # type: ignore[import-untyped]  # it ships no types
from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.data.feeds.make import URL, corpus
from tests.data.feeds.recipes.shapes import atom, rss
from tsuzuki.connectors.feed.parsing import parse_fast, read_fast

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


def our_all(body: bytes) -> object:
    harvest = parse_fast(body, URL)
    assert harvest is not None, "the fast reader did not take it"
    return harvest


def timed(function: Callable[[bytes], object], body: bytes) -> float:
    """CPU milliseconds of one call, over as many as make the clock's grain invisible."""
    times = max(1, 200_000 // len(body))
    started = time.process_time()
    for _ in range(times):
        function(body)
    return (time.process_time() - started) * 1000 / times


def speed(title: str, ours: Callable[[bytes], object], theirs: Callable[[bytes], object]) -> Table:
    table = Table(title=title)
    for column in ("feed", "size", "ours", "feedparser", "ratio"):
        table.add_column(column, justify="left" if column == "feed" else "right")
    for name, body in sorted(cases().items(), reverse=True):
        mine, other = zip(*((timed(ours, body), timed(theirs, body)) for _ in range(ROUNDS)), strict=True)
        one, two = statistics.median(mine), statistics.median(other)
        table.add_row(name, f"{len(body) / 1024:.0f} KiB", f"{one:.2f} ms", f"{two:.1f} ms", f"{two / one:.1f}x")
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
    console.print(speed("Parsing: bytes to fields", our_parse, feedparser_parse))
    console.print(speed("All of it: bytes to a sanitised harvest", our_all, feedparser_all))
    console.print(share())


if __name__ == "__main__":
    main()
