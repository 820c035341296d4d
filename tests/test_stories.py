"""What docs/architecture.md and docs/stories.md say of the files of a story is what runs.

A file counts when a function of it runs in this process between the wake-up and the entry in the inbox; a file of SQL
when a module that loads it does. What every story stands on, as the document says, is not counted: the layers below
`connectors`, and what all connectors share.
"""

import re
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import tsuzuki
from tests.billing.builders import BillingSetup
from tests.builders import stored_feed, stored_series, stored_series_source, stored_source, stored_watch
from tests.delivery.builders import a_reader, entries_of
from tests.images.builders import a_gallery
from tests.images.test_downloads import fill
from tests.net.builders import answer
from tests.polling.builders import Publisher, a_feed, a_poller, a_publisher, q
from tests.waiting import eventually
from tests.web.reader_setup import a_reader_setup
from tsuzuki.coord.wakeup import POLL_WAKEUP, Listener, MemoryWakeup
from tsuzuki.db import Database, DatabaseOptions, open_database
from tsuzuki.db.queries import parse_queries
from tsuzuki.ingest.chapters import CHAPTERS, SeriesChapters
from tsuzuki.ingest.items import ITEMS, FeedItems
from tsuzuki.ingest.service import Ingest
from tsuzuki.model.ids import WatchId
from tsuzuki.model.times import DAY, Millis
from tsuzuki.parsing.pool import ParsePool, PoolOptions
from tsuzuki.queue.leases import WorkerContext
from tsuzuki.queue.worker import Worker
from tsuzuki.sources.watches import NewWatch, add_watch_tx
from tsuzuki.worker.loops import WorkerLoops
from tsuzuki.worker.poll_loop import PollLoop

SOURCE = Path(tsuzuki.__file__).parent
DOCS = SOURCE.parent.parent / "docs"
ARCHITECTURE = (DOCS / "architecture.md").read_text("utf-8")
STORIES = (DOCS / "stories.md").read_text("utf-8")
OF_REQUESTS = re.compile(
    r"(http|app|accounts)/|api/(binding|decoder|endpoints|ids|paging|views)\.py"
    r"|web/(site|frame|renderer|texts|locale|ids|links|scripts)\.py|web/templates/(layout|app|app_parts|base|parts)\.html"
)
FOR_OPEN_PAGES = "inbox/events.py"
"""Reads events meanwhile, in a loop of its own that begins with the server."""
SHARED = re.compile(r"(queue|db|files|net|parsing|coord|model)/|connectors/(protocol|registry|config)\.py|log\.py")
LOADS = re.compile(r'load_queries\("tsuzuki\.([\w.]+)"\)')

rows = parse_queries("tests", "-- name: set_url\nupdate series_source set url = :url where id = :id;")


