"""R96: what a look at an address brought is kept for a while: whoever follows it then causes no second fetch.

In the database, because the one who looks and the one who polls may be two processes.
"""

from collections.abc import Callable, Iterable

import msgspec

from tsuzuki.db import Database, Tx
from tsuzuki.db.again import with_tx_again
from tsuzuki.model.errors import SourceError
from tsuzuki.model.fetching import Ask, Reply
from tsuzuki.model.times import MINUTE, Millis
from tsuzuki.net.options import SourceIdentity
from tsuzuki.net.urls import canonical
from tsuzuki.polling.store import keep_look_tx, take_look_tx
from tsuzuki.polling.visit import SourceFetcher

KEPT_FOR = Millis(10 * MINUTE)
LARGEST_BODY = 1024 * 1024
OK = 200


class Looks:
    """What was looked at lately."""

    def __init__(self, db: Database, clock: Callable[[], Millis]) -> None:
        self._db = db
        self._clock = clock

    async def keep(self, replies: Iterable[tuple[str, Reply]]) -> None:
        """Keep what these addresses answered."""
        now = self._clock()
        looks = [(url, msgspec.msgpack.encode(reply)) for url, reply in replies]

        async def keep(tx: Tx) -> None:
            for url, reply in sorted(looks):
                await keep_look_tx(tx, url, reply, now=now, oldest=Millis(now - KEPT_FOR))

        if looks:
            await with_tx_again(self._db, keep)

    async def take(self, url: str) -> Reply | None:
        """What this address answered lately, once; None when nobody looked."""
        oldest = Millis(self._clock() - KEPT_FOR)
        kept = await self._db.with_tx(lambda tx: take_look_tx(tx, url, oldest=oldest))
        return None if kept is None else msgspec.msgpack.decode(kept, type=Reply)


class Overheard:
    """Listens to a look, and knows what of it may be kept."""

    def __init__(self) -> None:
        self._replies: dict[str, Reply] = {}

    def __call__(self, ask: Ask, outcome: Reply | SourceError, _seconds: float, /) -> None:
        """See `visit.Listener`."""
        if isinstance(outcome, Reply) and outcome.status == OK and len(outcome.body) <= LARGEST_BODY:
            self._replies[ask.url] = outcome

    def of(self, feeds: Iterable[str]) -> list[tuple[str, Reply]]:
        """The answers of these feeds, under the address that was asked and under the one that it led to."""
        wanted = {canonical(url) for url in feeds}
        kept: dict[str, Reply] = {}
        for url, reply in self._replies.items():
            asked, final = canonical(url), canonical(reply.url)
            if asked in wanted or final in wanted:
                kept[final] = msgspec.structs.replace(reply, hops=())
                kept[asked] = reply
        return list(kept.items())


class Replaying:
    """A fetcher that has the answer of one address already, and fetches every other."""

    def __init__(self, fetcher: SourceFetcher, url: str, reply: Reply) -> None:
        self._fetcher = fetcher
        self._url = url
        self._reply = reply

    async def fetch(self, ask: Ask, origin: SourceIdentity) -> Reply:
        """See `visit.SourceFetcher`."""
        return self._reply if ask.url == self._url else await self._fetcher.fetch(ask, origin)
