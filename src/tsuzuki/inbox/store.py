"""Queries that list, count and mark entries. Each kind of list has an index of its own."""

from collections.abc import Sequence
from typing import Any, TypeVar

import msgspec

from tsuzuki.db import Tx, load_queries
from tsuzuki.db.fulltext import match
from tsuzuki.inbox.entries import FAR, Entry, EntryFilter
from tsuzuki.model.errors import NotFound
from tsuzuki.model.harvest import Kind
from tsuzuki.model.ids import EntryId, FeedId, GroupId, ItemId, PublicId, ShelfId
from tsuzuki.model.pages import LATEST, PageCursor
from tsuzuki.model.times import Millis
from tsuzuki.model.tokens import parse_terms
from tsuzuki.shelves.tags import find_tag_tx
from tsuzuki.sources.series import find_series_tx

T = TypeVar("T")
Where = dict[str, Any]
"""The parameters that every list has: the shelf, ours for what a reader named, and the flags."""

q = load_queries("tsuzuki.inbox")


# -- lists


async def where_tx(tx: Tx, shelf_id: ShelfId, wanted: EntryFilter) -> Where:
    """The filter's ids; NotFound for a feed, group or tag of another shelf (I8, SEC-31)."""
    feed_id, group_id = await place_tx(tx, shelf_id, wanted.feed, wanted.group)
    series_id = None if wanted.series is None else _found(await find_series_tx(tx, wanted.series), "series")
    return {
        "shelf_id": shelf_id,
        "kind": wanted.kind,
        "feed_id": feed_id,
        "group_id": group_id,
        "series_id": series_id,
        "tag_id": None if wanted.tag is None else await find_tag_tx(tx, shelf_id, wanted.tag),
        "unread": wanted.unread,
        "saved": wanted.saved,
    }


async def place_tx(
    tx: Tx, shelf_id: ShelfId, feed: PublicId | None, group: PublicId | None
) -> tuple[FeedId | None, GroupId | None]:
    """SEC-31: a feed, of this group where one is named, or a group of this shelf; NotFound for any other."""
    feed_id, group_id = None, None
    if group is not None:
        group_id = _found(await tx.maybe(GroupId, q.find_group, shelf_id=shelf_id, public_id=group), "group")
    if feed is not None:
        found = await tx.maybe(FeedId, q.find_feed, shelf_id=shelf_id, public_id=feed, group_id=group_id)
        feed_id = _found(found, "feed" if group is None else "feed in this group")
    return feed_id, group_id


def _found(row_id: T | None, what: str) -> T:
    if row_id is None:
        raise NotFound(f"There is no such {what}.")
    return row_id


def _at(where: Where, wanted: EntryFilter, place: PageCursor, most: int) -> Where:
    """The parameters of a list from this place on."""
    params = where | {"detail": wanted.detail, "at": place.at, "id": place.id, "most": most}
    return params if wanted.by_published else params | {"then": LATEST if place.then is None else place.then}


async def older_entries_tx(tx: Tx, where: Where, wanted: EntryFilter, *, after: PageCursor, most: int) -> list[Entry]:
    """The newest entries that come after this place in the list."""
    params = _at(where, wanted, after, most) | {"since": wanted.since}
    if wanted.search is not None:
        return await _search_entries_tx(tx, params, wanted)
    if not wanted.by_published:
        if wanted.saved:
            return await tx.many(Entry, q.saved_entries, **params)
        return await tx.many(Entry, q.unread_entries if wanted.unread else q.all_entries, **params)
    if wanted.feed is not None:
        return await tx.many(Entry, q.feed_entries_published, **params)
    if wanted.group is not None and wanted.kind == "item":
        return await tx.many(Entry, q.group_entries_published, **params)
    if wanted.saved:
        return await tx.many(Entry, q.saved_entries_published, **params)
    return await tx.many(Entry, q.unread_entries_published if wanted.unread else q.all_entries_published, **params)


async def _search_entries_tx(tx: Tx, params: Where, wanted: EntryFilter) -> list[Entry]:
    """Those of one time by their ids, in either order."""
    words = match(tx.engine, parse_terms(wanted.search or ""))
    params = {name: value for name, value in params.items() if name != "then"}
    search = {"match": words, "by_published": wanted.by_published}
    return [] if words is None else await tx.many(Entry, q.search_entries, **params, **search)


