"""Conditional requests for connectors that know nothing of them: what a source said is not yet old, is not sent again.

In memory and small; a list that is not remembered is asked for as a whole.
"""

from collections import OrderedDict
from collections.abc import Callable

import msgspec

from tsuzuki.model.fetching import Ask, Reply, Validators
from tsuzuki.model.times import DAY, Millis
from tsuzuki.net.options import SourceIdentity
from tsuzuki.polling.driver import SourceFetcher

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
