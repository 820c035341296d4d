"""What is fresh, what is whole, and which questions are the same. Pure."""

import hashlib
from collections.abc import Iterable, Sequence

import msgspec

from tsuzuki.catalogue.types import FormerSeries, MergeSeriesRow, MergeSourceRow, SeriesFacts
from tsuzuki.connectors.filters import FilterValue
from tsuzuki.model.errors import Invalid, Problem
from tsuzuki.model.harvest import FoundPage
from tsuzuki.model.ids import SeriesSourceId
from tsuzuki.model.times import Millis

LONGEST_FILTERS = 1000
"""Bytes that are kept as they are: an index of PostgreSQL takes 2,700 for a whole key."""


def is_fresh(fetched_at: Millis | None, ttl: Millis | None, now: Millis) -> bool:
    """Whether it need not be asked for again; a `ttl` of None lasts for ever, a moment in the future counts as none."""
    if fetched_at is None or fetched_at > now:
        return False
    return ttl is None or now - fetched_at < ttl


def fresh_until(fetched_at: Millis | None, ttl: Millis | None) -> Millis | None:
    """When it is to be asked for again; None when it never was fetched, or need never be."""
    return None if fetched_at is None or ttl is None else Millis(fetched_at + ttl)


def lack(found: Sequence[FoundPage], declared: int) -> str | None:
    """R63: why a page list is not whole; None when it is. `declared` is the chapter list's own count, or -1."""
    if [page.index for page in found] != list(range(len(found))):
        return "The source leaves pages out of its list."
    if len(found) < declared:
        return f"The source lists {len(found)} of {declared} pages."
    return None


def plain_query(text: str) -> str:
    """Texts that differ by their spaces ask for the same."""
    return " ".join(text.split())


def filters_key(values: Sequence[FilterValue]) -> str:
    """R60: filters that say the same have the same key, in whatever order; empty when there are none."""
    if not values:
        return ""
    in_order = sorted(values, key=lambda value: (value.group or "", value.name))
    text = msgspec.json.encode(in_order)
    return text.decode() if len(text) <= LONGEST_FILTERS else f"sha256:{hashlib.sha256(text).hexdigest()}"


def parted(wanted: Iterable[int], sources: Sequence[MergeSourceRow]) -> list[MergeSourceRow]:
    """The sources that leave; Invalid when one is not the series' own, or none would stay."""
    known = {source.id: source for source in sources}
    ids = list(dict.fromkeys(wanted))
    problems = [
        Problem(f"sources.{place}", f"sources.{place} is no source of this series.")
        for place, each in enumerate(ids)
        if each not in known
    ]
    if not problems and len(ids) == len(known):
        problems = [Problem("sources", "At least one source must stay with the series.")]
    if problems:
        raise Invalid(problems[0].message, tuple(problems))
    return [known[SeriesSourceId(each)] for each in ids]


def revived(
    former: Iterable[FormerSeries], leaving: Iterable[MergeSourceRow], sources: Iterable[MergeSourceRow]
) -> FormerSeries | None:
    """The merged series that had exactly the sources which leave, as far as there still are: the split undoes that."""
    ids, there = {source.id for source in leaving}, {source.id for source in sources}
    return next((each for each in former if set(each.sources) & there == ids), None)


def newly(series: MergeSeriesRow, leaving: Sequence[MergeSourceRow], match_key: str, title: str) -> SeriesFacts:
    """What a series says of itself that was never one: what the first source that leaves says."""
    first = leaving[0]
    return SeriesFacts(
        title=title,
        match_key=match_key,
        author=first.author or series.author,
        artist=first.artist or series.artist,
        description=first.description or series.description,
        cover_url=first.cover_url or series.cover_url,
        language=series.language,
        status=first.status or series.status,
        is_nsfw=series.is_nsfw,
        created_at=series.created_at,
    )
