"""Search queries: items, series and chapters by words and numbers."""

from collections.abc import Sequence
from typing import Generic, TypeVar

import msgspec

from tsuzuki.db import Tx, load_queries
from tsuzuki.db.fulltext import match
from tsuzuki.inbox.entries import FAR
from tsuzuki.model.ids import ChapterId, FeedId, ItemId, PublicId, SeriesId, ShelfId
from tsuzuki.model.times import Millis
from tsuzuki.model.titles import title_of
from tsuzuki.model.tokens import Term, parse_terms
from tsuzuki.shelves.types import Subscription

q = load_queries("tsuzuki.inbox.search")

T = TypeVar("T")


class ItemHit(msgspec.Struct, frozen=True):
    """An item of the shelf that a search found."""

    id: ItemId
    feed_id: FeedId
    title: str
    sort_at: Millis
    unread: bool


class ShownItem(msgspec.Struct, frozen=True):
    """An item of the shelf with the texts that a hit shows."""

    id: ItemId
    feed_id: PublicId
    """The shelf's subscription."""
    title: str
    text: str
    published_at: Millis | None
    sort_at: Millis
    unread: bool

    @property
    def shown_title(self) -> str:
        """The title, else what stands for one; empty where its time has to (R103)."""
        return title_of(self.title, self.text)


class SeriesHit(msgspec.Struct, frozen=True):
    """A series that a search found."""

    id: SeriesId
    public_id: PublicId
    title: str
    author: str | None
    cover_url: str | None
    last_chapter_at: Millis | None
    description: str | None
    cover_id: int | None
    """The series source whose cover stands for it."""


class ChapterHit(msgspec.Struct, frozen=True):
    """A chapter of a series that the shelf follows."""

    id: ChapterId
    series_public_id: PublicId
    series_title: str
    number: str | None
    volume: str | None
    title: str
    published_at: Millis | None


class HitFilter(msgspec.Struct, frozen=True, kw_only=True):
    """What narrows a search, besides its words."""

    feeds: Sequence[FeedId] | None = None
    unread: bool | None = None
    saved: bool | None = None
    before: Millis = FAR


class SearchHit(msgspec.Struct, Generic[T], frozen=True):
    """A hit, with some text around what was sought: HTML in which nothing but `<mark>` is markup (I7)."""

    hit: T
    snippet: str


class Results(msgspec.Struct, frozen=True, kw_only=True):
    """What a search found, each kind best first."""

    feeds: list[SearchHit[Subscription]] = []
    items: list[SearchHit[ShownItem]] = []
    series: list[SearchHit[SeriesHit]] = []
    chapters: list[SearchHit[ChapterHit]] = []


async def search_items_tx(
    tx: Tx,
    shelf_id: ShelfId,
    query: str | Sequence[Term],
    most: int = 50,
    *,
    narrowed: HitFilter = HitFilter(),  # noqa: B008  frozen
) -> list[ItemHit]:
    """The shelf's items that match, best first; nothing for a query without a word in it."""
    wanted = match(tx.engine, parse_terms(query) if isinstance(query, str) else query)
    if wanted is None:
        return []
    where = msgspec.structs.asdict(narrowed)
    return await tx.many(ItemHit, q.search_items, match=wanted, shelf_id=shelf_id, most=most, **where)


async def shown_items_tx(tx: Tx, shelf_id: ShelfId, ids: Sequence[ItemId], *, longest: int) -> list[ShownItem]:
    """These items of the shelf in this order, with the first `longest` characters of their texts."""
    rows = await tx.many(ShownItem, q.shown_items, shelf_id=shelf_id, ids=ids, longest=longest) if ids else []
    found = {row.id: row for row in rows}
    return [found[item_id] for item_id in ids if item_id in found]


async def search_series_tx(tx: Tx, shelf_id: ShelfId, query: str | Sequence[Term], most: int = 50) -> list[SeriesHit]:
    """The series that match, best first; of those that only imports have brought, the shelf's own."""
    wanted = match(tx.engine, parse_terms(query) if isinstance(query, str) else query)
    return [] if wanted is None else await tx.many(SeriesHit, q.search_series, match=wanted, **_of(shelf_id, most))


async def search_chapters_tx(tx: Tx, shelf_id: ShelfId, terms: Sequence[Term], most: int) -> list[ChapterHit]:
    """Chapters whose titles match, best first."""
    words = match(tx.engine, terms)
    return [] if words is None else await tx.many(ChapterHit, q.search_chapters, match=words, **_of(shelf_id, most))


async def numbered_chapters_tx(
    tx: Tx, shelf_id: ShelfId, number: str, terms: Sequence[Term], *, most: int
) -> list[ChapterHit]:
    """The chapters of this number in series that match, best first; in all that are followed where no word is said."""
    words = match(tx.engine, terms)
    if words is not None:
        return await tx.many(ChapterHit, q.search_numbered_chapters, match=words, number=number, **_of(shelf_id, most))
    return [] if terms else await tx.many(ChapterHit, q.list_numbered_chapters, number=number, **_of(shelf_id, most))


def _of(shelf_id: ShelfId, most: int) -> dict[str, int]:
    return {"shelf_id": shelf_id, "most": most}
