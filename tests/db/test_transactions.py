"""What `with_tx` and `read` promise, on both engines."""

import asyncio
import contextlib
import contextvars
import gc
import threading

import pytest

from tests.db.builders import SLOW, add_link_tx, for_each, links, q
from tsuzuki.db.errors import DatabaseError, DatabaseUnavailable, MisuseError, UniqueViolation
from tsuzuki.model.errors import NotFound

# -- how it ends


async def test_what_a_function_wrote_is_there_once_it_has_returned(db):
    async def work(tx):
        await add_link_tx(tx, "a")
        await add_link_tx(tx, "b")
        return "done"

    assert await db.with_tx(work) == "done"
    assert await links(db) == ["a", "b"]


class Unforeseen(BaseException):
    pass


@pytest.mark.parametrize(
    "error", [ValueError, Unforeseen, SystemExit, KeyboardInterrupt, GeneratorExit, asyncio.CancelledError]
)
async def test_whatever_a_function_raises_undoes_it_and_reaches_the_caller(db, error):
    async def work(tx):
        await add_link_tx(tx, "a")
        raise error

    with pytest.raises(error):
        await db.with_tx(work)
    assert await links(db) == []
    await db.with_tx(lambda tx: add_link_tx(tx, "next"))
    assert await links(db) == ["next"]


@pytest.mark.parametrize("verbs_before", range(4))
async def test_a_transaction_cancelled_at_any_await_leaves_no_trace(db, verbs_before):
    loop = asyncio.get_running_loop()

    async def work(tx):
        for number in range(3):
            if number == verbs_before:
                _cancel(loop, task)
            await add_link_tx(tx, str(number))
        if verbs_before == 3:
            _cancel(loop, task)
            await tx.many(str, q.all_links)

    task = asyncio.ensure_future(db.with_tx(work))
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await links(db) == []


def _cancel(loop, task):
    """From inside a transaction's function, which SQLite runs on a thread of its own."""
    if threading.current_thread() is threading.main_thread():
        task.cancel()
        return
    done = threading.Event()
    loop.call_soon_threadsafe(task.cancel)
    loop.call_soon_threadsafe(done.set)
    assert done.wait(10)


async def test_a_function_that_awaits_in_finally_is_ended(db):
    loop = asyncio.get_running_loop()

    async def work(tx):
        try:
            await add_link_tx(tx, "a")
            _cancel(loop, task)
            await add_link_tx(tx, "b")
        finally:
            with contextlib.suppress(MisuseError):
                await add_link_tx(tx, "c")

    task = asyncio.ensure_future(db.with_tx(work))
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await links(db) == []


@pytest.mark.parametrize("verbs_before", range(3))
async def test_a_cancelled_function_leaves_its_context_managers(db, verbs_before):
    """Wherever it stands in them: before, inside and after the block."""
    loop, left, said = asyncio.get_running_loop(), [], []
    loop.set_exception_handler(lambda _, context: said.append(context))

    async def verb_tx(tx, number):
        if number == verbs_before:
            _cancel(loop, task)
        await add_link_tx(tx, str(number))

    @contextlib.asynccontextmanager
    async def around_tx(tx):
        try:
            await verb_tx(tx, 0)
            yield
            await verb_tx(tx, 2)
        finally:
            left.append(verbs_before)

    async def work(tx):
        async with around_tx(tx):
            await verb_tx(tx, 1)

    task = asyncio.ensure_future(db.with_tx(work))
    with pytest.raises(asyncio.CancelledError):
        await task
    await db.with_tx(lambda tx: tx.many(str, q.all_links))  # SQLite's writer has ended the other
    assert left == [verbs_before]
    gc.collect()
    await asyncio.sleep(0.01)
    assert (said, await links(db)) == ([], [])


# -- what is refused inside


async def _sleeps(db):
    await asyncio.sleep(0.01)


async def _yields(db):
    await asyncio.sleep(0)


async def _calls_the_network(db):
    await asyncio.open_connection("127.0.0.1", 9)


async def _waits_for_a_thread(db):
    await asyncio.to_thread(lambda: None)


async def _waits_for_a_task(db):
    coroutine = asyncio.sleep(0)
    try:
        await asyncio.ensure_future(coroutine)
    finally:
        coroutine.close()


async def _nests_a_transaction(db):
    await db.with_tx(lambda tx: add_link_tx(tx, "nested"))


async def _nests_a_read(db):
    await links(db)


