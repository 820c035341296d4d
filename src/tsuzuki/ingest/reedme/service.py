"""Brings feeds, items, what was read and what was kept from a database of before onto a shelf.

A repeat changes nothing: groups are found by their names, feeds by their links, items by their keys.
"""

import asyncio
import hashlib
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path

import msgspec

from tsuzuki.connectors.feed.identity import bounded, link_key, stable_guid
from tsuzuki.connectors.html.addresses import http_url
from tsuzuki.connectors.html.safe import one_line, sanitise
from tsuzuki.db import Database, Tx
from tsuzuki.db.errors import UniqueViolation
from tsuzuki.db.legacy import LegacyBookmark, LegacyFeed, LegacyItem, read_bookmarks, read_feeds, read_items
from tsuzuki.delivery.fanout import ALWAYS
from tsuzuki.delivery.store import add_known_entries_tx
from tsuzuki.ingest.reedme.store import has_loose_bookmark_tx, item_ids_tx
from tsuzuki.ingest.store import upsert_items_tx
from tsuzuki.ingest.tasks import new_item
from tsuzuki.ingest.words import split_words
from tsuzuki.model.errors import RefusedAddress
from tsuzuki.model.harvest import FoundItem
from tsuzuki.model.ids import FeedId, GroupId, PublicId, ShelfId
from tsuzuki.model.times import Millis
from tsuzuki.net.urls import parse
from tsuzuki.shelves.bookmarks.nouns import NewBookmark
from tsuzuki.shelves.bookmarks.store import add_bookmark_tx, save_entry_tx
from tsuzuki.shelves.entries.store import mark_items_tx
from tsuzuki.shelves.groups.store import add_group_tx, default_group_tx, find_group_named_tx
from tsuzuki.shelves.subscriptions.nouns import NewRow
from tsuzuki.shelves.subscriptions.store import add_subscription_tx, find_subscription_to_tx
from tsuzuki.sources.feeds import follow_feed_tx, suspension_changed_tx

_CHUNK = 200
_ALL = 10**9


class Brought(msgspec.Struct, frozen=True, kw_only=True):
    """What came along, and the links that may not be called."""

    feeds: int = 0
    items: int = 0
    bookmarks: int = 0
    refused: tuple[str, ...] = ()


class _Item(msgspec.Struct, frozen=True):
    before: LegacyItem
    found: FoundItem


