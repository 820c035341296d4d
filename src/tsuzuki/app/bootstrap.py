"""The composition root: opens every part of the program and closes them in reverse order.

A new part is opened here, in the order in which parts stand on one another; what was opened is closed in reverse.
"""

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import structlog
from starlette.types import ASGIApp

from tsuzuki import __version__
from tsuzuki.accounts.credentials import USUAL_COST, HashCost
from tsuzuki.app.fetching import folder_of
from tsuzuki.app.memory import giving_memory_back
from tsuzuki.app.opening import accounts_of, make_data_dir, open_sealed, prepare, rules_of, sealed_options, wall_clock
from tsuzuki.app.pipeline import (
    QUEUES,
    ExtraWork,
    Pipeline,
    Work,
    drafts_of,
    files_of,
    ids_of,
    open_pipeline,
    worker_loops,
)
from tsuzuki.app.probes import BuiltLater, ProbeDeps, probe_app, timed_by
from tsuzuki.app.wiring import (
    billing_of,
    catalogue_of,
    crawling_of,
    image_deps,
    imports_of,
    oidc_deps,
    reading_of,
)
from tsuzuki.billing.services import started
from tsuzuki.books.articles import ArticleFiles
from tsuzuki.books.chapters import ChapterFiles
from tsuzuki.books.export import FolderExport
from tsuzuki.catalogue.merges.service import SeriesMerges
from tsuzuki.catalogue.series_links import SeriesLinks
from tsuzuki.crawler.figures import Figures
from tsuzuki.crawler.trials import Trials
from tsuzuki.db import Database, DatabaseOptions
from tsuzuki.db.measured import MeasuredDatabase
from tsuzuki.files.stores import IMAGES, SYNCED
from tsuzuki.http.auth import Callers
from tsuzuki.http.metrics import Metrics
from tsuzuki.http.services import About, Services
from tsuzuki.images.app_pictures import AppPictures
from tsuzuki.images.downloads import DOWNLOADS, Downloads
from tsuzuki.images.media import MediaLinks, MediaService
from tsuzuki.images.services import open_images
from tsuzuki.inbox.events import Events
from tsuzuki.inbox.feeds_out.hub import Hub
from tsuzuki.inbox.feeds_out.service import FeedsOut
from tsuzuki.inbox.feeds_out.subscribers import Checker, Pusher
from tsuzuki.inbox.feeds_out.tasks import CHECKS, PUSHES
from tsuzuki.inbox.search.service import Search
from tsuzuki.inbox.search.turns import SearchTurns
from tsuzuki.inbox.service import Inbox
from tsuzuki.inbox.sync import SyncInbox
from tsuzuki.model.errors import Invalid, Unavailable
from tsuzuki.model.ids import PublicId
from tsuzuki.model.structs import copied
from tsuzuki.model.times import DAY, HOUR, MINUTE, Millis
from tsuzuki.notifications.channels import Channels
from tsuzuki.polling.articles import Articles
from tsuzuki.protocols.feed_documents import write_feed
from tsuzuki.queue.workers import Workers
from tsuzuki.retention.preview import Preview
from tsuzuki.retention.service import Pruner
from tsuzuki.settings import Settings
from tsuzuki.transfer.imports.runner import IMPORTS_QUEUE
from tsuzuki.transfer.mihon.export import MihonExport
from tsuzuki.transfer.opml import Lists
from tsuzuki.transfer.synced import SyncedBackups
from tsuzuki.worker.loops import WorkerLoops
from tsuzuki.worker.maintenance import Chore
from tsuzuki.worker.news_loop import NewsLoop

if TYPE_CHECKING:
    from tsuzuki.coord.redis_client import Redis
    from tsuzuki.db.replica import ReplicatedDatabase

Clock = Callable[[], Millis]

_log = structlog.stdlib.get_logger("tsuzuki.start")


