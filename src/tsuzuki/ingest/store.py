"""Chapters, releases and items, stored once each, and their words in the index."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol, TypeVar

import msgspec

from tsuzuki.db import Tx, load_queries
from tsuzuki.db.fulltext import Document, Words, document
from tsuzuki.ingest.words import chapter_words, series_words
from tsuzuki.model.harvest import Enclosure, FoundPage
from tsuzuki.model.ids import ChapterId, FeedId, ItemId, ReleaseId, SeriesId, SeriesSourceId, WatchId
from tsuzuki.model.priorities import CLASS_INTERVAL, HOT, why_class
from tsuzuki.model.times import Millis

q = load_queries("tsuzuki.ingest")


class Keyed(Protocol):
    """Anything with an identity within its batch."""

    @property
    def key(self) -> str: ...


class Titled(Protocol):
    """A chapter as it is indexed."""

    @property
    def id(self) -> ChapterId: ...

    @property
    def title(self) -> str: ...


K = TypeVar("K", bound=Keyed)


class NewChapter(msgspec.Struct, frozen=True):
    """A logical chapter as a harvest shows it."""

    key: str
    number: str | None = None
    number_sort: int | None = None
    volume: str | None = None
    title: str = ""
    published_at: Millis | None = None


class StoredChapter(msgspec.Struct, frozen=True):
    """A chapter that was inserted or changed just now."""

    id: ChapterId
    key: str
    number: str | None
    number_sort: int | None
    title: str
    is_new: bool


class NewRelease(msgspec.Struct, frozen=True, kw_only=True):
    """A chapter as one group put it on one source."""

    chapter_key: str
    key: str
    url: str
    content_hash: bytes
    source_key: str | None = None
    real_url: str | None = None
    title: str = ""
    language: str | None = None
    group_name: str | None = None
    published_at: Millis | None = None
    source_order: int = 0
    page_count: int = -1
    is_readable: bool = True


class StoredRelease(msgspec.Struct, frozen=True):
    """A release that was inserted or changed just now."""

    id: ReleaseId
    chapter_id: ChapterId
    key: str
    is_new: bool


class NewItem(msgspec.Struct, frozen=True, kw_only=True):
    """An entry of a feed; `sort_at` is the earlier of published and first seen (R30)."""

    key: str
    title: str
    sort_at: Millis
    content_hash: bytes
    link: str | None = None
    link_key: str | None = None
    author: str | None = None
    content: str = ""
    summary: str | None = None
    published_at: Millis | None = None
    published_raw: str | None = None
    categories: tuple[str, ...] = ()
    enclosures: tuple[Enclosure, ...] = ()
    page_urls: tuple[str, ...] = ()
    image_url: str | None = None
    comments_url: str | None = None


class PagelessRelease(msgspec.Struct, frozen=True):
    """A release without its pages."""

    id: ReleaseId
    url: str
    title: str


class StoredItem(msgspec.Struct, frozen=True):
    """An item that was inserted or changed just now."""

    id: ItemId
    feed_id: FeedId
    key: str
    is_new: bool
    link_key: str | None


async def upsert_chapters_tx(
    tx: Tx, series_id: SeriesId, found: Iterable[NewChapter], now: Millis
) -> list[StoredChapter]:
    """Store chapters and index the words of those that have a title; what comes back was inserted or changed."""
    await tx.run(q.lock_ingest, rows=[("series", series_id)])
    stored = await tx.bulk(StoredChapter, q.upsert_chapters, last_of_each(found), series_id=series_id, now=now)
    await index_chapters_tx(tx, stored)
    return stored


async def index_chapters_tx(tx: Tx, chapters: Iterable[Titled]) -> None:
    """Index the words of those that have a title."""
    titled = [document(each.id, chapter_words(tx.engine, each.title)) for each in chapters if each.title]
    if titled:
        await tx.bulk(int, q.index_chapters, titled)


async def raise_latest_tx(tx: Tx, series_id: SeriesId, *, number: str, number_sort: int, now: Millis) -> bool:
    """Move the series' latest chapter up; False when it was there already."""
    return bool(await tx.run(q.raise_latest, series_id=series_id, number=number, number_sort=number_sort, now=now))


async def upsert_releases_tx(
    tx: Tx, series_id: SeriesId, series_source_id: SeriesSourceId, found: Iterable[NewRelease], *, now: Millis
) -> list[StoredRelease]:
    """Store releases of chapters that are stored already; what comes back is what was inserted or changed."""
    rows = [_release_row(release) for release in last_of_each(found)]
    return await tx.bulk(
        StoredRelease, q.upsert_releases, rows, series_id=series_id, series_source_id=series_source_id, now=now
    )


async def lock_items_tx(tx: Tx, *feeds: FeedId) -> None:
    """Nobody else stores items of these feeds until the end of the transaction."""
    await tx.run(q.lock_ingest, rows=[("feed", feed_id) for feed_id in feeds])


async def upsert_items_tx(
    tx: Tx, found: Mapping[FeedId, Iterable[NewItem]], words: Mapping[tuple[FeedId, str], Words], now: Millis
) -> list[StoredItem]:
    """Store items of feeds and index their words, by feed and key; what comes back is what was inserted or changed.

    One statement of a kind for all.
    """
    await lock_items_tx(tx, *found)
    # By the feeds' ids: that is also the order in which the rows of the feeds are shared. Of a key, the last one seen.
    items = {(feed_id, item.key): item for feed_id in sorted(found) for item in found[feed_id]}
    rows = [_item_row(feed_id, item) for (feed_id, _), item in items.items()]
    stored = await tx.bulk(StoredItem, q.upsert_items, rows, now=now)
    if stored:
        await index_items_tx(tx, [document(item.id, words[item.feed_id, item.key]) for item in stored])
    return stored


