"""What reader apps synchronise: feeds and entries by numbers (R108), over the same inbox as the pages."""

from collections import defaultdict
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Any, Literal

import msgspec

from tsuzuki.db import Database, Tx, load_queries
from tsuzuki.db.fulltext import match
from tsuzuki.inbox.entries import FAR, Entry, EntryFilter
from tsuzuki.inbox.search.turns import SearchTurns
from tsuzuki.inbox.service import Inbox, save_chapters_tx
from tsuzuki.inbox.store import count_entries_tx, entries_of_tx, mark_entries_tx
from tsuzuki.model.errors import NotFound
from tsuzuki.model.harvest import Kind
from tsuzuki.model.ids import EntryId, FeedId, GroupId, ItemId, PublicId, SeriesId, ShelfId, TagId
from tsuzuki.model.times import MINUTE, Millis
from tsuzuki.model.tokens import parse_terms
from tsuzuki.shelves.bookmarks import Bookmarks
from tsuzuki.shelves.progress import progress_follows_tx

q = load_queries("tsuzuki.inbox.sync")

_PLACES = ("shelf_id", "kind", "feed_id", "series_id", "group_id", "tag_id", "unread", "saved")

LARGEST = 2**63 - 1
"""No number is larger."""

LATE = 2 * MINUTE
"""An entry says when it was stored or marked, and is seen when that transaction ends, or an older one that holds back
its number. An app that asks for what arrived or changed since it last looked is given this much more: what it knows
already it skips.
"""

MOST_AT_ONCE = 200
LONGEST_AT_ONCE = 2 * 1024 * 1024
"""Entries, and bytes of their texts, that are read at once: each time costs some statements, whatever there is."""

Order = Literal["id", "published", "changed", "created", "status", "title", "author", "category_title", "category_id"]
_NUMBERED = ("id", "published", "changed", "created")


class SyncFeed(msgspec.Struct, frozen=True):
    """A feed or a series of a shelf, as apps list it."""

    number: int
    kind: Kind
    public_id: PublicId
    """The public id of the subscription or the follow."""
    of_id: int
    """The feed, or the series."""
    group_id: GroupId
    """Also the number that apps know the group by."""
    series_public_id: PublicId | None
    """None for a feed."""
    group_name: str
    title: str
    link: str | None
    """None for a series."""
    site_url: str | None
    unread: int
    entries: int
    checked_at: Millis | None
    next_check_at: Millis | None
    newest_at: Millis | None
    """When it last had something new."""
    error: str | None
    failures: int
    is_suspended: bool
    etag: str | None
    last_modified: str | None
    full_text: bool
    created_at: Millis


class SyncRef(msgspec.Struct, frozen=True, gc=False):
    """The number of an entry, that of its feed, and when it arrived."""

    id: EntryId
    feed: int
    arrived_at: Millis


class SyncDetails(msgspec.Struct, frozen=True):
    """What apps get of an entry beside its item or chapter."""

    id: EntryId
    feed: int
    arrived_at: Millis
    """When it appeared on the shelf."""
    changed_at: Millis | None
    """When it was last marked or saved."""
    group_id: GroupId
    group_name: str
    feed_title: str
    site_url: str | None
    feed_link: str | None


class SyncEntry(msgspec.Struct, frozen=True):
    """An entry with its content, and where it belongs."""

    entry: Entry
    """The entry; its content is the full text of its page if its reader wants that and it was fetched."""
    details: SyncDetails
    lacks_text: bool = False
    """Whether its reader wants the page's text, and nobody has tried to fetch it."""

    played: Mapping[int, int] = {}
    """How far each of its files was played, in seconds, by its place among them."""

    def with_text(self, text: str) -> "SyncEntry":
        """This entry with the text of its page."""
        entry = msgspec.structs.replace(self.entry, content=text)
        return msgspec.structs.replace(self, entry=entry, lacks_text=False)


class TextSize(msgspec.Struct, frozen=True, gc=False):
    """The bytes of an entry's texts."""

    id: EntryId
    size: int


class PlayedFile(msgspec.Struct, frozen=True):
    """How far a file was played, in seconds."""

    entry_id: EntryId
    place: int
    seconds: int


class KnownText(msgspec.Struct, frozen=True):
    """The text of the page behind an item; empty where it could not be had."""

    item_id: ItemId
    content: str


class SyncFilter(msgspec.Struct, frozen=True, kw_only=True):
    """Which entries. Numbers are exclusive, times inclusive; None means all."""

    kind: Kind | None = None
    unread: bool | None = None
    saved: bool | None = None
    feed: int | None = None
    """The number of a feed or series; an unknown one has no entries."""
    group: int | None = None
    tag: TagId | None = None
    """With a group as well: what is in the group or has the tag. A label of an app can be both."""
    above: int = 0
    below: int = LARGEST
    arrived_from: Millis = Millis(0)
    arrived_until: Millis = FAR
    published_from: Millis = Millis(-FAR)
    published_until: Millis = FAR
    changed_from: Millis | None = None
    """Exclusive: what was marked or saved after it, or arrived."""
    changed_until: Millis = FAR
    search: str | None = None
    tags: tuple[str, ...] = ()
    """All of them, as the publisher gave them."""


