"""The composition root: opens every part of the program and closes them in reverse order.

A new part is opened here, in the order in which parts stand on one another; what was opened is closed in reverse.
"""

import asyncio
import os
import time
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from typing import TYPE_CHECKING

import msgspec
import structlog
from starlette.types import ASGIApp

from tsuzuki import __version__
from tsuzuki.accounts.credentials import USUAL_COST, HashCost
from tsuzuki.accounts.services import Accounts
from tsuzuki.api.build import build_api
from tsuzuki.api.endpoints import AccountsGate
from tsuzuki.app.pipeline import (
    QUEUES,
    ExtraWork,
    Pipeline,
    Work,
    files_of,
    folder_of,
    ids_of,
    open_pipeline,
    worker_loops,
)
from tsuzuki.app.probes import ProbeDeps, probe_app, probes_of, timed_by
from tsuzuki.app.wiring import (
    accounts_of,
    billing_of,
    catalogue_of,
    crawling_of,
    effective_settings,
    image_deps,
    oidc_deps,
    reading_of,
    rules_of,
)
from tsuzuki.billing.services import started
from tsuzuki.catalogue.merges.service import SeriesMerges
from tsuzuki.crawler.figures import Figures
from tsuzuki.crawler.trials import Trials
from tsuzuki.db import Database, DatabaseOptions, open_database
from tsuzuki.db.deadlines import long_deadline
from tsuzuki.db.legacy import is_legacy
from tsuzuki.db.measured import MeasuredDatabase
from tsuzuki.db.migrate import migrate
from tsuzuki.db.sealed_columns import seal_stored
from tsuzuki.db.sqlite_file import path_of, refuse_read_only
from tsuzuki.db.vault import load_vault
from tsuzuki.files.stores import IMAGES
from tsuzuki.http.auth import Callers
from tsuzuki.http.metrics import Metrics
from tsuzuki.http.middleware import build_app
from tsuzuki.http.routing import Resource
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
from tsuzuki.model.errors import Unavailable
from tsuzuki.model.ids import PublicId
from tsuzuki.model.structs import copied
from tsuzuki.model.times import DAY, HOUR, MINUTE, Millis
from tsuzuki.notifications.channels import Channels
from tsuzuki.polling.articles import Articles
from tsuzuki.protocols.access import ProtocolDeps
from tsuzuki.protocols.build import build_protocols
from tsuzuki.protocols.feed_documents import write_feed
from tsuzuki.queue.workers import Workers
from tsuzuki.retention.preview import Preview
from tsuzuki.retention.service import Pruner
from tsuzuki.settings import Settings
from tsuzuki.transfer.opml import Lists
from tsuzuki.web.build import build_web
from tsuzuki.web.renderer import Pages
from tsuzuki.web.site import SettingRow, Site
from tsuzuki.web.texts import InReadersLanguage, load_languages
from tsuzuki.worker.loops import WorkerLoops
from tsuzuki.worker.maintenance import Chore
from tsuzuki.worker.news_loop import NewsLoop

if TYPE_CHECKING:
    from tsuzuki.coord.redis_client import Redis

Clock = Callable[[], Millis]

_log = structlog.stdlib.get_logger("tsuzuki.start")


class Parts(Services, frozen=True, kw_only=True):
    """Everything that a process has open."""

    settings: Settings
    clock: Clock
    new_id: Callable[[], PublicId]
    db: Database
    redis: "Redis | None"
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


