"""Compares what a feed lists with the stored items, under whatever key (R31, R93, REL-27)."""

import asyncio
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice

import msgspec

from tsuzuki.db import Database, Tx, load_queries
from tsuzuki.db.batcher import Batcher
from tsuzuki.ingest.housekeeping import TOUCHED
from tsuzuki.model.harvest import FoundItem, item_hash
from tsuzuki.model.ids import FeedId
from tsuzuki.model.times import Millis

q = load_queries("tsuzuki.polling")

MOST_BATCHED = 200
"""Items; a feed that lists more would keep others waiting, and is read alone."""
MOST_AT_ONCE = 500
"""Keys in one query: the event loop makes the JSON of them, and SQLite reads it before it looks at a clock."""


ItemLookup = tuple[FeedId, str, str | None]
"""A feed, a key of it, and the page of that item unless it is looked for already."""


class FeedListing(msgspec.Struct, frozen=True):
    """What a feed lists now."""

    feed_id: FeedId
    items: Sequence[FoundItem]
    left_out: Collection[str] = ()
    """Keys of what it lists besides, as before."""


class KnownItem(msgspec.Struct, frozen=True):
    """A stored item of the feed, or one that retention removed."""

    feed_id: FeedId
    key: str
    link_key: str | None
    content_hash: bytes
    pruned_at: Millis | None = None
    """When retention removed it, or the feed listed it after that."""


class ItemComparison(msgspec.Struct, frozen=True, kw_only=True):
    """What a feed lists, compared with what is stored."""

    changed: Sequence[FoundItem] = ()
    """What is new or changed, with the keys that they are stored under."""
    same: Collection[str] = ()
    """Keys of what is stored as it is listed."""
    rekeyed: Mapping[str, str] = {}
    """What is one of several entries that share a key: from its key to the one it has from now on."""
    relisted: Collection[str] = ()
    """REL-39d: keys of what retention removed, and the feed was not known to list any more."""
    is_unstable: bool = False
    """Whether it was recognised by its page, not by its key."""


class _Recognised(msgspec.Struct, frozen=True):
    known: dict[str, KnownItem]
    """By the key that the entry has now."""
    rekeyed: dict[str, str]
    is_unstable: bool


class _ItemWording(msgspec.Struct, frozen=True):
    key: str
    title: str
    published_at: Millis | None


