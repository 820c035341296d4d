"""What both versions of OPDS say: feeds, places that lead to other feeds, and publications."""

from collections.abc import Mapping, Sequence
from typing import Final, Literal
from urllib.parse import urlencode
from uuid import UUID, uuid5

import msgspec

from tsuzuki.model.pages import FROM_THE_TOP, PageCursor
from tsuzuki.model.times import Millis
from tsuzuki.protocols.opds.requests import OpdsRequest

PAGE: Final = 50
"""Entries of a feed."""

FeedKind = Literal["navigation", "acquisition"]


class FeedLink(msgspec.Struct, frozen=True, kw_only=True):
    """An entry that leads to another feed; paths begin below the version's own."""

    id: str
    title: str
    path: str
    updated: Millis
    kind: FeedKind = "acquisition"
    about: str = ""
    cover: str | None = None
    count: int | None = None
    rel: str = "subsection"


class PageStream(msgspec.Struct, frozen=True, kw_only=True):
    """The pages of a chapter, one by one."""

    path: str
    """Before the number of a page."""
    count: int
    page: int | None = None
    """The last one that was read, from 0; None where none was."""
    read_at: Millis | None = None


class SeriesPlace(msgspec.Struct, frozen=True):
    """The series of a chapter, and the chapter's place in it."""

    title: str
    position: float | None
    path: str


class Publication(msgspec.Struct, frozen=True, kw_only=True):
    """An entry that can be had: a chapter, or an article."""

    id: str
    title: str
    updated: Millis
    file: str
    file_type: str
    about: str = ""
    authors: Sequence[str] = ()
    artist: str | None = None
    language: str | None = None
    issued: Millis | None = None
    cover: str | None = None
    stream: PageStream | None = None
    is_right_to_left: bool = False
    series: SeriesPlace | None = None
    chapter: str | None = None
    """The path of a chapter: below it are its manifest and its progression."""


class Facet(msgspec.Struct, frozen=True):
    """Another look at the same feed."""

    group: str
    title: str
    path: str
    is_active: bool


class Paging(msgspec.Struct, frozen=True, kw_only=True):
    """Which page of a list a feed is."""

    first: str
    previous: str | None = None
    next: str | None
    last: str | None = None
    total: int
    start: int = 0
    """How many come before."""

    @property
    def links(self) -> dict[str, str | None]:
        """By their relations."""
        return {"first": self.first, "previous": self.previous, "next": self.next, "last": self.last}


class OtherPages(msgspec.Struct, frozen=True, kw_only=True):
    """What leads from a page of a list to others; nothing, to the first one."""

    previous: Mapping[str, str] | None
    next: Mapping[str, str] | None
    last: Mapping[str, str]

    def paging(self, path: str, named: Mapping[str, str], *, total: int, start: int) -> Paging:
        """The same as paths of the list's feed."""
        previous, following = [
            None if place is None else path_with(path, {**named, **place}) for place in (self.previous, self.next)
        ]
        last = path_with(path, {**named, **self.last})
        return Paging(
            first=path_with(path, named), previous=previous, next=following, last=last, total=total, start=start
        )


def numbered_pages(page: int, total: int) -> OtherPages:
    """Around this page of a list of so many, counted from 0."""
    last = max(0, total - 1) // PAGE

    def at(number: int) -> dict[str, str]:
        return {"page": str(number)} if number else {}

    return OtherPages(
        previous=at(min(page - 1, last)) if page else None, next=at(page + 1) if page < last else None, last=at(last)
    )


def pages_left(left: int, total: int) -> OtherPages:
    """The same, where a page is named by how many older ones are left: what arrives meanwhile moves nothing."""

    def at(number: int) -> dict[str, str]:
        return {"left": str(number)} if number < total else {}

    return OtherPages(
        previous=at(left + PAGE) if left < total else None,
        next=at(left - PAGE) if left > PAGE else None,
        last=at((left - 1) % PAGE + 1 if left else 0),
    )


class OpdsFeed(msgspec.Struct, frozen=True, kw_only=True):
    """A page of a list, all of one kind."""

    id: str
    title: str
    path: str
    updated: Millis
    entries: Sequence[FeedLink] | Sequence[Publication]
    up: str | None
    """None for the one where apps begin."""
    paging: Paging | None = None
    facets: Sequence[Facet] = ()

    @property
    def kind(self) -> FeedKind:
        """What its entries are; an empty list could be either."""
        return "navigation" if any(isinstance(entry, FeedLink) for entry in self.entries) else "acquisition"


def list_feed(
    asked: OpdsRequest,
    path: str,
    title: str,
    entries: Sequence[FeedLink] | Sequence[Publication],
    *,
    identity: str | None = None,
    up: str | None = "catalog",
    paging: Paging | None = None,
    facets: Sequence[Facet] = (),
) -> OpdsFeed:
    """A feed as new as its newest entry; `identity` is the same on all its pages, where `path` is not."""
    updated = max((entry.updated for entry in entries), default=asked.deps.clock())
    feed_id = permanent_id(asked, identity or path)
    return OpdsFeed(
        id=feed_id, title=title, path=path, updated=updated, entries=entries, up=up, paging=paging, facets=facets
    )


def permanent_id(asked: OpdsRequest, what: str) -> str:
    """The same in all feeds of a shelf, and for ever."""
    return f"urn:uuid:{uuid5(UUID(bytes=asked.user.shelf.public_id), what)}"


def path_with(path: str, named: Mapping[str, str]) -> str:
    """With a query of what is not empty."""
    query = urlencode({name: value for name, value in named.items() if value})
    return f"{path}?{query}" if query else path


def cursor_of(asked: OpdsRequest) -> PageCursor:
    """Where a list of the inbox goes on."""
    return PageCursor.read(asked.params.one("after")) or FROM_THE_TOP
