"""Comics and their mappings, as they are sent and stored. What clients call a comic is a series."""

import msgspec
from msgspec import UNSET, UnsetType

from tsuzuki.model.ids import PublicId, SeriesId, SeriesSourceId, SourceId
from tsuzuki.model.times import Millis


class ComicRow(msgspec.Struct, frozen=True):
    """A series as the operator sees it."""

    id: SeriesId
    public_id: PublicId
    title: str
    author: str | None
    cover_url: str | None
    latest_number: str | None
    sources: int
    chapters: int
    created_at: Millis
    updated_at: Millis


class Mapping(msgspec.Struct, frozen=True):
    """A comic as one source has it."""

    id: SeriesSourceId
    series_id: SeriesId
    comic_id: PublicId
    source_id: SourceId
    source_name: str
    source_slug: str
    source_base_url: str
    connector: str | None
    source_key: str
    url: str
    is_active: bool
    last_crawled_at: Millis | None
    """When it was last called with success, by a job or on schedule."""
    created_at: Millis
    updated_at: Millis


class SourceComic(msgspec.Struct, frozen=True):
    """A comic in the list of a source, with how its watch fares."""

    id: SeriesSourceId
    comic_id: PublicId
    title: str
    url: str
    is_active: bool
    last_success_at: Millis | None
    next_check_at: Millis
    consecutive_failures: int
    last_error: str | None


class NewMapping(msgspec.Struct, frozen=True, kw_only=True):
    """A mapping to be added."""

    source_id: int
    source_key: str
    url: str
    is_active: bool = True


class MappingChange(msgspec.Struct, frozen=True, kw_only=True):
    """What to change of a mapping; what is UNSET stays."""

    source_key: str | UnsetType = UNSET
    url: str | UnsetType = UNSET
    is_active: bool | UnsetType = UNSET
