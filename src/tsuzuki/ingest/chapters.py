"""Chapters and their releases on sources: stored once each, indexed, and put into inboxes."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol, Self, TypeVar

import msgspec

from tsuzuki.connectors.html.sanitiser import valid_text
from tsuzuki.db import Tx, load_queries
from tsuzuki.db.fulltext import document, words_of
from tsuzuki.db.locks import lock_series_merges_shared_tx, lock_series_tx
from tsuzuki.db.queries import Engine
from tsuzuki.db.rows import in_portions
from tsuzuki.delivery.fanout import NOTHING, Delivered, deliver_chapters_tx
from tsuzuki.ingest.service import InstallmentBatch, Stored, WordsByKey, split_by_news_tx
from tsuzuki.model.harvest import FoundChapter, FoundPage, content_hash
from tsuzuki.model.ids import ChapterId, ReleaseId, SeriesId, SeriesSourceId
from tsuzuki.model.numbers import chapter_key, number_key, release_key, sort_value
from tsuzuki.model.structs import copied
from tsuzuki.model.times import Millis
from tsuzuki.model.tokens import text_of, tokens
from tsuzuki.queue.policy import INGEST
from tsuzuki.queue.tasks import Queue

q = load_queries("tsuzuki.ingest")

INDEXED_TITLE = 300
INDEXED_TITLES = 2_000
"""Characters of all titles of a series."""
INDEXED_DESCRIPTION = 5_000
INDEXED_AT_ONCE = 5_000
"""Characters of titles: some stand for eighteen others, and to split these many then takes milliseconds."""


class ReleaseFound(msgspec.Struct, frozen=True):
    """A release and its place in the source's list, the oldest at 0 (R11)."""

    found: FoundChapter
    source_order: int
    previous_key: str | None = None
    """The key that it is stored under, where that is another one (R101)."""


class ChapterBatch(InstallmentBatch, frozen=True, kw_only=True):
    """Releases of one series on one source that are new or changed."""

    series_id: SeriesId
    series_source_id: SeriesSourceId
    releases: tuple[ReleaseFound, ...]

    @property
    def of_id(self) -> int:
        """The series."""
        return self.series_id

    @property
    def size(self) -> int:
        """How many releases it has."""
        return len(self.releases)

    @property
    def keys(self) -> list[str]:
        """Those of the logical chapters: a second release of one is no news (R7)."""
        return list({chapter_key(release.found): None for release in self.releases})

    def split(self) -> list[tuple[str, Self]]:
        """One release each."""
        return [(release_key(each.found), msgspec.structs.replace(self, releases=(each,))) for each in self.releases]


CHAPTERS: Queue[ChapterBatch] = Queue("chapter-ingest", ChapterBatch, INGEST)


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


class PagelessRelease(msgspec.Struct, frozen=True):
    """A release without its pages."""

    id: ReleaseId
    url: str
    title: str


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


class SeriesChapters:
    """Chapters of series, as ingest stores them."""

    queue = CHAPTERS

    async def words_of(self, _batches: Sequence[ChapterBatch], _engine: Engine) -> WordsByKey:
        """None: titles are short, and split where they are stored."""
        return {}

    async def store_all_tx(
        self, tx: Tx, batches: Sequence[tuple[ChapterBatch, int]], _words: WordsByKey, *, now: Millis
    ) -> Delivered:
        """One after the other, by their series: whoever locks several does it in this order."""
        delivered = NOTHING
        for batch, task_id in sorted(batches, key=lambda each: each[0].series_id):
            delivered += await store_chapters_tx(tx, batch, now, task_id=task_id)
        return delivered

    async def count_unknown_tx(self, tx: Tx, batch: ChapterBatch) -> int:
        """Chapters that are not stored, of the series that the source's series is now."""
        series_id = await series_of_tx(tx, batch.series_source_id) or batch.series_id
        return await tx.one(int, q.count_unknown_chapters, series_id=series_id, rows=[[key] for key in batch.keys])


