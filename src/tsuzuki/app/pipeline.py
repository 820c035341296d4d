"""The pipeline of one process: client, parsers, poller, ingest, and their loops."""

import asyncio
import os
import random
import socket
from collections.abc import AsyncIterator, Callable, Collection, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import structlog

from tsuzuki.app.fetching import Fetching, folder_of, open_fetching, pace_of
from tsuzuki.catalogue.calls import Breakers
from tsuzuki.coord.cache import Cache, MemoryCache, RedisCache
from tsuzuki.coord.wakeup import POLL_WAKEUP, MemoryWakeup, SharedWakeup, Wakeup
from tsuzuki.crawler.discovery import Discovery
from tsuzuki.crawler.journal import SourceCalls
from tsuzuki.crawler.outcome import fail_abandoned
from tsuzuki.crawler.poll_jobs import PollJobs
from tsuzuki.crawler.runner import CRAWLS, Crawler
from tsuzuki.crawler.service import CrawlerWrites, forget_uneventful
from tsuzuki.crawler.targeted import Targeted
from tsuzuki.db import Database
from tsuzuki.db.crawl_log import archive_months, maintain_partitions
from tsuzuki.db.statistics import refresh_statistics
from tsuzuki.delivery import outages
from tsuzuki.delivery.portions import Deliverer
from tsuzuki.delivery.tasks import DELIVERIES
from tsuzuki.files.address import read_address
from tsuzuki.files.folder import DRAFTS, FolderStore
from tsuzuki.files.stores import ARCHIVE, IMAGES, Area, FileStore
from tsuzuki.images.downloads import DOWNLOADS
from tsuzuki.inbox.feeds_out.tasks import CHECKS, PUSHES
from tsuzuki.ingest.chapters import CHAPTERS, SeriesChapters
from tsuzuki.ingest.housekeeping import forget_tombstones, forget_unheld
from tsuzuki.ingest.items import ITEMS, FeedItems
from tsuzuki.ingest.service import Ingest
from tsuzuki.model.ids import PublicId, uuid7
from tsuzuki.model.times import DAY, HOUR, MINUTE, Millis
from tsuzuki.notifications.announcer import Announcer
from tsuzuki.notifications.sender import Sender
from tsuzuki.notifications.tasks import NOTICES, SENDS
from tsuzuki.polling.addresses import RecentFetches, Trier
from tsuzuki.polling.claims import PollOptions
from tsuzuki.polling.outcomes import PollContext
from tsuzuki.polling.service import Poller
from tsuzuki.queue.attempts import BatchHandler, Handler
from tsuzuki.queue.leases import Timed, WorkerContext
from tsuzuki.queue.service import Tasks
from tsuzuki.queue.tasks import Queue
from tsuzuki.queue.worker import Worker
from tsuzuki.queue.workers import WorkerProcess, Workers
from tsuzuki.settings import Settings
from tsuzuki.transfer.imports.runner import IMPORTS_QUEUE
from tsuzuki.worker.loops import Heartbeat, Loop, WorkerLoops
from tsuzuki.worker.maintenance import MAINTENANCE, Chore, Housekeeper, Planner
from tsuzuki.worker.poll_loop import PollLoop

if TYPE_CHECKING:
    from tsuzuki.coord.redis_client import Redis

_log = structlog.stdlib.get_logger("tsuzuki.start")

CRAWLER_CACHE = "crawler"
Clock = Callable[[], Millis]
QUEUES = (
    POLL_WAKEUP,
    ITEMS.name,
    CHAPTERS.name,
    DELIVERIES.name,
    NOTICES.name,
    SENDS.name,
    CRAWLS.name,
    DOWNLOADS.name,
    CHECKS.name,
    PUSHES.name,
    IMPORTS_QUEUE.name,
    MAINTENANCE.name,
)


Work = tuple[Queue[Any], Handler[Any] | BatchHandler[Any]]
"""A queue, and who works it."""


class ExtraWork(msgspec.Struct, frozen=True):
    """Chores, queues and loops of the areas above the pipeline. A loop runs where its queue is worked."""

    chores: Sequence[Chore] = ()
    works: Sequence[Work] = ()
    loops: Sequence[tuple[Queue[Any], Loop]] = ()


class Pipeline(msgspec.Struct, frozen=True, kw_only=True):
    """What the rest of the program needs of the pipeline."""

    fetching: Fetching
    poller: Poller
    tasks: Tasks
    wakeup: Wakeup
    cache: Cache
    crawler: Crawler


