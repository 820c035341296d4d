"""Maintenance of ingest: prunes tombstones and unheld items, and indexes what the search lacks."""

from collections.abc import Callable
from functools import partial
from typing import Final

import msgspec

from tsuzuki.db import Database, Tx, load_queries
from tsuzuki.db.fulltext import document, split_words
from tsuzuki.ingest.detached import drop_unheld_tx, next_detached_tx
from tsuzuki.ingest.items import index_items_tx
from tsuzuki.model.ids import ItemId
from tsuzuki.model.requests import Parsers
from tsuzuki.model.times import DAY, Millis

q = load_queries("tsuzuki.ingest")

KEPT_TOMBSTONES: Final = Millis(400 * DAY)
"""REL-39d: how long it is remembered that a shelf had an item which its feed has not brought, and that retention
removed an item which its feed no longer lists. Longer than a year: some publishers list the same things every year."""
TOUCHED: Final = Millis(30 * DAY)
"""How exactly it is known when an item that retention removed was last listed."""

_CHUNK = 1_000
_INDEX_CHUNK = 500


class UnindexedItem(msgspec.Struct, frozen=True):
    """An item as it is indexed."""

    id: ItemId
    title: str
    content: str


async def forget_tombstones(db: Database, now: Millis) -> int:
    """Forget tombstones that are that old; how many."""
    count, before = 0, Millis(now - KEPT_TOMBSTONES)
    while done := await db.with_tx(lambda tx: tx.run(q.prune_tombstones, before=before, most=_CHUNK)):
        count += done
    while done := await db.with_tx(
        lambda tx: prune_item_tombstones_tx(tx, before=before, touched=TOUCHED, most=_CHUNK)
    ):
        count += done
    return count


async def forget_unheld(db: Database) -> int:
    """Forget items that no feed holds and no shelf has any more; how many."""
    count, after = 0, ItemId(0)
    while items := await db.read(partial(next_detached_tx, after=after, most=_CHUNK)):
        count += await db.with_tx(partial(drop_unheld_tx, items=items))
        after = items[-1]
    return count


async def index_items(db: Database, parsers: Parsers, watch: Callable[[int, int], None]) -> int:
    """Index every item that is not, from where a run was interrupted; `watch` gets the count and the total."""
    total = await db.read(count_unindexed_tx)
    last, done = ItemId(0), 0
    watch(done, total)
    while items := await db.read(partial(unindexed_items_tx, after=last, most=_INDEX_CHUNK)):
        words = await parsers.run(split_words, (db.engine, [(item.title, item.content) for item in items]))
        documents = [document(item.id, each) for item, each in zip(items, words, strict=True)]
        await db.with_tx(partial(index_items_tx, documents=documents))
        last, done = items[-1].id, done + len(items)
        watch(done, total)
    return done


# -- rows


async def prune_item_tombstones_tx(tx: Tx, *, before: Millis, touched: Millis, most: int) -> int:
    """Forget up to `most` items that were removed or listed before then, and are not in their feed's last document.

    `touched` is how much earlier than that document the time of one that is in it can be.
    """
    return await tx.run(q.prune_item_tombstones, before=before, touched=touched, most=most)


async def unindexed_items_tx(tx: Tx, after: ItemId, most: int) -> list[UnindexedItem]:
    """The next items that the index lacks, by id."""
    return await tx.many(UnindexedItem, q.unindexed_items, after=after, most=most)


async def count_unindexed_tx(tx: Tx) -> int:
    """How many items the index lacks."""
    return await tx.one(int, q.count_unindexed_items)
