"""A lease is kept while somebody works, and for no longer."""

import asyncio

import pytest

from tests.builders import NOON, stored_feed, stored_watch
from tests.polling.builders import state
from tests.waiting import eventually
from tsuzuki.db import DatabaseOptions, open_database
from tsuzuki.db.errors import DatabaseUnavailable
from tsuzuki.model.times import Millis
from tsuzuki.polling.outcomes import EndedPoll, PollAnswer, save_answers_tx
from tsuzuki.polling.service import HeldLease
from tsuzuki.polling.store import claim_watch_tx, extend_lease_tx
from tsuzuki.queue.errors import LeaseLost

LEASE = Millis(90)
BEAT = LEASE / 1000 / 3
ANSWER = PollAnswer(next_check_at=Millis(NOON + 1000), why="", priority=1, status=200)


@pytest.fixture
async def watch(db):
    watch_id = await stored_watch(db, await stored_feed(db))
    return await db.with_tx(lambda tx: claim_watch_tx(tx, watch_id, now=NOON, lease=LEASE))


async def lease_of(db, watch):
    return (await state(db, watch.id)).lease_until


async def test_a_lease_is_extended_and_its_watch_stays_due(db, watch, clock):
    async def work():
        for _ in range(2):
            clock.turn(60)
            now = clock()

            async def is_extended():
                return await lease_of(db, watch) == now + LEASE  # noqa: B023  at once

            await eventually(is_extended)
        return "done"

    assert await HeldLease(db, watch, clock, lease=LEASE).during(work()) == "done"
    assert (await state(db, watch.id)).next_check_at == NOON


async def test_work_that_is_over_extends_nothing(db, watch, clock):
    hold = HeldLease(db, watch, clock, lease=LEASE)
    await hold.during(asyncio.sleep(0))
    clock.turn(60)
    await asyncio.sleep(3 * BEAT)
    assert await lease_of(db, watch) == NOON + LEASE


async def test_work_that_ends_during_a_beat_sets_no_other(db, watch, clock, monkeypatch):
    beats = 0
    is_asked, may_answer = asyncio.Event(), asyncio.Event()

    async def slowly(_work):
        nonlocal beats
        beats += 1
        is_asked.set()
        await may_answer.wait()
        return True

    monkeypatch.setattr(db, "with_tx", slowly)
    await HeldLease(db, watch, clock, lease=LEASE).during(is_asked.wait())
    may_answer.set()
    await asyncio.sleep(3 * BEAT)
    assert beats == 1


async def test_i4_whoever_lost_the_lease_is_stopped(db, watch, clock):
    await db.with_tx(lambda tx: claim_watch_tx(tx, watch.id, now=Millis(NOON + LEASE), lease=LEASE))
    is_over = False

    async def work():
        nonlocal is_over
        try:
            await asyncio.sleep(60)
        finally:
            is_over = True

    with pytest.raises(LeaseLost):
        await HeldLease(db, watch, clock, lease=LEASE).during(work())
    assert is_over
    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 0


async def test_work_that_is_cancelled_by_somebody_else_is_cancelled(db, watch, clock):
    held = asyncio.ensure_future(HeldLease(db, watch, clock, lease=LEASE).during(asyncio.sleep(60)))
    await asyncio.sleep(0)
    held.cancel()
    with pytest.raises(asyncio.CancelledError):
        await held


async def test_a_lost_lease_ends_the_work_with_the_reason(database_url, watch, clock):
    lost = await open_database(DatabaseOptions(database_url))
    await lost.close()
    with pytest.raises(DatabaseUnavailable):
        await HeldLease(lost, watch, clock, lease=LEASE).during(asyncio.sleep(60))


async def test_i5_a_heartbeat_after_saving_extends_no_lease(db, watch):
    """It would be polled again as soon as that lease ran out, sooner than was promised."""
    assert await db.with_tx(lambda tx: save_answers_tx(tx, [EndedPoll(watch, ANSWER, NOON)], waits=True))
    assert await db.with_tx(lambda tx: extend_lease_tx(tx, watch, until=Millis(NOON + LEASE)))
    after = await state(db, watch.id)
    assert (after.lease_until, after.next_check_at) == (None, ANSWER.next_check_at)


async def test_saved_work_is_not_told_of_a_lost_lease(db, watch, clock):
    """A beat may come between the commit and the moment when the work hears of it."""

    async def work():
        assert await db.with_tx(lambda tx: save_answers_tx(tx, [EndedPoll(watch, ANSWER, NOON)], waits=True))
        await asyncio.sleep(5 * BEAT)
        return "done"

    assert await HeldLease(db, watch, clock, lease=LEASE).during(work()) == "done"
    assert (await state(db, watch.id)).next_check_at == ANSWER.next_check_at
