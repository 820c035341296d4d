"""Decisions about reading, releases, gaps, and changed subscriptions. Pure."""

from collections.abc import Hashable, Iterable, Sequence
from itertools import pairwise
from typing import Final, Literal

import msgspec
from msgspec import UnsetType

from tsuzuki.model.ids import GroupId
from tsuzuki.model.numbers import SCALE, parse_number
from tsuzuki.model.times import Millis
from tsuzuki.shelves.types import (
    FormerSubscription,
    NewSubscriptionRow,
    ReadChapter,
    ReleasePreferences,
    ReportedReading,
    SeriesRelease,
    SeriesSourceState,
    Subscription,
    SubscriptionChange,
    new_or,
)

EARLIEST: Final = Millis(0)


def moment(said: Millis | None, now: Millis) -> Millis:
    """When it was: a device whose clock is ahead must not win for ever, so never later than now."""
    return now if said is None else max(EARLIEST, min(said, now))


def is_finished(reading: ReportedReading, chapter: ReadChapter) -> bool:
    """Whether the last page was reached; False where nobody knows how many pages there are."""
    count = reading.page_count if reading.page_count is not None else chapter.page_count
    return reading.page is not None and count > 0 and reading.page >= count - 1


def decided(reading: ReportedReading, chapter: ReadChapter) -> bool | None:
    """Whether this marks the chapter read or unread; None when neither."""
    if reading.is_read is not None:
        return reading.is_read
    return True if is_finished(reading, chapter) else None


MOST_GAPS: Final = 100
BROKEN_AT: Final = 5
"""R23: failures in a row that open the breaker."""

Health = Literal["new", "ok", "failing", "broken", "off", "paused"]
Stop = Literal["source_off", "series_off", "suspended", "paused"]

# -- the preferred release


def preferred(releases: Iterable[SeriesRelease], wanted: ReleasePreferences) -> SeriesRelease | None:
    """The release that a reader would take; None when there is none.

    What can be read comes first, on a source that is switched on, in a language that the reader named, if any. Among
    those the order of sources decides, then that of groups, then that of languages, then the newest.
    """
    return min(releases, key=lambda release: _rank(release, wanted), default=None)


def _rank(release: SeriesRelease, wanted: ReleasePreferences) -> tuple[bool | int, ...]:
    groups = [_folded(name) for name in wanted.groups]
    languages = [_folded(name) for name in wanted.languages]
    language = _folded(release.language)
    return (
        not (release.is_available and release.is_readable),
        not release.is_on,
        bool(languages) and language not in languages,
        _place(release.source_id, wanted.sources),
        _place(_folded(release.group_name), groups),
        _place(language, languages),
        -(release.published_at if release.published_at is not None else release.first_seen_at),
        -release.id,
    )


def _place(value: Hashable, order: Sequence[Hashable]) -> int:
    """What is not named comes after all that is."""
    return order.index(value) if value in order else len(order)


def _folded(text: str | None) -> str:
    return " ".join((text or "").casefold().split())


# -- gaps


class Gap(msgspec.Struct, frozen=True):
    """Whole numbers that no source has, from the first to the last."""

    first: int
    last: int

    @property
    def count(self) -> int:
        """How many that are."""
        return self.last - self.first + 1


class Gaps(msgspec.Struct, frozen=True):
    """What is missing between the lowest and the highest that there is."""

    of: Literal["chapters", "volumes"]
    missing: int
    ranges: list[Gap]
    """The highest first; the first so many of them."""
    is_cut: bool


def gaps(numbers: Iterable[int], volumes: Iterable[str], *, most: int = MOST_GAPS) -> Gaps:
    """Missing whole numbers; 10.5 neither fills a gap nor makes one. Volumes count where no chapter has a number."""
    found = list(numbers)
    if found:
        return _between("chapters", {number // SCALE for number in found if number % SCALE == 0}, most)
    parsed = (parse_number(volume) for volume in volumes)
    return _between(
        "volumes",
        {int(volume) for volume in parsed if volume is not None and volume == volume.to_integral_value()},
        most,
    )


def _between(of: Literal["chapters", "volumes"], wholes: set[int], most: int) -> Gaps:
    ranges = [Gap(low + 1, high - 1) for low, high in pairwise(sorted(wholes)) if high - low > 1]
    ranges.reverse()
    return Gaps(of, sum(gap.count for gap in ranges), ranges[:most], len(ranges) > most)


# -- health


def health(source: SeriesSourceState) -> Health:
    """The state of a source for this series."""
    stop = stopped_by(source)
    if stop is not None:
        return "paused" if stop == "paused" else "off"
    if source.failures >= BROKEN_AT:
        return "broken"
    if source.failures:
        return "failing"
    return "new" if source.last_checked_at is None else "ok"


def stopped_by(source: SeriesSourceState) -> Stop | None:
    """Why this source is not called for this series, until somebody changes that; None when it is."""
    if not source.is_source_on:
        return "source_off"
    if not source.is_on:
        return "series_off"
    if source.suspended_reason is not None:
        return "suspended"
    return None if source.paused_at is None else "paused"


def stop_reason(source: SeriesSourceState) -> str | None:
    """What was said about it: by whoever paused the sources, or by the publisher's answer; None when nothing was."""
    stop = stopped_by(source)
    if stop == "suspended":
        return source.suspended_reason
    return (source.paused_reason or None) if stop == "paused" else None


def changed(before: Subscription, change: SubscriptionChange, *, group_id: GroupId, now: Millis) -> Subscription:
    """The subscription with the reader's changes."""
    return msgspec.structs.replace(
        before,
        group_id=group_id,
        name=new_or(change.name, before.name),
        suspended_at=_suspended(before.suspended_at, now, wanted=change.is_suspended),
        notify=new_or(change.notify, before.notify),
        full_text=new_or(change.full_text, before.full_text),
        poll_interval=new_or(change.poll_interval, before.poll_interval),
        retention=new_or(change.retention, before.retention),
    )


def as_before(former: FormerSubscription, row: NewSubscriptionRow, *, keeps_group: bool) -> NewSubscriptionRow:
    """The reader's choices, with those of the former subscription where nothing is chosen."""
    return msgspec.structs.replace(
        row,
        public_id=former.public_id,
        group_id=(former.group_id or row.group_id) if keeps_group else row.group_id,
        name=row.name or former.name,
        site_url=row.site_url or former.site_url,
        notify=former.notify,
        full_text=row.full_text or former.full_text,
        poll_interval=former.poll_interval,
        retention=former.retention,
        created_at=former.created_at,
    )


def _suspended(before: Millis | None, now: Millis, *, wanted: bool | UnsetType) -> Millis | None:
    if isinstance(wanted, UnsetType):
        return before
    return (before or now) if wanted else None
