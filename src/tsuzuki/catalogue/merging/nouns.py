"""What is said of merging and splitting."""

from typing import Literal

import msgspec

from tsuzuki.model.ids import ChapterId, GroupId, PublicId, SeriesId, SeriesSourceId, ShelfId
from tsuzuki.model.times import Millis


class SeriesFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What a series says of itself."""

    title: str
    match_key: str
    author: str | None = None
    artist: str | None = None
    description: str | None = None
    cover_url: str | None = None
    language: str | None = None
    status: int = 0
    is_nsfw: bool = False
    created_at: Millis = Millis(0)


class MergeSeriesRow(msgspec.Struct, frozen=True):
    """A series to be merged or split."""

    id: SeriesId
    public_id: PublicId
    title: str
    match_key: str
    author: str | None
    artist: str | None
    description: str | None
    cover_url: str | None
    language: str | None
    status: int
    is_nsfw: bool
    created_at: Millis

    @property
    def about(self) -> SeriesFacts:
        """What it says of itself."""
        names = [field.name for field in msgspec.structs.fields(SeriesFacts)]
        return SeriesFacts(**{name: getattr(self, name) for name in names})


class MergeSourceRow(msgspec.Struct, frozen=True):
    """A series as one source has it."""

    id: SeriesSourceId
    title: str
    author: str | None
    artist: str | None
    description: str | None
    cover_url: str | None
    status: int


class FormerSeries(msgspec.Struct, frozen=True):
    """A series that was merged into another."""

    public_id: PublicId
    details: SeriesFacts
    sources: list[SeriesSourceId]


class MergeFollowRow(msgspec.Struct, frozen=True):
    """Who follows."""

    shelf_id: ShelfId
    group_id: GroupId
    status: str
    notify: bool
    preferences: str
    created_at: Millis


class CopiedChapter(msgspec.Struct, frozen=True):
    """A chapter that both sides of a split have."""

    id: ChapterId
    title: str


class MergeOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """What a merge or split does, or did.

    `moved` counts rows that went to the other series or chapter; `shared` those that were there on both sides and
    became one, or, after a split, are there on both.
    """

    kind: Literal["merge", "split"]
    is_preview: bool
    series: PublicId
    """The one that stays: merged into, or split."""
    other: PublicId
    """The one that goes, or that is new."""
    title: str
    """Of the one that goes, or that is new."""
    sources: int
    chapters_moved: int
    chapters_shared: int
    releases: int
    entries_moved: int
    entries_shared: int
    progress_moved: int
    progress_shared: int
    follows_moved: int
    follows_shared: int
    shelves: int
    """That follow or have something of it, and are told."""
