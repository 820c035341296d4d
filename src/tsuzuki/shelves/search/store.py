"""Chapters, found by their titles and their numbers."""

from collections.abc import Sequence

import msgspec

from tsuzuki.db import Tx, load_queries
from tsuzuki.db.fulltext import match
from tsuzuki.model.ids import ChapterId, PublicId, ShelfId
from tsuzuki.model.times import Millis
from tsuzuki.model.tokens import Term

q = load_queries("tsuzuki.shelves.search")


class ChapterHit(msgspec.Struct, frozen=True):
    """A chapter of a series that the shelf follows."""

    id: ChapterId
    series_id: PublicId
    series_title: str
    number: str | None
    volume: str | None
    title: str
    published_at: Millis | None


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