class NumberedFeed(msgspec.Struct, frozen=True):
    """What a number of a feed stands for: a subscription of the shelf, or a follow."""

    feed_id: FeedId | None
    series_id: SeriesId | None
    public_id: PublicId


class VisibleEntry(msgspec.Struct, frozen=True, gc=False):
    """An entry that an app may see; None for a chapter's item."""

    id: EntryId
    item_id: ItemId | None
    saved: bool


class SyncInbox:
    """Lists, counts and marks by numbers. Everything is asked for by the shelf first (I8).

    Numbers of others, and such that never were, are passed over: clients repeat what was refused for ever.
    """

    def __init__(self, db: Database, inbox: Inbox, bookmarks: Bookmarks, turns: SearchTurns | None = None) -> None:
        self._db = db
        self._turns = turns or SearchTurns()
        self._inbox = inbox
        self._bookmarks = bookmarks

    # -- feeds

    async def feeds(self, shelf_id: ShelfId, kind: Kind | None, number: int | None = None) -> list[SyncFeed]:
        """The shelf's feeds and series in the order of their numbers; the one of this number, if one is given."""
        return await self._db.read(lambda tx: tx.many(SyncFeed, q.feeds, shelf_id=shelf_id, kind=kind, number=number))

    async def feed(self, shelf_id: ShelfId, kind: Kind | None, number: int) -> SyncFeed:
        """One of the shelf's, or NotFound."""
        found = await self.feeds(shelf_id, kind, number) if 0 < number < LARGEST else []
        if not found:
            raise NotFound("There is no such feed.")
        return found[0]

    async def number_of(self, shelf_id: ShelfId, subscription: PublicId) -> int:
        """The number of a subscription."""
        return await self._db.read(
            lambda tx: tx.one(int, q.number_of_subscription, shelf_id=shelf_id, public_id=subscription)
        )

    async def last_checked(self, shelf_id: ShelfId) -> Millis | None:
        """When a feed of the shelf was polled last."""
        return await self._db.read(lambda tx: tx.maybe(Millis, q.last_checked, shelf_id=shelf_id))

    # -- entries

    async def refs(
        self,
        shelf_id: ShelfId,
        wanted: SyncFilter,
        *,
        most: int,
        skip: int = 0,
        by: Order = "id",
        descending: bool = False,
    ) -> list[SyncRef]:
        """The numbers of entries that have settled, in this order; an app may go on from the last of them."""

        async def read(tx: Tx) -> list[SyncRef]:
            where = await _where_tx(tx, shelf_id, wanted)
            if where is None:
                return []
            return await _list_tx(tx, where | {"most": most, "skip": skip}, wanted, by=by, descending=descending)

        async with self._turn(shelf_id, wanted):
            return await self._db.read(read)

    def _turn(self, shelf_id: ShelfId, wanted: SyncFilter) -> AbstractAsyncContextManager[None]:
        """Searches of a shelf come one after the other, whoever wants them."""
        return nullcontext() if wanted.search is None else self._turns.take(shelf_id)

    async def count(self, shelf_id: ShelfId, wanted: SyncFilter) -> int:
        """How many there are."""

        async def read(tx: Tx) -> int:
            where = await _where_tx(tx, shelf_id, wanted)
            if where is None:
                return 0
            if wanted.search is not None:
                words = match(tx.engine, parse_terms(wanted.search))
                return 0 if words is None else await tx.one(int, q.count_found, **where, match=words)
            if wanted == _plain(wanted):
                plain = EntryFilter(kind=wanted.kind, unread=wanted.unread, saved=wanted.saved)
                return await count_entries_tx(tx, {name: where[name] for name in _PLACES}, plain)
            return await tx.one(int, q.count, **where)

        async with self._turn(shelf_id, wanted):
            return await self._db.read(read)

    async def entries(self, shelf_id: ShelfId, ids: Sequence[int], kind: Kind | None) -> list[SyncEntry]:
        """These entries with their contents, in this order, without those that the app may not see."""
        wanted = [number for number in dict.fromkeys(ids) if 0 < number < LARGEST]

        async def read(tx: Tx) -> list[SyncEntry]:
            return await sync_entries_tx(tx, shelf_id, wanted, kind, settled=await tx.one(int, q.settled))

        return await self._db.read(read) if wanted else []

    async def portions(self, shelf_id: ShelfId, ids: Sequence[int]) -> AsyncIterator[list[int]]:
        """These numbers in this order, in lists to be read at once; without those that the shelf does not have."""
        wanted = [number for number in dict.fromkeys(ids) if 0 < number < LARGEST]
        for start in range(0, len(wanted), MOST_AT_ONCE):
            for portion in await self._portions(shelf_id, wanted[start : start + MOST_AT_ONCE]):
                yield portion

    async def _portions(self, shelf_id: ShelfId, ids: Sequence[int]) -> list[list[int]]:
        sizes = await self._db.read(lambda tx: tx.many(TextSize, q.text_sizes, shelf_id=shelf_id, ids=ids))
        size_of = {one.id: one.size for one in sizes}
        portions: list[list[int]] = []
        room = 0
        for number in map(EntryId, ids):
            if (size := size_of.get(number)) is None:
                continue
            if not portions or size > room:
                portions.append([])
                room = LONGEST_AT_ONCE
            portions[-1].append(number)
            room -= size
        return portions

    # -- marks

    async def mark(
        self,
        shelf_id: ShelfId,
        ids: Sequence[int],
        kind: Kind | None,
        *,
        unread: bool | None = None,
        saved: bool | None = None,
    ) -> None:
        """Set what is said of these, all of it or nothing; a repeat changes nothing. A chapter is then read, or not,
        everywhere. An article is saved as a bookmark, a chapter in its series.
        """
        numbers = [number for number in dict.fromkeys(ids) if 0 < number < LARGEST]

        async def mark(tx: Tx, now: Millis) -> int:
            seen = await tx.many(VisibleEntry, q.visible, shelf_id=shelf_id, ids=numbers, kind=kind)
            changed = 0
            if saved is not None:  # first: see `Bookmarks`
                changed += await self._save_tx(tx, shelf_id, [one for one in seen if one.saved != saved], saved=saved)
            if unread is not None and seen:
                changed += await mark_entries_tx(tx, shelf_id, [one.id for one in seen], unread=unread, now=now)
                if chapters := [one.id for one in seen if one.item_id is None]:
                    await progress_follows_tx(tx, shelf_id, chapters, now)
            return changed

        if numbers:
            await self._inbox.change_entries(shelf_id, mark)

    async def play(self, shelf_id: ShelfId, entry_id: EntryId, place: int, seconds: int) -> None:
        """Remember how far a file of an entry was played."""

        async def play(tx: Tx, now: Millis) -> int:
            where = {"shelf_id": shelf_id, "id": entry_id, "place": place}
            await tx.run(q.play, **where, seconds=seconds, now=now)
            return 0

        await self._inbox.change_entries(shelf_id, play)

    async def _save_tx(self, tx: Tx, shelf_id: ShelfId, some: Sequence[VisibleEntry], *, saved: bool) -> int:
        items = [one.item_id for one in some if one.item_id is not None]
        chapters = [one.id for one in some if one.item_id is None]
        changed = await self._bookmarks.save_items_tx(tx, shelf_id, items, saved=saved) if items else 0
        return changed + (await save_chapters_tx(tx, shelf_id, chapters, saved=saved) if chapters else 0)

    async def visible(self, shelf_id: ShelfId, ids: Sequence[int], kind: Kind | None) -> list[EntryId]:
        """Those of these that are entries of the shelf and that the app may see."""
        numbers = [number for number in dict.fromkeys(ids) if 0 < number < LARGEST]
        if not numbers:
            return []
        seen = await self._db.read(
            lambda tx: tx.many(VisibleEntry, q.visible, shelf_id=shelf_id, ids=numbers, kind=kind)
        )
        return [one.id for one in seen]

    async def mark_read(self, shelf_id: ShelfId, *wanted: SyncFilter) -> int:
        """Mark all that is in any of these read; how many. Clients say until when they have looked: that is about
        arrival.
        """
        ids: dict[EntryId, None] = {}
        for each in wanted:
            unread = msgspec.structs.replace(each, unread=True)
            ids |= dict.fromkeys(ref.id for ref in await self.refs(shelf_id, unread, most=LARGEST))
        return (await self._inbox.mark_entries(shelf_id, list(ids), unread=False)).changed if ids else 0


