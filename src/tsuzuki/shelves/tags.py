"""Tags (R119): a shelf's own words. An entry has its own, and those of its feed or series."""

import unicodedata
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import TypeVar

import msgspec

from tsuzuki.db import Tx, load_queries
from tsuzuki.db.locks import lock_shelf_tx
from tsuzuki.model.errors import Conflict, Invalid, LimitExceeded, NotFound, Problem
from tsuzuki.model.ids import EntryId, FeedId, PublicId, SeriesId, ShelfId, TagId
from tsuzuki.model.text import natural
from tsuzuki.model.times import DAY, Millis
from tsuzuki.shelves.deps import ShelfDeps
from tsuzuki.shelves.events import EVENTS_WAKEUP, counts_changed_tx
from tsuzuki.shelves.follows import own_follow_tx
from tsuzuki.shelves.subscriptions import own_subscription_tx

LONGEST_TAG = 100
MOST_SHELF_TAGS = 500
MOST_TAGS_OF_ONE = 30
"""That an entry, a feed or a series has by itself."""

KEPT = Millis(30 * DAY)
"""For so long, a deleted tag can be had back."""
_FORGOTTEN = 20
"""Tags at a time: each may be on many entries."""


class ShelfTag(msgspec.Struct, frozen=True):
    """A tag of a shelf, with what it is on."""

    id: TagId
    public_id: PublicId
    name: str
    created_at: Millis
    updated_at: Millis
    entries: int
    """Those of tagged feeds and series included."""
    unread: int
    followed: int
    """How many feeds and series of the shelf have it."""


class TagName(msgspec.Struct, frozen=True):
    """What is shown of a tag."""

    public_id: PublicId
    name: str


class EntryTag(msgspec.Struct, frozen=True):
    """A tag of an entry: its own, or one of its feed or series."""

    entry_id: EntryId
    public_id: PublicId
    name: str
    is_own: bool


class FoundTag(msgspec.Struct, frozen=True):
    """A tag by its name, as names are compared."""

    id: TagId
    folded: str


class DeletedTag(msgspec.Struct, frozen=True):
    """A tag that can be had back."""

    id: TagId
    name: str


class TaggedFollow(msgspec.Struct, frozen=True):
    """A feed or a series of a shelf."""

    feed_id: FeedId | None = None
    series_id: SeriesId | None = None


q = load_queries("tsuzuki.shelves.tags")

T = TypeVar("T")


def read_tag_name(text: str) -> str:
    """The name as it is stored, with single spaces; Invalid for what is none."""
    name = " ".join(text.split())
    if not name:
        raise _invalid("A tag needs a name.")
    if len(name) > LONGEST_TAG:
        raise _invalid(f"The name of a tag has at most {LONGEST_TAG} characters.")
    if not name.isprintable():
        raise _invalid("The name of a tag has only characters that can be seen.")
    return name


def fold_tag_name(name: str) -> str:
    """The name as it is compared: whatever its case and width."""
    return unicodedata.normalize("NFKC", name).casefold()


def _invalid(message: str) -> Invalid:
    return Invalid(message, (Problem("name", message),))


async def list_tags_tx(tx: Tx, shelf_id: ShelfId, public_id: PublicId | None = None) -> list[ShelfTag]:
    """The shelf's tags by name, or the one with this id."""
    found = await tx.many(ShelfTag, q.list_tags, shelf_id=shelf_id, public_id=public_id)
    return sorted(found, key=lambda tag: (natural(tag.name), tag.id))


async def find_tag_tx(tx: Tx, shelf_id: ShelfId, public_id: PublicId) -> TagId:
    """The shelf's tag with this id; NotFound for anything else (I8)."""
    found = await tx.maybe(TagId, q.find_tag, shelf_id=shelf_id, public_id=public_id)
    if found is None:
        raise NotFound("There is no such tag.")
    return found


