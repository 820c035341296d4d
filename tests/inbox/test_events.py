"""An event is told once, to everyone who was there and to everyone who comes back, however it was committed."""

import asyncio
import random
from contextlib import AsyncExitStack, aclosing, asynccontextmanager

import asyncpg
import msgspec
import pytest

from tests.builders import NOON, stored_shelf
from tests.databases import until_blocked
from tests.delivery.builders import a_followed_feed, a_reader, entry_ids, publish
from tsuzuki.coord.wakeup import MemoryWakeup
from tsuzuki.db import Tx
from tsuzuki.db.queries import load_queries, parse_queries
from tsuzuki.delivery.outages import KEPT_EVENTS, prune
from tsuzuki.inbox import events as service
from tsuzuki.inbox.events import (
    EventCursor,
    Events,
    is_remembered_tx,
    newest_of_shelf_tx,
    next_events_tx,
)
from tsuzuki.inbox.store import mark_entries_tx
from tsuzuki.model.errors import TooManyRequests
from tsuzuki.model.times import Millis
from tsuzuki.shelves.events import (
    EVENTS_WAKEUP,
    Arrived,
    CountsChanged,
    JobChanged,
    NewEvent,
    SubscriptionChanged,
    WatchChanged,
    add_events_tx,
    prune_events_tx,
)

LATER = Millis(NOON + KEPT_EVENTS + 1)

q = parse_queries(
    "tests",
    """
-- name: touch
select 1 where cast(:now as bigint) > 0;
""",
)


def a_change(number: object) -> WatchChanged:
    return WatchChanged(kind="item", id=str(number), name="A feed", is_broken=True)


async def write(db, shelf, *numbers, now=NOON):
    events = [NewEvent(shelf, a_change(number)) for number in numbers]
    await db.with_tx(lambda tx: add_events_tx(tx, events, now))


async def read_on(db, shelf, after=EventCursor(), most=100):  # noqa: B008  frozen
    return await db.read(lambda tx: next_events_tx(tx, shelf, after, most=most))


def numbers_of(events):
    return [msgspec.json.decode(event.payload)["id"] for event in events]


# -- in the order in which they became visible


async def test_events_are_read_in_order_from_a_position(db):
    shelf, other = await stored_shelf(db), await stored_shelf(db)
    await write(db, shelf, 1, 2)
    await write(db, other, "not ours")
    await write(db, shelf, 3)
    first = await read_on(db, shelf, most=2)
    rest = await read_on(db, shelf, first[-1].cursor)
    assert (numbers_of(first), numbers_of(rest)) == (["1", "2"], ["3"])
    assert await read_on(db, shelf, rest[-1].cursor) == []


@asynccontextmanager
async def uncommitted(database_url, shelf, number):
    """An event that another process has written; committed at the end of the block."""
    sql, payload = load_queries("tsuzuki.shelves").add_events.postgres, msgspec.json.encode(a_change(number)).decode()
    rows = msgspec.json.encode([(shelf, "feed", payload, 0)]).decode()
    connection = await asyncpg.connect(database_url)
    async with connection.transaction():
        await connection.execute(sql.sql, *sql.pick({"rows": rows, "now": NOON}))
        yield
    await connection.close()


@pytest.mark.server
@pytest.mark.parametrize("engine", ["postgres"])
async def test_a_late_commit_is_neither_missed_nor_reordered(db, database_url):
    shelf = await stored_shelf(db)
    await write(db, shelf, "first")
    async with uncommitted(database_url, shelf, "slow"):
        quick = asyncio.create_task(write(db, shelf, "quick"))
        await asyncio.sleep(0.2)
        assert not quick.done()  # it would be told first, and who went on after it would never see the slow one
        [first] = await read_on(db, shelf)
    await quick
    assert numbers_of(await read_on(db, shelf, first.cursor)) == ["slow", "quick"]


@pytest.mark.server
@pytest.mark.parametrize("engine", ["postgres"])
async def test_an_older_transaction_holds_up_no_other_shelf(db, database_url):
    shelf, other = await stored_shelf(db), await stored_shelf(db)
    async with uncommitted(database_url, other, "slow"):
        await write(db, shelf, "quick")
        assert numbers_of(await read_on(db, shelf)) == ["quick"]


