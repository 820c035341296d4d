"""Items of feeds: stored once each, indexed, and put into inboxes."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self

import msgspec

from tsuzuki.db import Tx, load_queries
from tsuzuki.db.fulltext import Document, IndexWords, document, split_words
from tsuzuki.db.locks import lock_feeds_shared_tx, lock_items_tx
from tsuzuki.db.queries import Engine
from tsuzuki.delivery.fanout import Delivered, NewBatch, deliver_feeds_tx
from tsuzuki.ingest.service import InstallmentBatch, Stored, WordsByKey, split_by_news_tx
from tsuzuki.model.harvest import Enclosure, FoundItem, item_hash
from tsuzuki.model.ids import FeedId, ItemId, ShelfId
from tsuzuki.model.requests import Parsers
from tsuzuki.model.structs import copied
from tsuzuki.model.times import Millis
from tsuzuki.queue.policy import INGEST
from tsuzuki.queue.tasks import Queue
from tsuzuki.sources.feeds import ITEM_INGEST

q = load_queries("tsuzuki.ingest")


class ItemBatch(InstallmentBatch, frozen=True, kw_only=True):
    """Items of one feed that are new or changed."""

    feed_id: FeedId
    items: tuple[FoundItem, ...]

    @property
    def of_id(self) -> int:
        """The feed."""
        return self.feed_id

    @property
    def size(self) -> int:
        """How many items it has."""
        return len(self.items)

    @property
    def keys(self) -> list[str]:
        """The items' own."""
        return [found.key for found in self.items]

    def split(self) -> list[tuple[str, Self]]:
        """One item each."""
        return [(found.key, msgspec.structs.replace(self, items=(found,))) for found in self.items]


ITEMS: Queue[ItemBatch] = Queue(ITEM_INGEST, ItemBatch, INGEST)


class NewItem(msgspec.Struct, frozen=True, kw_only=True):
    """An entry of a feed; `sort_at` is the earlier of published and first seen (R30)."""

    key: str
    title: str
    sort_at: Millis
    content_hash: bytes
    link: str | None = None
    link_key: str | None = None
    author: str | None = None
    content: str = ""
    summary: str | None = None
    published_at: Millis | None = None
    published_raw: str | None = None
    categories: tuple[str, ...] = ()
    enclosures: tuple[Enclosure, ...] = ()
    page_urls: tuple[str, ...] = ()
    image_url: str | None = None
    comments_url: str | None = None


class StoredItem(msgspec.Struct, frozen=True):
    """An item that was inserted or changed just now."""

    id: ItemId
    feed_id: FeedId
    key: str
    is_new: bool
    link_key: str | None


class _Adoptable(msgspec.Struct, frozen=True):
    shelf_id: ShelfId
    item_id: ItemId
    detached_id: ItemId


class FeedItems:
    """Items of feeds, as ingest stores them."""

    queue = ITEMS

    def __init__(self, parsers: Parsers) -> None:
        self._parsers = parsers

    async def words_of(self, batches: Sequence[ItemBatch], engine: Engine) -> WordsByKey:
        """The search tokens of titles and articles."""
        found = {(batch.feed_id, item.key): (item.title, item.content) for batch in batches for item in batch.items}
        words = await self._parsers.run(split_words, (engine, list(found.values())))
        return dict(zip(found, words, strict=True))

    async def store_all_tx(
        self, tx: Tx, batches: Sequence[tuple[ItemBatch, int]], words: WordsByKey, *, now: Millis
    ) -> Delivered:
        """Items and their words in the index: a few statements, however many feeds."""
        found = {batch.feed_id: [new_item(each, now) for each in batch.items] for batch, _ in batches}
        # Before any row of theirs: whoever comes, goes or drops a feed holds it, then its watch and its items.
        await lock_items_tx(tx, *found)
        await lock_feeds_shared_tx(tx, sorted(found))
        new: dict[FeedId, dict[str, ItemId]] = defaultdict(dict)
        written = await upsert_items_tx(tx, found, words, now)
        for item in written:
            if item.is_new:
                new[item.feed_id][item.key] = item.id
        await adopt_items_tx(tx, written)
        stored = [Stored(batch, task_id, new[batch.feed_id]) for batch, task_id in batches]
        split = list(zip(stored, await split_by_news_tx(tx, ITEMS, stored, now), strict=True))
        quiet = [
            NewBatch("item", one.batch.feed_id, tuple(parts.catalogue), is_quiet=True, arrived_at=parts.harvested_at)
            for one, parts in split
        ]
        loud = [
            NewBatch(
                "item",
                one.batch.feed_id,
                tuple(parts.news),
                is_quiet=False,
                came=one.batch.came,
                harvest=one.batch.harvest,
            )
            for one, parts in split
        ]
        return await deliver_feeds_tx(tx, quiet + loud, now)

    async def count_unknown_tx(self, tx: Tx, batch: ItemBatch) -> int:
        """Items that are not stored."""
        return await tx.one(int, q.count_unknown_items, feed_id=batch.feed_id, rows=[[key] for key in batch.keys])


def new_item(found: FoundItem, now: Millis) -> NewItem:
    """The row of an item. R30: it sorts by the earlier of published and first seen."""
    sort_at = now if found.published_at is None else min(found.published_at, now)
    return copied(NewItem, found, sort_at=Millis(max(sort_at, 0)), content_hash=item_hash(found))


async def upsert_items_tx(
    tx: Tx, found: Mapping[FeedId, Iterable[NewItem]], words: Mapping[tuple[FeedId, str], IndexWords], now: Millis
) -> list[StoredItem]:
    """Store items of feeds and index their words, by feed and key; what comes back is what was inserted or changed.

    One statement of a kind for all.
    """
    await lock_items_tx(tx, *found)
    # By the feeds' ids: that is also the order in which the rows of the feeds are shared. Of a key, the last one seen.
    items = {(feed_id, item.key): item for feed_id in sorted(found) for item in found[feed_id]}
    rows = [_item_row(feed_id, item) for (feed_id, _), item in items.items()]
    stored = await tx.bulk(StoredItem, q.upsert_items, rows, now=now)
    if stored:
        await index_items_tx(tx, [document(item.id, words[item.feed_id, item.key]) for item in stored])
    return stored


async def index_items_tx(tx: Tx, documents: Sequence[Document]) -> None:
    """Index the words of items."""
    await tx.bulk(int, q.index_items, documents)


async def adopt_items_tx(tx: Tx, items: Iterable[StoredItem]) -> int:
    """Entries of items that no feed held become those of the same items that were inserted just now; how many."""
    new = [(item.id, item.feed_id, item.key, item.link_key) for item in items if item.is_new]
    found = await tx.bulk(_Adoptable, q.adoptable, new) if new else []
    rows = [(each.shelf_id, each.item_id, each.detached_id) for each in found]
    if rows:
        await tx.run(q.adopt_entries, rows=rows)
        await tx.run(q.adopt_former_entries, rows=rows)
        await tx.run(q.adopt_tags, rows=rows)
        await tx.run(q.adopt_bookmarks, rows=rows)
    return len(rows)


def _item_row(feed_id: FeedId, item: NewItem) -> dict[str, Any]:
    return msgspec.structs.asdict(item) | {"feed_id": feed_id, "content_hash": item.content_hash.hex()}
