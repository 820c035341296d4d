"""Stores what polls found and hands it on, in the transaction that ends the task.

A batch that fails for what is in it is split into one task per installment, so that a poisonous one is given up alone.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Generic, TypeVar

import msgspec

from tsuzuki.db import Database, Tx
from tsuzuki.db.errors import DatabaseError
from tsuzuki.delivery.fanout import Delivered, deliver_chapters_tx, deliver_items_tx
from tsuzuki.ingest.store import (
    Place,
    StoredChapter,
    add_appearances_tx,
    count_unknown_chapters_tx,
    count_unknown_items_tx,
    raise_latest_tx,
    released_tx,
    unstored_tx,
    upsert_chapters_tx,
    upsert_items_tx,
    upsert_releases_tx,
    watch_exists_tx,
)
from tsuzuki.ingest.tasks import CHAPTERS, ITEMS, ChapterBatch, ItemBatch, new_chapter, new_item, new_release
from tsuzuki.model.ids import SeriesId
from tsuzuki.model.numbers import chapter_key, release_key
from tsuzuki.model.times import Millis
from tsuzuki.queue.errors import Undecodable
from tsuzuki.queue.store import enqueue_many_tx, finish_tx, settle_letter_tx, skip_tx
from tsuzuki.queue.tasks import NewTask, Queue, Task
from tsuzuki.sources.store import series_of_tx, share_shape_tx

B = TypeVar("B", ItemBatch, ChapterBatch)
Id = TypeVar("Id")

OF_ITS_CONTENT = (DatabaseError, ValueError, TypeError, LookupError, ArithmeticError, msgspec.MsgspecError)
"""What an installment can do to a batch; whatever else goes wrong is no fault of one of them."""


class Parted(msgspec.Struct, Generic[Id], frozen=True):
    """What is new, as back-catalogue and as news (R8)."""

    catalogue: list[Id] = []
    news: list[Id] = []


class _Ingest(ABC, Generic[B]):
    """What both queues' handlers do. `after_commit` is told what was delivered, to ring its bells."""

    queue: Queue[B]

    def __init__(self, db: Database, *, clock: Callable[[], Millis], after_commit: Callable[[Delivered], None]) -> None:
        self._db = db
        self._clock = clock
        self._after_commit = after_commit

    async def handle(self, task: Task[B]) -> None:
        """Store a batch and put what is new into inboxes; I1, I2 and I4 hold however often it is tried."""
        alone = self._is_alone(task)
        if not alone and task.losses >= self.queue.settings.suspect_losses:
            await self._split(task, "its worker died with it, more than once")  # R42: one of them may be what kills
            return
        try:
            delivered = await self._db.with_tx(lambda tx: self._ingest_tx(tx, task))
        except OF_ITS_CONTENT:
            if alone:
                raise
            await self._split(task, "one of its installments cannot be stored")
        else:
            self._after_commit(delivered)

    async def _ingest_tx(self, tx: Tx, task: Task[B]) -> Delivered:
        now = self._clock()
        if not await watch_exists_tx(tx, task.payload.watch_id):
            await skip_tx(tx, task, now=now, why="its watch is gone")
            return Delivered()
        delivered = await self.store_tx(tx, task.payload, now, task_id=task.id)
        await finish_tx(tx, task, now=now)
        if self._is_alone(task):
            await settle_letter_tx(tx, self.queue.name, task, now=now)
        return delivered

    # -- splitting

    def _is_alone(self, task: Task[B]) -> bool:
        """Whether it holds one installment and has its key: given up again and again, it is one dead letter."""
        return self.size(task.payload) == 1 and self._tasks_of_each(task)[0].key == task.key

    def _tasks_of_each(self, task: Task[B], came: int = 0) -> list[NewTask[B]]:
        batch = task.payload
        came = max(came, batch.came)
        return [
            NewTask(f"ingest-{batch.watch_id}-{key}", msgspec.structs.replace(one, came=came), task.priority)
            for key, one in self.split(batch)
        ]

    async def _split(self, task: Task[B], why: str) -> None:
        async def split(tx: Tx) -> None:
            now = self._clock()
            came = await self.count_unknown_tx(tx, task.payload)
            await enqueue_many_tx(tx, self.queue, self._tasks_of_each(task, came), now=now)
            await finish_tx(tx, task, now=now, note=f"split: {why}")

        await self._db.with_tx(split)

    # -- what is news

    async def _part_tx(self, tx: Tx, batch: B, new: Mapping[str, Id], *, task_id: int, now: Millis) -> Parted[Id]:
        """R8: what a first harvest found is back-catalogue, also when a later poll's batch is stored before it.

        Called when the batch's rows are written, under the lock of ingest: nobody stores another meanwhile.
        """
        if not new:
            return Parted()
        place = Place(self.queue.name, batch.watch_id, task_id)
        has_others = await released_tx(tx, place, now)
        if batch.is_first_harvest:
            return Parted(catalogue=list(new.values()))
        catalogue = await self._first_harvest_tx(tx, place) if has_others else set()
        return Parted(
            catalogue=[each for key, each in new.items() if key in catalogue],
            news=[each for key, each in new.items() if key not in catalogue],
        )

    async def _first_harvest_tx(self, tx: Tx, place: Place) -> set[str]:
        """The keys of what the watch's first harvest found and nobody has stored yet."""
        batches = [self._decoded(payload) for payload in await unstored_tx(tx, place)]
        firsts = [batch for batch in batches if batch is not None and batch.is_first_harvest]
        return {key for batch in firsts for key in self.keys(batch)}

    def _decoded(self, payload: str) -> B | None:
        try:
            return self.queue.decode(payload)
        except Undecodable:
            return None

    # -- what the two differ in

    @abstractmethod
    async def store_tx(self, tx: Tx, batch: B, now: Millis, *, task_id: int = 0) -> Delivered:
        """The rows, and the entries of those that are new."""

    @abstractmethod
    def split(self, batch: B) -> list[tuple[str, B]]:
        """One batch per installment, each with its key."""

    @abstractmethod
    def size(self, batch: B) -> int:
        """How many installments."""

    @abstractmethod
    def keys(self, batch: B) -> list[str]:
        """Under which keys its installments are new or known."""

    @abstractmethod
    async def count_unknown_tx(self, tx: Tx, batch: B) -> int:
        """How many of them are not stored."""


