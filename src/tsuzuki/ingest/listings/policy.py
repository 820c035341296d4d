"""Compares a full listing with what is stored: what is new, seen again, absent, or known by another key. Pure."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from tsuzuki.model.times import DAY, Millis

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


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """Keys, by what is to be done."""

    changed: Mapping[str, str | None]
    """What is new or changed, each with the key that it is stored under, where that is another one (R101)."""
    seen: tuple[str, ...]
    """What is stored and to be marked as seen: it was absent, or it is a day since that was done (R100)."""
    absent: tuple[str, ...]
    """What is stored and not listed, unless it is known to be unavailable."""


def compare(listed: Sequence[ReleaseInListing], known: Sequence[KnownRelease], now: Millis) -> Comparison:
    """What a full listing says of the stored releases of its series."""
    stored = {each.key: each for each in known}
    keys = {each.key for each in listed}
    unlisted = [each for each in known if each.key not in keys]
    previous = _previous_keys([each for each in listed if each.key not in stored], listed, unlisted)
    renamed = set(previous.values())
    return Comparison(
        changed={each.key: previous.get(each.key) for each in listed if _is_changed(each, stored.get(each.key))},
        seen=tuple(each.key for each in known if each.key in keys and _is_to_mark(each, now)),
        absent=tuple(each.key for each in unlisted if each.key not in renamed and each.absences < MOST_ABSENCES),
    )


def _is_changed(listed: ReleaseInListing, known: KnownRelease | None) -> bool:
    return known is None or known.content_hash != listed.content_hash


def _is_to_mark(known: KnownRelease, now: Millis) -> bool:
    return not known.is_available or known.absences > 0 or now - known.last_seen_at >= DAY


def _previous_keys(
    new: Sequence[ReleaseInListing], listed: Sequence[ReleaseInListing], unlisted: Sequence[KnownRelease]
) -> dict[str, str]:
    """R101: under which key a new one is stored. An address that several share tells nothing."""
    by_source_key = {each.source_key: each.key for each in unlisted if each.source_key}
    uses = Counter(each.url for each in listed) | Counter(each.url for each in unlisted)
    by_url = {each.url: each.key for each in unlisted if uses[each.url] == 1}
    found = {each.key: by_source_key.get(each.source_key or "") or by_url.get(each.url) for each in new}
    times = Counter(found.values())
    return {key: previous for key, previous in found.items() if previous is not None and times[previous] == 1}
