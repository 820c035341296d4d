"""The verbs about what came into a shelf's inbox."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Literal

import msgspec

from tsuzuki.db import Tx
from tsuzuki.model.errors import NotFound
from tsuzuki.model.ids import EntryId, FeedId, GroupId, ItemId, PublicId, ShelfId
from tsuzuki.model.pages import Page, PageCursor
from tsuzuki.model.times import DAY, Millis
from tsuzuki.model.tokens import parse_terms
from tsuzuki.shelves.deps import ShelfDeps
from tsuzuki.shelves.entries.nouns import ItemFilter, ShelfItem
from tsuzuki.shelves.entries.store import (
    count_items_tx,
    find_item_tx,
    list_items_tx,
    mark_all_tx,
    mark_feed_tx,
    mark_group_tx,
    mark_items_tx,
    unmark_since_tx,
)
from tsuzuki.shelves.events import EVENTS_WAKEUP, counts_changed_tx
from tsuzuki.shelves.groups.service import own_group_tx
from tsuzuki.shelves.library.progress.holding import begin_reading_tx
from tsuzuki.shelves.library.progress.store import progress_follows_all_tx, progress_follows_tx
from tsuzuki.shelves.library.progress.store import unmark_since_tx as unmark_chapters_since_tx
from tsuzuki.shelves.store import FAR, mark_entries_tx
from tsuzuki.shelves.subscriptions.service import own_subscription_tx

LATEST_MARK = Millis(30 * DAY)
"""A browser that comes back later than this does not know when anything was."""

Mark = Callable[[Tx, Millis], Awaitable[int]]


class Filter(msgspec.Struct, frozen=True, kw_only=True):
    """Which items a reader wants to see."""

    feed: PublicId | None = None
    group: PublicId | None = None
    unread: bool | None = None
    saved: bool | None = None
    since: Millis = Millis(0)
    """Only what came out, or by `created_at` what came in, at this moment or later."""
    search: str | None = None
    """Words, "phrases", -word, pre*."""
    order_by: Literal["pub_date", "created_at"] = "pub_date"
    with_content: bool = False


class MarkScope(msgspec.Struct, frozen=True, kw_only=True):
    """What a mass mark is about: a feed, a group, or everything; only what sorts before a moment, if one is given."""

    feed: PublicId | None = None
    group: PublicId | None = None
    before: Millis = FAR
    with_chapters: bool = False


class MarkedEntries(msgspec.Struct, frozen=True):
    """How many changed, and the moment that undoes it."""

    changed: int
    at: Millis


def made_moment(told: Millis | None, now: Millis) -> Millis:
    """When a mark was made: now, or when its reader says, unless that cannot be or is too long ago to matter."""
    return now if told is None or not now - LATEST_MARK <= told <= now else told


class Entries:
    """What a shelf has to read. Everything is asked for by the shelf first (I8, SEC-31)."""

    def __init__(self, deps: ShelfDeps) -> None:
        self._deps = deps

    # -- looking

    async def list(self, shelf_id: ShelfId, wanted: Filter, *, after: PageCursor, most: int) -> Page[ShelfItem]:
        """A page of items, the newest first; NotFound for another shelf's feed or group."""

        async def collect(tx: Tx) -> Page[ShelfItem]:
            feed_id, group_id = await place_tx(tx, shelf_id, wanted.feed, wanted.group)
            by_arrival = wanted.order_by == "created_at"
            asked = ItemFilter(
                feed_id=feed_id,
                group_id=group_id,
                unread=wanted.unread,
                saved=wanted.saved,
                since=wanted.since,
                sought=None if wanted.search is None else tuple(parse_terms(wanted.search)),
                by_arrival=by_arrival,
                with_content=wanted.with_content,
            )
            rows = await list_items_tx(tx, shelf_id, asked, after=after, most=most + 1)
            last = rows[most - 1] if len(rows) > most else None
            at = None if last is None else (last.created_at if by_arrival else last.sort_at)
            place = None if last is None or at is None else PageCursor(at, last.entry_id)
            return Page(rows[:most], await count_items_tx(tx, shelf_id, asked), place)

        return await self._deps.db.read(collect)

    async def get(self, shelf_id: ShelfId, item_id: ItemId) -> ShelfItem:
        """One of the shelf's items with its content; NotFound otherwise."""
        found = await self._deps.db.read(lambda tx: find_item_tx(tx, shelf_id, item_id))
        if found is None:
            raise NotFound("There is no such item.")
        return found

    # -- marking

    async def mark_items(self, shelf_id: ShelfId, ids: Sequence[ItemId], *, unread: bool) -> MarkedEntries:
        """Mark these items; those of other shelves are as unknown as those that are not there."""
        return await self._mark(shelf_id, lambda tx, now: mark_items_tx(tx, shelf_id, ids, unread=unread, now=now))

    async def mark_entries(
        self, shelf_id: ShelfId, ids: Sequence[EntryId], *, unread: bool, made_at: Millis | None = None
    ) -> MarkedEntries:
        """Mark these entries of the inbox, items or chapters; a chapter is then read, or not, everywhere.

        `made_at` is when the reader did it, where that is told later: what was read since then stays read.
        """
        at = made_moment(made_at, self._deps.clock())

        async def mark(tx: Tx, now: Millis) -> int:
            await begin_reading_tx(tx, shelf_id)
            until = FAR if made_at is None else at
            changed = await mark_entries_tx(tx, shelf_id, ids, unread=unread, now=at, until=until)
            await progress_follows_tx(tx, shelf_id, ids, now)
            return changed

        return MarkedEntries((await self._mark(shelf_id, mark)).changed, at)

    async def mark_scope(self, shelf_id: ShelfId, scope: MarkScope, *, unread: bool) -> MarkedEntries:
        """Mark a feed, a group or everything; NotFound for another shelf's."""

        async def mark(tx: Tx, now: Millis) -> int:
            feed_id, group_id = await place_tx(tx, shelf_id, scope.feed, scope.group)
            if feed_id is not None:
                return await mark_feed_tx(tx, shelf_id, feed_id, unread=unread, before=scope.before, now=now)
            if group_id is not None:
                return await mark_group_tx(tx, shelf_id, group_id, unread=unread, before=scope.before, now=now)
            await begin_reading_tx(tx, shelf_id)
            changed = await mark_all_tx(
                tx, shelf_id, unread=unread, before=scope.before, now=now, with_chapters=scope.with_chapters
            )
            if scope.with_chapters:
                await progress_follows_all_tx(tx, shelf_id, unread=unread, now=now)
            return changed

        return await self._mark(shelf_id, mark)

    async def undo(self, shelf_id: ShelfId, at: Millis) -> MarkedEntries:
        """Make unread again what was marked read at that moment, chapters that never came into the inbox included."""

        async def mark(tx: Tx, now: Millis) -> int:
            await begin_reading_tx(tx, shelf_id)
            changed = await unmark_since_tx(tx, shelf_id, at)
            await progress_follows_all_tx(tx, shelf_id, unread=True, now=now)
            return changed + await unmark_chapters_since_tx(tx, shelf_id, at, now)

        return await self._mark(shelf_id, mark)

    async def _mark(self, shelf_id: ShelfId, mark: Mark) -> MarkedEntries:
        now = self._deps.clock()

        async def work(tx: Tx) -> int:
            changed = await mark(tx, now)
            if changed:
                await counts_changed_tx(tx, [shelf_id], now)
            return changed

        changed = await self._deps.db.with_tx(work)
        if changed:
            self._deps.after_commit(EVENTS_WAKEUP)
        return MarkedEntries(changed, now)


async def place_tx(
    tx: Tx, shelf_id: ShelfId, feed: PublicId | None, group: PublicId | None
) -> tuple[FeedId | None, GroupId | None]:
    """SEC-31: a feed or a group of this shelf, or NotFound."""
    group_id = None if group is None else (await own_group_tx(tx, shelf_id, group)).id
    if feed is None:
        return None, group_id
    subscription = await own_subscription_tx(tx, shelf_id, feed)
    if group_id not in (None, subscription.group_id):
        raise NotFound("There is no such feed in this group.")
    return subscription.feed_id, group_id
