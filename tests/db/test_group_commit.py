"""SQLite's writer: many transactions share one fsync, and each of them is alone all the same."""

import asyncio
import gc
import threading
import weakref
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.db.builders import SLOW, a_query
from tests.db.disks import Note, Sync, Write
from tests.db.small_store import ADD, ALL, PUT, Pair, add_tx, as_one_group, kept, raises_tx, store
from tests.scale import examples
from tsuzuki.db.errors import CheckViolation, MisuseError, UniqueViolation
from tsuzuki.db.sqlite import LARGEST_GROUP

CLEAR = a_query("delete from kept")


@pytest.fixture
async def db(tmp_path):
    async with store(tmp_path) as db:
        yield db


# -- one fsync


async def test_transactions_that_wait_share_one_fsync(watched_db):
    db, disk = watched_db
    await db.with_tx(partial(add_tx, key=1000))
    before = disk.syncs("-wal")
    assert await as_one_group(db, [partial(add_tx, key=n) for n in range(64)]) == list(range(64))
    assert disk.syncs("-wal") - before == 1
    for n in range(64, 68):
        await db.with_tx(partial(add_tx, key=n))
    assert disk.syncs("-wal") - before == 5


async def test_who_comes_while_a_transaction_runs_shares_its_fsync(watched_db):
    db, disk = watched_db
    await db.with_tx(partial(add_tx, key=0))
    before, has_begun, has_come, awaited = disk.syncs("-wal"), threading.Event(), threading.Event(), []

    async def long_tx(tx):
        await add_tx(tx, 1)
        awaited.append(tx.is_awaited())
        has_begun.set()
        assert has_come.wait(10)
        awaited.append(tx.is_awaited())

    long = asyncio.create_task(db.with_tx(long_tx))
    await asyncio.to_thread(has_begun.wait, 10)
    other = asyncio.create_task(db.with_tx(partial(add_tx, key=2)))
    await asyncio.sleep(0)
    has_come.set()
    await asyncio.gather(long, other)
    assert disk.syncs("-wal") - before == 1
    assert awaited == [False, True]


async def test_a_long_queue_is_taken_in_groups_that_end(watched_db):
    db, disk = watched_db
    count = LARGEST_GROUP * 2 + 10
    assert await as_one_group(db, [partial(add_tx, key=n) for n in range(count)]) == list(range(count))
    assert disk.syncs("-wal") <= 4
    assert len(await kept(db)) == count


async def test_nobody_is_answered_before_the_fsync(watched_db):
    db, disk = watched_db

    async def one(number):
        async def work(tx):
            await add_tx(tx, number)
            disk.note(Note("ran", number))

        await db.with_tx(work)
        disk.note(Note("answered", number))

    for first in range(0, 60, 12):
        await asyncio.gather(*(one(number) for number in range(first, first + 12)))
    for number in range(60):
        ran, answered = disk.events.index(Note("ran", number)), disk.events.index(Note("answered", number))
        between = disk.events[ran:answered]
        written = [at for at, event in enumerate(between) if isinstance(event, Write)]
        synced = [at for at, event in enumerate(between) if event == Sync("store.db-wal")]
        assert written
        assert synced
        assert synced[-1] > min(written)


# -- each alone


async def fine_tx(tx, key, value):
    await tx.run(PUT, key=key, value=value)


async def violates_tx(tx, key, value):
    await tx.run(PUT, key=key, value=value)
    await tx.run(PUT, key=key + 1, value="")


async def repeats_tx(tx, key, value):
    await tx.run(PUT, key=key, value=value)
    await tx.run(ADD, key=key, value=value)


async def sleeps_tx(tx, key, value):
    await tx.run(PUT, key=key, value=value)
    await asyncio.sleep(0)


class Halt(BaseException):
    """Not an Exception, yet nothing that ends the event loop."""


async def halts_tx(tx, key, value):
    await tx.run(CLEAR)
    raise Halt(value)