async def find_tags_named_tx(tx: Tx, shelf_id: ShelfId, names: Iterable[str]) -> dict[str, TagId]:
    """Those of these names that the shelf has, as names are compared."""
    rows = [[fold_tag_name(name)] for name in names]
    found = await tx.many(FoundTag, q.find_tags_named, shelf_id=shelf_id, names=rows) if rows else []
    return {tag.folded: tag.id for tag in found}


async def tags_of_entries_tx(tx: Tx, shelf_id: ShelfId, ids: Sequence[EntryId]) -> dict[EntryId, list[EntryTag]]:
    """The tags of each of these entries that has some, by name; one that it has twice is its own."""
    rows = await tx.many(EntryTag, q.tags_of_entries, shelf_id=shelf_id, ids=ids) if ids else []
    rows.sort(key=lambda row: (natural(row.name), row.public_id, not row.is_own))
    found: dict[EntryId, dict[PublicId, EntryTag]] = {}
    for row in rows:
        found.setdefault(row.entry_id, {}).setdefault(row.public_id, row)
    return {entry_id: list(tags.values()) for entry_id, tags in found.items()}


class Tags:
    """The tags of a shelf. What is tagged with a new name makes the tag."""

    def __init__(self, deps: ShelfDeps) -> None:
        self._deps = deps

    # -- looking

    async def list(self, shelf_id: ShelfId) -> list[ShelfTag]:
        """All of the shelf's, by name."""
        return await self._deps.db.read(lambda tx: list_tags_tx(tx, shelf_id))

    async def get(self, shelf_id: ShelfId, public_id: PublicId) -> ShelfTag:
        """One of the shelf's, or NotFound."""
        return await self._deps.db.read(lambda tx: _show_tx(tx, shelf_id, public_id))

    async def of_entries(self, shelf_id: ShelfId, ids: Sequence[EntryId]) -> dict[EntryId, Sequence[EntryTag]]:
        """The tags of each of these entries that has some; of no other shelf's."""
        return dict(await self._deps.db.read(lambda tx: tags_of_entries_tx(tx, shelf_id, ids)))

    async def of_feed(self, shelf_id: ShelfId, feed: PublicId) -> Sequence[TagName]:
        """The tags of a feed; NotFound for another shelf's."""
        return await self._deps.db.read(lambda tx: _of_feed_tx(tx, shelf_id, feed))

    async def of_series(self, shelf_id: ShelfId, follow: PublicId) -> Sequence[TagName]:
        """The tags of a followed series; NotFound for another shelf's."""
        return await self._deps.db.read(lambda tx: _of_series_tx(tx, shelf_id, follow))

    # -- the tags themselves

    async def add(self, shelf_id: ShelfId, name: str) -> ShelfTag:
        """A new one; Conflict when the name is taken."""
        wanted = read_tag_name(name)

        async def add(tx: Tx) -> ShelfTag:
            await lock_shelf_tx(tx, shelf_id)
            if await find_tags_named_tx(tx, shelf_id, [wanted]):
                raise Conflict(f"A tag named {wanted!r} already exists.")
            tag_id = (await self._ready_tx(tx, shelf_id, [wanted]))[0]
            return next(tag for tag in await list_tags_tx(tx, shelf_id) if tag.id == tag_id)

        return await self._changing(shelf_id, add)

    async def rename(self, shelf_id: ShelfId, public_id: PublicId, name: str) -> ShelfTag:
        """Rename it; where another one has this name, both become that one. What it is now called."""
        wanted = read_tag_name(name)

        async def rename(tx: Tx) -> ShelfTag:
            await lock_shelf_tx(tx, shelf_id)
            tag_id, now = await find_tag_tx(tx, shelf_id, public_id), self._deps.clock()
            other = (await find_tags_named_tx(tx, shelf_id, [wanted])).get(fold_tag_name(wanted), tag_id)
            if other == tag_id:
                await tx.run(q.rename_tag, id=tag_id, name=wanted, folded=fold_tag_name(wanted), now=now)
            else:
                await _join_tx(tx, tag_id, other)
            return next(tag for tag in await list_tags_tx(tx, shelf_id) if tag.id == other)

        return await self._changing(shelf_id, rename)

    async def delete(self, shelf_id: ShelfId, public_id: PublicId) -> None:
        """Take it off everything; `restore` undoes that for a month."""

        async def delete(tx: Tx) -> None:
            await lock_shelf_tx(tx, shelf_id)
            await tx.run(q.delete_tag, id=await find_tag_tx(tx, shelf_id, public_id), now=self._deps.clock())

        await self._changing(shelf_id, delete)

    async def restore(self, shelf_id: ShelfId, public_id: PublicId) -> ShelfTag:
        """Undo having deleted it; where another one took its name meanwhile, both become that one.

        A repeat changes nothing. NotFound when it was deleted too long ago.
        """

        async def restore(tx: Tx) -> ShelfTag:
            await lock_shelf_tx(tx, shelf_id)
            gone = await tx.maybe(DeletedTag, q.find_deleted_tag, shelf_id=shelf_id, public_id=public_id)
            if gone is None:
                return await _show_tx(tx, shelf_id, public_id)
            other = (await find_tags_named_tx(tx, shelf_id, [gone.name])).get(fold_tag_name(gone.name), gone.id)
            if other != gone.id:
                await _join_tx(tx, gone.id, other)
            else:
                await _check_room_tx(tx, shelf_id, 1)
                await tx.run(q.restore_tag, id=gone.id, now=self._deps.clock())
            return next(tag for tag in await list_tags_tx(tx, shelf_id) if tag.id == other)

        return await self._changing(shelf_id, restore)

    async def forget_deleted(self) -> int:
        """A tag that was deleted a month ago cannot be had back any more; how many those were."""
        count, before = 0, Millis(self._deps.clock() - KEPT)
        while done := await self._deps.db.with_tx(lambda tx: tx.run(q.forget_deleted, before=before, most=_FORGOTTEN)):
            count += done
        return count

    # -- tagging

    async def tag_entries(
        self, shelf_id: ShelfId, ids: Sequence[EntryId], *, add: Sequence[str] = (), remove: Sequence[str] = ()
    ) -> int:
        """Put tags on entries, and take others off; how many were put or taken. A name that is in both is put.

        Entries of other shelves are as unknown as those that are not there (I8). What an entry has by its feed
        or series stays.
        """
        wanted = [read_tag_name(name) for name in add]
        given_up = {fold_tag_name(name) for name in remove} - {fold_tag_name(name) for name in wanted}

        async def change(tx: Tx) -> int:
            await lock_shelf_tx(tx, shelf_id)
            those = {"shelf_id": shelf_id, "ids": ids}
            changed = 0
            if gone := list((await find_tags_named_tx(tx, shelf_id, given_up)).values()):
                changed += await tx.run(q.untag_items, **those, tags=gone)
                changed += await tx.run(q.untag_chapters, **those, tags=gone)
            if wanted:
                changed += await tx.run(q.tag_entries, **those, tags=await self._ready_tx(tx, shelf_id, wanted))
                _check_most(await tx.one(int, q.most_of_entry, **those))
            return changed

        return await self._changing(shelf_id, change) if ids else 0

    async def set_feed(self, shelf_id: ShelfId, feed: PublicId, names: Sequence[str]) -> Sequence[TagName]:
        """Give a feed these tags and no others; NotFound for another shelf's."""

        async def change(tx: Tx) -> Sequence[TagName]:
            await lock_shelf_tx(tx, shelf_id)
            found = TaggedFollow(feed_id=(await own_subscription_tx(tx, shelf_id, feed)).feed_id)
            return await self._set_tx(tx, shelf_id, found, names)

        return await self._changing(shelf_id, change)

    async def set_series(self, shelf_id: ShelfId, follow: PublicId, names: Sequence[str]) -> Sequence[TagName]:
        """Give a followed series these tags and no others; NotFound for another shelf's."""

        async def change(tx: Tx) -> Sequence[TagName]:
            await lock_shelf_tx(tx, shelf_id)
            found = TaggedFollow(series_id=(await own_follow_tx(tx, shelf_id, follow)).series_id)
            return await self._set_tx(tx, shelf_id, found, names)

        return await self._changing(shelf_id, change)

    # -- the parts

    async def _set_tx(self, tx: Tx, shelf_id: ShelfId, tagged: TaggedFollow, names: Sequence[str]) -> Sequence[TagName]:
        wanted = await self._ready_tx(tx, shelf_id, [read_tag_name(name) for name in names])
        _check_most(len(wanted))
        of = msgspec.structs.asdict(tagged)
        await tx.run(q.untag_followed, shelf_id=shelf_id, **of, tags=wanted)
        await tx.run(q.tag_followed, **of, tags=wanted)
        return await _of_followed_tx(tx, shelf_id, tagged)

    async def _ready_tx(self, tx: Tx, shelf_id: ShelfId, names: Sequence[str]) -> Sequence[TagId]:
        """The tags of these names, made where they are new. The shelf is locked."""
        wanted = {fold_tag_name(name): name for name in reversed(names)}
        found = await find_tags_named_tx(tx, shelf_id, wanted)
        new = [folded for folded in wanted if folded not in found]
        if new:
            await _check_room_tx(tx, shelf_id, len(new))
        now = self._deps.clock()
        for folded in reversed(new):
            row = {"public_id": self._deps.new_id(), "name": wanted[folded], "folded": folded}
            found[folded] = await tx.one(TagId, q.add_tag, shelf_id=shelf_id, **row, now=now)
        return list(found.values())

    async def _changing(self, shelf_id: ShelfId, change: Callable[[Tx], Awaitable[T]]) -> T:
        """Open pages count again."""

        async def work(tx: Tx) -> T:
            made = await change(tx)
            await counts_changed_tx(tx, [shelf_id], self._deps.clock())
            return made

        made = await self._deps.db.with_tx(work)
        self._deps.after_commit(EVENTS_WAKEUP)
        return made


