"""Stores what polls found and hands it on, in the transaction that ends the tasks.

The batches of many feeds go through one transaction (docs/decisions/0068-many-tasks-in-one-transaction.md). When it
fails, each is tried alone; one that fails alone for what is in it is split into one task per installment, so that a
poisonous one is given up by itself.
"""

import asyncio
from abc import abstractmethod
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Final, Generic, Protocol, Self, TypeVar

import msgspec

from tsuzuki.coord.wakeup import AfterCommit
from tsuzuki.db import Database, Tx, load_queries
from tsuzuki.db.deadlines import with_tx_again
from tsuzuki.db.errors import DatabaseError
from tsuzuki.db.fulltext import IndexWords
from tsuzuki.db.queries import Engine
from tsuzuki.delivery.fanout import NOTHING, Delivered
from tsuzuki.model.errors import SourceError
from tsuzuki.model.ids import FeedId, WatchId
from tsuzuki.model.priorities import CLASS_INTERVAL, HOT, why_class
from tsuzuki.model.times import Millis
from tsuzuki.queue.errors import Undecodable
from tsuzuki.queue.tasks import NewTask, Queue, Task, enqueue_many_tx, finish_tx, settle_letters_tx, skip_tx

q = load_queries("tsuzuki.ingest")

LARGEST_BATCH: Final = 200
"""Installments in one task or transaction: tens of milliseconds, also for a back-catalogue of thousands."""

MOST_TRANSACTIONS: Final = 2
"""At once. Batches of one feed wait for each other, each with a connection: others are for those who read meanwhile."""

OF_ITS_CONTENT = (DatabaseError, SourceError, ValueError, TypeError, LookupError, ArithmeticError, msgspec.MsgspecError)
"""What an installment can do to a batch; whatever else goes wrong is no fault of one of them."""


class InstallmentBatch(msgspec.Struct, frozen=True, kw_only=True):
    """What travels from a poll to ingest: installments of one feed or series that are new or changed."""

    watch_id: WatchId
    is_first_harvest: bool
    came: int = 0
    """How many new ones came at once, where this is a part of a batch that was split: a flood stays one (R8)."""
    harvest: str = ""
    """Names the poll or refresh that found them: its other batches are of the same flood."""

    @property
    @abstractmethod
    def of_id(self) -> int:
        """The feed or series."""
        ...

    @property
    @abstractmethod
    def size(self) -> int:
        """How many installments."""
        ...

    @property
    @abstractmethod
    def keys(self) -> list[str]:
        """Under which keys its installments are new or known."""
        ...

    @abstractmethod
    def split(self) -> list[tuple[str, Self]]:
        """One batch per installment, each with its key."""
        ...


B = TypeVar("B", bound=InstallmentBatch)
T = TypeVar("T")
Id = TypeVar("Id")
WordsByKey = Mapping[tuple[FeedId, str], IndexWords]
"""For the index, by feed and key."""


class WatchRelease(msgspec.Struct, frozen=True):
    """A watch that brought something new, and the task that stores it."""

    watch_id: WatchId
    task_id: int


class Released(msgspec.Struct, frozen=True):
    """A watch that brought something new."""

    id: WatchId
    first_harvest_at: Millis | None
    is_awaited: bool
    """Whether `unstored_tx` would find something of it."""


class _Unstored(msgspec.Struct, frozen=True):
    id: WatchId
    payload: str


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
    """The time of the first harvest."""


class InstallmentKind(Protocol[B]):
    """What differs between items of feeds and chapters of series."""

    @property
    def queue(self) -> Queue[B]: ...

    async def words_of(self, batches: Sequence[B], engine: Engine, /) -> WordsByKey:
        """The words of what can be long, by what they belong to; made before the transaction begins."""

    async def store_all_tx(
        self, tx: Tx, batches: Sequence[tuple[B, int]], words: WordsByKey, /, *, now: Millis
    ) -> Delivered:
        """The rows of batches with their tasks, each of another feed or series, and the entries of what is new."""

    async def count_unknown_tx(self, tx: Tx, batch: B, /) -> int:
        """How many of them are not stored."""


