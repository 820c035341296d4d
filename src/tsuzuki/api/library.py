"""The series that a shelf follows, and what was read of them last."""

from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, UnsetType

from tsuzuki.accounts.types import Shelf, Slice
from tsuzuki.api.endpoints import Access, Body, Id, PageNumber, declaring
from tsuzuki.api.ids import FollowPath, IdText, id_in_field, number_id
from tsuzuki.api.paging import CursorQuery, listing
from tsuzuki.api.shelf import ShelfQuery
from tsuzuki.api.views import CursorMeta, ListAnswer, PageMeta, Time, copied, view_of
from tsuzuki.model.errors import Conflict, LimitExceeded, NotFound
from tsuzuki.model.ids import ChapterId, PublicId
from tsuzuki.shelves.follows import Follows
from tsuzuki.shelves.progress import ReadingProgress
from tsuzuki.shelves.types import (
    ChapterProgress,
    ChapterProgressRow,
    Fit,
    Follow,
    FollowChange,
    FollowFilter,
    FollowRequest,
    FollowStatus,
    HistoryRow,
    Mode,
    NextToRead,
    ReleasePreferences,
    Sort,
)

MOST_NAMED = 50

Word = Annotated[str, Meta(min_length=1, max_length=200)]
HistoryPath = Annotated[ChapterId, number_id("There is no such chapter in the history.")]


class PreferencesView(msgspec.Struct, frozen=True):
    """Which release of a chapter is preferred: sources by id, groups and languages by name, best first.

    `mode` and `fit` are how its pages are shown; null is chosen automatically.
    """

    sources: list[int]
    groups: list[str]
    languages: list[str]
    mode: Mode | None
    fit: Fit | None


class PreferencesBody(Body, frozen=True, kw_only=True):
    """The orders that decide which release is preferred; an empty list is no preference. Replaces all of them."""

    sources: Annotated[tuple[Id, ...], Meta(max_length=MOST_NAMED)] = ()
    groups: Annotated[tuple[Word, ...], Meta(max_length=MOST_NAMED)] = ()
    languages: Annotated[tuple[Word, ...], Meta(max_length=MOST_NAMED)] = ()
    mode: Mode | None = None
    fit: Fit | None = None


class FollowView(msgspec.Struct, frozen=True, kw_only=True):
    """A series of the shelf. `unread` counts the chapters that are not read, `new` those that are in the inbox."""

    id: str
    series_id: str
    title: str
    author: str | None
    cover_url: str | None
    group_id: str
    status: FollowStatus
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
    """A new follow: `available` chapters can be read, and `restored` entries came back into the inbox."""

    follow: FollowView
    available: int
    restored: int


class NextView(msgspec.Struct, frozen=True, kw_only=True):
    """Where to continue reading a series."""

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
    """How far a chapter was read: the newest position, the device it came from, and the furthest position of any
    device.
    """

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
next_view = view_of(NextView, NextToRead)
progress_view = view_of(ProgressView, ChapterProgress, updated_at="paged_at")
row_progress_view = view_of(ProgressView, ChapterProgressRow, chapter_id="id", updated_at="paged_at")
history_view = view_of(HistoryView, HistoryRow, at="opened_at")


class LibraryQuery(ShelfQuery, frozen=True, kw_only=True):
    """In which order, which of them, and which page. By title upwards; by anything else the most or newest first."""

    sort: Sort = "title"
    status: FollowStatus | None = None
    group_id: IdText | None = None
    unread: bool | None = None
    has_gaps: bool | None = None
    page: PageNumber = 1
    limit: Annotated[int, Meta(ge=1, le=100)] = 50


class ContinueQuery(ShelfQuery, frozen=True, kw_only=True):
    """How many series."""

    limit: Annotated[int, Meta(ge=1, le=100)] = 20


class FollowBody(Body, frozen=True, kw_only=True):
    """A series to follow. What is left out is as it was when the shelf last followed it, or the default."""

    series_id: IdText
    group_id: IdText | UnsetType = UNSET
    status: FollowStatus | UnsetType = UNSET
    notify: bool | UnsetType = UNSET
    preferences: PreferencesBody | UnsetType = UNSET


class FollowChangeBody(Body, frozen=True, kw_only=True):
    """What to change; what is left out stays the same."""

    group_id: IdText | UnsetType = UNSET
    status: FollowStatus | UnsetType = UNSET
    notify: bool | UnsetType = UNSET
    preferences: PreferencesBody | UnsetType = UNSET