def wall_clock() -> Millis:
    return Millis(time.time_ns() // 1_000_000)


def listed(heading: str, text: str = ARCHITECTURE) -> list[str]:
    """The files of the numbered list under this heading."""
    section = text.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    return re.findall(r"^\d+\. `([\w/.]+)`: \S", section, re.MULTILINE)


class Trace:
    """The files of the program of which a function ran while it was on, in their order."""

    def __init__(self) -> None:
        self.is_on = False
        self.files: dict[str, None] = {}

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        if self.is_on and event == "call" and frame.f_code.co_filename.startswith(str(SOURCE)):
            self.files[str(Path(frame.f_code.co_filename).relative_to(SOURCE))] = None

    def story(self, *, but: str = "") -> list[str]:
        found: dict[str, None] = {}
        for file in self.files:
            if file != but and not SHARED.match(file):
                found[file] = None
                for area in LOADS.findall((SOURCE / file).read_text("utf-8")):
                    path = area.replace(".", "/")
                    found[f"{path}.sql" if (SOURCE / f"{path}.sql").is_file() else f"{path}/queries.sql"] = None
        return list(found)


@contextmanager
def tracing() -> Iterator[Trace]:
    """To be begun before a database is opened, whose threads run what is in its transactions."""
    trace = Trace()
    before = sys.getprofile()
    threading.setprofile(trace)
    sys.setprofile(trace)
    try:
        yield trace
    finally:
        sys.setprofile(before)
        threading.setprofile(before)


class SeenListener(Listener):
    """Tells whether whoever listens waits."""

    __slots__ = ("is_waiting",)
    is_waiting: bool

    async def wait(self, seconds: float) -> bool:
        self.is_waiting = True
        try:
            return await super().wait(seconds)
        finally:
            self.is_waiting = False


class SeenWakeup(MemoryWakeup):
    """Has such listeners."""

    def __init__(self) -> None:
        super().__init__()
        self.listeners: dict[str, SeenListener] = {}

    @contextmanager
    def listen(self, *names: str) -> Iterator[Listener]:
        with super().listen(*names) as listener:
            seen = SeenListener()
            seen._woken, seen.is_waiting = listener._woken, False
            self.listeners |= dict.fromkeys(names, seen)
            yield seen


@asynccontextmanager
async def working(db: Database) -> AsyncIterator[tuple[SeenWakeup, Callable[[], bool]]]:
    """The loops that take an installment from its publisher to an inbox, and nothing else; and whether all are idle."""
    wakeup, pool = SeenWakeup(), ParsePool(PoolOptions(processes=1))
    context = WorkerContext(db=db, wakeup=wakeup, clock=wall_clock, name="story")

    async with a_poller(db, wall_clock, after_commit=wakeup.wake) as poller:
        wakeups = (ITEMS.name, CHAPTERS.name)
        polls = PollLoop(poller, wakeup, concurrency=2, ingest_wakeups=wakeups, polled=lambda *_: None)
        items = Ingest(db, FeedItems(pool), clock=wall_clock, after_commit=wakeup.wake)
        chapters = Ingest(db, SeriesChapters(), clock=wall_clock, after_commit=wakeup.wake)
        loops = WorkerLoops([polls, Worker(context, ITEMS, items), Worker(context, CHAPTERS, chapters)])
        loops.start()
        names = (POLL_WAKEUP, *wakeups)
        yield wakeup, lambda: not loops.doing() and all(wakeup.listeners[name].is_waiting for name in names)
        await loops.stop()
    await pool.close()


async def run_story(url: str, prepare: Callable[[Database, Publisher], Any], *bodies: bytes) -> list[str]:
    """Poll once for what is there, then again for what is new, and see what runs meanwhile."""
    with tracing() as trace:
        db = await open_database(DatabaseOptions(url))
        async with a_publisher() as publisher:
            publisher.response = answer(200, bodies[0])
            watch, shelf = await prepare(db, publisher)
            async with working(db) as (wakeup, are_idle):

                async def is_quiet() -> bool:
                    return await is_polled(db, watch) and are_idle()

                await eventually(is_quiet)
                before = len(await entries_of(db, shelf))
                publisher.response = answer(200, bodies[1])
                # From a moment on at which no loop is in the middle of anything: so each begins at its beginning, also
                # one that looks by itself before it is woken.
                await eventually(is_quiet)
                trace.is_on = True
                await db.with_tx(lambda tx: tx.run(q.age, id=watch))
                await db.with_tx(lambda tx: tx.run(q.make_due, id=watch, at=wall_clock()))
                wakeup.wake(POLL_WAKEUP)

                async def has_more() -> bool:
                    return len(await entries_of(db, shelf)) > before

                await eventually(has_more)
                trace.is_on = False
        await db.close()
    return trace.story()


async def is_polled(db: Database, watch: WatchId) -> bool:
    """And what it found is stored."""
    waits = await db.read(lambda tx: tx.one(int, tasks.count))
    state = await db.read(lambda tx: tx.one(bool, tasks.is_checked, id=watch))
    return state and not waits


tasks = parse_queries(
    "tests",
    "-- name: count\nselect count(*) from task where status in ('queued', 'running');\n"
    "-- name: is_checked\nselect last_checked_at is not null as is_checked from watch where id = :id;",
)


async def a_followed_feed(db: Database, publisher: Publisher) -> Any:
    feed = await stored_feed(db, f"{publisher.url}/feed")
    shelf = await a_reader(db, feeds=[feed])
    return await stored_watch(db, feed, host="127.0.0.1", next_check_at=Millis(wall_clock())), shelf


async def a_followed_series(db: Database, publisher: Publisher) -> Any:
    series = await stored_series(db)
    mapping = await stored_series_source(db, series, await stored_source(db, connector="org.example.plain"))
    await db.with_tx(lambda tx: tx.run(rows.set_url, id=mapping, url=f"{publisher.url}/one"))
    shelf = await a_reader(db, series=[series])
    new = NewWatch(series_source_id=mapping, host="127.0.0.1", next_check_at=Millis(wall_clock()))
    return await db.with_tx(lambda tx: add_watch_tx(tx, new, wall_clock())), shelf


@pytest.mark.parametrize("engine", ["sqlite"])
async def test_the_files_of_a_feeds_poll_are_those_that_run(database_url):
    ran = await run_story(database_url, a_followed_feed, a_feed("2", "1"), a_feed("3", "2", "1"))
    assert listed("One poll of a feed, file by file") == ran
    assert len(ran) <= 18


@pytest.mark.parametrize("engine", ["sqlite"])
async def test_the_files_of_a_new_chapter_are_those_that_run(database_url):
    """Its connector, which is of the test here, is one file more."""
    ran = await run_story(database_url, a_followed_series, b'["1"]', b'["2", "1"]')
    assert listed("A new chapter, file by file") == ran
    assert len(ran) + 1 <= 20


def is_told(heading: str, trace: Trace) -> bool:
    ran = {file for file in trace.story(but=FOR_OPEN_PAGES) if not OF_REQUESTS.match(file)}
    assert set(listed(heading, STORIES)) == ran
    return True


async def test_the_files_of_the_inbox_are_those_that_run(tmp_path):
    with tracing() as trace:
        async with a_reader_setup(tmp_path) as reader_setup:
            reader = await reader_setup.app.signed_in(reader_setup.user)
            await reader.get("/about")  # the first request imports what answers all of them
            trace.is_on = True
            assert (await reader.get("/inbox")).status == 200
            trace.is_on = False
            assert is_told("GET inbox", trace)
            trace.files.clear()
            trace.is_on = True
            assert (await reader_setup.guest.see("/")).status == 200
            trace.is_on = False
            assert is_told("The inbox page", trace)


@pytest.mark.parametrize("engine", ["sqlite"])
async def test_the_files_of_a_download_are_those_that_run(tmp_path, database_url):
    with tracing() as trace:
        async with a_gallery(tmp_path, database_url) as gallery:
            fill(gallery)
            async with gallery.at_work():
                await gallery.reader.get("/about")  # the first request imports what answers all of them
                trace.is_on = True
                await gallery.reader.post(gallery.download)
                await gallery.until_kept("done")
                trace.is_on = False
    assert is_told("Download a chapter", trace)


@pytest.mark.parametrize("engine", ["sqlite"])
async def test_the_files_of_an_invoice_are_those_that_run(database_url):
    with tracing() as trace:
        db = await open_database(DatabaseOptions(database_url))
        billing = await BillingSetup(db).open()
        tenant = await billing.tenant("basic")
        await billing.pay_all(tenant)
        billing.time.now = Millis(billing.time.now + 32 * DAY)
        trace.is_on = True
        await billing.services.catch_up()
        trace.is_on = False
        assert [invoice.status for invoice in await billing.invoices(tenant)] == ["paid", "open"]
        assert "invoice.reminded" in (await billing.activities(tenant))[-2:]
        await db.close()
    assert is_told("An invoice", trace)


def test_the_table_counts_the_lists_within_their_aims():
    texts = {"architecture.md": ARCHITECTURE, "": STORIES}
    lengths = {
        (document, heading.lower().replace(",", "").replace(" ", "-")): len(listed(heading, text))
        for document, text in texts.items()
        for heading in re.findall(r"^## (.+)$", text, re.MULTILINE)
    }
    rows = re.findall(r"^\| \[.+\]\((.*)#(.+)\) \| (\d+)(, and its connector)? \| (\d+) \|$", STORIES, re.MULTILINE)
    assert len(rows) == 6
    for document, anchor, count, connector, aim in rows:
        assert lengths[document, anchor] == int(count)
        assert int(count) + bool(connector) <= int(aim)
