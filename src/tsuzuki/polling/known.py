"""Reads what is stored of what feeds list, for polls that ask in the same moment in one statement."""

from collections import defaultdict
from collections.abc import Sequence

from tsuzuki.db import Database
from tsuzuki.model.ids import FeedId
from tsuzuki.polling.batcher import Batcher
from tsuzuki.polling.rows import FeedListing, KnownItem
from tsuzuki.polling.store import known_items_tx

MOST_TOGETHER = 200
"""Items; a feed that lists more keeps others waiting, and is read alone."""


class KnownItems:
    """What is stored, for many polls. One per process."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._together = Batcher("reading what is known", self._read)

    async def of(self, listed: FeedListing) -> list[KnownItem]:
        """What is stored under the keys and pages of what the feed lists; one may come twice."""
        known = await self._together.ask(listed) if len(listed.items) <= MOST_TOGETHER else None
        return (await self._read([listed]))[0] if known is None else known

    async def _read(self, listed: Sequence[FeedListing]) -> list[list[KnownItem]]:
        known: dict[FeedId, list[KnownItem]] = defaultdict(list)
        for item in await self._db.read(lambda tx: known_items_tx(tx, listed)):
            known[item.feed_id].append(item)
        return [known[feed.feed_id] for feed in listed]
