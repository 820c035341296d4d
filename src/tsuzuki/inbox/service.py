"""The inbox of a shelf, for pages, the API and other clients: lists, counts and marks."""

from collections import Counter
from collections.abc import Awaitable, Callable, Sequence

from tsuzuki.coord.wakeup import AfterCommit
from tsuzuki.db import Database, Tx, load_queries
from tsuzuki.inbox.entries import (
    FAR,
    Entry,
    EntryFilter,
    EntryNeighbours,
    EntryState,
    InboxPage,
    MarkedEntries,
    MarkScope,
    UnreadCounts,
    UnreadSums,
)
from tsuzuki.inbox.store import (
    GroupSum,
    UnreadRow,
    Where,
    count_entries_tx,
    find_item_tx,
    lately_read_tx,
    mark_all_tx,
    mark_entries_tx,
    mark_values,
    newer_entries_tx,
    older_entries_tx,
    place_tx,
    where_tx,
)
from tsuzuki.model.errors import NotFound
from tsuzuki.model.ids import EntryId, GroupId, ItemId, PublicId, ShelfId, show_id
from tsuzuki.model.pages import Page, PageCursor
from tsuzuki.model.times import DAY, Millis
from tsuzuki.shelves.events import EVENTS_WAKEUP, counts_changed_tx
from tsuzuki.shelves.progress import begin_reading_tx, bookmarks_follow_tx, progress_follows_all_tx, progress_follows_tx
from tsuzuki.shelves.progress import unmark_since_tx as unmark_chapters_since_tx

q = load_queries("tsuzuki.inbox")

LATEST_MARK = Millis(30 * DAY)
"""A browser that comes back later than this does not know when anything was."""

MOST_CONTENT = 8 * 1024 * 1024
"""Characters of articles in one answer; the next page has the others."""
CONTENTS_AT_ONCE = 10

Mark = Callable[[Tx, Millis], Awaitable[int]]


def made_moment(made_at: Millis | None, now: Millis) -> Millis:
    """When a mark was made: now, or when its reader says, unless that cannot be or is too long ago to matter."""
    return now if made_at is None or not now - LATEST_MARK <= made_at <= now else made_at


