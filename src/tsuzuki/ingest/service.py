"""Stores what polls found and hands it on, in the transaction that ends the tasks.

The batches of many feeds go through one transaction. When it fails, each is tried alone; one that fails alone for what
is in it is split into one task per installment, so that a poisonous one is given up by itself.
"""

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Generic, TypeVar

import msgspec

from tsuzuki.db import Database, Tx
from tsuzuki.db.again import with_tx_again
from tsuzuki.db.errors import DatabaseError
from tsuzuki.db.fulltext import Words
from tsuzuki.delivery.fanout import NOTHING, Delivered, NewBatch, deliver_chapters_tx, deliver_feeds_tx
from tsuzuki.delivery.store import lock_feeds_shared_tx
from tsuzuki.ingest.detached.store import adopt_items_tx
from tsuzuki.ingest.listings.store import rename_releases_tx
from tsuzuki.ingest.policy import in_rounds
from tsuzuki.ingest.store import (
    Released,
    StoredChapter,
    WatchRelease,
    add_appearances_tx,
    count_unknown_chapters_tx,
    count_unknown_items_tx,
    existing_watches_tx,
    lock_items_tx,
    raise_latest_tx,
    released_tx,
    unstored_tx,
    upsert_chapters_tx,
    upsert_items_tx,
    upsert_releases_tx,
)
from tsuzuki.ingest.tasks import CHAPTERS, ITEMS, ChapterBatch, ItemBatch, new_chapter, new_item, new_release
from tsuzuki.ingest.words import split_words
from tsuzuki.model.errors import SourceError
from tsuzuki.model.fetching import Parsers
from tsuzuki.model.ids import FeedId, ItemId, SeriesId, WatchId
from tsuzuki.model.numbers import chapter_key, release_key
from tsuzuki.model.times import Millis
from tsuzuki.queue.errors import Undecodable
from tsuzuki.queue.store import enqueue_many_tx, finish_tx, settle_letters_tx, skip_tx
from tsuzuki.queue.tasks import NewTask, Queue, Task
from tsuzuki.sources.store import lock_series_merges_shared_tx, series_of_tx

B = TypeVar("B", ItemBatch, ChapterBatch)
Id = TypeVar("Id")
WordsByKey = Mapping[tuple[FeedId, str], Words]
"""For the index, by feed and key."""

OF_ITS_CONTENT = (DatabaseError, SourceError, ValueError, TypeError, LookupError, ArithmeticError, msgspec.MsgspecError)
"""What an installment can do to a batch; whatever else goes wrong is no fault of one of them."""


class Stored(msgspec.Struct, Generic[B, Id], frozen=True):
    """A task's batch when its rows are written: what is new of it, by key."""

    batch: B
    task_id: int
    new: Mapping[str, Id]

    @property
    def release(self) -> WatchRelease:
        """As a watch that brought something new."""
        return WatchRelease(self.batch.watch_id, self.task_id)


class SplitByNews(msgspec.Struct, Generic[Id], frozen=True):
    """What is new, as back-catalogue and as news (R8)."""

    catalogue: list[Id] = []
    news: list[Id] = []
    harvested_at: Millis | None = None
    """Of the first harvest."""