async def sync_entries_tx(
    tx: Tx, shelf_id: ShelfId, ids: Sequence[int], kind: Kind | None, *, settled: int = LARGEST
) -> list[SyncEntry]:
    """Those of these entries that the shelf has, up to this number, with their contents, in this order."""
    among = {"shelf_id": shelf_id, "ids": ids, "kind": kind, "settled": settled}
    details = {one.id: one for one in await tx.many(SyncDetails, q.details, **among)}
    rows = {one.id: one for one in await entries_of_tx(tx, shelf_id, list(details))}
    played = await _played_tx(tx, [one.id for one in rows.values() if one.enclosures])
    both = [
        SyncEntry(rows[number], details[number], played=played.get(number, {}))
        for number in map(EntryId, ids)
        if number in rows
    ]
    wanted = [one.entry.item_id for one in both if one.entry.wants_full_text]
    known = {one.item_id: one.content for one in await tx.many(KnownText, q.full_texts, ids=wanted)} if wanted else {}
    return [_whole(one, known) if one.entry.wants_full_text else one for one in both]


async def _played_tx(tx: Tx, ids: Sequence[EntryId]) -> dict[EntryId, dict[int, int]]:
    """How far the files of these entries were played, by place; entries whose files nobody played are left out."""
    found = defaultdict[EntryId, dict[int, int]](dict)
    for one in await tx.many(PlayedFile, q.played, ids=ids) if ids else ():
        found[one.entry_id][one.place] = one.seconds
    return found