class Inbox:
    """What readers read from. Everything is asked for by the shelf first (I8, SEC-31)."""

    def __init__(self, db: Database, clock: Callable[[], Millis], after_commit: AfterCommit) -> None:
        self._db = db
        self._clock = clock
        self._after_commit = after_commit

    # -- looking

    async def list(self, shelf_id: ShelfId, wanted: EntryFilter, *, after: PageCursor, most: int) -> Page[Entry]:
        """Entries from this place on, the newest first, and how many there are; NotFound for another shelf's feed."""

        async def read(tx: Tx) -> Page[Entry]:
            where = await where_tx(tx, shelf_id, wanted)
            total = await count_entries_tx(tx, where, wanted)
            if wanted.detail == "content":
                rows, place = await _with_contents_tx(tx, where, wanted, after=after, most=most)
                return Page(rows, total, place)
            found = await older_entries_tx(tx, where, wanted, after=after, most=most + 1)
            return Page(found[:most], total, _next(found, wanted, most))

        return await self._db.read_replica(read)

    async def page(self, shelf_id: ShelfId, wanted: EntryFilter, *, after: PageCursor, most: int) -> InboxPage:
        """A page without the total, but with the newest entry: mass marks go up to it, not beyond what was shown."""

        async def read(tx: Tx) -> InboxPage:
            where = await where_tx(tx, shelf_id, wanted)
            newest = await tx.one(EntryId, q.newest_id, shelf_id=shelf_id)
            found = await older_entries_tx(tx, where, wanted, after=after, most=most + 1)
            return InboxPage(found[:most], _next(found, wanted, most), newest)

        return await self._db.read_replica(read)

    async def neighbours(self, shelf_id: ShelfId, wanted: EntryFilter, at: PageCursor) -> EntryNeighbours:
        """The entries before and after a place, whether or not the list still has the entry at that place."""

        async def read(tx: Tx) -> EntryNeighbours:
            where = await where_tx(tx, shelf_id, wanted)
            newer = await newer_entries_tx(tx, where, wanted, before=at, most=1)
            older = await older_entries_tx(tx, where, wanted, after=at, most=1)
            if wanted.unread and wanted.read_since is not None:
                read_newer, read_older = await lately_read_tx(tx, where, wanted, read_since=wanted.read_since, at=at)
                newer, older = newer + read_newer, older + read_older

            def order(entry: Entry) -> tuple[Millis, Millis, EntryId]:
                place = entry.place(wanted)
                return place.at, place.then or Millis(0), entry.id

            return EntryNeighbours(min(newer, key=order, default=None), max(older, key=order, default=None))

        return await self._db.read_replica(read)

    async def get_item(self, shelf_id: ShelfId, item_id: ItemId) -> Entry:
        """The entry of one of the shelf's items, with its content, or NotFound."""
        found = await self._db.read(lambda tx: find_item_tx(tx, shelf_id, item_id))
        if found is None:
            raise NotFound("There is no such item.")
        return found

    async def states(self, shelf_id: ShelfId, ids: Sequence[EntryId]) -> Sequence[EntryState]:
        """How these entries stand now; those that are gone or another shelf's are left out."""
        return await self._db.read(lambda tx: tx.many(EntryState, q.states, shelf_id=shelf_id, ids=ids))

    async def count(self, shelf_id: ShelfId) -> UnreadCounts:
        """What the shelf has not read, now."""
        return await self._db.read_replica(lambda tx: counts_tx(tx, shelf_id))

    async def sums(self, shelf_id: ShelfId) -> UnreadSums:
        """The sums that every page shows, without those of each feed and series."""
        rows = await self._db.read_replica(lambda tx: tx.many(GroupSum, q.unread_sums, shelf_id=shelf_id))
        groups = Counter[GroupId]()
        sums = {"item": 0, "chapter": 0}
        for row in rows:
            sums[row.kind] += row.unread
            if row.group_id is not None:
                groups[row.group_id] += row.unread
        unread = sum(sums.values())
        return UnreadSums(unread=unread, items=sums["item"], chapters=sums["chapter"], groups=groups)

    async def total(self, shelf_id: ShelfId, wanted: EntryFilter) -> int:
        """How many entries a list has; NotFound for another shelf's feed or group."""

        async def read(tx: Tx) -> int:
            return await count_entries_tx(tx, await where_tx(tx, shelf_id, wanted), wanted)

        return await self._db.read_replica(read)

    # -- marking

    async def mark_items(self, shelf_id: ShelfId, ids: Sequence[ItemId], *, unread: bool) -> MarkedEntries:
        """Mark these items; those of other shelves are as unknown as those that are not there."""
        return await self._mark(
            shelf_id,
            lambda tx, now: tx.run(q.mark_items, shelf_id=shelf_id, ids=ids, **mark_values(now, unread=unread)),
        )

    async def mark_entries(
        self, shelf_id: ShelfId, ids: Sequence[EntryId], *, unread: bool, made_at: Millis | None = None
    ) -> MarkedEntries:
        """Mark these entries, items or chapters; a chapter is then read, or not, everywhere.

        `made_at` is when the reader did it, where it is sent later: what was read since then stays read.
        """
        at = made_moment(made_at, self._clock())

        async def mark(tx: Tx, now: Millis) -> int:
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
                return await tx.run(
                    q.mark_feed,
                    shelf_id=shelf_id,
                    feed_id=feed_id,
                    **mark_values(now, unread=unread),
                    before=scope.before,
                )
            if group_id is not None:
                return await tx.run(
                    q.mark_group,
                    shelf_id=shelf_id,
                    group_id=group_id,
                    **mark_values(now, unread=unread),
                    before=scope.before,
                )
            changed = await mark_all_tx(
                tx, shelf_id, unread=unread, before=scope.before, now=now, with_chapters=scope.with_chapters
            )
            if scope.with_chapters:
                await progress_follows_all_tx(tx, shelf_id, unread=unread, now=now)
            return changed

        return await self._mark(shelf_id, mark)

    async def mark_list_read(
        self, shelf_id: ShelfId, wanted: EntryFilter, newest: EntryId, made_at: Millis | None = None
    ) -> MarkedEntries:
        """Mark what is unread of a list, up to the newest entry when it was looked at."""

        async def unread(tx: Tx) -> Sequence[EntryId]:
            return await tx.many(EntryId, q.unread_ids, **await where_tx(tx, shelf_id, wanted), newest=newest)

        ids = await self._db.read(unread)
        return await self.mark_entries(shelf_id, ids, unread=False, made_at=made_at)

    async def undo(self, shelf_id: ShelfId, at: Millis) -> MarkedEntries:
        """Make unread again what was marked read at that moment, chapters that never came into the inbox included."""

        async def mark(tx: Tx, now: Millis) -> int:
            changed = await tx.run(q.unmark_since, shelf_id=shelf_id, at=at)
            await progress_follows_all_tx(tx, shelf_id, unread=True, now=now)
            return changed + await unmark_chapters_since_tx(tx, shelf_id, at, now)

        return await self._mark(shelf_id, mark)

    async def save_chapter(self, shelf_id: ShelfId, entry_id: EntryId, *, saved: bool) -> None:
        """Save an entry of a chapter, which bookmarks it in its series, or let it go; NotFound for anything else."""
        if not await self.change_entries(
            shelf_id, lambda tx, _now: save_chapters_tx(tx, shelf_id, [entry_id], saved=saved)
        ):
            raise NotFound("There is no such chapter in the inbox.")

    async def change_entries(self, shelf_id: ShelfId, mark: Mark) -> int:
        """Do all of `mark` in one transaction, with what marks need locked; how many entries it changed."""
        return (await self._mark(shelf_id, mark)).changed

    async def _mark(self, shelf_id: ShelfId, mark: Mark) -> MarkedEntries:
        now = self._clock()

        async def work(tx: Tx) -> int:
            await begin_reading_tx(tx, shelf_id)  # so nobody marks the same entries in another order
            changed = await mark(tx, now)
            if changed:
                await counts_changed_tx(tx, [shelf_id], now)
            return changed

        changed = await self._db.with_tx(work)
        if changed:
            self._after_commit(EVENTS_WAKEUP)
        return MarkedEntries(changed, now)


