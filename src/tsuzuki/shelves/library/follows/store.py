"""Follows, remembered."""

from collections.abc import Sequence
from typing import Any

from tsuzuki.accounts.nouns import Slice
from tsuzuki.db import Tx, load_queries
from tsuzuki.model.ids import GroupId, PublicId, SeriesId, ShelfId
from tsuzuki.model.times import Millis
from tsuzuki.shelves.library.follows.nouns import Follow, FollowFilter, FormerFollow, Next, PlainFollowRow

q = load_queries("tsuzuki.shelves.library.follows")


async def list_follows_tx(
    tx: Tx, shelf_id: ShelfId, wanted: FollowFilter, *, group_id: GroupId | None, part: Slice
) -> tuple[list[Follow], int]:
    """The shelf's follows in the wanted order, and how many there are in all."""
    asked = _asked(shelf_id, wanted, group_id)
    rows = await tx.many(Follow, q.list_follows, **asked, sort=wanted.sort, most=part.most, skip=part.skip)
    if wanted.unread is None and wanted.has_gaps is None:
        plain = {"shelf_id": shelf_id, "status": wanted.status, "group_id": group_id}
        return rows, await tx.one(int, q.count_follows, **plain)
    return rows, await tx.one(int, q.count_narrowed, **asked)


async def show_follow_tx(tx: Tx, shelf_id: ShelfId, follow_id: int) -> Follow:
    """One of the shelf's follows with all there is to say of it."""
    asked = _asked(shelf_id, FollowFilter(), None) | {"only": follow_id}
    return await tx.one(Follow, q.list_follows, **asked, sort="title", most=1, skip=0)


def _asked(shelf_id: ShelfId, wanted: FollowFilter, group_id: GroupId | None) -> dict[str, Any]:
    return {
        "shelf_id": shelf_id,
        "only": None,
        "status": wanted.status,
        "group_id": group_id,
        "unread": wanted.unread,
        "has_gaps": wanted.has_gaps,
    }


async def find_follow_tx(tx: Tx, shelf_id: ShelfId, public_id: PublicId) -> PlainFollowRow | None:
    """The shelf's follow with this id; None for another shelf's."""
    return await tx.maybe(PlainFollowRow, q.find_follow, shelf_id=shelf_id, public_id=public_id)


async def find_follow_of_tx(tx: Tx, shelf_id: ShelfId, series_id: SeriesId) -> PlainFollowRow | None:
    """The shelf's follow of this series."""
    return await tx.maybe(PlainFollowRow, q.find_follow_of, shelf_id=shelf_id, series_id=series_id)


async def add_follow_tx(tx: Tx, shelf_id: ShelfId, new: PlainFollowRow) -> int:
    """Store it, with an id of its own; UniqueViolation when the shelf follows this series."""
    return await tx.one(
        int,
        q.add_follow,
        public_id=new.public_id,
        shelf_id=shelf_id,
        series_id=new.series_id,
        group_id=new.group_id,
        status=new.status,
        notify=new.notify,
        preferences=new.preferences,
        now=new.created_at,
    )


async def change_follow_tx(tx: Tx, changed: PlainFollowRow, now: Millis) -> None:
    """Store what a reader may change."""
    values = {"status": changed.status, "notify": changed.notify, "preferences": changed.preferences}
    await tx.run(q.change_follow, id=changed.id, group_id=changed.group_id, **values, now=now)


async def leave_series_tx(tx: Tx, shelf_id: ShelfId, gone: PlainFollowRow, now: Millis) -> int:
    """Take a series off a shelf and keep what following it again restores; how many entries went."""
    keys = await tx.many(str, q.entry_keys, shelf_id=shelf_id, series_id=gone.series_id)
    await tx.run(q.keep_saved, shelf_id=shelf_id, series_id=gone.series_id, now=now)
    await tx.run(
        q.keep_former,
        shelf_id=shelf_id,
        series_id=gone.series_id,
        group_id=gone.group_id,
        status=gone.status,
        notify=gone.notify,
        preferences=gone.preferences,
        entries=keys,
        created_at=gone.created_at,
        now=now,
    )
    await tx.run(q.delete_follow, id=gone.id)
    return await tx.run(q.delete_entries, shelf_id=shelf_id, series_id=gone.series_id)


async def take_former_tx(tx: Tx, shelf_id: ShelfId, series_id: SeriesId) -> FormerFollow | None:
    """What the shelf had when it left this series, which is forgotten now."""
    former = await tx.maybe(FormerFollow, q.find_former, shelf_id=shelf_id, series_id=series_id)
    if former is not None:
        await tx.run(q.delete_former, shelf_id=shelf_id, series_id=series_id)
    return former


async def restore_entries_tx(
    tx: Tx, shelf_id: ShelfId, series_id: SeriesId, keys: Sequence[str], *, now: Millis
) -> int:
    """Put the chapters with these keys back into the inbox; how many."""
    rows = [[key] for key in keys]
    return await tx.run(q.restore_entries, shelf_id=shelf_id, series_id=series_id, keys=rows, now=now)


async def count_available_tx(tx: Tx, shelf_id: ShelfId, series_id: SeriesId) -> int:
    """How many chapters wait to be read without being in the inbox."""
    return await tx.one(int, q.count_available, shelf_id=shelf_id, series_id=series_id)


async def continue_reading_tx(tx: Tx, shelf_id: ShelfId, most: int) -> list[Next]:
    """Where to read on in each series that is being read, the last read first."""
    return await tx.many(Next, q.continue_reading, shelf_id=shelf_id, most=most)
