"""Putting tasks into a queue."""

import asyncio

import pytest

from tests.builders import NOON
from tests.queue.builders import NOTES, Effects, Note, a_queue, claimed, enqueue, task_of, wall
from tsuzuki.db import Tx
from tsuzuki.db.errors import CheckViolation
from tsuzuki.model.times import HOUR, Millis
from tsuzuki.queue.tasks import NewTask, cancel_tx, enqueue_many_tx, enqueue_tx, finish_tx


async def test_a_task_shares_the_fate_of_its_transaction(db):
    async def fails(tx: Tx) -> None:
        await enqueue_tx(tx, NOTES, "1", Note(), now=NOON)
        raise ValueError("the cause did not happen")

    with pytest.raises(ValueError, match="did not happen"):
        await db.with_tx(fails)
    assert await claimed(db) == []


async def test_rel_07_a_repeat_names_the_task_that_is_queued_or_running(db):
    first = await enqueue(db)
    again = await enqueue(db)
    [row] = await claimed(db)
    while_running = await enqueue(db)
    assert (first.is_new, again.is_new, while_running.is_new) == (True, False, False)
    assert first.id == again.id == while_running.id == row.id


@pytest.mark.parametrize("ending", ["done", "cancelled"])
async def test_rel_07_r54_a_key_is_accepted_again_once_its_task_is_over(db, ending):
    first = await enqueue(db)
    [row] = await claimed(db)
    if ending == "done":
        await db.with_tx(lambda tx: finish_tx(tx, task_of(row), now=NOON))
    else:
        await db.with_tx(lambda tx: cancel_tx(tx, first.id, now=NOON))
    again = await enqueue(db)
    assert again.is_new
    assert again.id != first.id


async def test_the_same_key_in_two_queues_is_two_tasks(db):
    first = await enqueue(db)
    other = await db.with_tx(lambda tx: enqueue_tx(tx, a_queue("others"), "1", Note(), now=NOON))
    assert other.is_new
    assert other.id != first.id


async def test_large_tasks_are_answered_in_their_order(db):
    large = Note(manner="x" * 100_000)
    tasks = [NewTask(key, large) for key in ("d", "a", "c", "b", "a", "d", "e")]
    answers = await db.with_tx(lambda tx: enqueue_many_tx(tx, NOTES, tasks, now=NOON))
    assert [answer.is_new for answer in answers] == [True, True, True, True, False, False, True]
    ids = {row.key: row.id for row in await claimed(db, most=10)}
    assert [answer.id for answer in answers] == [ids[task.key] for task in tasks]


async def test_rel_10_fifty_enqueuers_of_one_key_get_one_id(db):
    answers = await asyncio.gather(*(enqueue(db) for _ in range(50)))
    assert sum(answer.is_new for answer in answers) == 1
    assert len({answer.id for answer in answers}) == 1


async def test_rel_07_nobody_gets_a_ghost_while_the_task_comes_and_goes(harness):
    """Every id that was answered belongs to a task that was really there."""

    async def submit() -> list[int]:
        return [(await harness.tasks.enqueue(NOTES, "1", Note())).id for _ in range(25)]

    async with harness.working(Effects(harness.db)):
        ids = {task_id for ids in await asyncio.gather(*(submit() for _ in range(8))) for task_id in ids}
        await harness.until_all_are("done")
    assert all([(await harness.tasks.find(task_id)).key == "1" for task_id in ids])
    assert len(await harness.effects()) == len(ids)


async def test_a_batch_keeps_the_first_task_of_a_key(harness):
    known = await enqueue(harness.db, "b", now=wall())
    wanted = [NewTask("c", Note(1)), NewTask("b", Note(2)), NewTask("a", Note(3)), NewTask("c", Note(4))]
    answers = await harness.tasks.enqueue_many(NOTES, wanted)
    assert [answer.is_new for answer in answers] == [True, False, True, False]
    assert answers[1].id == known.id
    assert answers[0].id == answers[3].id
    [row] = [row for row in await claimed(harness.db, now=wall()) if row.key == "c"]
    assert NOTES.decode(row.payload) == Note(1)


async def test_batches_of_equal_keys_in_opposite_order_do_not_deadlock(harness):
    for number in range(20):
        keys = [f"{number}-{key}" for key in range(20)]
        one, other = ([NewTask(key, Note()) for key in order] for order in (keys, keys[::-1]))
        first, second = await asyncio.gather(
            harness.tasks.enqueue_many(NOTES, one), harness.tasks.enqueue_many(NOTES, other)
        )
        assert [task.id for task in first] == [task.id for task in second[::-1]]


async def test_a_thousand_tasks_in_one_batch(harness):
    answers = await harness.tasks.enqueue_many(NOTES, [NewTask(str(number), Note(number)) for number in range(1000)])
    assert len({answer.id for answer in answers}) == 1000


async def test_an_empty_batch_is_nothing(harness):
    assert await harness.tasks.enqueue_many(NOTES, []) == []


async def test_a_priority_beyond_the_three_is_refused(db):
    with pytest.raises(CheckViolation):
        await enqueue(db, priority=4)


async def test_any_text_survives_in_a_payload(db):
    odd = Note(manner="\0 \\u0000 \"'{} 続き \U0001f409")
    await db.with_tx(lambda tx: enqueue_tx(tx, NOTES, "odd", odd, now=NOON))
    [row] = await claimed(db)
    assert NOTES.decode(row.payload) == odd


# -- the order of claiming


async def test_due_tasks_are_claimed_by_priority_then_age(db):
    for key, priority, run_at in (
        ("late", 1, NOON + 1),
        ("old", 2, NOON - HOUR),
        ("new", 2, NOON),
        ("cold", 3, NOON - 2 * HOUR),
        ("hot", 1, NOON),
    ):
        await enqueue(db, key, priority=priority, run_at=Millis(run_at))
    assert [row.key for row in await claimed(db, most=2)] == ["hot", "old"]
    assert [row.key for row in await claimed(db)] == ["new", "cold"]
    assert [row.key for row in await claimed(db, now=Millis(NOON + 1))] == ["late"]


async def test_rel_19_a_task_scheduled_beyond_the_lease_runs_once(db):
    """R41: not before its time, however far it lies beyond any lease."""
    later = Millis(NOON + 2 * HOUR)
    await enqueue(db, run_at=later)
    assert await claimed(db, now=Millis(later - 1)) == []
    assert len(await claimed(db, now=later)) == 1
    assert await claimed(db, now=Millis(later + HOUR)) == []


async def test_four_who_claim_at_once_never_get_the_same_task(harness):
    await harness.enqueue(*range(400))

    async def take() -> list[int]:
        found = []
        while rows := await claimed(harness.db, now=wall(), most=7):
            found += [row.id for row in rows]
        return found

    taken = [task_id for ids in await asyncio.gather(*(take() for _ in range(4))) for task_id in ids]
    assert len(taken) == len(set(taken)) == 400