@pytest.mark.server
@pytest.mark.parametrize("engine", ["postgres"])
async def test_a_shelf_deleted_meanwhile_stops_no_other_event(db, database_url):
    gone, shelf = await stored_shelf(db), await stored_shelf(db)
    onlooker, deleting = await asyncpg.connect(database_url), await asyncpg.connect(database_url)
    async with deleting.transaction():
        await deleting.execute("delete from shelf where id = $1", gone)
        events = [NewEvent(each, a_change(1)) for each in (gone, shelf)]

        async def write_both(tx: Tx) -> None:
            await add_events_tx(tx, events, NOON)

        writing = asyncio.ensure_future(db.with_tx(write_both))
        await until_blocked(onlooker, writing)
    await writing
    assert numbers_of(await read_on(db, shelf)) == ["1"]
    await asyncio.gather(onlooker.close(), deleting.close())


async def test_events_are_placed_last_and_in_one_order(db):
    """Two who write for the same shelves, each in its own order, do not wait for each other."""
    shelves = [await stored_shelf(db) for _ in range(8)]

    async def announce(number, order):
        async def work(tx: Tx) -> None:
            for shelf in order:
                await add_events_tx(tx, [NewEvent(shelf, a_change(number))], NOON)
                await tx.many(int, q.touch, now=NOON)

        await db.with_tx(work)

    each = [announce(number, shelves if number % 2 else shelves[::-1]) for number in range(20)]
    await asyncio.gather(*each)  # a deadlock would be Contention
    for shelf in shelves:
        assert sorted(numbers_of(await read_on(db, shelf)), key=int) == [str(number) for number in range(20)]


async def test_what_was_rolled_back_left_no_event(db):
    shelf = await stored_shelf(db)

    async def fails(tx: Tx) -> None:
        await add_events_tx(tx, [NewEvent(shelf, a_change("never"))], NOON)
        raise TooManyRequests("No.", 1)

    with pytest.raises(TooManyRequests):
        await db.with_tx(fails)
    await write(db, shelf, 1)
    assert numbers_of(await read_on(db, shelf)) == ["1"]


async def test_a_clock_that_goes_back_reorders_nothing(db):
    shelf = await stored_shelf(db)
    for number, now in enumerate((NOON, Millis(NOON - 5_000), NOON, Millis(NOON + 5_000), Millis(1))):
        await write(db, shelf, number, now=now)
    assert numbers_of(await read_on(db, shelf)) == ["0", "1", "2", "3", "4"]


async def test_readers_among_overlapping_writers_see_everything_once(db):
    """Eight writers, transactions of different length; three readers that resume from their last event all the time."""
    shelf, rng, writers, each = await stored_shelf(db), random.Random(7), 8, 15

    async def a_writer(number):
        for count in range(each):

            async def work(tx: Tx, name=f"{number}.{count}") -> None:
                await add_events_tx(tx, [NewEvent(shelf, a_change(f"{name} a"))], NOON)
                for _ in range(rng.choice((0, 0, 25))):
                    await tx.many(int, q.touch, now=NOON)
                await add_events_tx(tx, [NewEvent(shelf, a_change(f"{name} b"))], NOON)

            await db.with_tx(work)

    async def a_reader():
        seen: list[str] = []
        cursor = EventCursor()
        while len(seen) < writers * each * 2:
            page = await read_on(db, shelf, cursor, most=rng.choice((1, 7, 100)))
            seen += numbers_of(page)
            cursor = page[-1].cursor if page else cursor
            await asyncio.sleep(0)
        return seen, await read_on(db, shelf, cursor)

    async with asyncio.timeout(60):
        *seen, _ = await asyncio.gather(a_reader(), a_reader(), a_reader(), _all(map(a_writer, range(writers))))
    expected = sorted(f"{number}.{count} {part}" for number in range(writers) for count in range(each) for part in "ab")
    for told, rest in seen:
        assert sorted(told) == expected
        assert rest == []


async def _all(works):
    await asyncio.gather(*works)


# -- places


@pytest.mark.parametrize("text", ["", "0", "1-", "-1-2", "a-b", "1-2-3", "1" * 30 + "-1", "1-2\n", "１-2"])
def test_what_names_no_place_is_none(text):
    assert EventCursor.read(text) is None


def test_a_place_is_read_as_it_is_written():
    assert EventCursor.read(str(EventCursor(12, 345))) == EventCursor(12, 345)


