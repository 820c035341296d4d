"""The composition root: the only module that knows every part.

A new part is opened here, in the order in which parts stand on one another; what was opened is closed in reverse.
"""

import asyncio
import os
import time
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import msgspec
import structlog
from starlette.types import ASGIApp

from tsuzuki import __version__
from tsuzuki.accounts.ground import Ground
from tsuzuki.accounts.guard.policy import Limits
from tsuzuki.accounts.services import Accounts, build_accounts
from tsuzuki.api.about import About
from tsuzuki.api.build import build_api
from tsuzuki.api.feeds import Door
from tsuzuki.api.gate import AccountsGate
from tsuzuki.api.library import LibraryDoor
from tsuzuki.api.series import SeriesDoor
from tsuzuki.billing.services import Billing, build_billing
from tsuzuki.catalogue.calling import Calls
from tsuzuki.catalogue.images.kept import KeptChapters
from tsuzuki.catalogue.images.services import ImageGround, Pictures, open_images
from tsuzuki.catalogue.images.tasks import COPIES
from tsuzuki.catalogue.media.links import MediaLinks
from tsuzuki.catalogue.media.service import Media
from tsuzuki.catalogue.merging.service import Merging
from tsuzuki.catalogue.services import Catalogue, Ttls, build_catalogue
from tsuzuki.catalogue.services import Ground as CatalogueGround
from tsuzuki.connectors.registry import Registry
from tsuzuki.coord.cache import Cache
from tsuzuki.crawl.figures.service import Figures
from tsuzuki.crawl.services import Crawling, build_crawling
from tsuzuki.crawl.services import Ground as CrawlGround
from tsuzuki.crawl.trials import Trials
from tsuzuki.db import Database, DatabaseOptions, open_database
from tsuzuki.db.measured import MeasuredDatabase
from tsuzuki.db.migrate import migrate
from tsuzuki.delivery.events.service import Events
from tsuzuki.delivery.inbox.service import Inbox
from tsuzuki.delivery.notices.service import Channels
from tsuzuki.delivery.timeline.service import Timeline
from tsuzuki.edge.auth import Callers
from tsuzuki.edge.metrics import Metrics
from tsuzuki.edge.oidc import OidcDoor
from tsuzuki.edge.probes import probes
from tsuzuki.edge.routing import Resource
from tsuzuki.edge.stack import build_app
from tsuzuki.ingest.reedme.adopting import adopt
from tsuzuki.model.errors import Unavailable
from tsuzuki.model.ids import PublicId, uuid7
from tsuzuki.model.times import DAY, HOUR, MINUTE, SECOND, Millis
from tsuzuki.polling.articles.service import Articles
from tsuzuki.polling.shelving import ForShelves
from tsuzuki.polling.trying import Trier
from tsuzuki.queue.station import Timed
from tsuzuki.settings import Settings, effective
from tsuzuki.shelves.ground import Ground as ShelvesGround
from tsuzuki.shelves.services import Reading, build_reading
from tsuzuki.way import QUEUES, Beside, Way, client_options, crew, folder_of, open_way
from tsuzuki.web.build import build_web
from tsuzuki.web.desk.in_force import InForce, SettingRow
from tsuzuki.web.rendering import Pages
from tsuzuki.web.site import Site
from tsuzuki.worker.crew import Crew
from tsuzuki.worker.maintenance import Chore
from tsuzuki.worker.polls import POLL_BELL

if TYPE_CHECKING:
    from tsuzuki.coord.connecting import Redis

Clock = Callable[[], Millis]

_log = structlog.stdlib.get_logger("tsuzuki.start")


class Tsuzuki(msgspec.Struct, frozen=True):
    """Everything that runs in this process."""

    settings: Settings
    clock: Clock
    new_id: Callable[[], PublicId]
    db: Database
    accounts: Accounts
    reading: Reading
    billing: Billing
    crawling: Crawling
    catalogue: Catalogue
    pictures: Pictures
    way: Way
    channels: Channels
    events: Events
    metrics: Metrics
    app: ASGIApp
    figures: Figures
    crew: Crew
    """The loops; whoever opened this starts and stops them, or leaves them to other processes."""

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
    """The data folder exists afterwards; it is nobody's business but its owner's."""
    try:
        settings.data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise Unavailable(f"The data folder {settings.data_dir} cannot be made: {error.strerror}.") from error


