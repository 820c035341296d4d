"""Calls sources: does what a connector yields, and hands the answer, or the failure, back at the same place."""

import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol, TypeVar

import msgspec
import structlog

from tsuzuki.connectors.config import SourceConfig, decode_config
from tsuzuki.connectors.protocol import Connector, Visit
from tsuzuki.connectors.registry import Registry
from tsuzuki.model.errors import Invalid, NotFound, RefusedAddress, ShapeChanged, SourceError, Unavailable
from tsuzuki.model.ids import SourceId
from tsuzuki.model.requests import Ask, FileEntry, Parse, Parsers, ReadArchive, ReadFile, ReadFolder, Reply, Want
from tsuzuki.net.options import SourceIdentity
from tsuzuki.sources.types import Source

_log = structlog.stdlib.get_logger("tsuzuki.polling")

T = TypeVar("T")

MOST_WANTS = 1000
MOST_READS = 30_000
"""Of local files, which cost little: a folder of thousands of archives takes three for each, with what is parsed."""


class SourceFetcher(Protocol):
    """What a driver needs of the client."""

    async def fetch(self, ask: Ask, origin: SourceIdentity) -> Reply: ...


class CallListener(Protocol):
    """Somebody who is told of every call: what was asked, what came of it, and how long that took."""

    def __call__(self, ask: Ask, outcome: Reply | SourceError, seconds: float, /) -> None: ...


class _ListenedFetcher:
    """A fetcher with somebody listening."""

    def __init__(self, fetcher: SourceFetcher, listener: CallListener) -> None:
        self._fetcher = fetcher
        self._listener = listener

    async def fetch(self, ask: Ask, origin: SourceIdentity) -> Reply:
        begun = time.monotonic()
        try:
            reply = await self._fetcher.fetch(ask, origin)
        except SourceError as error:
            self._listener(ask, error, time.monotonic() - begun)
            raise
        self._listener(ask, reply, time.monotonic() - begun)
        return reply


class LocalReader(Protocol):
    """What a driver needs of a folder that is a source: answers within that source's root."""

    async def read(self, want: ReadFolder | ReadFile | ReadArchive) -> bytes | tuple[FileEntry, ...]: ...


FolderOf = Callable[[SourceConfig], LocalReader | None]


async def _nobody(_: SourceId) -> None:
    return None


class Driver:
    """Runs visits. One for all sources; the identity and the folder come with each visit."""

    def __init__(
        self, fetcher: SourceFetcher, parsers: Parsers, *, answered: Callable[[SourceId], Awaitable[None]] = _nobody
    ) -> None:
        """`answered` is told of every source that was called and answered (R99)."""
        self._fetcher = fetcher
        self._parsers = parsers
        self.answered = answered

    def answering_to(self, answered: Callable[[SourceId], Awaitable[None]]) -> "Driver":
        """The same driver, with somebody who is told which sources answer."""
        return Driver(self._fetcher, self._parsers, answered=answered)

    def with_listener(self, listener: CallListener) -> "Driver":
        """The same driver, with somebody who is told of every call."""
        return self.through(lambda fetcher: _ListenedFetcher(fetcher, listener))

    def through(self, wrap: Callable[[SourceFetcher], SourceFetcher]) -> "Driver":
        """The same driver, whose calls go through what is wrapped around its client."""
        return Driver(wrap(self._fetcher), self._parsers, answered=self.answered)

    async def run(self, visit: Visit[T], origin: SourceIdentity, *, folder: LocalReader | None = None) -> T:
        """What the visit returns. A SourceError is thrown into it first, so that a connector may go on without."""
        answer: Any = None
        failure: SourceError | None = None
        try:
            wants = reads = 0
            while wants < MOST_WANTS and reads < MOST_READS:
                want = visit.send(answer) if failure is None else visit.throw(failure)
                is_ask = isinstance(want, Ask)
                wants, reads = wants + is_ask, reads + (not is_ask)
                try:
                    answer, failure = await self._do(want, origin, folder), None
                except SourceError as error:
                    answer, failure = None, error
        except StopIteration as end:
            result: T = end.value
            return result
        finally:
            visit.close()
        raise ShapeChanged(f"The visit asked for more than {MOST_WANTS} things; its list does not seem to end.")

    async def _do(self, want: Want, origin: SourceIdentity, folder: LocalReader | None) -> Any:
        if isinstance(want, Ask):
            return await self._fetcher.fetch(want, origin)
        if isinstance(want, Parse):
            return await self._parsers.run(want.function, want.arguments)
        if folder is None:
            raise RefusedAddress(f"{origin.source} has no folder, so {want.path!r} cannot be read.")
        return await folder.read(want)


async def run_visit(driver: Driver, visit: Visit[T], origin: SourceIdentity, *, folder: LocalReader | None = None) -> T:
    """What a visit brought. A connector that stumbles over what it got is a failure of that source, not ours."""
    try:
        return await driver.run(visit, origin, folder=folder)
    except (SourceError, Unavailable):
        raise
    except Exception as error:
        _log.exception("connector_error", source=origin.source)
        raise ShapeChanged(f"The connector does not understand the answer: {type(error).__name__}: {error}") from error


# -- sources with a connector and a config


class SourceCall(msgspec.Struct, frozen=True):
    """How a source is called in one run."""

    connector: Connector
    config: SourceConfig
    driver: Driver
    origin: SourceIdentity
    folder: LocalReader | None
    source_id: SourceId

    async def ask(self, visit: Visit[T]) -> T:
        """What the visit brings; a SourceError when the source does not."""
        found = await run_visit(self.driver, visit, self.origin, folder=self.folder)
        await self.answered()
        return found

    async def answered(self) -> None:
        """To be said of a call that was answered some other way than by `ask` (R99)."""
        await self.driver.answered(self.source_id)


def source_call(source: Source, registry: Registry, driver: Driver, *, folder_of: FolderOf) -> SourceCall:
    """The way to this source; NotFound when nothing installed can, ShapeChanged when its config does not fit."""
    if source.connector is None:
        raise NotFound("The source has no extension.")
    connector = registry.comics(source.connector)
    config = read_config(connector, source.config)
    connector = connector.for_source(config, source.base_url)
    origin = source_identity(connector, config, source.id)
    return SourceCall(connector, config, driver, origin, folder_of(config), source.id)


def read_config(connector: Connector, raw: Mapping[str, Any]) -> SourceConfig:
    """The source's config as its connector understands it; a ShapeChanged names every problem."""
    try:
        return decode_config(connector.info.config, raw)
    except Invalid as error:
        raise ShapeChanged(f"The source's config does not fit its connector: {error}") from error


def source_identity(
    connector: Connector, config: SourceConfig, source_id: SourceId, *, watch: str | None = None
) -> SourceIdentity:
    """On whose behalf a source is called."""
    info = connector.info
    return SourceIdentity(
        source=f"source:{source_id}",
        watch=watch,
        home_url=info.api_url or info.base_url,
        ratelimit=config.ratelimit or info.ratelimit,
        proxy=config.proxy,
        headers=config.headers,
        keeps_cookies=True,
    )
