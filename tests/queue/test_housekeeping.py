"""What is kept, what is counted, and how the database finds what is due."""

import apsw
import pytest

from tests.queue.builders import (
    NOTES,
    Effects,
    Note,
    QueueHarness,
    QueueTasks,
    a_queue,
    count_by_status,
    put_ended,
    put_letters,
    wall,
)
from tsuzuki.db import Database
from tsuzuki.db.queries import parse_queries
from tsuzuki.db.sqlite import path_of
from tsuzuki.model.times import DAY, HOUR, MINUTE, Millis
from tsuzuki.queue.service import Tasks
from tsuzuki.queue.store import claim_tx, q
from tsuzuki.queue.tasks import NewTask, enqueue_many_tx

_rows = parse_queries("tests", "-- name: payloads\nselect payload from task;")


async def kept(db: Database, status: str) -> int:
    return (await count_by_status(db)).get(status, 0)


@pytest.mark.parametrize("status", ["done", "skipped", "cancelled"])
async def test_r58_finished_tasks_are_kept_an_hour_or_a_thousand(harness, status):
    now = wall()
    await put_ended(harness.db, status, 1_200, finished_at=now - MINUTE)
    await put_ended(harness.db, status, 50, finished_at=now - HOUR - MINUTE)
    await harness.enqueue(*range(10))
    assert await harness.tasks.prune() == 250
    assert await kept(harness.db, status) == 1_000
    assert len(await harness.statuses()) >= 10
    assert await harness.tasks.prune() == 0


async def test_a_finished_task_keeps_nothing_of_what_it_carried(harness):
    """Those of ingest carry the items that are stored by then, and a thousand of them are kept."""
    await harness.enqueue(*range(3))
    async with harness.working(Effects(harness.db)):
        await harness.until_all_are("done")
    assert await harness.db.read(lambda tx: tx.many(str, _rows.payloads)) == ["{}"] * 3


async def test_r58_failed_tasks_are_kept_a_week(harness):
    now = wall()
    await put_ended(harness.db, "failed", 1_500, finished_at=now - 6 * DAY)
    await put_ended(harness.db, "failed", 30, finished_at=now - 8 * DAY)
    assert await harness.tasks.prune() == 30
    assert await kept(harness.db, "failed") == 1_500


async def test_r58_no_more_than_five_thousand_failed_ones_are_kept(harness):
    await put_ended(harness.db, "failed", 5_010, finished_at=wall())
    assert await harness.tasks.prune() == 10


async def test_open_letters_stay_and_settled_ones_last_a_week(harness):
    clock_at = [wall()]
    tasks = Tasks(harness.db, harness.wakeup, lambda: clock_at[0])
    await put_letters(harness.db, "a", "b", "c", now=clock_at[0])
    [c, b, a] = await tasks.letters()
    await tasks.replay(a.id)
    await tasks.discard(b.id)
    clock_at[0] = Millis(clock_at[0] + 6 * DAY)
    assert await tasks.prune() == 0
    clock_at[0] = Millis(clock_at[0] + 2 * DAY)
    assert await tasks.prune() == 2
    assert [letter.id for letter in await tasks.letters()] == [c.id]


async def test_how_a_queue_fares_is_counted(harness: QueueHarness):
    now = wall()
    tasks = QueueTasks(harness.db, harness.wakeup, lambda: now)
    await tasks.enqueue_many(NOTES, [NewTask(str(number), Note()) for number in range(5)])
    await tasks.enqueue(NOTES, "old", Note(), run_at=Millis(now - MINUTE))
    await tasks.enqueue(NOTES, "later", Note(), run_at=Millis(now + HOUR))
    await harness.db.with_tx(lambda tx: claim_tx(tx, "notes", NOTES.settings, worker="w", now=Millis(now - 1), most=1))
    await put_ended(harness.db, "done", 3, finished_at=now - 1)
    await put_ended(harness.db, "failed", 2, finished_at=now - 2 * MINUTE)
    await put_letters(harness.db, "x", queue="gone", now=now)
    [gone, notes] = await tasks.stats()
    assert (gone.queue, gone.depth, gone.dead_letters) == ("gone", 0, 1)
    assert (notes.due, notes.scheduled, notes.running, notes.depth) == (5, 1, 1, 7)
    assert (notes.finished_last_minute, notes.failed_last_hour, notes.dead_letters) == (3, 2, 0)
    assert (notes.oldest_age(now), gone.oldest_age(now)) == (0, 0)
    assert notes.oldest_age(Millis(now + MINUTE)) == MINUTE


# -- how the database finds what is due


BACKLOG = 20_000


@pytest.mark.parametrize("engine", ["sqlite"])
@pytest.mark.parametrize("is_analysed", [False, True])
async def test_claiming_sorts_neither_backlog_nor_future_tasks(db, database_url, is_analysed):
    """Ranges of the index, and no sorting, whatever the statistics say. bench/queue.py watches PostgreSQL."""
    now = wall()
    queue = a_queue()
    rows = [NewTask(str(n), Note(), priority=1 + n % 3, run_at=Millis(now + DAY * (n % 2))) for n in range(BACKLOG)]
    await db.with_tx(lambda tx: enqueue_many_tx(tx, queue, rows, now=now))
    with apsw.Connection(str(path_of(database_url))) as connection:
        if is_analysed:
            connection.execute("analyze")
        text = q.claim_tasks.sqlite
        plan = [row[3] for row in connection.execute(f"explain query plan {text.sql}", [None] * len(text.params))]
    due = [step for step in plan if "task_due" in step]
    assert len(due) == 3
    assert all("queue=? AND priority=? AND run_at<?" in step for step in due)
    assert not [step for step in plan if "TEMP B-TREE" in step or step.startswith("SCAN task")]
