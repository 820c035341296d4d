"""Items, series and chapters, found by their words and numbers."""

from collections.abc import Sequence

import msgspec

from tsuzuki.db import Tx, load_queries
from tsuzuki.db.fulltext import match
from tsuzuki.inbox.entries import FAR
from tsuzuki.model.ids import ChapterId, FeedId, ItemId, PublicId, SeriesId, ShelfId
from tsuzuki.model.times import Millis
from tsuzuki.model.tokens import Term, parse_terms

q = load_queries("tsuzuki.inbox.search")


class ItemHit(msgspec.Struct, frozen=True):
    """An item of the shelf that a search found."""

    id: ItemId
    feed_id: FeedId
    title: str
    sort_at: Millis
    unread: bool


class ItemText(msgspec.Struct, frozen=True):
    """What a hit is shown by."""

    id: ItemId
    text: str
    published_at: Millis | None


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
    series_id: PublicId
    series_title: str
    number: str | None
    volume: str | None
    title: str
    published_at: Millis | None


class Narrowed(msgspec.Struct, frozen=True, kw_only=True):
    """What narrows a search down, besides its words."""

    feeds: Sequence[FeedId] | None = None
    unread: bool | None = None
    saved: bool | None = None
    before: Millis = FAR


async def search_items_tx(
    tx: Tx,
    shelf_id: ShelfId,
    query: str | Sequence[Term],
    most: int = 50,
    *,
    narrowed: Narrowed = Narrowed(),  # noqa: B008  frozen
) -> list[ItemHit]:
    """The shelf's items that match, best first; nothing for a query without a word in it."""
    wanted = match(tx.engine, parse_terms(query) if isinstance(query, str) else query)
    if wanted is None:
        return []
    where = msgspec.structs.asdict(narrowed)
    return await tx.many(ItemHit, q.search_items, match=wanted, shelf_id=shelf_id, most=most, **where)


async def item_texts_tx(tx: Tx, ids: Sequence[ItemId], *, longest: int) -> dict[ItemId, ItemText]:
    """The first `longest` characters of these items."""
    return {text.id: text for text in await tx.many(ItemText, q.item_texts, ids=ids, longest=longest)}


async def search_series_tx(tx: Tx, query: str | Sequence[Term], most: int = 50) -> list[SeriesHit]:
    """The series that match, best first."""
    wanted = match(tx.engine, parse_terms(query) if isinstance(query, str) else query)
    return [] if wanted is None else await tx.many(SeriesHit, q.search_series, match=wanted, most=most)


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
