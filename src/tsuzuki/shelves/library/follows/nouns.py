"""What is said of follows."""

from typing import Literal

import msgspec
from msgspec import UNSET, UnsetType

from tsuzuki.model.ids import ChapterId, GroupId, PublicId, SeriesId
from tsuzuki.model.times import Millis

Status = Literal["reading", "plan", "done", "dropped"]
Mode = Literal["ltr", "rtl", "double", "vertical", "webtoon"]
"""How pages follow one another: page by page either way, two at once, below one another, or without a gap."""
Fit = Literal["width", "height", "original"]
Sort = Literal["title", "last_chapter", "unread", "added", "last_read"]


class ReleasePreferences(msgspec.Struct, frozen=True, omit_defaults=True):
    """Which release of a chapter a reader wants, the best first; an empty list has no wish. And how it is read."""

    sources: tuple[int, ...] = ()
    groups: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()
    mode: Mode | None = None
    """None: as it looks best."""
    fit: Fit | None = None


class Follow(msgspec.Struct, frozen=True):
    """A series of a shelf, with what there is to read of it."""

    id: int
    public_id: PublicId
    series_id: SeriesId
    series_public_id: PublicId
    title: str
    author: str | None
    cover_url: str | None
    group_id: GroupId
    group_public_id: PublicId
    status: Status
    notify: bool
    preferences: ReleasePreferences
    latest_number: str | None
    last_chapter_at: Millis | None
    chapters: int
    unread: int
    """Chapters that were not read, whether or not they ever came into the inbox."""
    new: int
    """Unread entries of the inbox."""
    has_gaps: bool
    last_read_at: Millis | None
    created_at: Millis
    updated_at: Millis
    cover_id: int | None
    """The series source whose cover stands for it."""


class PlainFollowRow(msgspec.Struct, frozen=True):
    """The row alone."""

    id: int
    public_id: PublicId
    series_id: SeriesId
    group_id: GroupId
    status: Status
    notify: bool
    preferences: ReleasePreferences
    created_at: Millis


class FormerFollow(msgspec.Struct, frozen=True):
    """What a shelf that left a series comes back to."""

    group_id: GroupId | None
    status: Status
    notify: bool
    preferences: ReleasePreferences
    entries: list[str]
    """The keys of the chapters that were in its inbox."""


class Next(msgspec.Struct, frozen=True):
    """Where to read on in a series."""

    follow_id: PublicId
    series_id: PublicId
    title: str
    cover_url: str | None
    chapter_id: ChapterId
    number: str | None
    volume: str | None
    chapter_title: str
    page: int
    furthest_page: int
    last_read_at: Millis | None
    unread: int
    cover_id: int | None
    """The series source whose cover stands for it."""


class FollowFilter(msgspec.Struct, frozen=True, kw_only=True):
    """Which follows; None means all of them."""

    status: Status | None = None
    group: PublicId | None = None
    unread: bool | None = None
    has_gaps: bool | None = None
    sort: Sort = "title"


class FollowRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A series that a reader wants to follow; what is UNSET is as it was before, or as usual."""

    series: PublicId
    group: PublicId | UnsetType = UNSET
    status: Status | UnsetType = UNSET
    notify: bool | UnsetType = UNSET
    preferences: ReleasePreferences | UnsetType = UNSET


class FollowChange(msgspec.Struct, frozen=True, kw_only=True):
    """What to change of a follow; what is UNSET stays."""

    group: PublicId | UnsetType = UNSET
    status: Status | UnsetType = UNSET
    notify: bool | UnsetType = UNSET
    preferences: ReleasePreferences | UnsetType = UNSET


class NewFollow(msgspec.Struct, frozen=True):
    """A new follow, how many chapters wait to be read (R8), and how many entries came back."""

    follow: Follow
    available: int
    restored: int