async def test_a_place_is_known_until_its_event_is_forgotten(db):
    shelf, other = await stored_shelf(db), await stored_shelf(db)
    await write(db, shelf, 1)
    [event] = await read_on(db, shelf)

    async def known(whose):
        return await db.read(lambda tx: is_remembered_tx(tx, whose, event.cursor))

    assert await known(shelf)
    assert not await known(other)
    assert await db.with_tx(lambda tx: prune_events_tx(tx, before=NOON, most=10)) == 0
    assert await db.with_tx(lambda tx: prune_events_tx(tx, before=Millis(NOON + 1), most=10)) == 1
    assert not await known(shelf)
    assert await db.read(lambda tx: newest_of_shelf_tx(tx, shelf)) == EventCursor()


# -- streams


class CountedReads:
    """A database that counts what is read from it."""

    def __init__(self, db):
        self._db = db
        self.count = 0

    def __getattr__(self, name):
        return getattr(self._db, name)

    async def read(self, work):
        self.count += 1
        return await self._db.read(work)


@asynccontextmanager
async def open_accounts(db, **over):
    """Events whose streams are woken."""
    wakeup = MemoryWakeup()
    events = Events(db, wakeup, lambda: NOON, **over)
    running = asyncio.create_task(events.run())
    try:
        yield events, wakeup
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


async def some(stream, count):
    async with asyncio.timeout(10):
        return [await anext(stream) for _ in range(count)]


async def test_an_open_stream_is_woken_and_counts_what_is_unread(db):
    feed, [shelf] = await a_followed_feed(db)
    async with open_accounts(db, floor=600) as (events, wakeup), aclosing(events.follow(shelf, None)) as stream:
        await some(stream, 2)
        reading = asyncio.create_task(some(stream, 2))
        wakeup.wake(*(await publish(db, feed, "abc")).wakeups)
        [entry, counts] = await reading
    assert (entry.kind, msgspec.json.decode(entry.data)["count"]) == ("entry", 3)
    told = msgspec.json.decode(counts.data)
    assert (told["unread"], told["items"], told["chapters"], told["missed"]) == (3, 3, 0, False)
    assert counts.id == entry.id


async def test_only_shelves_that_are_listened_to_are_read(db):
    feed, [shelf, other] = await a_followed_feed(db, readers=2)
    reads, wakeup = CountedReads(db), MemoryWakeup()
    events = Events(reads, wakeup, lambda: NOON, floor=600)
    running = asyncio.create_task(events.run())

    async def wake() -> int:
        reads.count = 0
        wakeup.wake(EVENTS_WAKEUP)
        await asyncio.sleep(0.2)
        return reads.count

    await publish(db, feed, "a")
    assert await wake() == 0  # nobody listens
    async with aclosing(events.follow(shelf, None)) as stream:
        await some(stream, 1)
        reading = asyncio.create_task(some(stream, 1))
        await wake()  # whoever has just come looks once more
        await write(db, other, "not read")
        assert [await wake(), await wake()] == [1, 1]
        await write(db, shelf, "read")
        wakeup.wake(EVENTS_WAKEUP)
        assert [told.kind for told in await reading] == ["feed"]
    assert await wake() == 0
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


async def test_without_a_wakeup_a_stream_is_told_within_the_floor(db):
    feed, [shelf] = await a_followed_feed(db)
    async with open_accounts(db) as (events, _), aclosing(events.follow(shelf, None)) as stream:
        await some(stream, 2)
        await publish(db, feed, "a")
        assert [told.kind for told in await some(stream, 2)] == ["entry", "counts"]


async def test_a_returning_client_gets_events_of_other_processes(db):
    feed, [shelf] = await a_followed_feed(db)
    await publish(db, feed, "a")
    async with aclosing(Events(db, MemoryWakeup(), lambda: NOON).follow(shelf, None)) as stream:
        [first] = await some(stream, 1)
    for key in "bcd":
        await publish(db, feed, key)
    async with aclosing(Events(db, MemoryWakeup(), lambda: NOON).follow(shelf, first.id)) as stream:
        counts, *meanwhile = await some(stream, 4)
    assert msgspec.json.decode(counts.data)["missed"] is False
    assert [told.kind for told in meanwhile] == ["entry"] * 3
    async with aclosing(Events(db, MemoryWakeup(), lambda: NOON).follow(shelf, meanwhile[1].id)) as stream:
        _, last, counts = await some(stream, 3)
    assert (last, counts.kind) == (meanwhile[2], "counts")


@pytest.mark.parametrize("before", ["", "a"])
async def test_a_position_gives_all_later_events(db, before):
    feed, [shelf] = await a_followed_feed(db)
    events = Events(db, MemoryWakeup(), lambda: NOON)
    for key in before:
        await publish(db, feed, key)
    place = await events.place(shelf)
    await publish(db, feed, "b")
    async with aclosing(events.follow(shelf, place)) as stream:
        counts, entry = await some(stream, 2)
    assert msgspec.json.decode(counts.data)["missed"] is False
    assert entry.kind == "entry"