FOREIGN = [
    _sleeps,
    _yields,
    _calls_the_network,
    _waits_for_a_thread,
    _waits_for_a_task,
    _nests_a_transaction,
    _nests_a_read,
]


@pytest.mark.parametrize("foreign", FOREIGN)
async def test_a_foreign_await_is_refused_without_a_trace(db, foreign):
    async def work(tx):
        await add_link_tx(tx, "a")
        await foreign(db)

    with pytest.raises(MisuseError):
        await db.with_tx(work)
    assert await links(db) == []


@pytest.mark.parametrize("foreign", FOREIGN)
async def test_swallowing_that_refusal_does_not_save_the_transaction(db, foreign):
    async def work(tx):
        await add_link_tx(tx, "a")
        with contextlib.suppress(Exception):
            await foreign(db)

    with pytest.raises(MisuseError, match="swallowed"):
        await db.with_tx(work)
    assert await links(db) == []


async def test_a_future_of_the_event_loop_is_refused(db):
    future = asyncio.get_running_loop().create_future()

    async def work(tx):
        await future

    with pytest.raises(MisuseError, match="not Future"):
        await db.with_tx(work)
    asyncio.get_running_loop().call_soon(future.set_result, 5)
    assert await future == 5


async def test_a_swallowed_error_does_not_commit(db):
    """REL-41."""
    await db.with_tx(lambda tx: add_link_tx(tx, "a"))

    async def work(tx):
        await add_link_tx(tx, "b")
        with contextlib.suppress(UniqueViolation):
            await add_link_tx(tx, "a")
        return "as if nothing had happened"

    with pytest.raises(MisuseError, match="swallowed") as caught:
        await db.with_tx(work)
    assert isinstance(caught.value.__cause__, UniqueViolation)
    assert await links(db) == ["a"]


async def test_after_an_error_no_verb_does_anything_more(db):
    async def work(tx):
        with contextlib.suppress(DatabaseError):
            await tx.many(str, q.broken)
        await add_link_tx(tx, "b")

    with pytest.raises(MisuseError, match="add_link was called after an error"):
        await db.with_tx(work)
    assert await links(db) == []


async def test_an_error_may_be_told_in_other_words(db):
    async def work(tx):
        try:
            await tx.many(str, q.broken)
        except DatabaseError as error:
            raise LookupError("in our words") from error

    with pytest.raises(LookupError, match="in our words"):
        await db.with_tx(work)


async def test_a_row_that_is_not_found_may_be_lived_with(db):
    async def work(tx):
        with contextlib.suppress(NotFound):
            await tx.one(int, q.find_link, link="a")
        await add_link_tx(tx, "a")

    await db.with_tx(work)
    assert await links(db) == ["a"]


async def test_a_tx_is_of_no_use_after_its_transaction(db):
    kept = []

    async def work(tx):
        kept.append(tx)

    await db.with_tx(work)
    with pytest.raises(MisuseError, match="outside the function"):
        await kept[0].run(q.add_link, link="late")
    with pytest.raises(MisuseError, match="outside the function"):
        await db.with_tx(lambda _: kept[0].run(q.add_link, link="late"))


async def test_a_read_refuses_to_write(db):
    with pytest.raises(MisuseError, match="add_link writes; call it in with_tx"):
        await db.read(lambda tx: add_link_tx(tx, "a"))
    assert await links(db) == []


@pytest.mark.parametrize("first", [q.all_links, SLOW])
async def test_a_read_refuses_to_write_after_its_first_statement_too(db, first):
    async def work(tx):
        await tx.many(str, first)
        await add_link_tx(tx, "a")

    with pytest.raises(MisuseError, match="add_link writes; call it in with_tx"):
        await db.read(work)
    assert await links(db) == []


@pytest.mark.parametrize("before", [[], [q.all_links], [SLOW], [q.all_links, SLOW, q.all_links]])
async def test_a_read_awaits_its_verbs_and_nothing_else(db, before):
    async def work(tx):
        for query in before:
            await tx.many(str, query)
        await asyncio.sleep(1)

    with pytest.raises(MisuseError, match="awaits only its own verbs"):
        await db.read(work)
    assert await links(db) == []


@pytest.mark.parametrize("first", [q.all_links, SLOW])
async def test_what_a_reads_function_raises_reaches_its_caller(db, first):
    async def work(tx):
        await tx.many(str, first)
        await tx.many(str, q.all_links)
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        await db.read(work)