class Parts(Services, frozen=True, kw_only=True):
    """Everything that a process has open."""

    settings: Settings
    clock: Clock
    new_id: Callable[[], PublicId]
    db: Database
    redis: "Redis | None"
    replica: "ReplicatedDatabase | None"
    metrics: Metrics
    pipeline: Pipeline
    pruner: Pruner


class Tsuzuki(Parts, frozen=True, kw_only=True):
    """The parts, and what runs over them."""

    app: ASGIApp
    probe_app: ASGIApp
    """The probes alone, for a process that serves no pages."""
    worker_loops: WorkerLoops
    """The loops; whoever opened this starts and stops them, or leaves them to other processes."""
    setup_code: str | None
    """What makes whoever types it the first administrator; None once there is one."""
    schema_version: int

    def end_streams(self) -> None:
        """Let every open stream of events come to its end, so that the server can stop."""
        self.events.close()
        self.crawling.follower.close()


async def _welcome(parts: Parts, settings: Settings) -> str | None:
    """Make sure that somebody can sign in, and log how; the set-up code, if there is one."""
    await _try_files(settings)
    accounts = parts.accounts
    prepared = await accounts.setup.prepare(password=settings.password, is_open=settings.allow_empty_password)
    if prepared.code is not None:
        _log.warning("nobody_can_sign_in_yet", setup_code=prepared.code, open="/setup")
    if settings.allow_empty_password:
        _log.warning("open_without_password", why="TSUZUKI_ALLOW_EMPTY_PASSWORD is on")
    for shelf in await accounts.sharing.old_shared():
        why = "they shared it before every user had a shelf; their pages offer each of them an own shelf"
        _log.warning("people_share_a_shelf", shelf=shelf.name, tenant=shelf.tenant, people=shelf.people, why=why)
    return prepared.code


async def _try_files(settings: Settings) -> None:
    """List a store that is not a folder; it logs what is wrong, and the rest works without it."""
    if settings.files_url is not None:
        with suppress(Unavailable):
            await anext(aiter(files_of(settings, IMAGES).pages()), None)


@asynccontextmanager
async def open_tsuzuki(
    settings: Settings,
    *,
    clock: Clock = wall_clock,
    queues: Collection[str] = QUEUES,
    concurrency: int | None = None,
    environ: Mapping[str, str] = os.environ,
    hash_cost: HashCost = USUAL_COST,
    is_first: bool = True,
) -> AsyncIterator[Tsuzuki]:
    """Migrate, open every part, and close them at the end of the block. Nothing works by itself yet: start the loops.

    `environ` is where the settings came from; the operator is shown which of them. `hash_cost` is that of passwords.
    Unless it is the first of several processes, another sees to it that somebody can sign in.
    """
    make_data_dir(settings)
    options = sealed_options(settings)
    schema_version = await prepare(options, clock)
    async with _open_parts(settings, options, clock, hash_cost) as parts:
        setup_code = await _welcome(parts, settings) if is_first else None
        loops = worker_loops(
            parts.pipeline,
            settings,
            parts.db,
            clock=clock,
            queues=queues,
            concurrency=concurrency,
            timed=timed_by(parts.metrics),
            extra_work=_extra_work(parts),
        )
        probe_deps = copied(ProbeDeps, parts, tasks=parts.pipeline.tasks)
        probes = probe_app(probe_deps, loops, is_https=settings.is_https)

        def build() -> ASGIApp:
            from tsuzuki.app.front import build_front

            return build_front(parts, parts.metrics, settings, environ=environ, clock=clock)

        yield Tsuzuki(
            **msgspec.structs.asdict(parts),
            app=BuiltLater(probes, build),
            probe_app=probes,
            worker_loops=loops,
            setup_code=setup_code,
            schema_version=schema_version,
        )