@pytest.mark.parametrize("place", ["1-999999", "nonsense"])
async def test_one_whose_place_is_unknown_is_told_so(db, place):
    feed, [shelf] = await a_followed_feed(db)
    await publish(db, feed, "a")
    async with aclosing(Events(db, MemoryWakeup(), lambda: NOON).follow(shelf, place)) as stream:
        [counts] = await some(stream, 1)
    assert msgspec.json.decode(counts.data)["missed"] is True


async def test_after_too_long_an_absence_the_client_is_told(db):
    feed, [shelf] = await a_followed_feed(db)
    await publish(db, feed, "a")
    events = Events(db, MemoryWakeup(), lambda: LATER)
    async with aclosing(events.follow(shelf, None)) as stream:
        [first] = await some(stream, 1)
    assert await prune(db, LATER) == 1
    async with aclosing(events.follow(shelf, first.id)) as stream:
        [counts] = await some(stream, 1)
    assert msgspec.json.decode(counts.data)["missed"] is True


async def test_a_shelf_without_events_gives_a_position(db):
    feed, [shelf] = await a_followed_feed(db)
    async with open_accounts(db) as (events, _):
        async with aclosing(events.follow(shelf, None)) as stream:
            nowhere, somewhere = await some(stream, 2)
        assert (nowhere.id, somewhere.kind) == (None, "counts")
        await publish(db, feed, "a")
        async with aclosing(events.follow(shelf, somewhere.id)) as stream:
            assert [told.kind for told in await some(stream, 3)] == ["counts", "entry", "counts"]


async def test_counts_are_computed_when_they_are_sent(db):
    feed, [shelf] = await a_followed_feed(db)
    await publish(db, feed, "abc")
    async with open_accounts(db) as (events, wakeup), aclosing(events.follow(shelf, None)) as stream:
        await some(stream, 1)
        ids = await entry_ids(db, shelf)

        async def mark(tx: Tx) -> None:
            await mark_entries_tx(tx, shelf, ids[:2], unread=False, now=NOON)
            await add_events_tx(tx, [NewEvent(shelf, CountsChanged())], NOON)

        await db.with_tx(mark)
        wakeup.wake(EVENTS_WAKEUP)
        [counts] = await some(stream, 1)
    assert msgspec.json.decode(counts.data)["unread"] == 1


async def test_a_shelf_hears_only_its_own(db):
    feed, _ = await a_followed_feed(db)
    other = await a_reader(db)
    async with open_accounts(db) as (events, wakeup), aclosing(events.follow(other, None)) as stream:
        await some(stream, 2)
        wakeup.wake(*(await publish(db, feed, "a")).wakeups)
        await write(db, other, "ours")
        wakeup.wake(EVENTS_WAKEUP)
        assert [told.kind for told in await some(stream, 1)] == ["feed"]


@pytest.mark.parametrize(
    ("news", "kind"),
    [
        (Arrived(kind="item", id="a", name="b"), "entry"),
        (CountsChanged(), "counts"),
        (WatchChanged(kind="item", id="a", name="b", is_broken=True), "feed"),
        (SubscriptionChanged(id="a", name="b", change="added"), "feed"),
        (JobChanged(id="a", kind="targeted", status="done", source="b", comic=None), "job"),
    ],
)
def test_each_kind_of_news_has_its_name(news, kind):
    assert NewEvent(1, news).kind == kind  # type: ignore[arg-type]  # any shelf


async def test_a_shelf_has_so_many_streams_and_no_more(db, monkeypatch):
    """Whoever opens thousands would use up the connections of everybody."""
    monkeypatch.setattr(service, "MOST_STREAMS", 2)
    shelf, other = await a_reader(db), await a_reader(db)
    events = Events(db, MemoryWakeup(), lambda: NOON)
    async with AsyncExitStack() as stack:
        for _ in range(2):
            events.refuse_one_too_many(shelf)
            await some(await stack.enter_async_context(aclosing(events.follow(shelf, None))), 1)
        with pytest.raises(TooManyRequests):
            events.refuse_one_too_many(shelf)
        assert [told async for told in events.follow(shelf, None)] == []
        events.refuse_one_too_many(other)
    events.refuse_one_too_many(shelf)
