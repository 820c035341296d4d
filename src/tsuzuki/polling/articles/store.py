"""Whole texts, remembered."""

import msgspec

from tsuzuki.db import Tx, load_queries
from tsuzuki.model.ids import ItemId
from tsuzuki.model.times import Millis

q = load_queries("tsuzuki.polling.articles")


class StoredFullText(msgspec.Struct, frozen=True):
    """Sanitised HTML, or why there is none."""

    content: str
    error: str | None
    fetched_at: Millis


async def find_full_text_tx(tx: Tx, item_id: ItemId) -> StoredFullText | None:
    """What came of fetching it; None when nobody asked for it yet."""
    return await tx.maybe(StoredFullText, q.find_full_text, item_id=item_id)


async def keep_full_text_tx(tx: Tx, item_id: ItemId, text: StoredFullText) -> None:
    """Keep what came of fetching it."""
    await tx.run(q.keep_full_text, item_id=item_id, content=text.content, error=text.error, now=text.fetched_at)