async def newer_entries_tx(tx: Tx, where: Where, wanted: EntryFilter, *, before: PageCursor, most: int) -> list[Entry]:
    """The oldest entries that come before this place in the list, the closest first."""
    params, by_published = _at(where, wanted, before, most), wanted.by_published
    if wanted.saved:
        return await tx.many(
            Entry, q.newer_saved_entries_published if by_published else q.newer_saved_entries, **params
        )
    if wanted.unread:
        return await tx.many(
            Entry, q.newer_unread_entries_published if by_published else q.newer_unread_entries, **params
        )
    return await tx.many(Entry, q.newer_entries_published if by_published else q.newer_entries, **params)


async def lately_read_tx(
    tx: Tx, where: Where, wanted: EntryFilter, *, read_since: Millis, at: PageCursor
) -> list[list[Entry]]:
    """The closest entry before and after a place that was read since then."""
    params, by_published = _at(where, wanted, at, 1) | {"unread": None, "read_since": read_since}, wanted.by_published
    older = params | {"since": wanted.since}
    return [
        await tx.many(Entry, q.lately_read_newer_published if by_published else q.lately_read_newer, **params),
        await tx.many(Entry, q.lately_read_older_published if by_published else q.lately_read_older, **older),
    ]


async def find_item_tx(tx: Tx, shelf_id: ShelfId, item_id: ItemId) -> Entry | None:
    """The entry of an item with its content; None for one that is not in the inbox, or whose feed was left."""
    found = await tx.maybe(Entry, q.find_item, shelf_id=shelf_id, item_id=item_id, detail="content")
    return None if found is None or found.feed_id is None else found


async def entries_of_tx(tx: Tx, shelf_id: ShelfId, ids: Sequence[EntryId]) -> list[Entry]:
    """Those of these entries that the shelf has, with their contents, in any order."""
    return await tx.many(Entry, q.entries_of, shelf_id=shelf_id, ids=ids, detail="content")


# -- counts


class UnreadRow(msgspec.Struct, frozen=True):
    """How many entries of one feed or series a shelf has not read."""

    kind: Kind
    of_id: int
    shown_id: PublicId | None
    """The public id of the subscription or series; None where the subscription is gone and its entries are not."""
    group_id: PublicId | None
    unread: int


class GroupSum(msgspec.Struct, frozen=True):
    """How many entries of one kind and group a shelf has not read; None for what is in no group any more."""

    kind: Kind
    group_id: GroupId | None
    unread: int


class Tallied(msgspec.Struct, frozen=True):
    """How many entries there are, and how many of them are unread."""

    entries: int
    unread: int

    def of(self, *, unread: bool | None) -> int:
        """How many that are unread, that are not, or all."""
        if unread is None:
            return self.entries
        return self.unread if unread else self.entries - self.unread


async def count_entries_tx(tx: Tx, where: Where, wanted: EntryFilter) -> int:
    """How many such entries the shelf has."""
    since = {"since": wanted.since, "by_published": wanted.by_published}
    if wanted.search is not None:
        words = match(tx.engine, parse_terms(wanted.search))
        return 0 if words is None else await tx.one(int, q.count_search_entries, **where, **since, match=words)
    if wanted.since or wanted.tag is not None:  # a tag has no tally
        return await tx.one(int, q.count_since, **where, **since)
    place = {name: value for name, value in where.items() if name not in {"unread", "saved"}}
    saved, unread = Tallied(0, 0), wanted.unread
    if wanted.saved is not None:
        saved = await tx.one(Tallied, q.tallied_saved, **place, unread=None, saved=None)
    if wanted.saved:
        return saved.of(unread=unread)
    del place["tag_id"]
    return (await tx.one(Tallied, q.tallied, **place)).of(unread=unread) - saved.of(unread=unread)


# -- marks


async def mark_entries_tx(
    tx: Tx, shelf_id: ShelfId, ids: Sequence[EntryId], *, unread: bool, now: Millis, until: Millis = FAR
) -> int:
    """Mark the shelf's entries read or unread, but for those that were read after `until`; how many changed."""
    return await tx.run(q.mark_entries, shelf_id=shelf_id, ids=ids, **mark_values(now, unread=unread), until=until)


async def mark_all_tx(
    tx: Tx, shelf_id: ShelfId, *, unread: bool, before: Millis, now: Millis, with_chapters: bool
) -> int:
    """Mark all entries that sort before a moment, or all but those of chapters; how many changed."""
    marks = mark_values(now, unread=unread) | {"before": before, "with_chapters": with_chapters}
    return await tx.run(q.mark_all, shelf_id=shelf_id, **marks)


def mark_values(now: Millis, *, unread: bool) -> dict[str, Any]:
    """What a mark writes."""
    return {"unread": unread, "read_at": None if unread else now}