@asynccontextmanager
async def open_pipeline(
    settings: Settings, db: Database, *, clock: Clock, redis: "Redis | None" = None
) -> AsyncIterator[Pipeline]:
    """Open what polls, stores and delivers; nothing runs by itself yet."""
    if settings.flaresolverr_url is not None:
        why = "no connector uses FlareSolverr yet; sources behind a browser check cannot be fetched"
        _log.warning("flaresolverr_is_not_used", why=why)
    async with AsyncExitStack() as parts:
        wakeup = await _open_wakeup(parts, settings)
        fetching = await parts.enter_async_context(open_fetching(settings, clock=clock, redis=redis))
        looks, cache = RecentFetches(db, clock), _cache(db, redis)
        trier = Trier(fetching.driver, fetching.registry, pace_of(settings), looks)
        context = PollContext(pace_of(settings), clock, random.random, wakeup.wake)
        fetching = _answering_to(fetching, Breakers(db, context, forget=cache.forget), trier)
        options = PollOptions(lease=settings.task_lease)
        poller = Poller(
            db,
            fetching.poll_driver,
            fetching.registry,
            context,
            folder_of=folder_of,
            options=options,
            recorder=PollJobs(clock, random_bytes=os.urandom, cache=cache),
            looks=looks,
        )
        yield Pipeline(
            fetching=fetching,
            poller=poller,
            tasks=Tasks(db, wakeup, clock),
            wakeup=wakeup,
            cache=cache,
            crawler=_crawler(settings, db, fetching, poller, wakeup=wakeup, clock=clock, cache=cache),
        )


def _answering_to(fetching: Fetching, breakers: Breakers, trier: Trier) -> Fetching:
    """R99: whoever calls a source and is answered closes its breakers."""
    return msgspec.structs.replace(
        fetching,
        driver=fetching.driver.answering_to(breakers.close),
        poll_driver=fetching.poll_driver.answering_to(breakers.close),
        trier=trier,
    )


def _cache(db: Database, redis: "Redis | None") -> Cache:
    """Shared by all processes where there is a Redis; else each has its own, and the database counts the writes."""
    return MemoryCache(CrawlerWrites(db)) if redis is None else RedisCache(redis, CRAWLER_CACHE)


def _crawler(
    settings: Settings,
    db: Database,
    fetching: Fetching,
    poller: Poller,
    *,
    wakeup: Wakeup,
    clock: Clock,
    cache: Cache,
) -> Crawler:
    """The handler of crawl jobs."""
    calls = SourceCalls(fetching.registry, fetching.poll_driver, folder_of)
    return Crawler(
        db,
        wakeup,
        clock,
        targeted=Targeted(db, poller, calls, clock=clock, after_commit=wakeup.wake),
        discovery=Discovery(db, calls, clock, new_id=ids_of(clock), jitter=random.random),
        random_bytes=os.urandom,
        threshold=settings.disable_threshold,
        cache=cache,
    )


def ids_of(clock: Clock) -> Callable[[], PublicId]:
    """Makes new public ids."""
    return lambda: uuid7(clock(), os.urandom(10))


def worker_loops(
    pipeline: Pipeline,
    settings: Settings,
    db: Database,
    *,
    clock: Clock,
    queues: Collection[str] = QUEUES,
    concurrency: int | None = None,
    timed: Timed = lambda _queue, _outcome, _seconds: None,
    extra_work: ExtraWork = ExtraWork(),  # noqa: B008  frozen
) -> WorkerLoops:
    """The loops of this process for these queues. `concurrency` replaces each queue's own."""
    now = clock()
    me = WorkerProcess(
        id=uuid7(now, os.urandom(10)),
        host=socket.gethostname(),
        pid=os.getpid(),
        queues=tuple(name for name in QUEUES if name in queues),
        doing={},
        started_at=now,
    )
    worker_context = WorkerContext(db=db, wakeup=pipeline.wakeup, clock=clock, name=me.name, timed=timed)
    works = [*_handlers(pipeline, worker_context, settings.public_url), *extra_work.works]
    chores = [*pipeline_chores(pipeline, settings, db, clock), *extra_work.chores]
    works.append((MAINTENANCE, Housekeeper(db, clock, chores)))
    every = ExtraWork(chores, works, extra_work.loops)
    loops = list(_loops(pipeline, settings, worker_context, every, queues=queues, concurrency=concurrency))
    return WorkerLoops(loops, Heartbeat(Workers(db, clock), me))