class ForgottenView(msgspec.Struct, frozen=True):
    """How many chapters were removed from the history."""

    forgotten: int


async def list_library(query: LibraryQuery, shelf: Shelf, follows: Follows) -> ListAnswer[FollowView, PageMeta]:
    """The series that the shelf follows, with exact counts."""
    wanted = copied(FollowFilter, query, group=id_in_field(query.group_id, "group_id"))
    rows, total = await follows.list(shelf.id, wanted, Slice.page(query.page, query.limit))
    return ListAnswer([follow_view(row) for row in rows], PageMeta.of(total, query.page, query.limit))


async def list_continue(query: ContinueQuery, shelf: Shelf, follows: Follows) -> list[NextView]:
    """The next chapter of each series in progress, last read first."""
    return [next_view(one) for one in await follows.continue_reading(shelf.id, query.limit)]


async def follow_series(shelf: Shelf, body: FollowBody, follows: Follows) -> FollowedView:
    """Follows a series. If the shelf followed it before, its entries, progress and settings are restored."""
    series, group = id_in_field(body.series_id, "series_id"), _group(body.group_id)
    new = copied(FollowRequest, body, series=series, group=group, preferences=_preferences(body.preferences))
    followed = await follows.add(shelf.id, new)
    return FollowedView(follow=follow_view(followed.follow), available=followed.available, restored=followed.restored)


async def show_follow(follow_id: FollowPath, shelf: Shelf, follows: Follows) -> FollowView:
    """One series of the shelf."""
    return follow_view(await follows.get(shelf.id, follow_id))


async def change_follow(follow_id: FollowPath, shelf: Shelf, body: FollowChangeBody, follows: Follows) -> FollowView:
    """Moves it to another group, or changes its status, notifications or preferred releases."""
    group, preferences = _group(body.group_id), _preferences(body.preferences)
    change = copied(FollowChange, body, group=group, preferences=preferences)
    return follow_view(await follows.change(shelf.id, follow_id, change))


async def unfollow_series(follow_id: FollowPath, shelf: Shelf, follows: Follows) -> None:
    """Unfollows a series. Reading progress is kept; following it again undoes this."""
    await follows.leave(shelf.id, follow_id)


async def list_history(
    query: CursorQuery, shelf: Shelf, progress: ReadingProgress
) -> ListAnswer[HistoryView, CursorMeta]:
    """Opened chapters, last opened first."""
    return listing(await progress.history(shelf.id, after=query.after, most=query.limit), history_view)


async def clear_history(shelf: Shelf, progress: ReadingProgress) -> ForgottenView:
    """Clears the history; reading progress is kept."""
    return ForgottenView(await progress.forget_all(shelf.id))


async def forget_history(opened_id: HistoryPath, shelf: Shelf, progress: ReadingProgress) -> None:
    """Removes one chapter from the history; its reading progress is kept."""
    await progress.forget(shelf.id, opened_id)


def _group(text: str | UnsetType) -> PublicId | UnsetType:
    return UNSET if isinstance(text, UnsetType) else id_in_field(text, "group_id")


def _preferences(body: PreferencesBody | UnsetType) -> ReleasePreferences | UnsetType:
    return UNSET if isinstance(body, UnsetType) else copied(ReleasePreferences, body)


_read = declaring("library", Access.READ)
_write = declaring("library", Access.WRITE)

ENDPOINTS = (
    _read("GET", "/library", list_library, "List followed series", errors=(NotFound,)),
    _write(
        "POST", "/library", follow_series, "Follow a series", status=201, errors=(NotFound, Conflict, LimitExceeded)
    ),
    _read("GET", "/library/continue", list_continue, "List where to continue reading", errors=(NotFound,)),
    _read("GET", "/library/{follow_id}", show_follow, "Show a followed series", errors=(NotFound,)),
    _write("PATCH", "/library/{follow_id}", change_follow, "Change a followed series", errors=(NotFound,)),
    _write("DELETE", "/library/{follow_id}", unfollow_series, "Unfollow a series", errors=(NotFound,)),
    _read("GET", "/history", list_history, "List the reading history", errors=(NotFound,)),
    _write("DELETE", "/history", clear_history, "Clear the reading history", errors=(NotFound,)),
    _write("DELETE", "/history/{opened_id}", forget_history, "Remove a chapter from the history", errors=(NotFound,)),
)