async def store_chapters_tx(tx: Tx, batch: ChapterBatch, now: Millis, *, task_id: int = 0) -> Delivered:
    """Chapters, their releases on this source, and the series' latest.

    The series is the one that the source's series is now: it may have been merged since the batch was found.
    """
    await lock_series_merges_shared_tx(tx)
    series_id = await series_of_tx(tx, batch.series_source_id) or batch.series_id
    chapters = [new_chapter(release.found) for release in batch.releases]
    stored = await upsert_chapters_tx(tx, series_id, chapters, now)
    if renamed := {release_key(each.found): each.previous_key for each in batch.releases if each.previous_key}:
        await rename_releases_tx(tx, batch.series_source_id, renamed)
    releases = [new_release(release) for release in batch.releases]
    await upsert_releases_tx(tx, series_id, batch.series_source_id, releases, now=now)
    await _add_books_tx(tx, batch)
    keys = {chapter.key for chapter in chapters}
    await add_appearances_tx(tx, series_id, batch.series_source_id, keys, now=now)
    new = [chapter for chapter in stored if chapter.is_new]
    await _raise_latest_tx(tx, series_id, new, now)
    ids = {chapter.key: chapter.id for chapter in new}
    [split] = await split_by_news_tx(tx, CHAPTERS, [Stored(batch, task_id, ids)], now)
    quiet = await deliver_chapters_tx(tx, series_id, split.catalogue, is_first_harvest=True, now=now)
    loud = await deliver_chapters_tx(
        tx, series_id, split.news, is_first_harvest=False, now=now, came=batch.came, harvest=batch.harvest
    )
    return quiet + loud


# -- found things as rows


def new_chapter(found: FoundChapter) -> NewChapter:
    """The logical chapter that a release belongs to."""
    return NewChapter(
        key=chapter_key(found),
        number=None if found.number is None else number_key(found.number),
        number_sort=sort_value(found.number),
        volume=None if found.volume is None else number_key(found.volume),
        title=found.title,
        published_at=found.published_at,
    )


def new_release(release: ReleaseFound) -> NewRelease:
    """The row of a release."""
    found = release.found
    return copied(
        NewRelease,
        found,
        chapter_key=chapter_key(found),
        key=release_key(found),
        content_hash=release_hash(release),
        group_name=found.group,
        source_order=release.source_order,
        page_count=-1 if found.page_count is None else found.page_count,
    )


def release_hash(release: ReleaseFound) -> bytes:
    """What makes a release a changed one: all of it."""
    return content_hash((release.found, release.source_order))


def in_order(found: Iterable[FoundChapter]) -> list[ReleaseFound]:
    """A source lists the newest first; its order counts from the oldest (R11). A key that stands twice counts once."""
    oldest_first = list(reversed({release_key(each): each for each in map(_storable, found)}.values()))
    return [ReleaseFound(each, order) for order, each in enumerate(oldest_first)]


def _storable(found: FoundChapter) -> FoundChapter:
    """With text that both engines take, whatever a connector made of an answer."""
    texts = {name: text for name, text in msgspec.structs.asdict(found).items() if isinstance(text, str)}
    valid = {name: valid_text(text) for name, text in texts.items()}
    return found if valid == texts else msgspec.structs.replace(found, **valid)


# -- rows


async def series_of_tx(tx: Tx, series_source_id: SeriesSourceId) -> SeriesId | None:
    """Which series a source's series is now; None when the source has it no more."""
    return await tx.maybe(SeriesId, q.series_of, id=series_source_id)


async def upsert_chapters_tx(
    tx: Tx, series_id: SeriesId, found: Iterable[NewChapter], now: Millis
) -> list[StoredChapter]:
    """Store chapters and index the words of those that have a title; what comes back was inserted or changed."""
    await lock_series_tx(tx, series_id)
    stored = await tx.bulk(StoredChapter, q.upsert_chapters, last_of_each(found), series_id=series_id, now=now)
    await index_chapters_tx(tx, stored)
    return stored


async def index_chapters_tx(tx: Tx, chapters: Iterable[Titled]) -> None:
    """Index the words of those that have a title, so many at a time that others are answered in between."""
    titled = [each for each in chapters if each.title]
    for some in in_portions(titled, size=lambda each: min(len(each.title), INDEXED_TITLE), most=INDEXED_AT_ONCE):
        words = [words_of(tx.engine, tokens(each.title[:INDEXED_TITLE]), ()) for each in some]
        await tx.bulk(
            int, q.index_chapters, [document(each.id, found) for each, found in zip(some, words, strict=True)]
        )


