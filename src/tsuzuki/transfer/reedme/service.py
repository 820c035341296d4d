"""Imports feeds, items, read states and bookmarks from a ReedMe or Fusion database.

A repeat changes nothing: groups are found by their names, feeds by their links, items by their keys. What the feeds
themselves hold stays as it is: the items are the shelf's alone, until the feed brings them (ingest/detached.py).
"""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from tsuzuki.db import Database, Tx, load_queries
from tsuzuki.db.deadlines import with_tx_again
from tsuzuki.db.errors import UniqueViolation
from tsuzuki.db.legacy import (
    LegacyBookmark,
    LegacyFeed,
    LegacyId,
    LegacyItem,
    check_legacy,
    read_bookmarks,
    read_feeds,
    read_items,
)
from tsuzuki.db.locks import lock_items_tx
from tsuzuki.ingest.detached import ImportedItem, import_items_tx, shelf_items_tx
from tsuzuki.ingest.items import new_item
from tsuzuki.ingest.service import OF_ITS_CONTENT
from tsuzuki.model.errors import RefusedAddress, SourceError
from tsuzuki.model.harvest import FoundItem
from tsuzuki.model.ids import FeedId, GroupId, PublicId, ShelfId
from tsuzuki.model.requests import Parsers
from tsuzuki.model.structs import copied
from tsuzuki.model.times import Millis
from tsuzuki.net.urls import parse
from tsuzuki.shelves.backfill import ALWAYS, KNOWN_ITEMS, add_known_entries_tx
from tsuzuki.shelves.bookmarks import NewBookmark, add_bookmark_tx, save_entry_tx
from tsuzuki.shelves.groups import add_group_tx, default_group_tx, find_group_named_tx
from tsuzuki.shelves.subscriptions import add_subscription_tx, find_subscription_to_tx
from tsuzuki.shelves.types import NewSubscriptionRow
from tsuzuki.sources.feeds import follow_feed_tx, suspension_changed_tx
from tsuzuki.sources.watches import ImportedFetchState, import_fetch_state_tx
from tsuzuki.transfer.clean_rows import clean_rows
from tsuzuki.transfer.reedme.sanitiser import CleanItem, clean_bookmarks, clean_feeds, clean_items

q = load_queries("tsuzuki.transfer.reedme")

L = TypeVar("L")
T = TypeVar("T")

_MOST_NOTES = 20
_MOST_LINK = 200


class ReedmeReport(msgspec.Struct, frozen=True, kw_only=True):
    """What was imported, links that may not be called, and what was left out, with a reason for the first ones."""

    feeds: int = 0
    items: int = 0
    bookmarks: int = 0
    refused: tuple[str, ...] = ()
    skipped: int = 0
    notes: tuple[str, ...] = ()


class Reedme:
    """Imports a file into a shelf."""

    def __init__(
        self, db: Database, clock: Callable[[], Millis], new_id: Callable[[], PublicId], *, parsers: Parsers
    ) -> None:
        self.db = db
        self.clock = clock
        self.new_id = new_id
        self.parsers = parsers

    async def run(self, path: Path, shelf_id: ShelfId) -> ReedmeReport:
        """Import the file; SchemaRefused, before anything is written, if it is damaged or not such a database."""
        await asyncio.to_thread(check_legacy, path)
        run = _Import(self, path, shelf_id)
        await run.run()
        return run.brought


