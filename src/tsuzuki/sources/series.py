"""Series and their sources."""

from tsuzuki.db import Tx, load_queries
from tsuzuki.model.errors import NotFound
from tsuzuki.model.ids import PublicId, SeriesId, SeriesSourceId, SourceId
from tsuzuki.model.times import Millis

q = load_queries("tsuzuki.sources")


async def add_series_tx(
    tx: Tx, public_id: PublicId, title: str, *, match_key: str, now: Millis, author: str | None = None
) -> SeriesId:
    """A new series, not yet on any source."""
    return await tx.one(
        SeriesId, q.add_series, public_id=public_id, title=title, match_key=match_key, author=author, now=now
    )


async def add_series_source_tx(
    tx: Tx, series_id: SeriesId, source_id: SourceId, *, source_key: str, url: str, now: Millis, title: str = ""
) -> SeriesSourceId | None:
    """That series as this source knows it; None when the source has this key already."""
    return await tx.maybe(
        SeriesSourceId,
        q.add_series_source,
        series_id=series_id,
        source_id=source_id,
        source_key=source_key,
        url=url,
        title=title,
        now=now,
    )


async def find_series_tx(tx: Tx, public_id: PublicId) -> SeriesId | None:
    """The series with this id, or the one that it was merged into."""
    return await tx.maybe(SeriesId, q.find_series, public_id=public_id)


async def known_series_tx(tx: Tx, public_id: PublicId) -> SeriesId:
    """The series with this id, or the one that it was merged into; NotFound if there is none."""
    series_id = await find_series_tx(tx, public_id)
    if series_id is None:
        raise NotFound("There is no such series.")
    return series_id
