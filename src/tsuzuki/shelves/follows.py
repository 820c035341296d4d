"""Follows: the series of a shelf."""

from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import UnsetType

from tsuzuki.accounts.types import Slice
from tsuzuki.coord.wakeup import POLL_WAKEUP
from tsuzuki.db import Tx, load_queries
from tsuzuki.db.deadlines import with_tx_again
from tsuzuki.db.errors import UniqueViolation
from tsuzuki.db.locks import lock_reading_tx, lock_series_merges_shared_tx, lock_series_tx
from tsuzuki.model.errors import Conflict, NotFound
from tsuzuki.model.ids import GroupId, PublicId, SeriesId, ShelfId
from tsuzuki.model.times import Millis
from tsuzuki.shelves.backfill import deliver_known_chapters_tx
from tsuzuki.shelves.deps import ShelfDeps
from tsuzuki.shelves.events import EVENTS_WAKEUP, counts_changed_tx
from tsuzuki.shelves.groups import default_group_tx, own_group_tx
from tsuzuki.shelves.limits import check_shelf_limit_tx, free_room_tx
from tsuzuki.shelves.types import (
    Follow,
    FollowChange,
    FollowFilter,
    FollowRequest,
    FormerFollow,
    NewFollow,
    NextToRead,
    PlainFollowRow,
    ReleasePreferences,
    new_or,
)
from tsuzuki.sources.comics import followers_changed_tx, watch_everywhere_tx
from tsuzuki.sources.series import known_series_tx

q = load_queries("tsuzuki.shelves.follows")


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


async def find_follow_of_tx(tx: Tx, shelf_id: ShelfId, series_id: SeriesId) -> PlainFollowRow | None:
    """The shelf's follow of this series."""
    return await tx.maybe(PlainFollowRow, q.find_follow_of, shelf_id=shelf_id, series_id=series_id)


async def add_follow_tx(tx: Tx, shelf_id: ShelfId, new: PlainFollowRow) -> int:
    """Store it, with an id of its own; UniqueViolation when the shelf follows this series."""
    return await tx.one(int, q.add_follow, **q.add_follow.values_of(new, shelf_id=shelf_id, now=new.created_at))


async def change_follow_tx(tx: Tx, changed: PlainFollowRow, now: Millis) -> None:
    """Store what a reader may change."""
    await tx.run(q.change_follow, **q.change_follow.values_of(changed, now=now))


async def leave_series_tx(tx: Tx, shelf_id: ShelfId, gone: PlainFollowRow, now: Millis) -> int:
    """Take a series off a shelf and keep what following it again restores; how many entries went."""
    keys = await tx.many(str, q.entry_keys, shelf_id=shelf_id, series_id=gone.series_id)
    await tx.run(q.keep_saved, shelf_id=shelf_id, series_id=gone.series_id, now=now)
    await tx.run(q.store_former, **q.store_former.values_of(gone, shelf_id=shelf_id, entries=keys, now=now))
    await tx.run(q.delete_follow, id=gone.id)
    return await tx.run(q.delete_entries, shelf_id=shelf_id, series_id=gone.series_id)


async def take_former_follow_tx(tx: Tx, shelf_id: ShelfId, series_id: SeriesId) -> FormerFollow | None:
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


_FOLLOWED = "This shelf already follows this series."