@asynccontextmanager
async def _open_parts(
    settings: Settings, options: DatabaseOptions, clock: Clock, hash_cost: HashCost
) -> AsyncIterator[Parts]:
    async with AsyncExitStack() as opening:
        opened = await open_sealed(options, clock)
        opening.push_async_callback(opened.close)
        await opening.enter_async_context(giving_memory_back(opened))
        metrics = Metrics(version=__version__, engine=opened.engine)
        replica = await _open_replica(opening, opened, options, settings, metrics=metrics)
        db = MeasuredDatabase(replica or opened, metrics.transacted)
        redis = _open_redis(opening, settings)
        pipeline = await opening.enter_async_context(open_pipeline(settings, db, clock=clock, redis=redis))
        accounts = accounts_of(settings, db, clock, hash_cost)
        billing = await opening.enter_async_context(started(billing_of(settings, accounts, pipeline)))
        fetching, new_id = pipeline.fetching, ids_of(clock)
        reading = reading_of(pipeline, db, clock)
        crawling = crawling_of(settings, pipeline, db, clock)
        inbox, turns = Inbox(db, clock, pipeline.wakeup.wake), SearchTurns()
        downloads = Downloads(db, pipeline.wakeup, clock)
        catalogue = catalogue_of(settings, pipeline, db, clock, downloads=downloads)
        opening.push_async_callback(catalogue.close)
        pictures = await opening.enter_async_context(open_images(image_deps(settings, pipeline, catalogue, downloads)))
        articles = Articles(db, fetching.driver, clock)
        opening.push_async_callback(articles.close)
        merging = SeriesMerges(db, clock, new_id, after_commit=pipeline.wakeup.wake)
        yield Parts(
            settings=settings,
            clock=clock,
            new_id=new_id,
            db=db,
            redis=redis,
            replica=replica,
            metrics=metrics,
            pipeline=pipeline,
            about=About("tsuzuki", __version__, db.engine),
            callers=Callers(accounts.sessions, accounts.tokens),
            oidc=oidc_deps(settings, accounts),
            accounts=accounts,
            reading=reading,
            inbox=inbox,
            sync=SyncInbox(db, inbox, reading.bookmarks, turns),
            feeds_out=FeedsOut(
                db, clock, new_id=new_id, after_commit=pipeline.wakeup.wake, turns=turns, articles=articles
            ),
            hub=Hub(db, fetching.client, clock, pipeline.wakeup.wake),
            billing=billing,
            crawling=crawling,
            catalogue=catalogue,
            pictures=pictures,
            icons=pictures.icons,
            chapter_files=ChapterFiles(db, pictures.images, catalogue.chapters),
            article_files=ArticleFiles(db, inbox, articles, pictures.images, parsers=fetching.parsers, clock=clock),
            app_pictures=await AppPictures.open(db, os.urandom, clock()),
            lists=Lists(reading.deps, reading.subscriptions),
            imports=imports_of(settings, pipeline, reading, crawling),
            synced=SyncedBackups(db, files_of(settings, SYNCED), clock, drafts=drafts_of(settings)),
            mihon_export=MihonExport(db, fetching.parsers, fetching.registry, clock),
            search=Search(db, pipeline.fetching.parsers, turns),
            events=_open_events(opening, pipeline, db, clock),
            channels=Channels(db, fetching.client, pipeline.wakeup, clock=clock),
            trier=fetching.trier,
            articles=articles,
            merging=merging,
            series_links=SeriesLinks(catalogue.addresses, merging),
            media=MediaService(fetching.client),
            media_links=await MediaLinks.open(db, os.urandom, clock),
            figures=Figures(db, pipeline.tasks, clock),
            preview=Preview(db, clock, rules_of(settings)),
            workers=Workers(db, clock),
            trials=Trials(fetching.registry, fetching.driver, folder_of),
            registry=fetching.registry,
            cache=pipeline.cache,
            parsers=fetching.parsers,
            pruner=Pruner(db, clock, rules_of(settings), pruned=metrics.pruned),
        )