class Ingest(Generic[B]):
    """Works the tasks of one kind."""

    def __init__(
        self,
        db: Database,
        kind: InstallmentKind[B],
        *,
        clock: Callable[[], Millis],
        after_commit: AfterCommit,
    ) -> None:
        self._db = db
        self._kind = kind
        self.queue = kind.queue
        self._clock = clock
        self._after_commit = after_commit
        self._transactions = asyncio.Semaphore(MOST_TRANSACTIONS)

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
            await self._split(
                first, "its worker died while storing it, more than once"
            )  # R42: one of them may be what kills
            return
        try:
            words = await self._kind.words_of([task.payload for task in tasks], self._db.engine)
            async with self._transactions:
                delivered = await with_tx_again(self._db, lambda tx: self._ingest_tx(tx, tasks, words))
        except OF_ITS_CONTENT:
            if not can_split:
                raise
            await self._split(first, "one of its installments cannot be stored")
        else:
            self._after_commit(*delivered.wakeups)

    def groups(self, tasks: Sequence[Task[B]]) -> list[list[Task[B]]]:
        """Which may share a transaction: what was tried before goes alone, and two of one feed or series never meet."""
        tried = [[task] for task in tasks if task.attempt > 1 or task.losses]
        fresh = [task for task in tasks if task.attempt == 1 and not task.losses]
        rounds = in_rounds(fresh, of=lambda task: task.payload.of_id, size=lambda task: task.payload.size)
        return rounds + tried

    async def _ingest_tx(self, tx: Tx, tasks: Sequence[Task[B]], words: WordsByKey) -> Delivered:
        now = self._clock()
        ids = {task.payload.watch_id for task in tasks}
        # A watch is removed when the last one leaves (R58).
        watches = set(await tx.bulk(WatchId, q.existing_watches, [[watch_id] for watch_id in ids]))
        if pointless := [task for task in tasks if task.payload.watch_id not in watches]:
            await skip_tx(tx, *pointless, now=now, why="its watch no longer exists")
        wanted = [task for task in tasks if task.payload.watch_id in watches]
        if not wanted:
            return NOTHING
        delivered = await self._kind.store_all_tx(tx, [(task.payload, task.id) for task in wanted], words, now=now)
        await finish_tx(tx, *wanted, now=now)
        if alone := [task for task in wanted if self._is_alone(task)]:
            await settle_letters_tx(tx, self.queue.name, alone, now=now)
        return delivered

    # -- splitting

    def _is_alone(self, task: Task[B]) -> bool:
        """Whether it holds one installment and has its key: given up again and again, it is one dead letter."""
        return task.payload.size == 1 and self._tasks_of_each(task)[0].key == task.key

    def _tasks_of_each(self, task: Task[B], came: int = 0) -> list[NewTask[B]]:
        batch = task.payload
        came = max(came, batch.came)
        return [
            NewTask(f"ingest-{batch.watch_id}-{key}", msgspec.structs.replace(one, came=came), task.priority)
            for key, one in batch.split()
        ]

    async def _split(self, task: Task[B], why: str) -> None:
        async def split(tx: Tx) -> None:
            now = self._clock()
            came = await self._kind.count_unknown_tx(tx, task.payload)
            await enqueue_many_tx(tx, self.queue, self._tasks_of_each(task, came), now=now)
            await finish_tx(tx, task, now=now, note=f"split: {why}")

        await self._db.with_tx(split)


# -- what is news


async def split_by_news_tx(
    tx: Tx, queue: Queue[B], stored: Sequence[Stored[B, Id]], now: Millis
) -> list[SplitByNews[Id]]:
    """R8: what a first harvest found is back-catalogue, also when a later poll's batch is stored before it.

    Called when the batches' rows are written, under the locks of ingest: nobody stores others of them meanwhile.
    """
    releases = [each.release for each in stored if each.new]
    released = await released_tx(tx, queue.name, releases, now) if releases else {}
    awaited = {watch_id for watch_id, watch in released.items() if watch.is_awaited}
    doubtful = [each.release for each in stored if each.batch.watch_id in awaited and not each.batch.is_first_harvest]
    catalogue = await _first_harvests_tx(tx, queue, doubtful) if doubtful else {}
    return [
        _split_by_news(each, catalogue.get(each.batch.watch_id, set()), released.get(each.batch.watch_id))
        for each in stored
    ]


async def _first_harvests_tx(tx: Tx, queue: Queue[B], releases: Sequence[WatchRelease]) -> dict[WatchId, set[str]]:
    """The keys of what the watches' first harvests found and nobody has stored yet."""
    found: dict[WatchId, set[str]] = defaultdict(set)
    for watch_id, payload in await unstored_tx(tx, queue.name, releases):
        with suppress(Undecodable):
            batch = queue.decode(payload)
            if batch.is_first_harvest:
                found[watch_id].update(batch.keys)
    return found


def _split_by_news(stored: Stored[B, Id], catalogue: Collection[str], released: Released | None) -> SplitByNews[Id]:
    """What is new; `catalogue` are the keys of an unstored first harvest."""
    harvested_at = None if released is None else released.first_harvest_at
    if stored.batch.is_first_harvest:
        return SplitByNews(catalogue=list(stored.new.values()), harvested_at=harvested_at)
    return SplitByNews(
        catalogue=[each for key, each in stored.new.items() if key in catalogue],
        news=[each for key, each in stored.new.items() if key not in catalogue],
        harvested_at=harvested_at,
    )


# -- which may share a transaction; pure


def in_rounds(batches: Iterable[T], *, of: Callable[[T], int], size: Callable[[T], int]) -> list[list[T]]:
    """Groups that may share a transaction: never two of the same feed or series, and not too many installments.

    Those of one feed or series keep their order: the second is in a later group than the first.
    """
    seen: Counter[int] = Counter()
    rounds: dict[int, list[T]] = defaultdict(list)
    for batch in batches:
        rounds[seen[of(batch)]].append(batch)
        seen[of(batch)] += 1
    return [group for number in sorted(rounds) for group in _cut(rounds[number], size)]


def _cut(batches: Iterable[T], size: Callable[[T], int]) -> Iterable[list[T]]:
    group: list[T] = []
    total = 0
    for batch in batches:
        if group and total + size(batch) > LARGEST_BATCH:
            yield group
            group, total = [], 0
        group.append(batch)
        total += size(batch)
    if group:
        yield group


# -- watches


async def released_tx(tx: Tx, queue: str, releases: Iterable[WatchRelease], now: Millis) -> dict[WatchId, Released]:
    """Remember that these watches brought something new."""
    rows = [(each.watch_id, each.task_id) for each in releases]
    hot = {"hot": CLASS_INTERVAL[HOT], "hot_why": why_class(HOT)}
    released = await tx.bulk(Released, q.released, rows, queue=queue, now=now, **hot)
    return {watch.id: watch for watch in released}


async def unstored_tx(tx: Tx, queue: str, releases: Iterable[WatchRelease]) -> list[tuple[WatchId, str]]:
    """The payloads of these watches' other tasks that are queued, running or given up."""
    rows = [(each.watch_id, each.task_id) for each in releases]
    return [(each.id, each.payload) for each in await tx.bulk(_Unstored, q.unstored, rows, queue=queue)]
