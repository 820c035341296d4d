"""What fetching needs, without a database: the client, the parsers and the connectors."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from functools import cache
from importlib.metadata import EntryPoints, entry_points
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from tsuzuki.connectors.config import SourceConfig
from tsuzuki.connectors.local import LocalConfig
from tsuzuki.connectors.registry import ENTRY_POINTS, Registry, builtin, defined, installed
from tsuzuki.coord.pacer import MemoryPacer, Pacer
from tsuzuki.model.times import SECOND, Millis
from tsuzuki.net.client import Client
from tsuzuki.net.guard import AddressGuard, AllowList
from tsuzuki.net.headers import user_agent
from tsuzuki.net.localfiles import LocalFiles
from tsuzuki.net.options import ClientOptions, Deadlines
from tsuzuki.parsing.pool import ParsePool, PoolOptions, cores
from tsuzuki.polling.addresses import Trier
from tsuzuki.polling.driver import Driver, LocalReader
from tsuzuki.polling.policy import PullPace
from tsuzuki.settings import Settings

if TYPE_CHECKING:
    from tsuzuki.coord.redis_client import Redis

Clock = Callable[[], Millis]


class Fetching(msgspec.Struct, frozen=True, kw_only=True):
    """The client, parsers, drivers and registry; no database."""

    client: Client
    driver: Driver
    """The driver for what people ask for."""
    poll_driver: Driver
    """The driver for polls, with parsers of its own: a document that is slow to parse delays no reader."""
    parsers: ParsePool
    poll_parsers: ParsePool
    registry: Registry
    trier: Trier


@asynccontextmanager
async def open_fetching(settings: Settings, *, clock: Clock, redis: "Redis | None" = None) -> AsyncIterator[Fetching]:
    """Open the client and the parsers."""
    async with AsyncExitStack() as parts:
        # In a thread: to read what is shipped takes tens of milliseconds, and others may be served already.
        registry = await asyncio.to_thread(read_registry, settings.data_dir / "sources")
        client = await parts.enter_async_context(Client(client_options(settings), pacer(redis), now=clock))
        parsers = await parts.enter_async_context(ParsePool(PoolOptions()))
        of_polls = PoolOptions(processes=max(2, cores()))
        poll_parsers = await parts.enter_async_context(ParsePool(of_polls))
        driver = Driver(client, parsers)
        yield Fetching(
            client=client,
            driver=driver,
            poll_driver=Driver(client, poll_parsers),
            parsers=parsers,
            poll_parsers=poll_parsers,
            registry=registry,
            trier=Trier(driver, registry, pace_of(settings)),
        )


def pace_of(settings: Settings) -> PullPace:
    """The operator's bounds for polling."""
    return PullPace(settings.pull_interval, settings.pull_max_backoff)


def client_options(settings: Settings) -> ClientOptions:
    """The client, as the operator wants it."""
    return ClientOptions(
        guard=AddressGuard(allow=AllowList.read(str(network) for network in settings.allow_private_networks)),
        user_agent=user_agent(settings.contact_url),
        deadlines=Deadlines(total=settings.pull_timeout / SECOND),
        longest_hold=settings.pull_max_backoff,
        solver_url=settings.flaresolverr_url,
    )


def pacer(redis: "Redis | None") -> Pacer:
    """Shared by all processes where there is a Redis."""
    if redis is None:
        return MemoryPacer(_steady_micros)
    from tsuzuki.coord.redis_client import RedisPacer

    return RedisPacer(redis, _steady_micros)


def read_registry(definitions: Path) -> Registry:
    """The built-in connectors, the operator's definitions, and installed ones; whatever is wrong stops the start."""
    files = sorted(definitions.glob("*.y*ml")) if definitions.is_dir() else []
    if not files and not _entry_points():
        return Registry(builtin)
    own = defined((str(file), file.read_text("utf-8")) for file in files)
    return Registry([*builtin(), *own, *installed(_entry_points())])


@cache  # packages are not installed while a process runs, and their descriptions are many files
def _entry_points() -> EntryPoints:
    return entry_points(group=ENTRY_POINTS)


def folder_of(config: SourceConfig) -> LocalReader | None:
    """Where a local source's files are; None for sources that are called."""
    return LocalFiles(Path(config.folder)) if isinstance(config, LocalConfig) else None


def _steady_micros() -> int:
    return time.monotonic_ns() // 1000
