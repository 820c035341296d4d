"""I4: a task's effect and its completion are one transaction, and a worker without its lease cannot write."""

import asyncio

import pytest

from tests.builders import NOON
from tests.queue.builders import NOTES, Effects, claimed, enqueue, task_of
from tsuzuki.model.errors import NotFound
from tsuzuki.queue.errors import LeaseLost
from tsuzuki.queue.policy import LeasedTask
from tsuzuki.queue.store import TaskFailure, extend_tx, fail_tx, reclaim_lost_tx, release_tx, running_tx
from tsuzuki.queue.tasks import TaskId, cancel_tx, finish_tx

TRIALS = 200


async def lose(db) -> None:
    """Every lease is taken from its holder."""
    leases = await db.read(lambda tx: running_tx(tx, "notes"))
    assert await db.with_tx(lambda tx: reclaim_lost_tx(tx, leases, NOTES.settings, now=NOON))


@pytest.mark.parametrize("how", ["taken and claimed again", "taken", "cancelled", "given back", "finished"])
async def test_a_worker_without_its_lease_cannot_write(harness, how):
    db = harness.db
    first = await enqueue(db)
    task = task_of((await claimed(db))[0])
    match how:
        case "cancelled":
            await db.with_tx(lambda tx: cancel_tx(tx, first.id, now=NOON))
        case "given back":
            await db.with_tx(lambda tx: release_tx(tx, [task], now=NOON))
        case "finished":
            await db.with_tx(lambda tx: finish_tx(tx, task, now=NOON))
        case _:
            await lose(db)
    if how == "taken and claimed again":
        assert len(await claimed(db)) == 1
    with pytest.raises(LeaseLost) as refused:
        await Effects(db).take_effect([task])
    assert refused.value.task_ids == (task.id,)
    assert await harness.effects() == []
    assert not await db.with_tx(lambda tx: fail_tx(tx, task, TaskFailure(error="x", code="x"), now=NOON))
    assert await db.with_tx(lambda tx: release_tx(tx, [task], now=NOON)) == 0


async def test_a_batch_with_a_lost_lease_leaves_no_effect(harness):
    db = harness.db
    for key in "abc":
        await enqueue(db, key)
    tasks = [task_of(row) for row in await claimed(db)]
    await db.with_tx(lambda tx: cancel_tx(tx, tasks[1].id, now=NOON))
    with pytest.raises(LeaseLost) as refused:
        await Effects(db).take_effect(tasks)
    assert refused.value.task_ids == (tasks[1].id,)
    assert await harness.effects() == []


async def test_a_lease_that_was_renewed_meanwhile_is_not_taken(db):
    await enqueue(db)
    task = task_of((await claimed(db))[0])
    [before] = await db.read(lambda tx: running_tx(tx, "notes"))
    await db.with_tx(lambda tx: extend_tx(tx, [task], until=before.lease_until))
    [after] = await db.read(lambda tx: running_tx(tx, "notes"))
    assert after.lease_until > before.lease_until  # REL-19g: seen, though the clock stood still
    assert await db.with_tx(lambda tx: reclaim_lost_tx(tx, [before], NOTES.settings, now=NOON)) == []
    await db.with_tx(lambda tx: finish_tx(tx, task, now=NOON))


async def test_two_who_take_the_same_lost_task_take_it_once(db):
    await enqueue(db)
    await claimed(db)
    leases = await db.read(lambda tx: running_tx(tx, "notes"))

    async def take() -> int:
        return len(await db.with_tx(lambda tx: reclaim_lost_tx(tx, leases, NOTES.settings, now=NOON)))

    assert sum(await asyncio.gather(*(take() for _ in range(8)))) == 1


async def test_rel_12_concurrent_cancel_and_finish_agree_on_one_ending(harness):
    """R45: 200 trials, both sides let go by a barrier."""
    db, effects = harness.db, Effects(harness.db)
    for number in range(TRIALS):
        key = f"{number:03d}"
        task_id = (await enqueue(db, key)).id
        task = task_of((await claimed(db))[0])
        barrier = asyncio.Barrier(2)
        cancelled, finished = await asyncio.gather(cancel(db, barrier, task_id), finish(effects, barrier, task))
        assert cancelled is not finished
        row = await harness.tasks.find(task_id)
        assert row.status == ("cancelled" if cancelled else "done")
        assert row.finished_at is not None
        assert (key in await harness.effects()) is finished
        assert not await db.with_tx(lambda tx, task_id=task_id: cancel_tx(tx, task_id, now=NOON))


async def cancel(db, barrier: asyncio.Barrier, task_id: TaskId) -> bool:
    await barrier.wait()
    return await db.with_tx(lambda tx: cancel_tx(tx, task_id, now=NOON)) is not None


async def finish(effects: Effects, barrier: asyncio.Barrier, task) -> bool:
    await barrier.wait()
    try:
        await effects.take_effect([task])
    except LeaseLost:
        return False
    return True


async def test_a_lease_of_a_task_that_is_gone_is_nobodys(db):
    assert await db.with_tx(lambda tx: reclaim_lost_tx(tx, [LeasedTask(99, 1, NOON)], NOTES.settings, now=NOON)) == []


async def test_a_task_that_is_forgotten_is_not_found(harness):
    with pytest.raises(NotFound):
        await harness.tasks.find(TaskId(99))
