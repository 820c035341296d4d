"""Compares a series' list of releases with the stored ones: new, seen again, absent, or with another key."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import msgspec

from tsuzuki.db import Database, Tx, load_queries
from tsuzuki.db.locks import lock_series_merges_shared_tx, lock_series_tx
from tsuzuki.ingest.chapters import ReleaseFound, release_hash, series_of_tx
from tsuzuki.model.ids import SeriesSourceId
from tsuzuki.model.numbers import release_key
from tsuzuki.model.times import DAY, Millis

q = load_queries("tsuzuki.ingest")

MOST_ABSENCES: Final = 2
"""R100: a release that so many listings in a row lack is unavailable."""


class ReleaseInListing(msgspec.Struct, frozen=True):
    """A release as the listing has it."""

    key: str
    content_hash: bytes
    source_key: str | None
    url: str


class KnownRelease(msgspec.Struct, frozen=True):
    """A release as it is stored."""

    key: str
    content_hash: bytes
    source_key: str | None
    url: str
    is_available: bool
    absences: int
    last_seen_at: Millis


class ListingComparison(msgspec.Struct, frozen=True, kw_only=True):
    """Keys, by what is to be done."""

    changed: Mapping[str, str | None]
    """What is new or changed, each with the key that it is stored under, where that is another one (R101)."""
    seen: tuple[str, ...]
    """What is stored and to be marked as seen: it was absent, or it is a day since that was done (R100)."""
    absent: tuple[str, ...]
    """What is stored and not listed, unless it is known to be unavailable."""


class ComparedListing(msgspec.Struct, frozen=True):
    """A full listing, compared with what is stored."""

    changed: list[ReleaseFound]
    """For ingest."""
    comparison: ListingComparison


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
        await tx.run(q.mark_seen, series_source_id=series_source_id, rows=[{"key": key} for key in seen], now=now)
        await mark_absent_tx(tx, series_source_id, absent)

    await db.with_tx(record)


# -- the comparison; pure


def compare(listed: Sequence[ReleaseInListing], known: Sequence[KnownRelease], now: Millis) -> ListingComparison:
    """What a full listing says of the stored releases of its series."""
    stored = {each.key: each for each in known}
    keys = {each.key for each in listed}
    unlisted = [each for each in known if each.key not in keys]
    previous = _previous_keys([each for each in listed if each.key not in stored], listed, unlisted)
    renamed = set(previous.values())
    return ListingComparison(
        changed={each.key: previous.get(each.key) for each in listed if _is_changed(each, stored.get(each.key))},
        seen=tuple(
            each.key
            for each in known
            if each.key in keys and (not each.is_available or each.absences > 0 or now - each.last_seen_at >= DAY)
        ),
        absent=tuple(each.key for each in unlisted if each.key not in renamed and each.absences < MOST_ABSENCES),
    )


def _is_changed(listed: ReleaseInListing, known: KnownRelease | None) -> bool:
    return known is None or known.content_hash != listed.content_hash


def _previous_keys(
    new: Sequence[ReleaseInListing], listed: Sequence[ReleaseInListing], unlisted: Sequence[KnownRelease]
) -> dict[str, str]:
    """R101: under which key a new one is stored. An address that several share identifies nothing."""
    by_source_key = {each.source_key: each.key for each in unlisted if each.source_key}
    uses = Counter(each.url for each in listed) | Counter(each.url for each in unlisted)
    by_url = {each.url: each.key for each in unlisted if uses[each.url] == 1}
    found = {each.key: by_source_key.get(each.source_key or "") or by_url.get(each.url) for each in new}
    times = Counter(found.values())
    return {key: previous for key, previous in found.items() if previous is not None and times[previous] == 1}


# -- rows


async def known_releases_tx(tx: Tx, series_source_id: SeriesSourceId) -> list[KnownRelease]:
    """All stored releases of a series source."""
    return await tx.many(KnownRelease, q.known_releases, series_source_id=series_source_id)


async def mark_absent_tx(tx: Tx, series_source_id: SeriesSourceId, keys: Iterable[str]) -> None:
    """One more listing lacks them."""
    rows = [{"key": key} for key in keys]
    await tx.run(q.mark_absent, series_source_id=series_source_id, rows=rows, most_absences=MOST_ABSENCES)