class ItemIngest(_Ingest[ItemBatch]):
    """Works the queue of feeds' items."""

    queue = ITEMS

    async def store_tx(self, tx: Tx, batch: ItemBatch, now: Millis, *, task_id: int = 0) -> Delivered:
        """Items and their words in the index."""
        stored = await upsert_items_tx(tx, batch.feed_id, [new_item(found, now) for found in batch.items], now)
        new = {item.key: item.id for item in stored if item.is_new}
        parted = await self._part_tx(tx, batch, new, task_id=task_id, now=now)
        quiet = await deliver_items_tx(tx, batch.feed_id, parted.catalogue, is_first_harvest=True, now=now)
        loud = await deliver_items_tx(tx, batch.feed_id, parted.news, is_first_harvest=False, now=now, came=batch.came)
        return quiet + loud

    def split(self, batch: ItemBatch) -> list[tuple[str, ItemBatch]]:
        """One item each."""
        return [(found.key, msgspec.structs.replace(batch, items=(found,))) for found in batch.items]

    def size(self, batch: ItemBatch) -> int:
        """Items."""
        return len(batch.items)

    def keys(self, batch: ItemBatch) -> list[str]:
        """The items' own."""
        return [found.key for found in batch.items]

    async def count_unknown_tx(self, tx: Tx, batch: ItemBatch) -> int:
        """Items that are not stored."""
        return await count_unknown_items_tx(tx, batch.feed_id, self.keys(batch))


class ChapterIngest(_Ingest[ChapterBatch]):
    """Works the queue of series' chapters."""

    queue = CHAPTERS

    async def store_tx(self, tx: Tx, batch: ChapterBatch, now: Millis, *, task_id: int = 0) -> Delivered:
        """Chapters, their releases on this source, and the series' latest.

        The series is the one that the source's series is now: it may have been merged since the batch was found.
        """
        await share_shape_tx(tx)
        series_id = await series_of_tx(tx, batch.series_source_id) or batch.series_id
        chapters = [new_chapter(release.found) for release in batch.releases]
        stored = await upsert_chapters_tx(tx, series_id, chapters, now)
        releases = [new_release(release) for release in batch.releases]
        await upsert_releases_tx(tx, series_id, batch.series_source_id, releases, now=now)
        keys = {chapter.key for chapter in chapters}
        await add_appearances_tx(tx, series_id, batch.series_source_id, keys, now=now)
        new = [chapter for chapter in stored if chapter.is_new]
        await _raise_latest_tx(tx, series_id, new, now)
        ids = {chapter.key: chapter.id for chapter in new}
        parted = await self._part_tx(tx, batch, ids, task_id=task_id, now=now)
        quiet = await deliver_chapters_tx(tx, series_id, parted.catalogue, is_first_harvest=True, now=now)
        loud = await deliver_chapters_tx(tx, series_id, parted.news, is_first_harvest=False, now=now, came=batch.came)
        return quiet + loud

    def split(self, batch: ChapterBatch) -> list[tuple[str, ChapterBatch]]:
        """One release each."""
        return [
            (release_key(release.found), msgspec.structs.replace(batch, releases=(release,)))
            for release in batch.releases
        ]

    def size(self, batch: ChapterBatch) -> int:
        """Releases."""
        return len(batch.releases)

    def keys(self, batch: ChapterBatch) -> list[str]:
        """Those of the logical chapters: a second release of one is no news (R7)."""
        return list({chapter_key(release.found): None for release in batch.releases})

    async def count_unknown_tx(self, tx: Tx, batch: ChapterBatch) -> int:
        """Chapters that are not stored."""
        return await count_unknown_chapters_tx(tx, batch.series_id, self.keys(batch))


async def _raise_latest_tx(tx: Tx, series_id: SeriesId, new: Sequence[StoredChapter], now: Millis) -> None:
    """R6: the highest new number, if it is higher than what the series has."""
    numbers = [(each.number_sort, each.number) for each in new if each.number_sort is not None and each.number]
    if numbers:
        number_sort, number = max(numbers)
        await raise_latest_tx(tx, series_id, number=number, number_sort=number_sort, now=now)
