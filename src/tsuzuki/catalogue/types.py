"""Listings, series, releases and pages of the catalogue, and rows of merges."""

from typing import Annotated, Literal

import msgspec

from tsuzuki.model.ids import (
    ChapterId,
    GroupId,
    PublicId,
    ReleaseId,
    SeriesId,
    SeriesSourceId,
    ShelfId,
    SourceId,
    WatchId,
)
from tsuzuki.model.secrets import NOTE, Sealed
from tsuzuki.model.times import Millis

ListKind = Literal["popular", "latest", "search"]


class ListKey(msgspec.Struct, frozen=True, kw_only=True):
    """R60: what a listing is cached by."""

    source_id: SourceId
    kind: ListKind
    page: int
    query: str = ""
    filters: str = ""


class SourceListing(msgspec.Struct, frozen=True):
    """A list as it was fetched: the order as the source gave it."""

    series_source_ids: list[int]
    has_next: bool
    fetched_at: Millis


class ListedSeries(msgspec.Struct, frozen=True):
    """A series of a list, and whether we know it."""

    key: str
    id: SeriesSourceId | None


class Manga(msgspec.Struct, frozen=True):
    """A series as one source knows it. `in_library_at` is the asking shelf's."""

    id: SeriesSourceId
    series_id: SeriesId
    series_public_id: PublicId
    source_id: SourceId
    source_key: str
    url: str
    real_url: str | None
    title: str
    author: str | None
    artist: str | None
    description: str | None
    genres: list[str]
    status: int
    cover_url: str | None
    is_nsfw: bool
    is_active: bool
    is_initialized: bool
    update_strategy: str
    listed_at: Millis | None
    details_fetched_at: Millis | None
    chapters_fetched_at: Millis | None
    cover_fetched_at: Millis | None
    source_uid: int
    in_library_at: Millis | None


class MangaPage(msgspec.Struct, frozen=True):
    """One page of a source's list."""

    manga: list[Manga]
    has_next: bool


class ChapterTarget(msgspec.Struct, frozen=True):
    """A chapter list to be fetched."""

    series_source_id: SeriesSourceId
    series_id: SeriesId
    watch_id: WatchId
    priority: int
    first_harvest_at: Millis | None
    has_content: bool


class ListedRelease(msgspec.Struct, frozen=True):
    """A release in its series' list, with the asking shelf's progress."""

    id: ReleaseId
    chapter_id: ChapterId
    number: str | None
    volume: str | None
    title: str
    url: str
    real_url: str | None
    language: str | None
    group_name: str | None
    published_at: Millis | None
    source_order: int
    page_count: int
    first_seen_at: Millis
    pages_fetched_at: Millis | None
    is_available: bool
    is_readable: bool
    is_read: bool
    last_page_read: int
    is_bookmarked: bool
    last_read_at: Millis | None


class CatalogueRelease(msgspec.Struct, frozen=True):
    """A release, as far as its pages need it."""

    id: ReleaseId
    chapter_id: ChapterId
    series_source_id: SeriesSourceId
    source_id: SourceId
    url: str
    real_url: str | None
    page_count: int
    pages_fetched_at: Millis | None
    is_readable: bool


class PageRow(msgspec.Struct, frozen=True):
    """One page; `image_url` is None where it takes another call to learn it."""

    position: int
    url: str
    image_url: str | None


class MetaRow(msgspec.Struct, frozen=True):
    """One value that somebody noted about a source."""

    key: str
    value: Annotated[str, Sealed(NOTE)]


class SeriesDescription(msgspec.Struct, frozen=True, kw_only=True):
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
    def about(self) -> SeriesDescription:
        """Its own data, without its ids."""
        return msgspec.convert(self, SeriesDescription, from_attributes=True)


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
    details: SeriesDescription
    sources: list[SeriesSourceId]


class MergeFollowRow(msgspec.Struct, frozen=True):
    """A follow of a series that is merged."""

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
    """The title of the one that goes, or that is new."""
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
    """Shelves that follow it or have something of it, and get an event."""
