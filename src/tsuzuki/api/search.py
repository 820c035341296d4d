"""Search."""

from typing import Annotated

import msgspec
from msgspec import Meta

from tsuzuki.accounts.caller import Caller
from tsuzuki.accounts.current_user import CurrentUser
from tsuzuki.api.declaring import declaring
from tsuzuki.api.endpoints import Access
from tsuzuki.api.feed_views import FeedView, feed_view
from tsuzuki.api.shelf import ShelfQuery
from tsuzuki.api.views import Time, day_of, shown
from tsuzuki.inbox.search.hits import ChapterHit, SearchHit, SeriesHit, SoughtItem
from tsuzuki.inbox.search.service import Search
from tsuzuki.model.errors import NotFound
from tsuzuki.model.ids import show_id
from tsuzuki.shelves.subscriptions.nouns import Subscription


class SearchQuery(ShelfQuery, frozen=True, kw_only=True):
    """Words, "phrases", `-word`, `pre*`; `feed:name`, `is:unread`, `is:saved`, `before:2026-02` narrow items down."""

    q: Annotated[str, Meta(min_length=1, max_length=500)]
    limit: Annotated[int, Meta(ge=1, le=100)] = 20


class FoundItemView(msgspec.Struct, frozen=True, kw_only=True):
    """An item; `snippet` is HTML in which nothing but `<mark>` is markup."""

    id: str
    feed_id: str
    title: str
    display_title: str
    """The title; else the first words, what stands for the picture, or the date (R103)."""
    pub_date: Time | None
    unread: bool
    snippet: str


class FeedResultView(FeedView, frozen=True, kw_only=True):
    """A feed of the shelf; `snippet` is its name or address with the hits in `<mark>`."""

    snippet: str


class FoundSeriesView(msgspec.Struct, frozen=True, kw_only=True):
    """A series, followed or not."""

    id: str
    title: str
    author: str | None
    cover_url: str | None
    snippet: str


class FoundChapterView(msgspec.Struct, frozen=True, kw_only=True):
    """A chapter of a series that the shelf follows, by its title or its number; `snippet` names its series too."""

    id: str
    series_id: str
    series_title: str
    number: str | None
    volume: str | None
    title: str
    published_at: Time | None
    snippet: str


class ResultsView(msgspec.Struct, frozen=True):
    """What was found, each kind best first."""

    feeds: list[FeedResultView]
    items: list[FoundItemView]
    series: list[FoundSeriesView]
    chapters: list[FoundChapterView]


async def search(query: SearchQuery, caller: Caller, current_user: CurrentUser, searching: Search) -> ResultsView:
    """Feeds, items, series and chapters in one answer; a number is a chapter's: `frieren 45`."""
    shelf = await query.pick(caller, current_user)
    found = await searching.find(shelf.id, query.q, query.limit)
    return ResultsView(
        [_feed(feed) for feed in found.feeds],
        [_item(item) for item in found.items],
        [_series(series) for series in found.series],
        [_chapter(chapter) for chapter in found.chapters],
    )


def _feed(found: SearchHit[Subscription]) -> FeedResultView:
    return FeedResultView(**msgspec.structs.asdict(feed_view(found.hit)), snippet=found.snippet)


def _item(found: SearchHit[SoughtItem]) -> FoundItemView:
    item = found.hit
    return FoundItemView(
        id=str(item.id),
        feed_id=show_id(item.feed_id),
        title=item.title,
        display_title=item.shown_title or day_of(item.published_at or item.sort_at),
        pub_date=shown(item.published_at),
        unread=item.unread,
        snippet=found.snippet,
    )


def _series(found: SearchHit[SeriesHit]) -> FoundSeriesView:
    series = found.hit
    return FoundSeriesView(
        id=show_id(series.public_id),
        title=series.title,
        author=series.author,
        cover_url=series.cover_url,
        snippet=found.snippet,
    )


def _chapter(found: SearchHit[ChapterHit]) -> FoundChapterView:
    hit = found.hit
    return FoundChapterView(
        id=str(hit.id),
        series_id=show_id(hit.series_id),
        series_title=hit.series_title,
        number=hit.number,
        volume=hit.volume,
        title=hit.title,
        published_at=shown(hit.published_at),
        snippet=found.snippet,
    )


_read = declaring("search", Access.READ)

ENDPOINTS = (_read("GET", "/search", search, "Search", errors=(NotFound,)),)
