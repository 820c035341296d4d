"""Stores what polls found and hands it on, in the transaction that ends the task.

A batch that fails for what is in it is split into one task per installment, so that a poisonous one is given up alone.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from tsuzuki.db import Database, Tx
from tsuzuki.db.errors import DatabaseError
from tsuzuki.delivery.fanout import Delivered, deliver_chapters_tx, deliver_items_tx
from tsuzuki.ingest.store import (
    StoredChapter,
    add_appearances_tx,
    raise_latest_tx,
    released_tx,
    upsert_chapters_tx,
    upsert_items_tx,
    upsert_releases_tx,
    watch_exists_tx,
)
from tsuzuki.ingest.tasks import CHAPTERS, ITEMS, ChapterBatch, ItemBatch, new_chapter, new_item, new_release
from tsuzuki.model.ids import SeriesId
from tsuzuki.model.numbers import release_key
from tsuzuki.model.times import Millis
from tsuzuki.queue.store import enqueue_many_tx, finish_tx, skip_tx
from tsuzuki.queue.tasks import NewTask, Queue, Task

B = TypeVar("B", ItemBatch, ChapterBatch)


class _Ingest(ABC, Generic[B]):
    """What both queues' handlers do. `after_commit` is told what was delivered, to ring its bells."""

    queue: Queue[B]

    def __init__(self, db: Database, *, clock: Callable[[], Millis], after_commit: Callable[[Delivered], None]) -> None:
        self._db = db
        self._clock = clock
        self._after_commit = after_commit

    async def handle(self, task: Task[B]) -> None:
        """Store a batch and put what is new into inboxes; I1, I2 and I4 hold however often it is tried."""
        try:
            delivered = await self._db.with_tx(lambda tx: self._ingest_tx(tx, task))
        except (DatabaseError, ValueError):
            alone = self.split(task.payload)
            if len(alone) == 1:
                raise
            await self._db.with_tx(lambda tx: self._enqueue_alone_tx(tx, task, alone))
        else:
            self._after_commit(delivered)

    async def _ingest_tx(self, tx: Tx, task: Task[B]) -> Delivered:
        now = self._clock()
        if not await watch_exists_tx(tx, task.payload.watch_id):
            await skip_tx(tx, task, now=now, why="its watch is gone")
            return Delivered()
        delivered = await self.store_tx(tx, task.payload, now)
        await finish_tx(tx, task, now=now)
        return delivered

    async def _enqueue_alone_tx(self, tx: Tx, task: Task[B], alone: Sequence[tuple[str, B]]) -> None:
        now = self._clock()
        tasks = [NewTask(f"ingest-{batch.watch_id}-{key}", batch, task.priority) for key, batch in alone]
        await enqueue_many_tx(tx, self.queue, tasks, now=now)
        await finish_tx(tx, task, now=now, note="split: one of its installments cannot be stored")

    @abstractmethod
    async def store_tx(self, tx: Tx, batch: B, now: Millis) -> Delivered:
        """The rows, and the entries of those that are new."""

    @abstractmethod
    def split(self, batch: B) -> list[tuple[str, B]]:
        """One batch per installment, each with its key."""


class ItemIngest(_Ingest[ItemBatch]):
    """Works the queue of feeds' items."""

    queue = ITEMS

    async def store_tx(self, tx: Tx, batch: ItemBatch, now: Millis) -> Delivered:
        """Items and their words in the index."""
        stored = await upsert_items_tx(tx, batch.feed_id, [new_item(found, now) for found in batch.items], now)
        new = [item.id for item in stored if item.is_new]
        if new:
            await released_tx(tx, batch.watch_id, now)
        return await deliver_items_tx(tx, batch.feed_id, new, is_first_harvest=batch.is_first_harvest, now=now)

    def split(self, batch: ItemBatch) -> list[tuple[str, ItemBatch]]:
        """One item each."""
        return [
            (
                found.key,
                ItemBatch(
                    watch_id=batch.watch_id,
                    feed_id=batch.feed_id,
                    items=(found,),
                    is_first_harvest=batch.is_first_harvest,
                ),
            )
            for found in batch.items
        ]


class ChapterIngest(_Ingest[ChapterBatch]):
    """Works the queue of series' chapters."""

    queue = CHAPTERS

    async def store_tx(self, tx: Tx, batch: ChapterBatch, now: Millis) -> Delivered:
        """Chapters, their releases on this source, and the series' latest."""
        chapters = [new_chapter(release.found) for release in batch.releases]
        stored = await upsert_chapters_tx(tx, batch.series_id, chapters, now)
        releases = [new_release(release) for release in batch.releases]
        await upsert_releases_tx(tx, batch.series_id, batch.series_source_id, releases, now=now)
        keys = {chapter.key for chapter in chapters}
        await add_appearances_tx(tx, batch.series_id, batch.series_source_id, keys, now=now)
        new = [chapter for chapter in stored if chapter.is_new]
        if new:
            await released_tx(tx, batch.watch_id, now)
            await _raise_latest_tx(tx, batch.series_id, new, now)
        ids = [chapter.id for chapter in new]
        return await deliver_chapters_tx(tx, batch.series_id, ids, is_first_harvest=batch.is_first_harvest, now=now)

    def split(self, batch: ChapterBatch) -> list[tuple[str, ChapterBatch]]:
        """One release each."""
        return [
            (
                release_key(release.found),
                ChapterBatch(
                    watch_id=batch.watch_id,
                    series_id=batch.series_id,
                    series_source_id=batch.series_source_id,
                    releases=(release,),
                    is_first_harvest=batch.is_first_harvest,
                ),
            )
            for release in batch.releases
        ]


async def _raise_latest_tx(tx: Tx, series_id: SeriesId, new: Sequence[StoredChapter], now: Millis) -> None:
    """R6: the highest new number, if it is higher than what the series has."""
    numbers = [(each.number_sort, each.number) for each in new if each.number_sort is not None and each.number]
    if numbers:
        number_sort, number = max(numbers)
        await raise_latest_tx(tx, series_id, number=number, number_sort=number_sort, now=now)