async def save_chapters_tx(tx: Tx, shelf_id: ShelfId, ids: Sequence[EntryId], *, saved: bool) -> int:
    """Save entries of chapters, or let them go, and say so in their series; how many of them there are."""
    found = await tx.run(q.save_chapters, shelf_id=shelf_id, ids=ids, saved=saved)
    if found:
        await bookmarks_follow_tx(tx, shelf_id, ids)
    return found


def _next(found: Sequence[Entry], wanted: EntryFilter, most: int) -> PageCursor | None:
    """Where the next page begins, when one more than a page was found."""
    return found[most - 1].place(wanted) if len(found) > most else None


async def _with_contents_tx(
    tx: Tx, where: Where, wanted: EntryFilter, *, after: PageCursor, most: int
) -> tuple[list[Entry], PageCursor | None]:
    """A page of entries with their texts; long texts end it early, so that no answer delays others."""
    rows: list[Entry] = []
    room = MOST_CONTENT
    while True:
        place = rows[-1].place(wanted) if rows else after
        step = min(most - len(rows), CONTENTS_AT_ONCE)
        found = await older_entries_tx(tx, where, wanted, after=place, most=step + 1)
        for entry in found[:step]:
            room -= len(entry.content or "")
            if room < 0 and rows:
                return rows, rows[-1].place(wanted)
            rows.append(entry)
        if len(found) <= step:
            return rows, None
        if len(rows) == most:
            return rows, rows[-1].place(wanted)


async def counts_tx(tx: Tx, shelf_id: ShelfId) -> UnreadCounts:
    """All counts of a shelf, in one statement: they agree with each other (REL-19h)."""
    groups = Counter[PublicId]()  # by bytes: there are few, and many rows
    shown: dict[str, dict[str, int]] = {"item": {}, "chapter": {}}
    sums = {"item": 0, "chapter": 0}
    for row in await tx.many(UnreadRow, q.unread_counts, shelf_id=shelf_id):
        sums[row.kind] += row.unread
        if row.group_id is not None:
            groups[row.group_id] += row.unread
        if row.shown_id is not None:
            shown[row.kind][show_id(row.shown_id)] = row.unread
    return UnreadCounts(
        unread=sums["item"] + sums["chapter"],
        items=sums["item"],
        chapters=sums["chapter"],
        groups={show_id(group): unread for group, unread in groups.items()},
        feeds=shown["item"],
        series=shown["chapter"],
    )