def _whole(one: SyncEntry, known: Mapping[ItemId, str]) -> SyncEntry:
    text = None if one.entry.item_id is None else known.get(one.entry.item_id)
    if text is None:
        return msgspec.structs.replace(one, lacks_text=True)
    return one.with_text(text) if text else one


async def _find_numbered_tx(tx: Tx, shelf_id: ShelfId, number: int) -> NumberedFeed | None:
    """What this number stands for on the shelf."""
    return await tx.maybe(NumberedFeed, q.find_number, shelf_id=shelf_id, number=number)


async def _where_tx(tx: Tx, shelf_id: ShelfId, wanted: SyncFilter) -> dict[str, Any] | None:
    """The parameters of every list; None where there can be nothing."""
    numbers = (wanted.feed or 1, wanted.group or 1, wanted.above + 1, wanted.below)
    if not all(0 < number <= LARGEST for number in numbers):
        return None
    found = None if wanted.feed is None else await _find_numbered_tx(tx, shelf_id, wanted.feed)
    if wanted.feed is not None and found is None:
        return None
    where = msgspec.structs.asdict(wanted)
    for name in ("feed", "group", "tag", "search"):
        del where[name]
    return where | {
        "shelf_id": shelf_id,
        "tags": [[tag] for tag in wanted.tags],
        "feed_id": found and found.feed_id,
        "series_id": found and found.series_id,
        "group_id": wanted.group,
        "tag_id": wanted.tag,
        "settled": await tx.one(int, q.settled),
    }


async def _list_tx(tx: Tx, where: dict[str, Any], wanted: SyncFilter, *, by: Order, descending: bool) -> list[SyncRef]:
    """List with the index that fits: what is found by words, changed, unread, saved or of one feed is little."""
    ordered = where | {"by": by, "descending": descending}
    if wanted.search is not None:
        words = match(tx.engine, parse_terms(wanted.search))
        if words is None:
            return []
        return await tx.many(SyncRef, q.found if by in _NUMBERED else q.found_by_name, **ordered, match=words)
    if by not in _NUMBERED:
        return await tx.many(SyncRef, q.by_name, **ordered)
    if wanted.changed_from is not None:
        return await tx.many(SyncRef, q.changed, **ordered)
    if wanted.feed is not None:
        return await tx.many(SyncRef, q.of_feed if where["feed_id"] else q.of_series, **ordered)
    if wanted.unread and await _are_few_unread_tx(tx, where):
        return await tx.many(SyncRef, q.unread, **ordered)
    if wanted.saved:
        return await tx.many(SyncRef, q.saved, **ordered)
    return await _all_tx(tx, ordered)


async def _all_tx(tx: Tx, ordered: dict[str, Any]) -> list[SyncRef]:
    """The whole shelf in its order, as far as its end is wanted."""
    where = {name: value for name, value in ordered.items() if name not in {"by", "descending"}}
    if ordered["by"] == "id":
        return await tx.many(SyncRef, q.descending if ordered["descending"] else q.ascending, **where)
    if ordered["by"] == "published":
        return await tx.many(SyncRef, q.last_published if ordered["descending"] else q.published, **where)
    return await tx.many(SyncRef, q.ordered, **ordered)


async def _are_few_unread_tx(tx: Tx, where: dict[str, Any]) -> bool:
    """Whether to find all that is unread and sort it, rather than to walk by number until there are enough."""
    shelf = {name: where[name] if name == "shelf_id" else None for name in _PLACES}
    everything, unread = EntryFilter(), EntryFilter(unread=True)
    entries = await count_entries_tx(tx, shelf, everything)
    count = await count_entries_tx(tx, shelf, unread)
    wanted: int = where["most"] + where["skip"]
    return count * count < entries * wanted


def _plain(wanted: SyncFilter) -> SyncFilter:
    """The filter without what `tally` does not count by."""
    return SyncFilter(kind=wanted.kind, unread=wanted.unread, saved=wanted.saved, feed=wanted.feed, group=wanted.group)
