"""The rows of comics and mappings."""

from collections.abc import Iterable

from tsuzuki.accounts.nouns import Slice
from tsuzuki.db import Tx, load_queries
from tsuzuki.db.like import like
from tsuzuki.db.locks import lock_comic_matching_tx
from tsuzuki.model.harvest import FoundSeries
from tsuzuki.model.ids import PublicId, SeriesId, SeriesSourceId, SourceId
from tsuzuki.model.times import Millis
from tsuzuki.sources.comics.rows import ComicRow, Mapping, SourceComic

q = load_queries("tsuzuki.sources.comics")

INACTIVE = "the mapping is switched off"


async def list_comics_tx(tx: Tx, text: str | None, part: Slice) -> tuple[list[ComicRow], int]:
    """By title, and how many there are in all."""
    pattern = None if text is None else like(text)
    rows = await tx.many(ComicRow, q.list_comics, pattern=pattern, most=part.most, skip=part.skip)
    return rows, await tx.one(int, q.count_comics, pattern=pattern)


async def find_comic_tx(tx: Tx, public_id: PublicId) -> ComicRow | None:
    """One comic."""
    return await tx.maybe(ComicRow, q.find_comic, public_id=public_id)


async def list_mappings_tx(tx: Tx, series_id: SeriesId) -> list[Mapping]:
    """Where a comic can be read, the oldest mapping first."""
    return await tx.many(Mapping, q.list_mappings, series_id=series_id)


async def list_source_comics_tx(tx: Tx, source_id: int, part: Slice) -> tuple[list[SourceComic], int]:
    """Those that fail first, and how many there are in all."""
    rows = await tx.many(SourceComic, q.list_source_comics, source_id=source_id, most=part.most, skip=part.skip)
    return rows, await tx.one(int, q.count_source_comics, source_id=source_id)


async def find_mapping_tx(tx: Tx, series_id: SeriesId, mapping_id: int) -> Mapping | None:
    """A mapping of this comic."""
    return await tx.maybe(Mapping, q.find_mapping, id=mapping_id, series_id=series_id)


async def change_mapping_tx(tx: Tx, changed: Mapping, *, host: str, now: Millis) -> None:
    """Write what a person may change, on the mapping and its watch; UniqueViolation when the source has this key."""
    values = {"source_key": changed.source_key, "url": changed.url, "is_active": changed.is_active}
    await tx.run(q.change_mapping, id=changed.id, **values, now=now)
    await tx.run(
        q.move_watch, series_source_id=changed.id, host=host, is_active=changed.is_active, reason=INACTIVE, now=now
    )


async def delete_mapping_tx(tx: Tx, mapping_id: SeriesSourceId) -> None:
    """With its watch and releases."""
    await tx.run(q.delete_mapping, id=mapping_id)


async def matching_comic_tx(tx: Tx, source_id: SourceId, key: str) -> SeriesId | None:
    """The only comic with this key that the source does not have yet; held against other matchers."""
    await lock_comic_matching_tx(tx)
    found = await tx.many(SeriesId, q.matching_comics, match_key=key, source_id=source_id)
    return found[0] if len(found) == 1 else None


async def known_series_tx(tx: Tx, source_id: SourceId, found: Iterable[FoundSeries]) -> set[str]:
    """The keys of those series of a source that are mapped already, under their key or by their address."""
    rows = [{"key": series.key, "url": series.url} for series in found]
    return set(await tx.bulk(str, q.known_series, rows, source_id=source_id))


async def describe_comic_tx(tx: Tx, series_id: SeriesId, *, cover_url: str | None, description: str | None) -> None:
    """Fill in what nobody knew yet."""
    await tx.run(q.describe_comic, id=series_id, cover_url=cover_url, description=description)