ENDS: dict[Any, type[BaseException | None]] = {
    fine_tx: type(None),
    raises_tx: LookupError,
    violates_tx: CheckViolation,
    repeats_tx: UniqueViolation,
    sleeps_tx: MisuseError,
    halts_tx: Halt,
}
jobs = st.lists(st.tuples(st.sampled_from(list(ENDS)), st.integers(0, 5), st.text(min_size=1, max_size=3)), max_size=12)


@examples(500)
@given(groups=st.lists(jobs, max_size=4))
def test_any_mixture_of_ends_leaves_what_the_successes_alone_would(tmp_path_factory, groups):
    text = [[(end, key, value.encode("ascii", "replace").decode()) for end, key, value in group] for group in groups]

    async def run():
        async with store(tmp_path_factory.mktemp("store")) as db:
            model = {}
            for group in text:
                results = await as_one_group(db, [partial(end, key=key, value=value) for end, key, value in group])
                for (end, key, value), result in zip(group, results, strict=True):
                    assert isinstance(result, ENDS[end])
                    if end is fine_tx:
                        model[key] = value
                assert await kept(db) == model

    asyncio.run(run())


async def test_a_transaction_sees_earlier_ones_of_its_group(db):
    async def look(tx):
        return [pair.key for pair in await tx.many(Pair, ALL)]

    works = [partial(add_tx, key=1), look, partial(raises_tx, key=2, value="x"), look]
    results = await as_one_group(db, works)
    assert (results[1], results[3]) == ([1], [1])


async def test_callers_that_are_cancelled_while_they_wait_are_skipped(db):
    ran = []

    async def slow(tx):
        await add_tx(tx, 1)
        begun.set()
        assert go_on.wait(10)

    async def unwanted(tx):
        ran.append("unwanted")

    begun, go_on = threading.Event(), threading.Event()
    first = asyncio.ensure_future(db.with_tx(slow))
    await asyncio.to_thread(begun.wait, 10)
    waiting = [asyncio.ensure_future(db.with_tx(unwanted)) for _ in range(3)]
    await asyncio.sleep(0)
    for task in waiting:
        task.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)
    go_on.set()
    await first
    assert (await kept(db), ran) == ({1: "x"}, [])


async def test_cancelled_readers_are_closed_while_threads_are_busy(db):
    busy, closed = threading.Event(), []

    async def hold(tx):
        await tx.many(int, SLOW)
        assert busy.wait(10)

    async def wait(tx):
        try:
            await tx.many(int, SLOW)
        finally:
            closed.append(1)

    holding = [asyncio.ensure_future(db.read(hold)) for _ in range(4)]
    waiting = [asyncio.ensure_future(db.read(wait)) for _ in range(3)]
    await asyncio.sleep(0)
    for task in waiting:
        task.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)
    assert len(closed) == 3
    busy.set()
    await asyncio.gather(*holding)


async def test_a_cancelled_caller_stores_nothing(db):
    loop = asyncio.get_running_loop()
    cancelled = threading.Event()

    async def work(tx):
        await add_tx(tx, 1)
        loop.call_soon_threadsafe(task.cancel)
        loop.call_soon_threadsafe(cancelled.set)
        assert cancelled.wait(10)

    task = asyncio.ensure_future(db.with_tx(work))
    with pytest.raises(asyncio.CancelledError):
        await task
    await db.with_tx(partial(add_tx, key=2))
    assert await kept(db) == {2: "x"}


async def test_a_transaction_is_forgotten_once_it_is_answered(db):
    """Not only when the garbage collector comes by: its result may be large."""

    class Result:
        pass

    async def work(tx):
        await add_tx(tx, 1)
        return Result()

    gc.disable()
    try:
        result = weakref.ref(await db.with_tx(work))
        await db.with_tx(partial(add_tx, key=2))
        await asyncio.sleep(0)
        assert result() is None
    finally:
        gc.enable()