async def _prepare(options: DatabaseOptions, clock: Clock) -> None:
    """A database of ReedMe or Fusion that lies here is turned into one of ours; then every step is applied."""
    await adopt(options, clock)
    await migrate(options, now=clock())


def accounts_of(settings: Settings, db: Database, clock: Clock) -> Accounts:
    """The services of accounts, as the settings want them."""
    limits = Limits(settings.login_limit, settings.login_window, settings.login_block)
    return build_accounts(Ground(db, clock, os.urandom), limits, is_open=settings.allow_empty_password)


@asynccontextmanager
async def open_accounts(settings: Settings, *, clock: Clock = wall_clock) -> AsyncIterator[Accounts]:
    """Migrate and open no more than the commands about people need."""
    make_data_dir(settings)
    await _prepare(database_options(settings), clock)
    db = await open_database(database_options(settings))
    try:
        yield accounts_of(settings, db, clock)
    finally:
        await db.close()


def _oidc_door(settings: Settings, accounts: Accounts) -> OidcDoor:
    """The way in by a provider; its libraries are loaded only where there is one."""
    if settings.oidc_issuer is None:
        return OidcDoor()
    from tsuzuki.accounts.oidc.provider import Options, Provider
    from tsuzuki.accounts.oidc.service import Oidc

    options = Options(
        issuer=settings.oidc_issuer,
        client_id=settings.oidc_client_id or "",
        client_secret=settings.oidc_client_secret or "",
        redirect_uri=settings.oidc_redirect_uri or "",
    )
    provider = Provider(options, accounts.ground.clock)
    oidc = Oidc(accounts.ground, accounts.sign_in, provider, allowed_user=settings.oidc_allowed_user)
    return OidcDoor(oidc, urlsplit(settings.oidc_issuer).hostname or settings.oidc_issuer)


async def _welcome(accounts: Accounts, settings: Settings) -> None:
    """See that somebody can sign in, and say in the log how when that is not obvious."""
    prepared = await accounts.setup.prepare(password=settings.password, is_open=settings.allow_empty_password)
    if prepared.code is not None:
        _log.warning("nobody_can_sign_in_yet", setup_code=prepared.code, open="/setup")
    if settings.allow_empty_password:
        _log.warning("open_without_password", why="TSUZUKI_ALLOW_EMPTY_PASSWORD is on")


