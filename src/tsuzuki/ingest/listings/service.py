"""What a poll or a refresh does with the whole list of a series' releases."""

from collections.abc import Sequence

import msgspec

from tsuzuki.db import Database, Tx
from tsuzuki.ingest.listings.policy import Comparison, ReleaseInListing, compare
from tsuzuki.ingest.listings.store import known_releases_tx, mark_absent_tx, mark_seen_tx
from tsuzuki.ingest.tasks import ReleaseFound, release_hash
from tsuzuki.model.ids import SeriesSourceId
from tsuzuki.model.numbers import release_key
from tsuzuki.model.times import Millis
from tsuzuki.sources.store import lock_series_merges_shared_tx, lock_series_tx, series_of_tx


class ComparedListing(msgspec.Struct, frozen=True):
    """A full listing, compared with what is stored."""

    changed: list[ReleaseFound]
    """For ingest."""
    comparison: Comparison


async def compare_listing(
    db: Database, series_source_id: SeriesSourceId, found: Sequence[ReleaseFound], now: Millis
) -> ComparedListing:
    """What is new or changed, and what to record of the rest."""
    by_key = {release_key(each.found): each for each in found}
    known = await db.read(lambda tx: known_releases_tx(tx, series_source_id))
    listed = [
        ReleaseInListing(key, release_hash(each), each.found.source_key, each.found.url) for key, each in by_key.items()
    ]
    comparison = compare(listed, known, now)
    changed = [
        msgspec.structs.replace(by_key[key], previous_key=previous) for key, previous in comparison.changed.items()
    ]
    return ComparedListing(changed, comparison)


async def record_listing(db: Database, series_source_id: SeriesSourceId, listing: ComparedListing, now: Millis) -> None:
    """Mark what was seen again and what is absent (R100). Writes nothing most of the time."""
    seen, absent = listing.comparison.seen, listing.comparison.absent
    if not seen and not absent:
        return

    async def record(tx: Tx) -> None:
        await lock_series_merges_shared_tx(tx)
        series_id = await series_of_tx(tx, series_source_id)
        if series_id is None:
            return
        await lock_series_tx(tx, series_id)  # ingest writes the same rows in an order of its own
        await mark_seen_tx(tx, series_source_id, seen, now)
        await mark_absent_tx(tx, series_source_id, absent)

    await db.with_tx(record)
