"""Lines, remembered. Each kind of list is read along an index of its own."""

from collections.abc import Sequence
from typing import Any, TypeVar

from tsuzuki.db import Tx, load_queries
from tsuzuki.delivery.timeline.nouns import State, TimelineFilter, TimelineLine
from tsuzuki.model.errors import NotFound
from tsuzuki.model.ids import EntryId, FeedId, GroupId, PublicId, SeriesId, ShelfId
from tsuzuki.model.pages import LATEST, PageCursor
from tsuzuki.model.times import Millis
from tsuzuki.sources.store import find_series_tx

T = TypeVar("T")

q = load_queries("tsuzuki.delivery.timeline")

Where = dict[str, Any]
"""The parameters that every list has: the shelf, and ours for what a reader named."""


async def where_tx(tx: Tx, shelf_id: ShelfId, wanted: TimelineFilter) -> Where:
    """I8, SEC-31: a feed or a group of this shelf, or NotFound."""
    return {
        "shelf_id": shelf_id,
        "kind": wanted.kind,
        "feed_id": await _feed_tx(tx, shelf_id, wanted.feed),
        "group_id": await _group_tx(tx, shelf_id, wanted.group),
        "series_id": await _series_tx(tx, wanted.series),
    }


async def _feed_tx(tx: Tx, shelf_id: ShelfId, public_id: PublicId | None) -> FeedId | None:
    if public_id is None:
        return None
    return _found(await tx.maybe(FeedId, q.find_feed, shelf_id=shelf_id, public_id=public_id), "feed")


async def _group_tx(tx: Tx, shelf_id: ShelfId, public_id: PublicId | None) -> GroupId | None:
    if public_id is None:
        return None
    return _found(await tx.maybe(GroupId, q.find_group, shelf_id=shelf_id, public_id=public_id), "group")


async def _series_tx(tx: Tx, public_id: PublicId | None) -> SeriesId | None:
    if public_id is None:
        return None
    return _found(await find_series_tx(tx, public_id), "series")


def _found(row_id: T | None, what: str) -> T:
    if row_id is None:
        raise NotFound(f"There is no such {what}.")
    return row_id


def _at(where: Where, wanted: TimelineFilter, place: PageCursor, most: int) -> Where:
    """The parameters of a list from this place on."""
    params = where | {"at": place.at, "id": place.id, "most": most}
    return params if wanted.by_published else params | {"then": LATEST if place.then is None else place.then}


async def older_lines_tx(
    tx: Tx, where: Where, wanted: TimelineFilter, *, after: PageCursor, most: int
) -> list[TimelineLine]:
    """The newest lines that come after this place in the list."""
    params, by_published = _at(where, wanted, after, most), wanted.by_published
    if wanted.only_saved:
        return await tx.many(TimelineLine, q.saved_lines_published if by_published else q.saved_lines, **params)
    if wanted.only_unread:
        return await tx.many(TimelineLine, q.unread_lines_published if by_published else q.unread_lines, **params)
    return await tx.many(TimelineLine, q.all_lines_published if by_published else q.all_lines, **params)


async def newer_lines_tx(
    tx: Tx, where: Where, wanted: TimelineFilter, *, before: PageCursor, most: int
) -> list[TimelineLine]:
    """The oldest lines that come before this place in the list, the closest first."""
    params, by_published = _at(where, wanted, before, most), wanted.by_published
    if wanted.only_saved:
        return await tx.many(
            TimelineLine, q.newer_saved_lines_published if by_published else q.newer_saved_lines, **params
        )
    if wanted.only_unread:
        return await tx.many(
            TimelineLine, q.newer_unread_lines_published if by_published else q.newer_unread_lines, **params
        )
    return await tx.many(TimelineLine, q.newer_lines_published if by_published else q.newer_lines, **params)


async def lately_read_tx(
    tx: Tx, where: Where, wanted: TimelineFilter, *, since: Millis, at: PageCursor
) -> list[list[TimelineLine]]:
    """The closest line before and after a place that was read since then."""
    params, by_published = _at(where, wanted, at, 1) | {"since": since}, wanted.by_published
    return [
        await tx.many(TimelineLine, q.lately_read_newer_published if by_published else q.lately_read_newer, **params),
        await tx.many(TimelineLine, q.lately_read_older_published if by_published else q.lately_read_older, **params),
    ]


async def unread_ids_tx(tx: Tx, where: Where, wanted: TimelineFilter, newest: EntryId) -> list[EntryId]:
    """The unread entries of a list that came in no later than this one."""
    return await tx.many(EntryId, q.unread_ids, **where, only_saved=wanted.only_saved, newest=newest)


async def newest_id_tx(tx: Tx, shelf_id: ShelfId) -> EntryId:
    """The entry that came in last; 0 when there is none."""
    return await tx.one(EntryId, q.newest_id, shelf_id=shelf_id)


async def states_tx(tx: Tx, shelf_id: ShelfId, ids: Sequence[EntryId]) -> list[State]:
    """Of those that are the shelf's."""
    return await tx.many(State, q.states, shelf_id=shelf_id, ids=ids)


async def save_chapter_tx(tx: Tx, shelf_id: ShelfId, entry_id: EntryId, *, saved: bool) -> bool:
    """Whether there is such an entry of a chapter."""
    return await tx.run(q.save_chapter, shelf_id=shelf_id, id=entry_id, saved=saved) > 0
