"""Miniflux: feeds in their categories, and starred articles."""

from collections.abc import AsyncIterator, Sequence

import msgspec

from tsuzuki.connectors.html.addresses import http_url
from tsuzuki.model.errors import SourceError
from tsuzuki.model.requests import Parsers
from tsuzuki.model.times import Millis, from_iso
from tsuzuki.transfer.documents.articles import NO_ADDRESS, NOT_WEB, a_bookmark, a_feed, decoded
from tsuzuki.transfer.foreign import ForeignLines, LeftOut
from tsuzuki.transfer.servers.calls import ServerCalls, basic
from tsuzuki.transfer.servers.kinds import ServerLogin

_PAGE = 250
_MOST_PAGES = 400
READ_STATES = "Which articles were read is not imported: feeds begin with what is new."


class _Category(msgspec.Struct, frozen=True):
    title: str = ""


class _MinifluxFeed(msgspec.Struct, frozen=True):
    feed_url: str = ""
    site_url: str = ""
    title: str = ""
    category: _Category | None = None


class _Entry(msgspec.Struct, frozen=True):
    title: str = ""
    url: str = ""
    content: str = ""
    published_at: str = ""
    feed: _MinifluxFeed | None = None


class _Entries(msgspec.Struct, frozen=True):
    entries: Sequence[_Entry] = ()
    total: int = 0


async def read_miniflux(
    calls: ServerCalls, login: ServerLogin, parsers: Parsers, now: Millis
) -> AsyncIterator[ForeignLines]:
    """Read the server with an API key, or with name and password."""
    headers = basic(login) if login.username else {"x-auth-token": login.password}
    yield await parsers.run(read_feeds, (await calls.get("/v1/feeds", headers), now))
    for page in range(_MOST_PAGES):
        body = await calls.get("/v1/entries", headers, starred="true", limit=_PAGE, offset=page * _PAGE, order="id")
        lines = await parsers.run(read_entries, (body, now))
        if not lines.bookmarks and not lines.left_out:
            break
        yield lines
    else:
        raise SourceError("The server has more starred articles than can be imported.")
    read = await calls.get("/v1/entries", headers, status="read", limit=1, offset=0)
    yield await parsers.run(read_states, (read,))


def read_feeds(body: bytes, now: int) -> ForeignLines:
    """The list of feeds."""
    found: list[_MinifluxFeed] = decoded(body, list[_MinifluxFeed])
    feeds = [
        a_feed(one.feed_url, one.title, one.site_url, one.category.title if one.category else "", now)
        for one in found
        if http_url(one.feed_url)
    ]
    left = len(found) - len(feeds)
    return ForeignLines(feeds=feeds, left_out=[LeftOut("feeds", left, NOT_WEB)] if left else [])


def read_states(body: bytes) -> ForeignLines:
    """How many articles were read, which does not come along."""
    found: _Entries = decoded(body, _Entries)
    return ForeignLines(left_out=[LeftOut("items", found.total, READ_STATES)] if found.total > 0 else [])


def read_entries(body: bytes, now: int) -> ForeignLines:
    """A page of starred articles."""
    found: _Entries = decoded(body, _Entries)
    marks = [
        a_bookmark(
            link=http_url(one.url) or "",
            title=one.title,
            content=one.content,
            feed_name=one.feed.title if one.feed else "",
            published_at=moment_of(one.published_at),
            now=now,
        )
        for one in found.entries
    ]
    kept = [mark for mark in marks if mark is not None]
    left = len(marks) - len(kept)
    return ForeignLines(bookmarks=kept, left_out=[LeftOut("items", left, NO_ADDRESS)] if left else [])


def moment_of(text: str | None) -> int | None:
    """A moment after 1970 that a server names; None for what is none."""
    try:
        moment = from_iso(text) if text else 0
    except ValueError:
        return None
    return moment if moment > 0 else None
