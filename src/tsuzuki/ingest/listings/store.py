"""The stored releases of a series on a source, as its listings are compared with them."""

from collections.abc import Iterable, Mapping

from tsuzuki.db import Tx, load_queries
from tsuzuki.ingest.listings.policy import MOST_ABSENCES, KnownRelease
from tsuzuki.model.ids import SeriesSourceId
from tsuzuki.model.times import Millis

q = load_queries("tsuzuki.ingest.listings")


async def known_releases_tx(tx: Tx, series_source_id: SeriesSourceId) -> list[KnownRelease]:
    """All that are stored."""
    return await tx.many(KnownRelease, q.known_releases, series_source_id=series_source_id)


async def rename_releases_tx(tx: Tx, series_source_id: SeriesSourceId, previous_keys: Mapping[str, str]) -> None:
    """Store these keys in place of their previous ones."""
    rows = [{"key": key, "previous_key": previous} for key, previous in previous_keys.items()]
    await tx.run(q.rename_releases, series_source_id=series_source_id, rows=rows)


async def mark_seen_tx(tx: Tx, series_source_id: SeriesSourceId, keys: Iterable[str], now: Millis) -> None:
    """They are available."""
    await tx.run(q.mark_seen, series_source_id=series_source_id, rows=[{"key": key} for key in keys], now=now)


async def mark_absent_tx(tx: Tx, series_source_id: SeriesSourceId, keys: Iterable[str]) -> None:
    """One more listing lacks them."""
    rows = [{"key": key} for key in keys]
    await tx.run(q.mark_absent, series_source_id=series_source_id, rows=rows, most_absences=MOST_ABSENCES)
