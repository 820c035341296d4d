"""Feeds that lead on: where apps begin, groups, and series."""

from uuid import UUID

from tsuzuki.accounts.types import Slice
from tsuzuki.model.errors import NotFound
from tsuzuki.model.ids import PublicId, read_id, show_id
from tsuzuki.protocols.opds.feeds import PAGE, FeedLink, OpdsFeed, list_feed, numbered_pages, path_with, permanent_id
from tsuzuki.protocols.opds.requests import NOTHING, OpdsRequest
from tsuzuki.shelves.library import LibrarySeries, SeriesFilter

_COMICS = (
    ("continue", "Continue reading", "Chapters you began, or that come next", "subsection"),
    ("inbox?unread=true", "Unread", "Unread chapters of your inbox", "subsection"),
    ("inbox", "New chapters", "All that arrived, the newest first", "http://opds-spec.org/sort/new"),
    ("series", "Library", "All series that you follow", "subsection"),
    ("series?sort=latest", "Latest series", "Series with new chapters first", "subsection"),
    ("groups", "Groups", "Series by groups", "subsection"),
)
_ARTICLES = (
    ("articles/saved", "Saved articles", "As EPUB", "subsection"),
    ("articles/days", "Articles by day", "All of a day as one EPUB", "subsection"),
)


async def root(asked: OpdsRequest) -> OpdsFeed:
    """Where an app begins: with what its device password shows."""
    now = asked.deps.clock()
    shown = [*(_COMICS if asked.user.kind != "item" else ()), *(_ARTICLES if asked.user.kind != "chapter" else ())]
    places = [
        FeedLink(
            id=permanent_id(asked, path),
            title=title,
            path=path,
            updated=now,
            kind="navigation" if path.startswith(("series", "groups")) else "acquisition",
            about=about,
            rel=rel,
        )
        for path, title, about, rel in shown
    ]
    return list_feed(asked, "catalog", "Tsuzuki", places, up=None)


async def groups(asked: OpdsRequest) -> OpdsFeed:
    """The groups that have series."""
    asked.must_show("chapter")
    used = {one.group_id for one in await asked.services.reading.library.grouped(asked.shelf_id)}
    places = [
        FeedLink(
            id=f"urn:uuid:{UUID(bytes=group.public_id)}",
            title=group.name,
            path=f"series?group={show_id(group.public_id)}",
            updated=group.updated_at,
            kind="navigation",
        )
        for group in await asked.services.reading.groups.list(asked.shelf_id)
        if group.public_id in used
    ]
    return list_feed(asked, "groups", "Groups", places)


async def series_list(asked: OpdsRequest) -> OpdsFeed:
    """Followed series: all, those of a group, or those with these words."""
    asked.must_show("chapter")
    words = (asked.params.one("search") or asked.params.one("query")).strip()
    page, group = asked.count("page"), await _group(asked)
    is_latest = asked.params.one("sort") == "latest" and not words
    wanted = SeriesFilter(
        words=words,
        groups=None if group is None else [group],
        order=[("relevance", False)] if words else [("latest", True)] if is_latest else (),
    )
    rows, total = await asked.services.reading.library.list(asked.shelf_id, wanted, Slice(PAGE, page * PAGE))
    named = {"search": words, "group": "" if group is None else show_id(group), "sort": "latest" if is_latest else ""}

    paging = numbered_pages(page, total).paging("series", named, total=total, start=page * PAGE)
    title = f"Search: {words}" if words else "Library"
    path = path_with("series", named | {"page": str(page) if page else ""})
    places = [_place(row) for row in rows]
    return list_feed(asked, path, title, places, identity=paging.first, paging=paging)


async def _group(asked: OpdsRequest) -> PublicId | None:
    """The one that is asked for, if any; NotFound for another shelf's."""
    if "group" not in asked.params:
        return None
    group = read_id(asked.params.one("group"))
    known = {one.public_id for one in await asked.services.reading.groups.list(asked.shelf_id)}
    if group is None or group not in known:
        raise NotFound(NOTHING)
    return group


def _place(one: LibrarySeries) -> FeedLink:
    row, path = one.row, f"series/{show_id(one.row.public_id)}"
    unread, chapters = one.counts.chapters - one.counts.finished, one.counts.chapters
    return FeedLink(
        id=f"urn:uuid:{UUID(bytes=row.public_id)}",
        title=row.title or "Untitled",
        path=path,
        updated=row.last_chapter_at or row.followed_at,
        about=f"{unread} unread of {chapters} chapters" if unread else f"{chapters} chapters",
        cover=None if row.cover_id is None else f"{path}/cover",
        count=chapters,
    )
