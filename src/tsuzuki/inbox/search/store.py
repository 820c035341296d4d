"""Items, series and chapters, found by their words and numbers."""

from collections.abc import Sequence

import msgspec

from tsuzuki.db import Tx, load_queries
from tsuzuki.db.fulltext import match
from tsuzuki.inbox.search.hits import ChapterHit, ItemHit, Narrowed, SeriesHit, SoughtItem
from tsuzuki.model.ids import ItemId, ShelfId
from tsuzuki.model.tokens import Term, parse_terms

q = load_queries("tsuzuki.inbox.search")


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


async def sought_items_tx(tx: Tx, shelf_id: ShelfId, ids: Sequence[ItemId], *, longest: int) -> list[SoughtItem]:
    """These items of the shelf in this order, with the first `longest` characters of their texts."""
    rows = await tx.many(SoughtItem, q.sought_items, shelf_id=shelf_id, ids=ids, longest=longest) if ids else []
    found = {row.id: row for row in rows}
    return [found[item_id] for item_id in ids if item_id in found]


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
