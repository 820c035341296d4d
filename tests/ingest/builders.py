"""Batches, tasks as a worker gets them, and a database that refuses poison."""

from decimal import Decimal
from typing import Any

from tests.builders import NOON, stored_series_source, stored_source
from tsuzuki.db import Database
from tsuzuki.db.queries import parse_queries
from tsuzuki.ingest.chapters import ChapterBatch, in_order
from tsuzuki.ingest.items import ItemBatch
from tsuzuki.ingest.service import Ingest
from tsuzuki.model.harvest import FoundChapter, FoundItem
from tsuzuki.model.ids import FeedId, SeriesId, SeriesSourceId, WatchId
from tsuzuki.model.times import Millis
from tsuzuki.queue.policy import QueueSettings
from tsuzuki.queue.store import TaskFailure, claim_tx, fail_tx
from tsuzuki.queue.tasks import Queue, Task, enqueue_tx
from tsuzuki.sources.watches import NewWatch, add_watch_tx

q = parse_queries(
    "tests",
    """
-- name: refuse_poison
create trigger poison before insert on item when new.title = 'Poison' begin select raise(abort, 'poison'); end;
-- name: refuse_poisonous_chapters
create trigger poison before insert on release when new.title = 'Poison' begin select raise(abort, 'poison'); end;
-- name: allow_poison
drop trigger poison;
""",
    """
-- name: refuse_poison
alter table item add constraint poison check (title <> 'Poison');
-- name: refuse_poisonous_chapters
alter table release add constraint poison check (title <> 'Poison');
-- name: allow_poison
alter table item drop constraint poison;
""",
)


async def a_task(db: Database, queue: Queue[Any], payload: Any, key: str = "k") -> Task[Any]:
    """A task of ours, as a worker gets it."""
    await db.with_tx(lambda tx: enqueue_tx(tx, queue, key, payload, now=NOON))
    return await claimed(db, queue)


async def claimed(db: Database, queue: Queue[Any]) -> Task[Any]:
    [task] = await claimed_all(db, queue, most=1)
    return task


async def claimed_all(db: Database, queue: Queue[Any], most: int = 1000, *, now: Millis = NOON) -> list[Task[Any]]:
    """Whatever is due, in its order."""
    rows = await db.with_tx(lambda tx: claim_tx(tx, queue.name, QueueSettings(), worker="w", now=now, most=most))
    return [
        Task(
            id=row.id,
            lease_token=row.lease_token,
            key=row.key,
            payload=queue.decode(row.payload),
            priority=row.priority,
            attempt=row.attempts + 1,
            losses=row.losses,
            created_at=row.created_at,
        )
        for row in rows
    ]


async def work_off(db: Database, ingest: Ingest[Any], *, now: Millis = NOON) -> list[str]:
    """Until nothing is due; what fails is given up, as after its last attempt. The keys of what was."""
    failed = []
    while tasks := await claimed_all(db, ingest.queue, now=now):
        for task in tasks:
            try:
                await ingest.handle(task)
            except Exception:  # noqa: BLE001  whichever engine says whatever
                await _give_up(db, task, now)
                failed.append(task.key)
    return failed


async def _give_up(db: Database, task: Task[Any], now: Millis) -> None:
    await db.with_tx(lambda tx: fail_tx(tx, task, TaskFailure(error="no", code="x"), now=now))


def item_batch(watch: WatchId, feed: FeedId, *keys: str, first: bool = False, **over: Any) -> ItemBatch:
    found = tuple(FoundItem(key=key, title=f"Item {key}", **over) for key in keys)
    return ItemBatch(watch_id=watch, feed_id=feed, items=found, is_first_harvest=first)


async def a_mapping(db: Database, series: SeriesId) -> tuple[SeriesSourceId, WatchId]:
    """The series on a source of its own, and its watch."""
    mapping = await stored_series_source(db, series, await stored_source(db))
    new = NewWatch(series_source_id=mapping, host="example.org", next_check_at=NOON)
    return mapping, await db.with_tx(lambda tx: add_watch_tx(tx, new, NOON))


def chapter_batch(
    watch: WatchId,
    series: SeriesId,
    mapping: SeriesSourceId,
    *numbers: str,
    first: bool = False,
    group: str | None = None,
    poison: str = "",
) -> ChapterBatch:
    """Chapters by number, oldest first; that of the number `poison` has a title that is refused."""
    found = [
        FoundChapter(
            url=f"https://example.org/{n}", title="Poison" if n == poison else "", number=Decimal(n), group=group
        )
        for n in reversed(numbers)
    ]
    return ChapterBatch(
        watch_id=watch,
        series_id=series,
        series_source_id=mapping,
        releases=tuple(in_order(found)),
        is_first_harvest=first,
    )
