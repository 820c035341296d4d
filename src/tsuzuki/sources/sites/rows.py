"""Sources as they are asked for, sent and stored."""

from typing import Annotated, Any

import msgspec
from msgspec import UNSET, UnsetType

from tsuzuki.model.ids import SourceId
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