async def raise_latest_tx(tx: Tx, series_id: SeriesId, *, number: str, number_sort: int, now: Millis) -> bool:
    """Move the series' latest chapter up; False when it was there already."""
    return bool(await tx.run(q.raise_latest, series_id=series_id, number=number, number_sort=number_sort, now=now))


async def _raise_latest_tx(tx: Tx, series_id: SeriesId, new: Sequence[StoredChapter], now: Millis) -> None:
    """R6: the highest new number, if it is higher than what the series has."""
    numbers = [(each.number_sort, each.number) for each in new if each.number_sort is not None and each.number]
    if numbers:
        number_sort, number = max(numbers)
        await raise_latest_tx(tx, series_id, number=number, number_sort=number_sort, now=now)


async def upsert_releases_tx(
    tx: Tx, series_id: SeriesId, series_source_id: SeriesSourceId, found: Iterable[NewRelease], *, now: Millis
) -> list[StoredRelease]:
    """Store releases of chapters that are stored already; what comes back is what was inserted or changed."""
    rows = [_release_row(release) for release in last_of_each(found)]
    return await tx.bulk(
        StoredRelease, q.upsert_releases, rows, series_id=series_id, series_source_id=series_source_id, now=now
    )


async def _add_books_tx(tx: Tx, batch: ChapterBatch) -> None:
    """Know the files that the source has again, should devices have the same: also after one was replaced there."""
    found = [each.found for each in batch.releases]
    rows = [
        {"digest": digest, "key": release_key(each), "page_count": -1 if each.page_count is None else each.page_count}
        for each in found
        for digest in each.documents
    ]
    if rows:
        await tx.run(q.add_books, series_source_id=batch.series_source_id, rows=rows)


async def rename_releases_tx(tx: Tx, series_source_id: SeriesSourceId, previous_keys: Mapping[str, str]) -> None:
    """Store these keys in place of their previous ones."""
    rows = [{"key": key, "previous_key": previous} for key, previous in previous_keys.items()]
    await tx.run(q.rename_releases, series_source_id=series_source_id, rows=rows)


async def add_appearances_tx(
    tx: Tx, series_id: SeriesId, series_source_id: SeriesSourceId, keys: Iterable[str], *, now: Millis
) -> list[ChapterId]:
    """Record that chapters are on a source; those that were not there before."""
    rows = [{"key": key} for key in keys]
    return await tx.bulk(
        ChapterId, q.add_appearances, rows, series_id=series_id, series_source_id=series_source_id, now=now
    )


async def index_series_tx(tx: Tx, series_id: SeriesId, *, titles: Sequence[str], description: str) -> None:
    """Index a series by all its titles and its description; words far behind are not found."""
    called, said = tokens(" ".join(titles)[:INDEXED_TITLES]), tokens(text_of(description[:INDEXED_DESCRIPTION]))
    await tx.bulk(int, q.index_series, [document(series_id, words_of(tx.engine, called, said))])


async def pageless_releases_tx(tx: Tx, series_source_id: SeriesSourceId, most: int) -> list[PagelessRelease]:
    """The newest releases whose page list nobody has fetched yet."""
    return await tx.many(PagelessRelease, q.pageless_releases, series_source_id=series_source_id, most=most)


async def save_pages_tx(tx: Tx, release_id: ReleaseId, pages: Sequence[FoundPage], now: Millis) -> None:
    """Store the whole page list of a release (R63)."""
    await tx.run(q.upsert_pages, release_id=release_id, rows=[msgspec.structs.asdict(page) for page in pages])
    await tx.run(q.drop_surplus_pages, release_id=release_id, count=len(pages))
    await tx.run(q.pages_fetched, release_id=release_id, count=len(pages), now=now)


def last_of_each(found: Iterable[K]) -> list[K]:
    """One per key, the last one seen: PostgreSQL refuses to touch a row twice in one statement."""
    return list({each.key: each for each in found}.values())


def _release_row(release: NewRelease) -> dict[str, Any]:
    row = msgspec.structs.asdict(release)
    return row | {"content_hash": release.content_hash.hex(), "is_readable": int(release.is_readable)}