def wall_clock() -> Millis:
    """The real time; everyone else is given a clock."""
    return Millis(time.time_ns() // 1_000_000)


def database_options(settings: Settings) -> DatabaseOptions:
    """What the data layer needs to know."""
    return DatabaseOptions(settings.database_url, settings.database_min_conns, settings.database_max_conns)


def make_data_dir(settings: Settings) -> None:
    """Make the data folder, readable by its owner only."""
    try:
        settings.data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise Unavailable(f"The data folder {settings.data_dir} cannot be created: {error.strerror}.") from error


def _options(settings: Settings) -> DatabaseOptions:
    """The same, with the key of its secrets."""
    if settings.database_url.startswith("sqlite:"):
        refuse_read_only(path_of(settings.database_url))  # before the key is missed there, which says less
    vault = load_vault(settings.secret_key, settings.data_dir)
    return msgspec.structs.replace(database_options(settings), vault=vault)


async def _open_sealed(options: DatabaseOptions, clock: Clock) -> Database:
    """Open the database and seal every secret in it (R123); those that cannot be read are logged."""
    db = await open_database(options)
    try:
        with long_deadline():
            unreadable = await seal_stored(db, options.vault, clock())
    except BaseException:
        await db.close()
        raise
    if unreadable:
        why = (
            "They were stored with another secret key. Start with that one (TSUZUKI_SECRET_KEY, or secret.key in the "
            "data folder), or enter these secrets again."
        )
        _log.error("secrets_unreadable", why=why, **unreadable)
    return db


async def _prepare(options: DatabaseOptions, clock: Clock) -> int:
    """Apply every migration, to a database of ReedMe or Fusion after it was made ours; the version of the schema."""
    if options.url.startswith("sqlite:") and await asyncio.to_thread(is_legacy, path_of(options.url)):
        from tsuzuki.transfer.reedme.adoption import adopt

        with long_deadline():
            await adopt(options, clock)
    outcome = await migrate(options, now=clock())
    if 0 < outcome.before < outcome.after:
        _log.info("schema_migrated", version=outcome.after, before=outcome.before)
    return outcome.after


@asynccontextmanager
async def open_accounts(settings: Settings, *, clock: Clock = wall_clock) -> AsyncIterator[Accounts]:
    """Migrate and open no more than the commands about people need."""
    async with _open_migrated(settings, clock) as db:
        yield accounts_of(settings, db, clock)


@asynccontextmanager
async def open_retention(settings: Settings, *, clock: Clock = wall_clock) -> AsyncIterator[tuple[Pruner, Preview]]:
    """Migrate and open no more than removing what is old needs, and showing it before."""
    async with _open_migrated(settings, clock) as db:
        yield Pruner(db, clock, rules_of(settings)), Preview(db, clock, rules_of(settings))


@asynccontextmanager
async def _open_migrated(settings: Settings, clock: Clock) -> AsyncIterator[Database]:
    make_data_dir(settings)
    options = _options(settings)
    await _prepare(options, clock)
    db = await _open_sealed(options, clock)
    try:
        yield db
    finally:
        await db.close()


async def _welcome(accounts: Accounts, settings: Settings) -> str | None:
    """Make sure that somebody can sign in, and log how; the set-up code, if there is one."""
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
) -> AsyncIterator[Tsuzuki]:
    """Migrate, open every part, and close them at the end of the block. Nothing works by itself yet: start the loops.

    `environ` is where the settings came from; the operator is shown which of them. `hash_cost` is that of passwords.
    """
    make_data_dir(settings)
    options = _options(settings)
    schema_version = await _prepare(options, clock)
    async with _open_parts(settings, options, clock, hash_cost) as parts:
        setup_code = await _welcome(parts.accounts, settings)
        await _try_files(settings)
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
        app = _build_app(parts, probes_of(probe_deps, loops), effective_settings(settings, environ))
        yield Tsuzuki(
            **msgspec.structs.asdict(parts),
            app=app,
            probe_app=probe_app(probe_deps, loops),
            worker_loops=loops,
            setup_code=setup_code,
            schema_version=schema_version,
        )