class _Ingest(ABC, Generic[B]):
    """What both queues' handlers do. `after_commit` is told what was delivered, to wake whoever waits for it."""

    queue: Queue[B]

    def __init__(self, db: Database, *, clock: Callable[[], Millis], after_commit: Callable[[Delivered], None]) -> None:
        self._db = db
        self._clock = clock
        self._after_commit = after_commit

    async def handle(self, task: Task[B]) -> None:
        """`handle_all` for one."""
        await self.handle_all([task])

    async def handle_all(self, tasks: Sequence[Task[B]]) -> None:
        """Store batches and put what is new into inboxes; I1, I2 and I4 hold however often it is tried.

        All of them or none; one that is handed in alone and cannot be stored is split.
        """
        first, *others = tasks
        can_split = not others and not self._is_alone(first)
        if can_split and first.losses >= self.queue.settings.suspect_losses:
            await self._split(first, "its worker died with it, more than once")  # R42: one of them may be what kills
            return
        try:
            words = await self.words_of([task.payload for task in tasks])
            delivered = await with_tx_again(self._db, lambda tx: self._ingest_tx(tx, tasks, words))
        except OF_ITS_CONTENT:
            if not can_split:
                raise
            await self._split(first, "one of its installments cannot be stored")
        else:
            self._after_commit(delivered)

    def groups(self, tasks: Sequence[Task[B]]) -> list[list[Task[B]]]:
        """Which may share a transaction: what was tried before goes alone, and two of one feed or series never meet."""
        tried = [[task] for task in tasks if task.attempt > 1 or task.losses]
        fresh = [task for task in tasks if task.attempt == 1 and not task.losses]
        rounds = in_rounds(fresh, of=lambda task: self.of_id(task.payload), size=lambda task: self.size(task.payload))
        return rounds + tried

    async def _ingest_tx(self, tx: Tx, tasks: Sequence[Task[B]], words: WordsByKey) -> Delivered:
        now = self._clock()
        watches = await existing_watches_tx(tx, {task.payload.watch_id for task in tasks})
        if pointless := [task for task in tasks if task.payload.watch_id not in watches]:
            await skip_tx(tx, *pointless, now=now, why="its watch is gone")
        wanted = [task for task in tasks if task.payload.watch_id in watches]
        if not wanted:
            return NOTHING
        delivered = await self.store_all_tx(tx, [(task.payload, task.id) for task in wanted], words, now=now)
        await finish_tx(tx, *wanted, now=now)
        if alone := [task for task in wanted if self._is_alone(task)]:
            await settle_letters_tx(tx, self.queue.name, alone, now=now)
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

    async def _part_tx(self, tx: Tx, stored: Sequence[Stored[B, Id]], now: Millis) -> list[SplitByNews[Id]]:
        """R8: what a first harvest found is back-catalogue, also when a later poll's batch is stored before it.

        Called when the batches' rows are written, under the locks of ingest: nobody stores others of them meanwhile.
        """
        releases = [each.release for each in stored if each.new]
        released = await released_tx(tx, self.queue.name, releases, now) if releases else {}
        awaited = {watch_id for watch_id, watch in released.items() if watch.is_awaited}
        doubtful = [
            each.release for each in stored if each.batch.watch_id in awaited and not each.batch.is_first_harvest
        ]
        catalogue = await self._first_harvests_tx(tx, doubtful) if doubtful else {}
        return [
            _parted(each, catalogue.get(each.batch.watch_id, set()), released.get(each.batch.watch_id))
            for each in stored
        ]

    async def _first_harvests_tx(self, tx: Tx, releases: Sequence[WatchRelease]) -> dict[WatchId, set[str]]:
        """The keys of what the watches' first harvests found and nobody has stored yet."""
        found: dict[WatchId, set[str]] = defaultdict(set)
        for watch_id, payload in await unstored_tx(tx, self.queue.name, releases):
            batch = self._decoded(payload)
            if batch is not None and batch.is_first_harvest:
                found[watch_id].update(self.keys(batch))
        return found

    def _decoded(self, payload: str) -> B | None:
        try:
            return self.queue.decode(payload)
        except Undecodable:
            return None

    # -- what the two differ in

    async def words_of(self, _batches: Sequence[B]) -> WordsByKey:
        """The words of what can be long, by what they belong to; made before the transaction begins."""
        return {}

    @abstractmethod
    async def store_all_tx(
        self, tx: Tx, batches: Sequence[tuple[B, int]], words: WordsByKey, *, now: Millis
    ) -> Delivered:
        """The rows of batches with their tasks, each of another feed or series, and the entries of what is new."""

    @abstractmethod
    def of_id(self, batch: B) -> int:
        """The feed or series."""

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

    def __init__(
        self, db: Database, parsers: Parsers, *, clock: Callable[[], Millis], after_commit: Callable[[Delivered], None]
    ) -> None:
        super().__init__(db, clock=clock, after_commit=after_commit)
        self._parsers = parsers

    async def words_of(self, batches: Sequence[ItemBatch]) -> WordsByKey:
        """Of titles and articles."""
        found = {(batch.feed_id, item.key): (item.title, item.content) for batch in batches for item in batch.items}
        words = await self._parsers.run(split_words, (self._db.engine, list(found.values())))
        return dict(zip(found, words, strict=True))

    async def store_all_tx(
        self, tx: Tx, batches: Sequence[tuple[ItemBatch, int]], words: WordsByKey, *, now: Millis
    ) -> Delivered:
        """Items and their words in the index: a few statements, however many feeds."""
        found = {batch.feed_id: [new_item(each, now) for each in batch.items] for batch, _ in batches}
        # Before any row of theirs: whoever comes, goes or drops a feed holds it, then its watch and its items.
        await lock_items_tx(tx, *found)
        await lock_feeds_shared_tx(tx, sorted(found))
        new: dict[FeedId, dict[str, ItemId]] = defaultdict(dict)
        written = await upsert_items_tx(tx, found, words, now)
        for item in written:
            if item.is_new:
                new[item.feed_id][item.key] = item.id
        await adopt_items_tx(tx, written)
        stored = [Stored(batch, task_id, new[batch.feed_id]) for batch, task_id in batches]
        parted = list(zip(stored, await self._part_tx(tx, stored, now), strict=True))
        quiet = [
            NewBatch("item", one.batch.feed_id, tuple(parts.catalogue), is_quiet=True, arrived_at=parts.harvested_at)
            for one, parts in parted
        ]
        loud = [
            NewBatch(
                "item",
                one.batch.feed_id,
                tuple(parts.news),
                is_quiet=False,
                came=one.batch.came,
                harvest=one.batch.harvest,
            )
            for one, parts in parted
        ]
        return await deliver_feeds_tx(tx, quiet + loud, now)

    def of_id(self, batch: ItemBatch) -> int:
        """The feed."""
        return batch.feed_id

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

    async def store_all_tx(
        self, tx: Tx, batches: Sequence[tuple[ChapterBatch, int]], _words: WordsByKey, *, now: Millis
    ) -> Delivered:
        """One after the other, by their series: whoever locks several does it in this order."""
        delivered = NOTHING
        for batch, task_id in sorted(batches, key=lambda each: each[0].series_id):
            delivered += await self.store_tx(tx, batch, now, task_id=task_id)
        return delivered

    def of_id(self, batch: ChapterBatch) -> int:
        """The series."""
        return batch.series_id

    async def store_tx(self, tx: Tx, batch: ChapterBatch, now: Millis, *, task_id: int = 0) -> Delivered:
        """Chapters, their releases on this source, and the series' latest.

        The series is the one that the source's series is now: it may have been merged since the batch was found.
        """
        await lock_series_merges_shared_tx(tx)
        series_id = await series_of_tx(tx, batch.series_source_id) or batch.series_id
        chapters = [new_chapter(release.found) for release in batch.releases]
        stored = await upsert_chapters_tx(tx, series_id, chapters, now)
        if renamed := {release_key(each.found): each.previous_key for each in batch.releases if each.previous_key}:
            await rename_releases_tx(tx, batch.series_source_id, renamed)
        releases = [new_release(release) for release in batch.releases]
        await upsert_releases_tx(tx, series_id, batch.series_source_id, releases, now=now)
        keys = {chapter.key for chapter in chapters}
        await add_appearances_tx(tx, series_id, batch.series_source_id, keys, now=now)
        new = [chapter for chapter in stored if chapter.is_new]
        await _raise_latest_tx(tx, series_id, new, now)
        ids = {chapter.key: chapter.id for chapter in new}
        [parted] = await self._part_tx(tx, [Stored(batch, task_id, ids)], now)
        quiet = await deliver_chapters_tx(tx, series_id, parted.catalogue, is_first_harvest=True, now=now)
        loud = await deliver_chapters_tx(
            tx, series_id, parted.news, is_first_harvest=False, now=now, came=batch.came, harvest=batch.harvest
        )
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
        """Chapters that are not stored, of the series that the source's series is now."""
        series_id = await series_of_tx(tx, batch.series_source_id) or batch.series_id
        return await count_unknown_chapters_tx(tx, series_id, self.keys(batch))


def _parted(stored: Stored[B, Id], catalogue: Collection[str], released: Released | None) -> SplitByNews[Id]:
    """What is new; `catalogue` are the keys of an unstored first harvest."""
    harvested_at = None if released is None else released.first_harvest_at
    if stored.batch.is_first_harvest:
        return SplitByNews(catalogue=list(stored.new.values()), harvested_at=harvested_at)
    return SplitByNews(
        catalogue=[each for key, each in stored.new.items() if key in catalogue],
        news=[each for key, each in stored.new.items() if key not in catalogue],
        harvested_at=harvested_at,
    )


async def _raise_latest_tx(tx: Tx, series_id: SeriesId, new: Sequence[StoredChapter], now: Millis) -> None:
    """R6: the highest new number, if it is higher than what the series has."""
    numbers = [(each.number_sort, each.number) for each in new if each.number_sort is not None and each.number]
    if numbers:
        number_sort, number = max(numbers)
        await raise_latest_tx(tx, series_id, number=number, number_sort=number_sort, now=now)