class Follows:
    """The series that a shelf follows. Following starts polling; when the last follower leaves, it stops."""

    def __init__(self, deps: ShelfDeps) -> None:
        self._deps = deps

    # -- looking

    async def list(self, shelf_id: ShelfId, wanted: FollowFilter, part: Slice) -> tuple[Sequence[Follow], int]:
        """The shelf's, and how many there are in all; NotFound for a group of another shelf."""

        async def collect(tx: Tx) -> tuple[Sequence[Follow], int]:
            group_id = None if wanted.group is None else (await own_group_tx(tx, shelf_id, wanted.group)).id
            return await list_follows_tx(tx, shelf_id, wanted, group_id=group_id, part=part)

        return await self._deps.db.read(collect)

    async def get(self, shelf_id: ShelfId, public_id: PublicId) -> Follow:
        """One of the shelf's, or NotFound."""

        async def read(tx: Tx) -> Follow:
            return await show_follow_tx(tx, shelf_id, (await own_follow_tx(tx, shelf_id, public_id)).id)

        return await self._deps.db.read(read)

    async def continue_reading(self, shelf_id: ShelfId, most: int) -> Sequence[NextToRead]:
        """Where to read on in each series that is being read, the last read first."""
        return await self._deps.db.read(
            lambda tx: tx.many(NextToRead, q.continue_reading, shelf_id=shelf_id, most=most)
        )

    # -- coming

    async def add(self, shelf_id: ShelfId, request: FollowRequest) -> NewFollow:
        """Follow a series; Conflict when the shelf does. Who comes back finds everything as it was left (I9)."""
        followed = await with_tx_again(self._deps.db, lambda tx: self._add_tx(tx, shelf_id, request))
        self._deps.after_commit(EVENTS_WAKEUP, POLL_WAKEUP)
        return followed

    async def _add_tx(self, tx: Tx, shelf_id: ShelfId, request: FollowRequest) -> NewFollow:
        now = self._deps.clock()
        await check_shelf_limit_tx(tx, shelf_id, "follows")
        await lock_series_merges_shared_tx(tx)
        series_id = await known_series_tx(tx, request.series)
        # What is being delivered is waited for and counts as available; what is delivered next sees the follow.
        await lock_series_tx(tx, series_id)
        await lock_reading_tx(tx, shelf_id)
        if await find_follow_of_tx(tx, shelf_id, series_id) is not None:
            raise Conflict(_FOLLOWED)
        former = await take_former_follow_tx(tx, shelf_id, series_id)
        row = await self._row_tx(tx, shelf_id, series_id, request, former=former)
        try:
            follow_id = await add_follow_tx(tx, shelf_id, row)
        except UniqueViolation as error:
            raise Conflict(_FOLLOWED) from error
        restored = 0
        if former is not None and former.entries:
            restored = await restore_entries_tx(tx, shelf_id, series_id, former.entries, now=now)
        await watch_everywhere_tx(tx, series_id, now)
        available = await tx.one(int, q.count_available, shelf_id=shelf_id, series_id=series_id)
        await deliver_known_chapters_tx(tx, shelf_id, series_id, available=available, now=now)
        if restored:
            await counts_changed_tx(tx, [shelf_id], now)
        return NewFollow(await show_follow_tx(tx, shelf_id, follow_id), available, restored)

    async def _row_tx(
        self, tx: Tx, shelf_id: ShelfId, series_id: SeriesId, request: FollowRequest, *, former: FormerFollow | None
    ) -> PlainFollowRow:
        """From the request, else from the former follow, else by default."""
        usual = former or FormerFollow(None, "reading", True, ReleasePreferences(), [])  # noqa: FBT003  a row
        return PlainFollowRow(
            id=0,
            public_id=self._deps.new_id(),
            series_id=series_id,
            group_id=await self._group_tx(tx, shelf_id, request.group, usual.group_id),
            status=new_or(request.status, usual.status),
            notify=new_or(request.notify, usual.notify),
            preferences=new_or(request.preferences, usual.preferences),
            created_at=self._deps.clock(),
        )

    # -- changing

    async def change(self, shelf_id: ShelfId, public_id: PublicId, change: FollowChange) -> Follow:
        """Change what is the reader's own; NotFound for another shelf's follow or group."""

        async def apply(tx: Tx) -> Follow:
            now = self._deps.clock()
            before = await self._own_tx(tx, shelf_id, public_id)
            changed = msgspec.structs.replace(
                before,
                group_id=await self._group_tx(tx, shelf_id, change.group, before.group_id),
                status=new_or(change.status, before.status),
                notify=new_or(change.notify, before.notify),
                preferences=new_or(change.preferences, before.preferences),
            )
            await change_follow_tx(tx, changed, now)
            if changed.status != before.status:
                await followers_changed_tx(tx, before.series_id, now)
            return await show_follow_tx(tx, shelf_id, before.id)

        changed = await with_tx_again(self._deps.db, apply)
        self._deps.after_commit(POLL_WAKEUP)
        return changed

    # -- going

    async def leave(self, shelf_id: ShelfId, public_id: PublicId) -> None:
        """Follow it no more. What was read stays known (I9), and following again brings its entries back."""
        await with_tx_again(self._deps.db, lambda tx: self.leave_tx(tx, shelf_id, public_id))
        self._deps.after_commit(EVENTS_WAKEUP)

    async def leave_tx(self, tx: Tx, shelf_id: ShelfId, public_id: PublicId) -> None:
        """Leave it as part of more."""
        now = self._deps.clock()
        await free_room_tx(tx, shelf_id)
        gone = await self._own_tx(tx, shelf_id, public_id)
        await self._deps.deliver_before_leaving_tx(tx, "chapter", gone.series_id, shelf_id)
        entries = await leave_series_tx(tx, shelf_id, gone, now)
        await followers_changed_tx(tx, gone.series_id, now)
        if entries:
            await counts_changed_tx(tx, [shelf_id], now)

    # -- the parts

    async def _own_tx(self, tx: Tx, shelf_id: ShelfId, public_id: PublicId) -> PlainFollowRow:
        """The shelf's follow, with its series locked against ingest and other followers."""
        await lock_series_merges_shared_tx(tx)
        await lock_series_tx(tx, (await own_follow_tx(tx, shelf_id, public_id)).series_id)
        await lock_reading_tx(tx, shelf_id)
        return await own_follow_tx(tx, shelf_id, public_id)

    async def _group_tx(
        self, tx: Tx, shelf_id: ShelfId, wanted: PublicId | UnsetType, before: GroupId | None
    ) -> GroupId:
        if not isinstance(wanted, UnsetType):
            return (await own_group_tx(tx, shelf_id, wanted)).id
        return before if before is not None else (await default_group_tx(tx, shelf_id)).id


async def own_follow_tx(tx: Tx, shelf_id: ShelfId, public_id: PublicId) -> PlainFollowRow:
    """The shelf's follow with this id; NotFound for anything else (I8)."""
    found = await tx.maybe(PlainFollowRow, q.find_follow, shelf_id=shelf_id, public_id=public_id)
    if found is None:
        raise NotFound("This shelf does not follow it.")
    return found
