"""SQL for items without words."""

import msgspec

from tsuzuki.db import Tx, load_queries
from tsuzuki.model.ids import ItemId

q = load_queries("tsuzuki.ingest.indexing")


class UnindexedItem(msgspec.Struct, frozen=True):
    """An item as it is indexed."""

    id: ItemId
    title: str
    content: str


async def unindexed_items_tx(tx: Tx, after: ItemId, most: int) -> list[UnindexedItem]:
    """The next items that the index lacks, by id."""
    return await tx.many(UnindexedItem, q.unindexed_items, after=after, most=most)


async def count_unindexed_tx(tx: Tx) -> int:
    """How many items the index lacks."""
    return await tx.one(int, q.count_unindexed_items)