@pytest.mark.parametrize("verbs_before", range(1, 4))
async def test_a_cancelled_reader_asks_nothing_more(db, verbs_before):
    loop = asyncio.get_running_loop()
    asked: list[int] = []
    ended = threading.Event()

    async def work(tx):
        try:
            for number in range(4):
                if number == verbs_before:
                    _cancel(loop, task)
                await tx.many(str, SLOW)
                asked.append(number)
        finally:
            ended.set()

    task = asyncio.ensure_future(db.read(work))
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await asyncio.to_thread(ended.wait, 10)
    assert asked == list(range(verbs_before))
    assert await links(db) == []


# -- what goes in and comes out


async def test_missing_and_extra_parameters_are_named(db):
    with pytest.raises(MisuseError, match="rename_links misses pattern and does not take patern"):
        await db.with_tx(lambda tx: tx.run(q.rename_links, title="x", patern="y"))
    with pytest.raises(MisuseError, match="rename_links misses title, pattern"):
        await db.with_tx(lambda tx: tx.run(q.rename_links))
    with pytest.raises(MisuseError, match="all_links does not take link"):
        await db.read(lambda tx: tx.many(str, q.all_links, link="x"))


async def test_run_counts_the_rows_it_touched(db):
    async def work(tx):
        return [
            await tx.run(q.add_link, link="a1"),
            await tx.run(q.add_link_returning, link="a2"),
            await tx.run(q.rename_links, title="x", pattern="a%"),
            await tx.run(q.rename_links, title="x", pattern="b%"),
            await tx.run(q.remove_link, link="a1"),
            await tx.run(q.remove_link, link="a1"),
        ]

    assert await db.with_tx(work) == [1, 1, 2, 0, 1, 0]


async def test_one_wants_a_row_and_maybe_does_not(db):
    assert await db.read(lambda tx: tx.maybe(int, q.find_link, link="a")) is None
    with pytest.raises(NotFound, match="no longer exists") as caught:
        await db.read(lambda tx: tx.one(int, q.find_link, link="a"))
    assert caught.value.__notes__ == ["find_link found nothing."]
    new = await db.with_tx(lambda tx: tx.one(int, q.add_link_returning, link="a"))
    assert await db.read(lambda tx: tx.one(int, q.find_link, link="a")) == new


async def test_a_value_the_driver_cannot_take_is_our_error(db):
    for value in (2**70, "\ud800", object()):
        with pytest.raises(DatabaseError):
            await db.with_tx(lambda tx, value=value: add_link_tx(tx, value))
    assert await links(db) == []


async def test_a_function_sees_the_context_of_its_caller(db):
    request_id = contextvars.ContextVar("request_id", default="none")
    request_id.set("r1")

    async def work(tx):
        await tx.many(str, q.all_links)
        return request_id.get()

    assert await db.with_tx(work) == "r1"
    assert await db.read(work) == "r1"


async def test_reads_see_what_is_committed_and_nothing_else(db):
    loop = asyncio.get_running_loop()
    written, looked = asyncio.Event(), threading.Event()

    async def work(tx):
        await add_link_tx(tx, "a")
        loop.call_soon_threadsafe(written.set)
        if db.engine == "sqlite":
            assert looked.wait(10)
        await tx.many(str, pause)
        return await tx.many(str, q.all_links)

    pause = for_each(sqlite="select ''", postgres="select cast(pg_sleep(0.5) as text)")
    writing = asyncio.ensure_future(db.with_tx(work))
    await written.wait()
    assert await links(db) == []
    looked.set()
    assert await writing == ["a"]
    assert await links(db) == ["a"]


# -- the end


async def test_close_finishes_what_waits_and_later_calls_say_so(db):
    waiting = [asyncio.ensure_future(db.with_tx(lambda tx, n=n: add_link_tx(tx, f"{n:02}"))) for n in range(40)]
    reading = [asyncio.ensure_future(links(db)) for _ in range(5)]
    await asyncio.sleep(0)
    await db.close()
    assert await asyncio.gather(*waiting) == [1] * 40
    assert len(await asyncio.gather(*reading)) == 5
    for call in (lambda: db.with_tx(lambda tx: add_link_tx(tx, "late")), lambda: links(db), db.ping):
        with pytest.raises(DatabaseUnavailable, match="closed"):
            await call()
    await db.close()


async def test_ping_returns_when_the_database_answers(db):
    await db.ping()
