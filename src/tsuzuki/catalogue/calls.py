"""Whether a source may be called now, and how."""

from collections import OrderedDict
from collections.abc import Callable

import msgspec

from tsuzuki.connectors.protocol import ConnectorInfo, Unsupported
from tsuzuki.connectors.registry import Registry
from tsuzuki.db import Database
from tsuzuki.model.errors import NotFound, Unavailable
from tsuzuki.model.requests import Ask, Reply, Validators
from tsuzuki.model.times import DAY, Millis
from tsuzuki.net.options import SourceIdentity
from tsuzuki.polling.driver import Driver, FolderOf, SourceCall, SourceFetcher, source_call
from tsuzuki.sources.sites import show_pause_tx, source_info
from tsuzuki.sources.types import Source


class NotCalled(Unavailable):
    """The operator does not let this source be called, or nothing installed can."""


class Calls(msgspec.Struct, frozen=True):
    """Ways to call sources on behalf of readers."""

    db: Database
    registry: Registry
    driver: Driver
    folder_of: FolderOf

    def info(self, source: Source) -> ConnectorInfo | None:
        """What is declared of the source; None while its connector is not installed."""
        return source_info(self.registry, source.connector, source.config)

    async def to(self, source: Source) -> SourceCall:
        """The way to this source; NotCalled says why there is none now."""
        if not source.is_enabled:
            raise NotCalled(f"{source.name} is switched off.")
        pause = await self.db.read(show_pause_tx)
        if pause is not None:
            because = f": “{pause.reason}”" if pause.reason else ""
            raise NotCalled(f"All sources are paused by the operator{because}.")
        return self.aside(source)

    def aside(self, source: Source) -> SourceCall:
        """The way to this source, whether it may be called now or not."""
        try:
            return source_call(source, self.registry, self.driver, folder_of=self.folder_of)
        except (NotFound, Unsupported) as error:
            raise NotCalled(f"{source.name} cannot be called: {error}") from error


MOST_BYTES = 16 * 1024 * 1024
LARGEST_BODY = 1024 * 1024
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