async def _show_tx(tx: Tx, shelf_id: ShelfId, public_id: PublicId) -> ShelfTag:
    found = await list_tags_tx(tx, shelf_id, public_id)
    if not found:
        raise NotFound("There is no such tag.")
    return found[0]


async def _of_feed_tx(tx: Tx, shelf_id: ShelfId, feed: PublicId) -> Sequence[TagName]:
    found = await own_subscription_tx(tx, shelf_id, feed)
    return await _of_followed_tx(tx, shelf_id, TaggedFollow(feed_id=found.feed_id))


async def _of_series_tx(tx: Tx, shelf_id: ShelfId, follow: PublicId) -> Sequence[TagName]:
    found = await own_follow_tx(tx, shelf_id, follow)
    return await _of_followed_tx(tx, shelf_id, TaggedFollow(series_id=found.series_id))


async def _of_followed_tx(tx: Tx, shelf_id: ShelfId, tagged: TaggedFollow) -> Sequence[TagName]:
    found = await tx.many(TagName, q.tags_of_followed, shelf_id=shelf_id, **msgspec.structs.asdict(tagged))
    return sorted(found, key=lambda tag: natural(tag.name))


async def _join_tx(tx: Tx, tag_id: TagId, into_id: TagId) -> None:
    """What has the one gets the other."""
    await tx.run(q.join_tags, id=tag_id, into_id=into_id)
    await tx.run(q.drop_tag, id=tag_id)


async def _check_room_tx(tx: Tx, shelf_id: ShelfId, adding: int) -> None:
    if await tx.one(int, q.count_tags, shelf_id=shelf_id) + adding > MOST_SHELF_TAGS:
        raise LimitExceeded(f"A shelf has at most {MOST_SHELF_TAGS} tags.")


def _check_most(tags: int) -> None:
    if tags > MOST_TAGS_OF_ONE:
        raise LimitExceeded(f"An entry, a feed or a series has at most {MOST_TAGS_OF_ONE} tags of its own.")