@asynccontextmanager
async def open_tsuzuki(
    settings: Settings,
    *,
    clock: Clock = wall_clock,
    queues: Collection[str] = QUEUES,
    concurrency: int | None = None,
    environ: Mapping[str, str] = os.environ,
) -> AsyncIterator[Tsuzuki]:
    """Migrate, open every part, and close them at the end of the block. Nothing works by itself yet: start the crew.

    `environ` is where the settings came from; the operator is shown which of them.
    """
    make_data_dir(settings)
    options = database_options(settings)
    await _prepare(options, clock)
    async with AsyncExitStack() as parts:
        opened = await open_database(options)
        parts.push_async_callback(opened.close)
        metrics = Metrics(version=__version__, engine=opened.engine)
        db = MeasuredDatabase(opened, metrics.transacted)
        redis = _open_redis(parts, settings)
        way = await parts.enter_async_context(open_way(settings, db, clock=clock, redis=redis))
        accounts = accounts_of(settings, db, clock)
        reading = reading_of(way, db, clock)
        billing = billing_of(settings, accounts, way)
        await billing.start()
        kept = KeptChapters(db, way.bell, clock)
        catalogue = catalogue_of(settings, way, db, clock, kept=kept)
        parts.push_async_callback(catalogue.close)
        pictures = await parts.enter_async_context(open_images(_image_ground(settings, way, catalogue, kept)))
        figures = Figures(db, way.tasks, clock)
        loops = crew(
            way,
            settings,
            db,
            clock=clock,
            queues=queues,
            concurrency=concurrency,
            timed=_timed(metrics),
            beside=Beside(
                [
                    Chore(name="expired sessions", every=HOUR, work=accounts.forget_old),
                    Chore(name="entries beyond retention", every=HOUR, work=reading.subscriptions.prune),
                    Chore(name="figures", every=MINUTE, work=figures.take),
                    Chore(name="billing", every=MINUTE, work=billing.look_after),
                    Chore(name="billing's upkeep", every=HOUR, work=billing.tidy),
                    Chore(name="old listings", every=DAY, at=Millis(5 * HOUR), work=catalogue.forget_old),
                    Chore(name="images", every=Millis(10 * MINUTE), work=pictures.room.tidy),
                    Chore(name="image files", every=DAY, at=Millis(6 * HOUR), work=pictures.room.sweep),
                ],
                [(COPIES, pictures.copier)],
            ),
        )
        asked = probes(
            {"database": db.ping, "queue": partial(_queue_answers, way, loops)},
            metrics,
            helpers={} if redis is None else {"redis": redis.ping},
            measure=partial(_measure_queues, way, metrics, clock),
        )
        await _welcome(accounts, settings)
        crawling = crawling_of(settings, way, db, clock)
        events = _open_events(parts, way, db, clock)
        channels = Channels(db, way.outside.client, way.bell, clock=clock)
        services = {
            Door: Door(accounts.oneself, reading.subscriptions, way.outside.trier),
            LibraryDoor: LibraryDoor(accounts.oneself, reading.follows, reading.progress),
            SeriesDoor: SeriesDoor(accounts.oneself, reading.series, reading.progress),
            Merging: Merging(db, clock, partial(_new_id, clock), ring=way.bell.ring),
            Articles: Articles(db, way.outside.driver, clock),
            Inbox: Inbox(db),
            Timeline: Timeline(db),
            Trier: way.outside.trier,
            Events: events,
            Channels: channels,
            **reading.by_type(),
            **crawling.by_type(),
            **catalogue.by_type(),
            **pictures.by_type(),
            Media: Media(way.outside.client),
            MediaLinks: await MediaLinks.open(db, os.urandom, clock),
            Figures: figures,
            Trials: Trials(way.outside.registry, way.outside.driver, folder_of),
            InForce: in_force(settings, environ),
            Billing: billing,
            Cache: way.cache,
            Registry: way.outside.registry,
        }
        yield Tsuzuki(
            settings=settings,
            clock=clock,
            new_id=partial(_new_id, clock),
            db=db,
            accounts=accounts,
            reading=reading,
            billing=billing,
            crawling=crawling,
            catalogue=catalogue,
            pictures=pictures,
            way=way,
            channels=channels,
            events=events,
            metrics=metrics,
            app=_build_app(settings, accounts, metrics, asked, services=services),
            figures=figures,
            crew=loops,
        )


def in_force(settings: Settings, environ: Mapping[str, str]) -> InForce:
    """The settings as the operator sees them."""
    return InForce(
        tuple(
            SettingRow(
                name=one.name,
                value=one.value,
                is_set=one.origin == "environment",
                group=one.variable.group,
                says=one.variable.says,
            )
            for one in effective(settings, environ)
        )
    )


def _new_id(clock: Clock) -> PublicId:
    return uuid7(clock(), os.urandom(10))


def reading_of(way: Way, db: Database, clock: Clock) -> Reading:
    """The services of shelves, joined to what lies above them."""
    above = ForShelves(way.poller, way.outside.client, way.bell, poll_bell=POLL_BELL)
    return build_reading(ShelvesGround(db, clock, partial(_new_id, clock), above))


