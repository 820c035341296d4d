"""What a search finds."""

from collections.abc import Sequence
from typing import Generic, TypeVar

import msgspec

from tsuzuki.inbox.entries import FAR
from tsuzuki.model.ids import ChapterId, FeedId, ItemId, PublicId, SeriesId
from tsuzuki.model.times import Millis
from tsuzuki.model.titles import title_of
from tsuzuki.shelves.subscriptions.nouns import Subscription

T = TypeVar("T")


class ItemHit(msgspec.Struct, frozen=True):
    """An item of the shelf that a search found."""

    id: ItemId
    feed_id: FeedId
    title: str
    sort_at: Millis
    unread: bool


class SoughtItem(msgspec.Struct, frozen=True):
    """An item of the shelf with what a hit is shown by."""

    id: ItemId
    feed_id: PublicId
    """Of the shelf's subscription."""
    title: str
    text: str
    published_at: Millis | None
    sort_at: Millis
    unread: bool

    @property
    def shown_title(self) -> str:
        """The title, else what stands for one; empty where its time has to (R103)."""
        return title_of(self.title, self.text)


class SeriesHit(msgspec.Struct, frozen=True):
    """A series that a search found."""

    id: SeriesId
    public_id: PublicId
    title: str
    author: str | None
    cover_url: str | None
    last_chapter_at: Millis | None
    description: str | None
    cover_id: int | None
    """The series source whose cover stands for it."""


class ChapterHit(msgspec.Struct, frozen=True):
    """A chapter of a series that the shelf follows."""

    id: ChapterId
    series_id: PublicId
    series_title: str
    number: str | None
    volume: str | None
    title: str
    published_at: Millis | None


class Narrowed(msgspec.Struct, frozen=True, kw_only=True):
    """What narrows a search down, besides its words."""

    feeds: Sequence[FeedId] | None = None
    unread: bool | None = None
    saved: bool | None = None
    before: Millis = FAR


class SearchHit(msgspec.Struct, Generic[T], frozen=True):
    """A hit, with some text around what was sought: HTML in which nothing but `<mark>` is markup (I7)."""

    hit: T
    snippet: str


class Results(msgspec.Struct, frozen=True, kw_only=True):
    """What a search found, each kind best first."""

    feeds: list[SearchHit[Subscription]] = []
    items: list[SearchHit[SoughtItem]] = []
    series: list[SearchHit[SeriesHit]] = []
    chapters: list[SearchHit[ChapterHit]] = []