def _extra_work(parts: Parts) -> ExtraWork:
    """What the parts above the pipeline have done by its loops."""
    room = parts.pictures.room
    chores = [
        Chore(name="expired sessions", every=HOUR, work=parts.accounts.forget_old),
        Chore(name="feeds that were left", every=HOUR, work=parts.reading.subscriptions.forget_former),
        Chore(name="deleted tags", every=DAY, work=parts.reading.tags.forget_deleted),
        # A portion each time, in its hours of the night.
        Chore(name="retention", every=Millis(2 * MINUTE), work=parts.pruner.work),
        Chore(name="figures", every=MINUTE, work=parts.figures.record_minute),
        Chore(name="billing", every=MINUTE, work=parts.billing.catch_up),
        Chore(name="billing's upkeep", every=HOUR, work=parts.billing.tidy),
        Chore(name="ended subscriptions of the hub", every=HOUR, work=parts.hub.tidy),
        Chore(name="old listings", every=DAY, at=Millis(5 * HOUR), work=parts.catalogue.forget_old),
        Chore(name="images", every=Millis(10 * MINUTE), work=room.tidy),
        Chore(name="image files", every=DAY, at=Millis(6 * HOUR), work=room.sweep),
        Chore(name="synchronised files", every=DAY, at=Millis(6 * HOUR), work=parts.synced.tidy),
        Chore(name="old imports", every=DAY, at=Millis(6 * HOUR), work=parts.imports.tidy),
        Chore(name="unused icons", every=DAY, at=Millis(6 * HOUR), work=parts.icons.forget_unused),
    ]
    if parts.settings.export_folder is not None:
        chores.append(Chore(name="folder of chapters", every=MINUTE, work=folder_export(parts).work))
    if parts.settings.icons:
        chores.append(Chore(name="icons", every=MINUTE, work=parts.icons.work))
    client = parts.pipeline.fetching.client
    works: list[Work] = [
        (DOWNLOADS, parts.pictures.downloader),
        (IMPORTS_QUEUE, parts.imports.runner),
        (CHECKS, Checker(parts.db, client, parts.clock)),
        (PUSHES, Pusher(parts.db, client, parts.clock, feeds=parts.feeds_out, write=write_feed)),
    ]
    looks = [(PUSHES, NewsLoop(parts.hub.look, parts.pipeline.wakeup))]
    return ExtraWork(chores, works, looks)


def folder_export(parts: Parts, folder: Path | None = None) -> FolderExport:
    """What writes downloaded chapters into a folder, that of the setting if no other is named."""
    to = folder or parts.settings.export_folder
    if to is None:
        raise Invalid("Name a folder, or set TSUZUKI_EXPORT_FOLDER.")
    return FolderExport(parts.db, parts.chapter_files, parts.pictures.images, to)


def _open_events(parts: AsyncExitStack, pipeline: Pipeline, db: Database, clock: Clock) -> Events:
    """The events for open streams, running until the end of the block."""
    events = Events(db, pipeline.wakeup, clock)
    running = asyncio.ensure_future(events.run())

    async def end() -> None:
        events.close()
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)

    parts.push_async_callback(end)
    return events


async def _open_replica(
    parts: AsyncExitStack, first: Database, options: DatabaseOptions, settings: Settings, *, metrics: Metrics
) -> "ReplicatedDatabase | None":
    if settings.database_read_url is None:
        return None
    from tsuzuki.db.replica import ReplicatedDatabase

    options = msgspec.structs.replace(options, url=settings.database_read_url)
    replica = ReplicatedDatabase(first, options, metrics.listed)
    await parts.enter_async_context(replica.looking())
    return replica


def _open_redis(parts: AsyncExitStack, settings: Settings) -> "Redis | None":
    if settings.redis_url is None:
        return None
    from tsuzuki.coord.redis_client import redis_client

    redis = redis_client(settings.redis_url)
    parts.push_async_callback(redis.aclose)
    return redis