def billing_of(settings: Settings, accounts: Accounts, way: Way) -> Billing:
    """The services of renting and paying."""
    secret = settings.stripe_webhook_secret if settings.stripe else None
    return build_billing(accounts.ground, is_on=settings.billing, stripe_secret=secret or "", ring=way.bell.ring)


def crawling_of(settings: Settings, way: Way, db: Database, clock: Clock) -> Crawling:
    """The services of sources, comics and crawl jobs."""
    ground = CrawlGround(
        db=db,
        bell=way.bell,
        clock=clock,
        dice=os.urandom,
        registry=way.outside.registry,
        guard=client_options(settings).guard,
        cache=way.cache,
        tasks=way.tasks,
        due=partial(way.bell.ring, POLL_BELL),
    )
    return build_crawling(ground)


def catalogue_of(settings: Settings, way: Way, db: Database, clock: Clock, *, kept: KeptChapters) -> Catalogue:
    """The services of browsing."""
    ground = CatalogueGround(
        db=db,
        clock=clock,
        new_id=partial(_new_id, clock),
        registry=way.outside.registry,
        driver=way.outside.driver,
        folder_of=folder_of,
        ring=way.bell.ring,
        ttls=Ttls(settings.manga_list_ttl, settings.manga_detail_ttl, settings.chapter_list_ttl),
        kept_of=kept.kept_of,
    )
    return build_catalogue(ground)


def _image_ground(settings: Settings, way: Way, catalogue: Catalogue, kept: KeptChapters) -> ImageGround:
    ground = catalogue.ground
    return ImageGround(
        db=ground.db,
        client=way.outside.client,
        calls=Calls(ground.db, ground.registry, ground.driver, ground.folder_of),
        chapters=catalogue.chapters,
        details=catalogue.details,
        kept=kept,
        clock=ground.clock,
        dice=os.urandom,
        folder=settings.data_dir / "images",
        size=settings.image_cache_size,
    )


def _open_events(parts: AsyncExitStack, way: Way, db: Database, clock: Clock) -> Events:
    """Events for open streams, told until the end."""
    events = Events(db, way.bell, clock)
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
    from tsuzuki.coord.connecting import redis_client

    redis = redis_client(settings.redis_url)
    parts.push_async_callback(redis.aclose)
    return redis


def _timed(metrics: Metrics) -> Timed:
    def timed(queue: str, outcome: str, seconds: float) -> None:
        if queue == POLL_BELL:
            metrics.polled(outcome, seconds)
        else:
            metrics.worked(queue, outcome, seconds)

    return timed


async def _queue_answers(way: Way, loops: Crew) -> None:
    if loops.trouble is not None:
        raise Unavailable(loops.trouble)
    await way.tasks.stats()


async def _measure_queues(way: Way, metrics: Metrics, clock: Clock) -> None:
    for stats in await way.tasks.stats():
        figures = {
            "depth": stats.depth,
            "oldest_seconds": stats.oldest_age(clock()) / SECOND,
            "finished_last_minute": stats.finished_last_minute,
            "failed_last_hour": stats.failed_last_hour,
            "dead_letters": stats.dead_letters,
        }
        metrics.queued(stats.queue, figures.items())


def _build_app(
    settings: Settings,
    accounts: Accounts,
    metrics: Metrics,
    asked_by_machines: Sequence[Resource],
    *,
    services: Mapping[type, object],
) -> ASGIApp:
    engine = accounts.ground.db.engine
    callers = Callers(accounts.sessions, accounts.tokens)
    oidc = _oidc_door(settings, accounts)
    known: dict[type, object] = {
        About: About("tsuzuki", __version__, engine),
        Callers: callers,
        OidcDoor: oidc,
        **accounts.by_type(),
        **services,
    }
    api = build_api(known, version=__version__, gate=AccountsGate(callers))
    web = build_web(Site(Pages(__version__), accounts, callers, oidc, known), api.document)
    return build_app(
        [*asked_by_machines, *api.resources, *web.resources],
        metrics=metrics,
        error_page=web.error_page,
        allowed_origins=settings.cors_allowed_origins,
    )
