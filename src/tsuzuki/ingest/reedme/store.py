"""Items by their keys."""

from collections.abc import Iterable

import msgspec

from tsuzuki.db import Tx, load_queries
from tsuzuki.model.ids import FeedId, ItemId

q = load_queries("tsuzuki.ingest.reedme")


class _Keyed(msgspec.Struct, frozen=True):
    id: ItemId
    key: str


async def item_ids_tx(tx: Tx, feed_id: FeedId, keys: Iterable[str]) -> dict[str, ItemId]:
    """The stored items of these keys."""
    return {row.key: row.id for row in await tx.bulk(_Keyed, q.item_ids, [[key] for key in keys], feed_id=feed_id)}