class _Import:
    """One import, and what it has done so far."""

    def __init__(self, reedme: Reedme, path: Path, shelf_id: ShelfId) -> None:
        self._db, self._clock, self._new_id = reedme.db, reedme.clock, reedme.new_id
        self._parsers = reedme.parsers
        self._path = path
        self._shelf_id = shelf_id
        self._snapshots: dict[LegacyId, LegacyBookmark] = {}
        """Bookmarks whose items have not been read yet."""
        self.brought = ReedmeReport()

    async def run(self) -> None:
        """Feed by feed, some items at a time."""
        marks = await asyncio.to_thread(read_bookmarks, self._path)
        cleaned = [mark for _, mark in await self._cleaned("bookmarks", clean_bookmarks, marks)]
        self._snapshots = {mark.item_id: mark for mark in cleaned if mark.item_id is not None}
        feeds = await asyncio.to_thread(read_feeds, self._path)
        for _, feed in await self._cleaned("feeds", clean_feeds, feeds):
            await self._import_feed(feed)
        for mark in cleaned:
            if mark.item_id is None or mark.item_id in self._snapshots:
                await self._bookmark_without_item(mark)

    async def _import_feed(self, feed: LegacyFeed) -> None:
        try:
            link = str(parse(feed.link))
        except RefusedAddress:
            self._add(refused=(feed.link[:_MOST_LINK],))
            return
        feed_id = await with_tx_again(self._db, partial(self._follow_tx, feed=feed, link=link))
        self._add(feeds=1)
        after: int | None = None
        is_more = True
        while is_more:
            page = await asyncio.to_thread(read_items, self._path, feed.id, after=after)
            for number in page.too_large:
                self._skip(f"row {number} of items is too large")
            items = await self._cleaned("items", clean_items, page.items, link, self._db.engine)
            await self._put(feed_id, items)
            for before, item in items:
                await self._bookmark_item(feed_id, before, item.found, feed_name=feed.name or link)
            after = page.after
            is_more = after is not None

    async def _follow_tx(self, tx: Tx, *, feed: LegacyFeed, link: str) -> FeedId:
        now = self._clock()
        known = await find_subscription_to_tx(tx, self._shelf_id, link, feed.proxy)
        feed_id = await follow_feed_tx(tx, link, proxy=feed.proxy, now=now)
        if known is None:
            row = NewSubscriptionRow(
                public_id=self._new_id(),
                shelf_id=self._shelf_id,
                feed_id=feed_id,
                group_id=await self._group_tx(tx, feed.group),
                name=feed.name,
                site_url=feed.site_url,
                suspended_at=now if feed.is_suspended else None,
            )
            await add_subscription_tx(tx, row, now)
            await suspension_changed_tx(tx, feed_id, by_person=False, now=now)
            state = ImportedFetchState(feed.etag, feed.last_modified, feed.next_check_at)
            await import_fetch_state_tx(tx, self._shelf_id, feed_id, brought=state, now=now)
            # R8: as for everyone who comes later.
            await add_known_entries_tx(tx, self._shelf_id, feed_id, since=ALWAYS, most=KNOWN_ITEMS, now=now)
        return feed_id

    async def _group_tx(self, tx: Tx, name: str) -> GroupId:
        if not name:
            return (await default_group_tx(tx, self._shelf_id)).id
        group = await find_group_named_tx(tx, self._shelf_id, name)
        if group is None:
            group = await add_group_tx(tx, self._shelf_id, self._new_id(), name=name, now=self._clock())
        return group.id

    # -- items

    async def _put(self, feed_id: FeedId, items: Sequence[tuple[LegacyItem, CleanItem]]) -> None:
        """Store them together; if that fails, one by one, so that only the bad one is left out."""
        if not items:
            return

        async def put(tx: Tx) -> None:
            await lock_items_tx(tx, feed_id)
            now = self._clock()
            await import_items_tx(tx, self._shelf_id, feed_id, [_brought(*each, now) for each in items], now=now)

        try:
            await with_tx_again(self._db, put)
        except OF_ITS_CONTENT as error:
            if len(items) == 1:
                self._skip(f"item {items[0][0].id} cannot be stored ({error})")
                return
            for each in items:
                await self._put(feed_id, [each])
        else:
            self._add(items=len({item.found.key for _, item in items}))

    # -- bookmarks

    async def _bookmark_item(self, feed_id: FeedId, before: LegacyItem, found: FoundItem, *, feed_name: str) -> None:
        """The snapshot as it was taken; of a mere flag, the item as it is."""
        mark = self._snapshots.pop(before.id, None)
        if mark is None and not before.is_bookmarked:
            return
        new = copied(NewBookmark, found, link=found.link or "", feed_name=feed_name)
        if mark is not None:
            new = _bookmark(mark)

        async def keep(tx: Tx) -> None:
            item_id = (await shelf_items_tx(tx, self._shelf_id, feed_id, [found.key])).get(found.key)
            whole = msgspec.structs.replace(new, item_id=item_id, feed_id=feed_id)
            if item_id is not None:
                await save_entry_tx(tx, self._shelf_id, item_id, saved=True)
            now = self._clock() if mark is None or mark.created_at is None else mark.created_at
            await add_bookmark_tx(tx, self._shelf_id, self._new_id(), whole, now=now)

        await self._keep(keep)

    async def _bookmark_without_item(self, mark: LegacyBookmark) -> None:
        """A snapshot whose item was gone, or never came along."""
        new = _bookmark(mark)

        async def keep(tx: Tx) -> None:
            loose = q.has_loose_bookmark.values_of(new, shelf_id=self._shelf_id)
            if new.link or not await tx.one(bool, q.has_loose_bookmark, **loose):
                now = mark.created_at or self._clock()
                await add_bookmark_tx(tx, self._shelf_id, self._new_id(), new, now=now)

        await self._keep(keep)

    async def _keep(self, keep: Callable[[Tx], Coroutine[Any, Any, None]]) -> None:
        with suppress(UniqueViolation):  # R71: the shelf has it
            await self._db.with_tx(keep)
        self._add(bookmarks=1)

    # -- what is foreign

    async def _cleaned(
        self, table: str, clean: Callable[..., list[T]], rows: Sequence[L], *more: Any
    ) -> list[tuple[L, T]]:
        """The rows with what became of them; those that are more than a parser process may spend are left out."""
        done = []
        for row, cleaned in await clean_rows(self._parsers, clean, rows, *more):
            if isinstance(cleaned, SourceError):
                self._skip(f"one of the {table} cannot be cleaned: {cleaned}")
            else:
                done.append((row, cleaned))
        return done

    def _add(self, **more: Any) -> None:
        so_far = self.brought
        sums = {name: getattr(so_far, name) + value for name, value in more.items()}
        self.brought = msgspec.structs.replace(so_far, **sums)

    def _skip(self, why: str) -> None:
        self._add(skipped=1, notes=(why,) if len(self.brought.notes) < _MOST_NOTES else ())


def _brought(before: LegacyItem, item: CleanItem, now: Millis) -> ImportedItem:
    """R8: nothing of this is news."""
    row = new_item(item.found, now)
    columns = msgspec.structs.asdict(row) | {"content_hash": row.content_hash.hex(), "created_at": now}
    entry = {"unread": before.unread, "saved": False, "sort_at": row.sort_at, "read_at": None, "created_at": now}
    return ImportedItem(row.key, columns, entry, item.words)


def _bookmark(mark: LegacyBookmark) -> NewBookmark:
    return copied(NewBookmark, mark, item_id=None)