@asynccontextmanager
async def _open_parts(
    settings: Settings, options: DatabaseOptions, clock: Clock, hash_cost: HashCost
) -> AsyncIterator[Parts]:
    async with AsyncExitStack() as opening:
        opened = await _open_sealed(options, clock)
        opening.push_async_callback(opened.close)
        metrics = Metrics(version=__version__, engine=opened.engine)
        db = MeasuredDatabase(opened, metrics.transacted)
        redis = _open_redis(opening, settings)
        pipeline = await opening.enter_async_context(open_pipeline(settings, db, clock=clock, redis=redis))
        accounts = accounts_of(settings, db, clock, hash_cost)
        billing = await opening.enter_async_context(started(billing_of(settings, accounts, pipeline)))
        fetching, new_id = pipeline.fetching, ids_of(clock)
        reading = reading_of(pipeline, db, clock)
        inbox, turns = Inbox(db, clock, pipeline.wakeup.wake), SearchTurns()
        downloads = Downloads(db, pipeline.wakeup, clock)
        catalogue = catalogue_of(settings, pipeline, db, clock, downloads=downloads)
        opening.push_async_callback(catalogue.close)
        pictures = await opening.enter_async_context(open_images(image_deps(settings, pipeline, catalogue, downloads)))
        yield Parts(
            settings=settings,
            clock=clock,
            new_id=new_id,
            db=db,
            redis=redis,
            metrics=metrics,
            pipeline=pipeline,
            about=About("tsuzuki", __version__, db.engine),
            callers=Callers(accounts.sessions, accounts.tokens),
            oidc=oidc_deps(settings, accounts),
            accounts=accounts,
            reading=reading,
            inbox=inbox,
            sync=SyncInbox(db, inbox, reading.bookmarks, turns),
            feeds_out=FeedsOut(db, clock, new_id=new_id, after_commit=pipeline.wakeup.wake, turns=turns),
            hub=Hub(db, fetching.client, clock, pipeline.wakeup.wake),
            billing=billing,
            crawling=crawling_of(settings, pipeline, db, clock),
            catalogue=catalogue,
            pictures=pictures,
            icons=pictures.icons,
            app_pictures=await AppPictures.open(db, os.urandom, clock()),
            lists=Lists(reading.deps, reading.subscriptions),
            search=Search(db, pipeline.fetching.parsers, turns),
            events=_open_events(opening, pipeline, db, clock),
            channels=Channels(db, fetching.client, pipeline.wakeup, clock=clock),
            trier=fetching.trier,
            articles=Articles(db, fetching.driver, clock),
            merging=SeriesMerges(db, clock, new_id, after_commit=pipeline.wakeup.wake),
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
        Chore(name="retention", every=Millis(2 * MINUTE), work=parts.pruner.work),
        Chore(name="figures", every=MINUTE, work=parts.figures.record_minute),
        Chore(name="billing", every=MINUTE, work=parts.billing.catch_up),
        Chore(name="billing's upkeep", every=HOUR, work=parts.billing.tidy),
        Chore(name="ended subscriptions of the hub", every=HOUR, work=parts.hub.tidy),
        Chore(name="old listings", every=DAY, at=Millis(5 * HOUR), work=parts.catalogue.forget_old),
        Chore(name="images", every=Millis(10 * MINUTE), work=room.tidy),
        Chore(name="image files", every=DAY, at=Millis(6 * HOUR), work=room.sweep),
        Chore(name="unused icons", every=DAY, at=Millis(6 * HOUR), work=parts.icons.forget_unused),
    ]
    if parts.settings.icons:
        chores.append(Chore(name="icons", every=MINUTE, work=parts.icons.work))
    client = parts.pipeline.fetching.client
    works: list[Work] = [
        (DOWNLOADS, parts.pictures.downloader),
        (CHECKS, Checker(parts.db, client, parts.clock)),
        (PUSHES, Pusher(parts.db, client, parts.clock, feeds=parts.feeds_out, write=write_feed)),
    ]
    looks = [(PUSHES, NewsLoop(parts.hub.look, parts.pipeline.wakeup))]
    return ExtraWork(chores, works, looks)


def _open_events(parts: AsyncExitStack, pipeline: Pipeline, db: Database, clock: Clock) -> Events:
    """Events for open streams, told until the end."""
    events = Events(db, pipeline.wakeup, clock)
    telling = asyncio.ensure_future(events.run())

    async def end() -> None:
        events.close()
        telling.cancel()
        await asyncio.gather(telling, return_exceptions=True)

    parts.push_async_callback(end)
    return events


def _open_redis(parts: AsyncExitStack, settings: Settings) -> "Redis | None":
    if settings.redis_url is None:
        return None
    from tsuzuki.coord.redis_client import redis_client

    redis = redis_client(settings.redis_url)
    parts.push_async_callback(redis.aclose)
    return redis


def _build_app(parts: Parts, asked_by_machines: Sequence[Resource], settings: tuple[SettingRow, ...]) -> ASGIApp:
    named = {name: getattr(parts, name) for name in Services.__struct_fields__}
    api = build_api(Services(**named), version=__version__, gate=AccountsGate(parts.callers))
    protocol_deps = ProtocolDeps(Services(**named), parts.clock, parts.settings.public_url)
    site = Site(**named, pages=Pages(__version__), settings=settings, public_url=parts.settings.public_url)
    web = build_web(site, api.document)
    app = build_app(
        [*asked_by_machines, *api.resources, *build_protocols(protocol_deps), *web.resources],
        metrics=parts.metrics,
        error_page=web.error_page,
        framed_page=web.framed_page,
        allowed_origins=parts.settings.cors_allowed_origins,
        is_https=(parts.settings.public_url or "").startswith("https:"),
    )
    return InReadersLanguage(app, load_languages())