def pipeline_chores(pipeline: Pipeline, settings: Settings, db: Database, clock: Clock) -> list[Chore]:
    """The pipeline's maintenance; long chores run at night in Europe."""
    archive = files_of(settings, ARCHIVE)
    abandoned = partial(fail_abandoned, db, clock, threshold=settings.disable_threshold, cache=pipeline.cache)
    return [
        Chore(name="finished tasks", every=Millis(10 * MINUTE), work=pipeline.tasks.prune),
        Chore(name="abandoned crawls", every=MINUTE, work=abandoned),
        Chore(name="uneventful polls", every=HOUR, work=lambda: forget_uneventful(db, clock())),
        Chore(name="events and outages", every=HOUR, work=lambda: outages.prune(db, clock())),
        Chore(name="watches of a wrong clock", every=HOUR, work=pipeline.poller.repair),
        Chore(name="lost workers", every=HOUR, work=Workers(db, clock).forget_lost),
        Chore(name="log partitions", every=HOUR, work=lambda: maintain_partitions(db, clock())),
        Chore(name="old logs", every=DAY, at=Millis(2 * HOUR), work=lambda: archive_months(db, archive, now=clock())),
        Chore(name="tombstones", every=DAY, at=Millis(3 * HOUR), work=lambda: forget_tombstones(db, clock())),
        Chore(name="unheld items", every=DAY, at=Millis(3 * HOUR), work=lambda: forget_unheld(db)),
        Chore(name="statistics", every=DAY, at=Millis(4 * HOUR), work=lambda: refresh_statistics(db)),
    ]


def _loops(
    pipeline: Pipeline,
    settings: Settings,
    worker_context: WorkerContext,
    every: ExtraWork,
    *,
    queues: Collection[str],
    concurrency: int | None,
) -> Iterator[Loop]:
    if POLL_WAKEUP in queues:
        yield PollLoop(
            pipeline.poller,
            pipeline.wakeup,
            concurrency=concurrency or settings.pull_concurrency,
            ingest_wakeups=(ITEMS.name, CHAPTERS.name),
            polled=lambda polled, seconds: worker_context.timed(POLL_WAKEUP, polled.outcome, seconds),
        )
    if MAINTENANCE.name in queues:
        yield Planner(worker_context.db, worker_context.clock, every.chores)
    yield from (loop for queue, loop in every.loops if queue.name in queues)
    for queue, handler in every.works:
        if queue.name in queues:
            most = concurrency or queue.settings.concurrency
            sized = msgspec.structs.replace(queue.settings, lease=settings.task_lease, concurrency=most)
            yield Worker(worker_context, msgspec.structs.replace(queue, settings=sized), handler)


def _handlers(pipeline: Pipeline, worker_context: WorkerContext, public_url: str | None) -> Iterator[Work]:
    """Every queue of the pipeline and who works it, in its order."""
    db, wakeup, clock = worker_context.db, pipeline.wakeup, worker_context.clock

    yield ITEMS, Ingest(db, FeedItems(pipeline.fetching.poll_parsers), clock=clock, after_commit=wakeup.wake)
    yield CHAPTERS, Ingest(db, SeriesChapters(), clock=clock, after_commit=wakeup.wake)
    yield DELIVERIES, Deliverer(db, clock, after_commit=wakeup.wake)
    yield NOTICES, Announcer(db, wakeup, clock)
    yield SENDS, Sender(db, pipeline.fetching.client, clock, jitter=worker_context.jitter, public_url=public_url)
    yield CRAWLS, pipeline.crawler


# -- the parts


def files_of(settings: Settings, area: Area) -> FileStore:
    """The store of an area: its folder, or the operator's S3, whose library is loaded only then."""
    if settings.files_url is None:
        return FolderStore(settings.data_dir / area.name, area)
    from tsuzuki.files.s3 import S3Store

    return S3Store(read_address(settings.files_url), area, drafts=drafts_of(settings))


def drafts_of(settings: Settings) -> Path:
    """Where files are until they are whole; the sweep of images looks after it."""
    return settings.data_dir / IMAGES.name / DRAFTS


async def _open_wakeup(parts: AsyncExitStack, settings: Settings) -> Wakeup:
    """In memory on SQLite, whose processes see each other's work at the polling floor; else through Redis or NOTIFY."""
    if settings.redis_url is not None:
        from tsuzuki.coord.redis_client import RedisTransport

        wakeup = SharedWakeup(RedisTransport(settings.redis_url))
    elif settings.database_url.startswith("postgres"):
        from tsuzuki.db.postgres_transport import PostgresTransport

        wakeup = SharedWakeup(PostgresTransport(settings.database_url))
    else:
        return MemoryWakeup()
    ringing = asyncio.ensure_future(wakeup.run())

    async def end() -> None:
        ringing.cancel()
        await asyncio.gather(ringing, return_exceptions=True)

    parts.push_async_callback(end)
    return wakeup
