"""Search."""

from typing import Annotated

import msgspec
from msgspec import Meta
from msgspec.structs import asdict

from tsuzuki.accounts.types import Shelf
from tsuzuki.api.endpoints import Access, declaring
from tsuzuki.api.feeds import FeedView, feed_view
from tsuzuki.api.shelf import ShelfQuery
from tsuzuki.api.views import Time, day_of, view_of
from tsuzuki.inbox.search.hits import ChapterHit, SeriesHit, ShownItem
from tsuzuki.inbox.search.service import Search
from tsuzuki.model.errors import NotFound


class SearchQuery(ShelfQuery, frozen=True, kw_only=True):
    """Words, "phrases", `-word`, `pre*`; `feed:name`, `is:unread`, `is:saved`, `before:2026-02` narrow items down."""

    q: Annotated[str, Meta(min_length=1, max_length=500)]
    limit: Annotated[int, Meta(ge=1, le=100)] = 20


class FoundItemView(msgspec.Struct, frozen=True, kw_only=True):
    """An item; `snippet` is HTML whose only markup is `<mark>`."""

    id: str
    feed_id: str
    title: str
    display_title: str
    """The title; else the first words, what stands for the picture, or the date (R103)."""
    pub_date: Time | None
    unread: bool
    snippet: str


class FeedResultView(FeedView, frozen=True, kw_only=True):
    """A feed of the shelf; `snippet` is its name or address with the matches in `<mark>`."""

    snippet: str


class FoundSeriesView(msgspec.Struct, frozen=True, kw_only=True):
    """A series, followed or not."""

    id: str
    title: str
    author: str | None
    cover_url: str | None
    snippet: str


class FoundChapterView(msgspec.Struct, frozen=True, kw_only=True):
    """A chapter of a followed series, found by its title or number; `snippet` includes the name of the series."""

    id: str
    series_id: str
    series_title: str
    number: str | None
    volume: str | None
    title: str
    published_at: Time | None
    snippet: str


class ResultsView(msgspec.Struct, frozen=True):
    """The results, best first within each kind."""

    feeds: list[FeedResultView]
    items: list[FoundItemView]
    series: list[FoundSeriesView]
    chapters: list[FoundChapterView]


async def search(query: SearchQuery, shelf: Shelf, searching: Search) -> ResultsView:
    """Finds feeds, items, series and chapters. A number finds a chapter: `frieren 45`."""
    found = await searching.find(shelf.id, query.q, query.limit)
    return ResultsView(
        [FeedResultView(**asdict(feed_view(one.hit)), snippet=one.snippet) for one in found.feeds],
        [_item_view(one.hit, snippet=one.snippet) for one in found.items],
        [_series_view(one.hit, snippet=one.snippet) for one in found.series],
        [_chapter_view(one.hit, snippet=one.snippet) for one in found.chapters],
    )


_item_view = view_of(
    FoundItemView,
    ShownItem,
    "snippet",
    display_title=lambda item: item.shown_title or day_of(item.published_at or item.sort_at),
    pub_date="published_at",
)
_series_view = view_of(FoundSeriesView, SeriesHit, "snippet")
_chapter_view = view_of(FoundChapterView, ChapterHit, "snippet")


_read = declaring("search", Access.READ)

ENDPOINTS = (_read("GET", "/search", search, "Search", errors=(NotFound,)),)