class KnownItems:
    """Compares what feeds list with what is stored; polls that ask in the same moment share a read. One per process."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._batcher = Batcher("reading what is known", self._read)

    async def compare(self, listed: FeedListing, now: Millis) -> ItemComparison:
        """What of it is new or changed."""
        found = {item.key: item for item in listed.items}
        stored = await self.of(listed)
        shared = shared_keys(found, stored)
        wording = await self._db.read(lambda tx: wording_tx(tx, listed.feed_id, shared)) if shared else {}
        if len(found) > MOST_BATCHED:
            await asyncio.sleep(0)  # what comes takes milliseconds, as what was done: others first
        return compare(found, stored, wording, now, left_out=frozenset(listed.left_out))

    async def of(self, listed: FeedListing) -> list[KnownItem]:
        """What is stored under the keys and pages of what the feed lists; one may come twice."""
        known = await self._batcher.ask(listed) if len(listed.items) <= MOST_BATCHED else None
        return (await self._read([listed]))[0] if known is None else known

    async def _read(self, listed: Sequence[FeedListing]) -> list[list[KnownItem]]:
        known: dict[FeedId, list[KnownItem]] = defaultdict(list)
        lookups = lookups_of(listed)
        while some := list(islice(lookups, MOST_AT_ONCE)):
            for item in await self._db.read(partial(known_items_tx, lookups=some)):
                known[item.feed_id].append(item)
        return [known[feed.feed_id] for feed in listed]


async def known_items_tx(tx: Tx, lookups: Sequence[ItemLookup]) -> list[KnownItem]:
    """Stored items under these keys or pages; one may come twice."""
    return await tx.bulk(KnownItem, q.known_items, lookups)


def lookups_of(listed: Iterable[FeedListing]) -> Iterator[ItemLookup]:
    """What is looked up for what feeds list."""
    for feed in listed:
        pages: set[str | None] = set()
        for item in feed.items:  # a page that all items have is looked for once
            yield feed.feed_id, item.key, None if item.link_key in pages else item.link_key
            for key in item.other_keys:
                yield feed.feed_id, key, None
            pages.add(item.link_key)


async def wording_tx(tx: Tx, feed_id: FeedId, keys: Iterable[str]) -> dict[str, tuple[str, Millis | None]]:
    """Title and date of stored items under these keys."""
    rows = await tx.bulk(_ItemWording, q.said_items, [[key] for key in keys], feed_id=feed_id)
    return {row.key: (row.title, row.published_at) for row in rows}


# -- the comparison; pure


def compare(
    found: Mapping[str, FoundItem],
    stored: Sequence[KnownItem],
    wording: Mapping[str, tuple[str, Millis | None]],
    now: Millis,
    *,
    left_out: Collection[str] = frozenset(),
) -> ItemComparison:
    """What is new, changed or the same; `wording` has title and date of what is stored under `shared_keys`.

    `left_out` are the keys of what is listed as before: nothing else is what is stored under them.
    """
    stored = [row for row in stored if row.key not in left_out]
    recognised = recognise(found, stored, wording)
    changed, same, relisted = list[FoundItem](), set[str](), set[str]()
    for key, item in found.items():
        row = recognised.known.get(key)
        stays = key if row is None else recognised.rekeyed.get(row.key, row.key)
        if row is not None and row.pruned_at is not None and row.pruned_at < now - TOUCHED:
            relisted.add(stays)
        if row is not None and item_hash(item) == row.content_hash:
            same.add(stays)
        elif row is None or row.pruned_at is None:  # REL-39d: what was removed stays so, whatever it says now
            is_as_stored = stays == key and not item.other_keys
            changed.append(item if is_as_stored else msgspec.structs.replace(item, key=stays, other_keys=()))
    return ItemComparison(
        changed=changed,
        same=same,
        rekeyed=recognised.rekeyed,
        relisted=relisted,
        is_unstable=recognised.is_unstable,
    )


def shared_keys(found: Mapping[str, FoundItem], stored: Iterable[KnownItem]) -> set[str]:
    """The keys of what is stored that more than one entry might be."""
    counts = Counter(key for item in found.values() for key in item.other_keys)
    return {row.key for row in stored if counts[row.key] > 1 and row.key not in found}


def recognise(
    found: Mapping[str, FoundItem], stored: Sequence[KnownItem], wording: Mapping[str, tuple[str, Millis | None]]
) -> _Recognised:
    """What is known of the entries."""
    rows = {row.key: row for row in stored}
    known = {key: rows[key] for key in found if key in rows}
    rekeyed: dict[str, str] = {}
    shared = shared_keys(found, stored)
    for key, claimants in _claimants(found, rows, known).items():
        item = _same(claimants, rows[key], wording.get(key)) if key in shared else claimants[0]
        if item is not None and item.key not in known:
            known[item.key] = rows[key]
            rekeyed |= {key: item.key} if key in shared or _is_told_apart(item) else {}
    by_page = _by_page(found, rows, known)
    return _Recognised(known | by_page, rekeyed, is_unstable=bool(by_page))


def _is_told_apart(item: FoundItem) -> bool:
    """Whether its key says more than the one that it shares. One that is alone keeps what is stored as it is."""
    return any(item.key.startswith(f"{key} ") for key in item.other_keys)


def _claimants(
    found: Mapping[str, FoundItem], rows: Mapping[str, KnownItem], known: Mapping[str, KnownItem]
) -> dict[str, list[FoundItem]]:
    """By the keys of what is stored and not listed under them: the unknown entries that may be it."""
    claimants = defaultdict(list)
    for item in found.values():
        for key in item.other_keys if item.key not in known else ():
            if key in rows and key not in found:
                claimants[key].append(item)
    return claimants


def _same(items: Sequence[FoundItem], row: KnownItem, wording: tuple[str, Millis | None] | None) -> FoundItem | None:
    """The one that says what is stored: all of it, else under the same title and date."""
    whole = (item for item in items if item_hash(item) == row.content_hash)
    headed = (item for item in items if (item.title, item.published_at) == wording)
    return next(whole, None) or next(headed, None)


def _by_page(
    found: Mapping[str, FoundItem], rows: Mapping[str, KnownItem], known: Mapping[str, KnownItem]
) -> dict[str, KnownItem]:
    """REL-27: a new key whose page is stored under a key that the feed no longer has is the same story again.

    A page that several entries have, now or in store, names none of them; then only one that says the same is it.
    """
    taken = {row.key for row in known.values()}
    free = [row for row in rows.values() if row.link_key and row.key not in found and row.key not in taken]
    listed = Counter(item.link_key for item in found.values())
    stored = Counter(row.link_key for row in free)
    by_page = {row.link_key: row for row in free}
    by_words = {(row.link_key, row.content_hash): row for row in free}
    again: dict[str, KnownItem] = {}
    for key, item in found.items():
        if key in known or not stored[item.link_key]:
            continue
        is_sure = stored[item.link_key] == 1 and listed[item.link_key] == 1
        row = by_page[item.link_key] if is_sure else by_words.pop((item.link_key, item_hash(item)), None)
        if row is not None:
            again[key] = row
    return again
