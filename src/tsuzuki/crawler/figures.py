"""Statistics: of each minute, of each source by hour, of queues and watches, and of what is stored."""

import asyncio
import math
from collections.abc import Callable, Mapping, Sequence

import msgspec

from tsuzuki.accounts.types import Slice
from tsuzuki.coord.wakeup import POLL_WAKEUP
from tsuzuki.crawler.store import count_by_status_tx, job_stats_tx, last_failure_tx, last_job_tx, watching_tx
from tsuzuki.crawler.types import Job, JobStats, LastFailure, SourceWatches, Status
from tsuzuki.db import Database, Tx, load_queries
from tsuzuki.model.ids import SourceId
from tsuzuki.model.times import DAY, HOUR, MINUTE, Millis
from tsuzuki.polling.policy import BREAKER_AT
from tsuzuki.queue.service import Tasks
from tsuzuki.queue.tasks import QueueStats
from tsuzuki.sources.sites import paused_since_tx, source_tx
from tsuzuki.sources.types import Source


class Figure(msgspec.Struct, frozen=True):
    """The server's figures in a minute, or in several: then levels are averages and events are summed."""

    at: Millis
    depth: int
    oldest_ms: int
    finished: int
    failed: int
    dead_letters: int
    polls: int
    failing: int


class Minute(msgspec.Struct, frozen=True):
    """The figures of the last minute, as the tables have them."""

    failed: int
    polls: int
    failing: int


class WatchFigures(msgspec.Struct, frozen=True):
    """The state of the watches of one class; suspended ones do not count."""

    priority: int
    watched: int
    due: int
    running: int
    oldest_due_at: Millis | None
    failing: int
    polled_last_minute: int
    failed_last_hour: int


class FailingFeed(msgspec.Struct, frozen=True):
    """A feed whose last polls failed."""

    title: str
    host: str
    failures: int
    error: str | None
    last_success_at: Millis | None
    next_check_at: Millis


class SourceHour(msgspec.Struct, frozen=True):
    """Calls to a source in one hour, counted since 1970."""

    source_id: SourceId
    hour: int
    jobs: int
    failed: int
    spent_ms: int


class Amount(msgspec.Struct, frozen=True):
    """How much there is of something: bytes of `database` and `images`, rows of the rest."""

    name: str
    amount: int


q = load_queries("tsuzuki.crawler.figures")


KEPT = Millis(7 * DAY)
SELDOM = 20
"""Times as long as it took to look at all watches they are not looked at again."""
LONGEST_KEPT = 60.0
"""Seconds."""