class Reedme:
    """Reads a file and writes a shelf, a feed at a time."""

    def __init__(self, db: Database, clock: Callable[[], Millis], new_id: Callable[[], PublicId]) -> None:
        self._db = db
        self._clock = clock
        self._new_id = new_id

    async def bring(self, path: Path, shelf_id: ShelfId) -> Brought:
        """All that the file has; SchemaRefused for a file that is no such database."""
        feeds = await asyncio.to_thread(read_feeds, path)
        snapshots = await asyncio.to_thread(read_bookmarks, path)
        kept = {mark.item_id: mark for mark in snapshots if mark.item_id is not None}
        brought = Brought()
        for feed in feeds:
            items = await asyncio.to_thread(read_items, path, feed.id)
            brought = _sum(brought, await self._bring_feed(shelf_id, feed, items, kept=kept))
        loose = [mark for mark in snapshots if mark.item_id is None or mark.item_id in kept]
        for mark in loose:
            await self._keep_loose(shelf_id, mark)
        return _sum(brought, Brought(bookmarks=len(loose)))

    async def _bring_feed(
        self, shelf_id: ShelfId, feed: LegacyFeed, legacy: Sequence[LegacyItem], *, kept: dict[int, LegacyBookmark]
    ) -> Brought:
        """A feed with its items; the snapshots of these are taken out of `kept`."""
        try:
            link = str(parse(feed.link))
        except RefusedAddress:
            return Brought(refused=(feed.link,))
        feed_id = await self._db.with_tx(partial(self._follow_tx, shelf_id=shelf_id, feed=feed, link=link))
        items = list(_items(legacy, link))
        for start in range(0, len(items), _CHUNK):
            await self._db.with_tx(partial(self._store_tx, feed_id=feed_id, items=items[start : start + _CHUNK]))
        await self._db.with_tx(partial(self._place_tx, shelf_id=shelf_id, feed_id=feed_id, items=items))
        snapshots = {item.before.id: kept.pop(item.before.id, None) for item in items}
        marked = [item for item in items if item.before.is_bookmarked or snapshots[item.before.id] is not None]
        for item in marked:
            new = _of_item(item, snapshots[item.before.id], feed.name or link)
            await self._keep(shelf_id, feed_id, item.found.key, new=new)
        return Brought(feeds=1, items=len(items), bookmarks=len(marked))

    async def _follow_tx(self, tx: Tx, *, shelf_id: ShelfId, feed: LegacyFeed, link: str) -> FeedId:
        now = self._clock()
        known = await find_subscription_to_tx(tx, shelf_id, link, feed.proxy)
        feed_id = await follow_feed_tx(tx, link, proxy=feed.proxy, now=now)
        if known is None:
            row = NewRow(
                public_id=self._new_id(),
                shelf_id=shelf_id,
                feed_id=feed_id,
                group_id=await self._group_tx(tx, shelf_id, feed.group),
                name=one_line(feed.name)[:500],
                site_url=feed.site_url,
                suspended_at=now if feed.is_suspended else None,
            )
            await add_subscription_tx(tx, row, now)
            await suspension_changed_tx(tx, feed_id, by_person=False, now=now)
        return feed_id

    async def _group_tx(self, tx: Tx, shelf_id: ShelfId, name: str) -> GroupId:
        if not name:
            return (await default_group_tx(tx, shelf_id)).id
        group = await find_group_named_tx(tx, shelf_id, name)
        if group is None:
            group = await add_group_tx(tx, shelf_id, self._new_id(), name=name, now=self._clock())
        return group.id

    async def _store_tx(self, tx: Tx, *, feed_id: FeedId, items: Sequence[_Item]) -> None:
        """R32: what is stored already, from a poll of ours, is newer than what was exported: it stays."""
        known = await item_ids_tx(tx, feed_id, [item.found.key for item in items])
        now = self._clock()
        new = [new_item(item.found, now) for item in items if item.found.key not in known]
        words = split_words(tx.engine, [(item.title, item.content) for item in new])
        by_key = {(feed_id, item.key): each for item, each in zip(new, words, strict=True)}
        await upsert_items_tx(tx, {feed_id: new}, by_key, now)

    async def _place_tx(self, tx: Tx, *, shelf_id: ShelfId, feed_id: FeedId, items: Sequence[_Item]) -> None:
        """R8: nothing of this is news."""
        await add_known_entries_tx(tx, shelf_id, feed_id, since=ALWAYS, most=_ALL, now=self._clock())
        read = [item.found.key for item in items if not item.before.unread]
        ids = await item_ids_tx(tx, feed_id, read)
        await mark_items_tx(tx, shelf_id, list(ids.values()), unread=False, now=self._clock())

    async def _keep(self, shelf_id: ShelfId, feed_id: FeedId, key: str, *, new: "_Snapshot") -> None:
        async def keep(tx: Tx) -> None:
            [item_id] = (await item_ids_tx(tx, feed_id, [key])).values()
            whole = msgspec.structs.replace(new.bookmark, item_id=item_id, feed_id=feed_id)
            await save_entry_tx(tx, shelf_id, item_id, saved=True)
            await add_bookmark_tx(tx, shelf_id, self._new_id(), whole, now=new.at or self._clock())

        try:
            await self._db.with_tx(keep)
        except UniqueViolation:
            return  # R71: the shelf has it

    async def _keep_loose(self, shelf_id: ShelfId, mark: LegacyBookmark) -> None:
        """A snapshot whose item was gone, or never came along."""
        new = _snapshot(mark)

        async def keep(tx: Tx) -> None:
            if new.bookmark.link or not await has_loose_bookmark_tx(tx, shelf_id, new.bookmark):
                await add_bookmark_tx(tx, shelf_id, self._new_id(), new.bookmark, now=new.at or self._clock())

        try:
            await self._db.with_tx(keep)
        except UniqueViolation:
            return  # R71: the shelf has it


class _Snapshot(msgspec.Struct, frozen=True):
    bookmark: NewBookmark
    at: Millis | None
    """When it was taken, where that is known."""


def _snapshot(mark: LegacyBookmark) -> _Snapshot:
    """I7: what was stored elsewhere is as foreign as what is fetched."""
    link = http_url(mark.link, "") or ""
    title = one_line(mark.title) or link or "?"
    content = sanitise(mark.content, link)
    name = one_line(mark.feed_name)[:500]
    new = NewBookmark(title=title, link=link, content=content, feed_name=name, published_at=mark.published_at)
    return _Snapshot(new, mark.created_at)


def _of_item(item: _Item, mark: LegacyBookmark | None, feed_name: str) -> _Snapshot:
    """The snapshot as it was taken; of a mere flag, the item as it is."""
    if mark is not None:
        return _snapshot(mark)
    found = item.found
    new = NewBookmark(
        title=found.title,
        link=found.link or "",
        content=found.content,
        feed_name=feed_name,
        published_at=found.published_at,
    )
    return _Snapshot(new, None)


def _items(legacy: Iterable[LegacyItem], base: str) -> Iterable[_Item]:
    """One per key. I7: what was stored elsewhere is as foreign as what is fetched."""
    for before in {_key(item): item for item in legacy}.items():
        key, item = before
        link = None if item.link is None else http_url(item.link, base)
        found = FoundItem(
            key=key,
            title=one_line(item.title) or link or key,
            link=link,
            content=sanitise(item.content, link or base),
            published_at=item.published_at,
            link_key=link_key(link),
        )
        yield _Item(item, found)


def _key(item: LegacyItem) -> str:
    """R31: as the next poll will find it."""
    if item.guid:
        return bounded(stable_guid(item.guid))
    if item.link:
        return bounded(item.link)
    return hashlib.blake2b(f"{item.title}\0{item.content}".encode(), digest_size=16).hexdigest()


def _sum(one: Brought, other: Brought) -> Brought:
    return Brought(
        feeds=one.feeds + other.feeds,
        items=one.items + other.items,
        bookmarks=one.bookmarks + other.bookmarks,
        refused=one.refused + other.refused,
    )
