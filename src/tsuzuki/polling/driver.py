"""Calls sources: does what a connector yields, and sends the answer, or the failure, back into it."""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Any, Protocol, TypeVar

import msgspec
import structlog

from tsuzuki.connectors.config import SourceConfig
from tsuzuki.connectors.protocol import Visit
from tsuzuki.model.errors import RefusedAddress, ShapeChanged, SourceError, Unavailable
from tsuzuki.model.ids import SourceId
from tsuzuki.model.requests import (
    Ask,
    LocalAnswer,
    Parse,
    Parsers,
    ReadLocal,
    Reply,
    SourceIdentity,
    Validators,
    Want,
)
from tsuzuki.model.times import DAY, Millis

_log = structlog.stdlib.get_logger("tsuzuki.polling")

T = TypeVar("T")

MOST_WANTS = 1000
MOST_READS = 60_000
"""Reads of local files, which cost little: a folder of thousands of archives takes three for each, parsing included."""


class SourceFetcher(Protocol):
    """What a driver needs of the client."""

    async def fetch(self, ask: Ask, origin: SourceIdentity) -> Reply: ...


class CallListener(Protocol):
    """Called with every call: the request, the outcome, and how long it took."""

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


MOST_BYTES = 16 * 1024 * 1024
LARGEST_BODY = 1024 * 1024
"""Bytes of remembered answers, and of one answer: it is handled in one step of the event loop."""
OLDEST = DAY
"""R26: validators may be frozen; once a day everything is asked for as a whole."""

Key = tuple[str, str | None, str, tuple[tuple[str, str], ...]]
"""Whose, by which way, what, and with which headers: another's answer is nobody's (SEC-10)."""

NOT_MODIFIED = 304
OK = 200


class Revalidating:
    """A fetcher that remembers answers with validators, and asks with them the next time."""

    def __init__(self, fetcher: SourceFetcher, clock: Callable[[], Millis]) -> None:
        self._fetcher = fetcher
        self._clock = clock
        self._known: OrderedDict[Key, Reply] = OrderedDict()
        self._bytes = 0

    async def fetch(self, ask: Ask, origin: SourceIdentity) -> Reply:
        """The answer; after a 304 the one that we have, as of now."""
        if ask.method != "GET" or ask.body is not None or ask.validators != Validators():
            return await self._fetcher.fetch(ask, origin)
        headers = tuple(sorted((*origin.headers.items(), *ask.headers.items())))
        key = (origin.source, origin.proxy, ask.url, headers)
        known = self._young(key)
        asking = ask if known is None else msgspec.structs.replace(ask, validators=known.validators)
        reply = await self._fetcher.fetch(asking, origin)
        if known is not None and reply.status == NOT_MODIFIED:
            return msgspec.structs.replace(known, received_at=reply.received_at)
        self._forget(key)
        if reply.status == OK and reply.validators != Validators() and len(reply.body) <= LARGEST_BODY:
            self._keep(key, reply)
        return reply

    def _young(self, key: Key) -> Reply | None:
        known = self._known.get(key)
        if known is None or self._clock() - known.received_at > OLDEST:
            return None
        self._known.move_to_end(key)
        return known

    def _keep(self, key: Key, reply: Reply) -> None:
        self._known[key] = reply
        self._bytes += len(reply.body)
        while self._bytes > MOST_BYTES:
            self._forget(next(iter(self._known)))

    def _forget(self, key: Key) -> None:
        if (gone := self._known.pop(key, None)) is not None:
            self._bytes -= len(gone.body)


class LocalReader(Protocol):
    """What a driver needs of a folder that is a source: answers within that source's root."""

    async def read(self, want: ReadLocal) -> LocalAnswer: ...


FolderOf = Callable[[SourceConfig], LocalReader | None]


async def _nobody(_: SourceId) -> None:
    return None


class Driver:
    """Runs visits. One for all sources; the identity and the folder come with each visit."""

    def __init__(
        self, fetcher: SourceFetcher, parsers: Parsers, *, answered: Callable[[SourceId], Awaitable[None]] = _nobody
    ) -> None:
        """`answered` is called with every source that answered (R99)."""
        self._fetcher = fetcher
        self._parsers = parsers
        self.answered = answered

    def answering_to(self, answered: Callable[[SourceId], Awaitable[None]]) -> "Driver":
        """The same driver, which reports the sources that answer."""
        return Driver(self._fetcher, self._parsers, answered=answered)

    def with_listener(self, listener: CallListener) -> "Driver":
        """The same driver, which reports every call to this listener."""
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
        raise ShapeChanged(f"The connector made more than {MOST_WANTS} requests; its list does not seem to end.")

    async def _do(self, want: Want, origin: SourceIdentity, folder: LocalReader | None) -> Any:
        if isinstance(want, Ask):
            reply = await self._fetcher.fetch(want, origin)
            if len(reply.body) > LARGEST_BODY:
                await asyncio.sleep(0)  # to hash a large body takes milliseconds, as it took to join it: others first
            return reply
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