class Figures:
    """The server's figures, now and over time."""

    def __init__(self, db: Database, tasks: Tasks, clock: Callable[[], Millis]) -> None:
        self._db = db
        self._tasks = tasks
        self._clock = clock
        self._watches: Sequence[WatchFigures] = ()
        self._watches_good_until = -math.inf

    async def record_minute(self) -> int:
        """Store the last minute and delete what is older than a week; how many rows that touched."""
        now = self._clock()
        queues = await self._tasks.stats()
        minute = await self._db.read(lambda tx: tx.one(Minute, q.minute_figures, since=now - MINUTE))
        figure = Figure(
            at=Millis(now // MINUTE * MINUTE),
            depth=sum(queue.depth for queue in queues),
            oldest_ms=max((queue.oldest_age(now) for queue in queues), default=0),
            finished=sum(queue.finished_last_minute for queue in queues),
            failed=minute.failed,
            dead_letters=sum(queue.dead_letters for queue in queues),
            polls=minute.polls,
            failing=minute.failing,
        )

        async def write(tx: Tx) -> int:
            added = await tx.run(q.add_figure, **msgspec.structs.asdict(figure))
            return added + await tx.run(q.forget_figures, before=now - KEPT)

        return await self._db.with_tx(write)

    async def watches(self) -> Sequence[WatchFigures]:
        """The state of polling by class. Cached for a moment: it reads every watch."""
        steady = asyncio.get_running_loop().time
        if (began := steady()) >= self._watches_good_until:
            now = self._clock()
            times = {"now": now, "minute_ago": now - MINUTE, "hour_ago": now - HOUR}
            self._watches = await self._db.read(lambda tx: tx.many(WatchFigures, q.count_watch_figures, **times))
            # It reads every watch: on a large database it would otherwise take a core of its own.
            self._watches_good_until = steady() + min(SELDOM * (steady() - began), LONGEST_KEPT)
        return self._watches

    async def queues(self) -> list[QueueStats]:
        """The state of every queue: of polling, whose queue are the watches, and of tasks by name."""
        return [poll_stats(await self.watches()), *await self._tasks.stats()]

    async def figures(self, length: Millis, width: Millis) -> list[Figure]:
        """So long back, in steps of this width; the oldest first, none where nothing was taken."""
        since = self._clock() - length
        return await self._db.read(lambda tx: tx.many(Figure, q.list_figures, since=since, width=width))

    async def source_hours(self, length: Millis) -> Mapping[int, list[SourceHour]]:
        """By source: its hours so long back in which something came to its end."""
        since = (self._clock() - length) // HOUR * HOUR
        found: dict[int, list[SourceHour]] = {}
        for source_hour in await self._db.read(lambda tx: tx.many(SourceHour, q.list_source_hours, since=since)):
            found.setdefault(source_hour.source_id, []).append(source_hour)
        return found

    async def failing_feeds(self, part: Slice) -> tuple[list[FailingFeed], int]:
        """Those that failed most often in a row first, and how many there are in all."""

        async def read(tx: Tx) -> tuple[list[FailingFeed], int]:
            rows = await tx.many(FailingFeed, q.list_failing_feeds, most=part.most, skip=part.skip)
            return rows, await tx.one(int, q.count_failing_feeds)

        return await self._db.read(read)

    async def amounts(self) -> dict[str, int]:
        """Bytes of `database` and `images`, and rows of what there is most of."""
        stored = await self._db.read(lambda tx: tx.many(Amount, q.list_amounts))
        return {amount.name: amount.amount for amount in stored}


def poll_stats(classes: Sequence[WatchFigures]) -> QueueStats:
    """The watches of all classes as a queue."""
    due, running = sum(each.due for each in classes), sum(each.running for each in classes)
    return QueueStats(
        queue=POLL_WAKEUP,
        due=due,
        scheduled=sum(each.watched for each in classes) - due - running,
        running=running,
        oldest_due_at=min((each.oldest_due_at for each in classes if each.oldest_due_at is not None), default=None),
        finished_last_minute=sum(each.polled_last_minute for each in classes),
        failed_last_hour=sum(each.failed_last_hour for each in classes),
        dead_letters=0,
    )


class Health(msgspec.Struct, frozen=True, kw_only=True):
    """A source, its jobs, and what is known of calling it."""

    source: Source
    is_paused: bool
    jobs: dict[Status, int]
    last_job: Job | None
    day: JobStats
    week: JobStats
    watching: SourceWatches
    last_failure: LastFailure | None


class HealthService:
    """Says how sources fare."""

    def __init__(self, db: Database, clock: Callable[[], Millis]) -> None:
        self._db = db
        self._clock = clock

    async def get(self, source_id: int) -> Health:
        """How one source fares, or NotFound."""
        now = self._clock()

        async def gather(tx: Tx) -> Health:
            source = await source_tx(tx, source_id)
            return Health(
                source=source,
                is_paused=await paused_since_tx(tx) is not None,
                jobs=await count_by_status_tx(tx, source.id),
                last_job=await last_job_tx(tx, source.id, now),
                day=await job_stats_tx(tx, source.id, Millis(now - DAY)),
                week=await job_stats_tx(tx, source.id, Millis(now - 7 * DAY)),
                watching=await watching_tx(tx, source.id, breaker_at=BREAKER_AT),
                last_failure=await last_failure_tx(tx, source.id),
            )

        return await self._db.read(gather)