async def index_items_tx(tx: Tx, documents: Sequence[Document]) -> None:
    """Index the words of items."""
    await tx.bulk(int, q.index_items, documents)


async def index_series_tx(tx: Tx, series_id: SeriesId, *, titles: Sequence[str], description: str) -> None:
    """Index a series by all its titles and its description."""
    await tx.bulk(int, q.index_series, [document(series_id, series_words(tx.engine, titles, description))])


async def existing_watches_tx(tx: Tx, watches: Iterable[WatchId]) -> set[WatchId]:
    """Those of these that nobody has removed, as happens when the last one leaves (R58)."""
    return set(await tx.bulk(WatchId, q.existing_watches, [[watch_id] for watch_id in watches]))


async def add_appearances_tx(
    tx: Tx, series_id: SeriesId, series_source_id: SeriesSourceId, keys: Iterable[str], *, now: Millis
) -> list[ChapterId]:
    """Record that chapters are on a source; those that were not there before."""
    rows = [{"key": key} for key in keys]
    return await tx.bulk(
        ChapterId, q.add_appearances, rows, series_id=series_id, series_source_id=series_source_id, now=now
    )


async def pageless_releases_tx(tx: Tx, series_source_id: SeriesSourceId, most: int) -> list[PagelessRelease]:
    """The newest releases whose page list nobody has fetched yet."""
    return await tx.many(PagelessRelease, q.pageless_releases, series_source_id=series_source_id, most=most)


async def save_pages_tx(tx: Tx, release_id: ReleaseId, pages: Sequence[FoundPage], now: Millis) -> None:
    """Store the whole page list of a release (R63)."""
    await tx.run(q.upsert_pages, release_id=release_id, rows=[msgspec.structs.asdict(page) for page in pages])
    await tx.run(q.drop_surplus_pages, release_id=release_id, count=len(pages))
    await tx.run(q.pages_fetched, release_id=release_id, count=len(pages), now=now)


class WatchRelease(msgspec.Struct, frozen=True):
    """A watch that brought something new, and the task that stores it."""

    watch_id: WatchId
    task_id: int


class Released(msgspec.Struct, frozen=True):
    """A watch that brought something new."""

    id: WatchId
    first_harvest_at: Millis | None
    is_awaited: bool
    """Whether `unstored_tx` would find something of it."""


class _Unstored(msgspec.Struct, frozen=True):
    id: WatchId
    payload: str


async def released_tx(tx: Tx, queue: str, releases: Iterable[WatchRelease], now: Millis) -> dict[WatchId, Released]:
    """Remember that these watches brought something new."""
    rows = [(each.watch_id, each.task_id) for each in releases]
    hot = {"hot": CLASS_INTERVAL[HOT], "hot_why": why_class(HOT)}
    released = await tx.bulk(Released, q.released, rows, queue=queue, now=now, **hot)
    return {watch.id: watch for watch in released}


async def unstored_tx(tx: Tx, queue: str, releases: Iterable[WatchRelease]) -> list[tuple[WatchId, str]]:
    """The payloads of these watches' other tasks that are queued, running or given up."""
    rows = [(each.watch_id, each.task_id) for each in releases]
    return [(each.id, each.payload) for each in await tx.bulk(_Unstored, q.unstored, rows, queue=queue)]


async def count_unknown_items_tx(tx: Tx, feed_id: FeedId, keys: Iterable[str]) -> int:
    """How many of these are not stored."""
    return await tx.one(int, q.count_unknown_items, feed_id=feed_id, rows=[[key] for key in keys])


async def count_unknown_chapters_tx(tx: Tx, series_id: SeriesId, keys: Iterable[str]) -> int:
    """How many of these are not stored."""
    return await tx.one(int, q.count_unknown_chapters, series_id=series_id, rows=[[key] for key in keys])


async def prune_tombstones_tx(tx: Tx, *, before: Millis, most: int) -> int:
    """Forget up to `most` tombstones that were last seen before then."""
    return await tx.run(q.prune_tombstones, before=before, most=most)


async def prune_item_tombstones_tx(tx: Tx, *, before: Millis, touched: Millis, most: int) -> int:
    """Forget up to `most` items that were removed or listed before then, and are not in their feed's last document.

    `touched` is how much earlier than that document the time of one that is in it can be.
    """
    return await tx.run(q.prune_item_tombstones, before=before, touched=touched, most=most)


def last_of_each(found: Iterable[K]) -> list[K]:
    """One per key, the last one seen: PostgreSQL refuses to touch a row twice in one statement."""
    return list({each.key: each for each in found}.values())


def _release_row(release: NewRelease) -> dict[str, Any]:
    row = msgspec.structs.asdict(release)
    return row | {"content_hash": release.content_hash.hex(), "is_readable": int(release.is_readable)}


def _item_row(feed_id: FeedId, item: NewItem) -> dict[str, Any]:
    return msgspec.structs.asdict(item) | {"feed_id": feed_id, "content_hash": item.content_hash.hex()}
