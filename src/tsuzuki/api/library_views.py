"""Follows, and what reading leaves behind, as clients see them."""

from typing import Annotated

import msgspec
from msgspec import Meta

from tsuzuki.api.forms import Body, Id
from tsuzuki.api.views import Time, view_of
from tsuzuki.shelves.library.follows.nouns import Fit, Follow, Mode, Next, ReleasePreferences, Status
from tsuzuki.shelves.library.progress.nouns import ChapterProgress, HistoryRow
from tsuzuki.shelves.library.series.nouns import ChapterProgressRow

MOST_NAMED = 50

Word = Annotated[str, Meta(min_length=1, max_length=200)]


class PreferencesView(msgspec.Struct, frozen=True):
    """Which release of a chapter is wanted: sources by id, groups and languages by name, the best first.

    `mode` and `fit` are how its pages are shown; null: as it looks best.
    """

    sources: list[int]
    groups: list[str]
    languages: list[str]
    mode: Mode | None
    fit: Fit | None


class PreferencesBody(Body, frozen=True, kw_only=True):
    """The orders that decide which release is preferred; an empty list has no wish. Replaced whole."""

    sources: Annotated[tuple[Id, ...], Meta(max_length=MOST_NAMED)] = ()
    groups: Annotated[tuple[Word, ...], Meta(max_length=MOST_NAMED)] = ()
    languages: Annotated[tuple[Word, ...], Meta(max_length=MOST_NAMED)] = ()
    mode: Mode | None = None
    fit: Fit | None = None

    def read(self) -> ReleasePreferences:
        """As the policy takes it."""
        return ReleasePreferences(self.sources, self.groups, self.languages, self.mode, self.fit)


class FollowView(msgspec.Struct, frozen=True, kw_only=True):
    """A series of the shelf. `unread` counts chapters that were not read, `new` those that lie in the inbox."""

    id: str
    series_id: str
    title: str
    author: str | None
    cover_url: str | None
    group_id: str
    status: Status
    notify: bool
    preferences: PreferencesView
    latest_chapter: str | None
    last_chapter_at: Time | None
    chapters: int
    unread: int
    new: int
    has_gaps: bool
    last_read_at: Time | None
    created_at: Time
    updated_at: Time


class FollowedView(msgspec.Struct, frozen=True, kw_only=True):
    """A new follow; `available` chapters wait to be read, and `restored` entries came back into the inbox."""

    follow: FollowView
    available: int
    restored: int


class NextView(msgspec.Struct, frozen=True, kw_only=True):
    """Where to read on in a series."""

    follow_id: str
    series_id: str
    title: str
    cover_url: str | None
    chapter_id: str
    number: str | None
    volume: str | None
    chapter_title: str
    page: int
    furthest_page: int
    last_read_at: Time | None
    unread: int


class ProgressView(msgspec.Struct, frozen=True, kw_only=True):
    """How far a chapter was read: the newest position, by which device, and the furthest that any device came."""

    chapter_id: str
    page: int
    furthest_page: int
    is_read: bool
    is_bookmarked: bool
    device: str | None
    updated_at: Time | None
    """Of the position; null where nobody opened it."""


class HistoryView(msgspec.Struct, frozen=True, kw_only=True):
    """A chapter that was opened."""

    at: Time
    series_id: str
    series_title: str
    cover_url: str | None
    chapter_id: str
    title: str
    number: str | None
    volume: str | None
    page: int
    furthest_page: int
    is_read: bool
    device: str | None


follow_view = view_of(FollowView, Follow, latest_chapter="latest_number")
next_view = view_of(NextView, Next)
progress_view = view_of(ProgressView, ChapterProgress, updated_at="paged_at")
row_progress_view = view_of(ProgressView, ChapterProgressRow, chapter_id="id", updated_at="paged_at")
history_view = view_of(HistoryView, HistoryRow, at="opened_at")
