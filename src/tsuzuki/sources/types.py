"""Sources, comics and mappings, as they are sent and stored. What clients call a comic is a series."""

from typing import Annotated, Any

import msgspec
from msgspec import UNSET, UnsetType

from tsuzuki.model.ids import PublicId, SeriesId, SeriesSourceId, SourceId
from tsuzuki.model.secrets import SOURCE, Sealed
from tsuzuki.model.times import Millis


class Source(msgspec.Struct, frozen=True):
    """A source with its secrets: never shown as it is."""

    id: SourceId
    uid: int
    name: str
    slug: str
    lang: str
    base_url: str
    connector: str | None
    config: Annotated[dict[str, Any], Sealed(SOURCE)]
    is_enabled: bool
    is_nsfw: bool
    supports_latest: bool
    consecutive_fails: int
    last_succeeded_at: Millis | None
    last_failed_at: Millis | None
    created_at: Millis
    updated_at: Millis


class NewSource(msgspec.Struct, frozen=True, kw_only=True):
    """A source to be registered."""

    uid: int
    name: str
    slug: str
    base_url: str
    lang: str = "all"
    connector: str | None = None
    config: dict[str, Any] = {}
    is_nsfw: bool = False
    supports_latest: bool = False


class SourceFilter(msgspec.Struct, frozen=True):
    """Which sources; what is None does not matter."""

    is_enabled: bool | None = None
    text: str | None = None
    """A part of the name."""


class SourceRegistration(msgspec.Struct, frozen=True, kw_only=True):
    """A source to be registered."""

    name: str
    slug: str
    base_url: str
    connector: str | None = None
    config: dict[str, Any] = {}
    is_enabled: bool = True


class SourceChange(msgspec.Struct, frozen=True, kw_only=True):
    """What to change of a source; what is UNSET stays."""

    name: str | UnsetType = UNSET
    slug: str | UnsetType = UNSET
    base_url: str | UnsetType = UNSET
    connector: str | UnsetType | None = UNSET
    config: dict[str, Any] | UnsetType = UNSET
    is_enabled: bool | UnsetType = UNSET


class Pause(msgspec.Struct, frozen=True):
    """Since when no source is called, and why."""

    at: Millis
    reason: str


class JobOutcome(msgspec.Struct, frozen=True):
    """What a failed job left on its source."""

    name: str
    consecutive_fails: int
    is_disabled_now: bool
    """True for the one failure that disabled it."""


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
    """A comic in the list of a source, with the state of its watch."""

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
