"""Feeds of chapters: of a series, of the inbox, those to go on with, and each alone."""

from collections.abc import Mapping, Sequence
from urllib.parse import quote

import msgspec

from tsuzuki.accounts.types import Slice
from tsuzuki.books.chapters import CBZ
from tsuzuki.books.comic_info import ascii_name, chapter_file_name, full_name, is_right_to_left
from tsuzuki.model.errors import NotFound
from tsuzuki.model.ids import ChapterId, PublicId, show_id
from tsuzuki.protocols.opds.feeds import (
    PAGE,
    Facet,
    FeedLink,
    OpdsFeed,
    OtherPages,
    PageStream,
    Publication,
    SeriesPlace,
    list_feed,
    numbered_pages,
    pages_left,
    path_with,
    permanent_id,
)
from tsuzuki.protocols.opds.requests import OpdsRequest
from tsuzuki.protocols.releases import NO_RELEASE, ReadableRelease, counted, readable_releases
from tsuzuki.shelves.library import LibraryChapter, ReadState

_UNREAD: Sequence[ReadState] = ("UNREAD", "IN_PROGRESS")


class ChapterPage(msgspec.Struct, frozen=True):
    """A page of a series' chapters."""

    rows: Sequence[LibraryChapter]
    total: int
    start: int
    others: OtherPages


async def series(asked: OpdsRequest) -> OpdsFeed:
    """The chapters of a series, the oldest first unless it is said otherwise."""
    asked.must_show("chapter")
    row = (await asked.services.reading.library.get(asked.shelf_id, asked.public_id("series_id"))).row
    base = f"series/{show_id(row.public_id)}"
    named = {name: asked.params.one(name) for name in ("order", "unread")}
    named = {name: value for name, value in named.items() if (name, value) in {("order", "newest"), ("unread", "true")}}
    states = _UNREAD if "unread" in named else None
    page = await (_newest_first if "order" in named else _oldest_first)(asked, row.public_id, states)
    places = {name: str(number) for name in ("page", "left") if (number := asked.count(name))}
    return list_feed(
        asked,
        path_with(base, named | places),
        row.title or "Untitled",
        await _entries(asked, page.rows),
        identity=path_with(base, named),
        up="series",
        paging=page.others.paging(base, named, total=page.total, start=page.start),
        facets=_facets(base, named),
    )


_FACETS = (
    ("Order", "order", {"": "Oldest first", "newest": "Newest first"}),
    ("Show", "unread", {"": "All", "true": "Unread"}),
)


def _facets(base: str, named: Mapping[str, str]) -> list[Facet]:
    return [
        Facet(group, title, path_with(base, {**named, name: value}), is_active=named.get(name, "") == value)
        for group, name, values in _FACETS
        for value, title in values.items()
    ]


async def _oldest_first(asked: OpdsRequest, series_id: PublicId, states: Sequence[ReadState] | None) -> ChapterPage:
    page = asked.count("page")
    part = Slice(PAGE, page * PAGE)
    rows, total = await asked.services.reading.library.chapters(asked.shelf_id, series_id, part, states=states)
    return ChapterPage(rows, total, part.skip, numbered_pages(page, total))


async def _newest_first(asked: OpdsRequest, series_id: PublicId, states: Sequence[ReadState] | None) -> ChapterPage:
    """A page is named by how many older ones are left: what arrives meanwhile moves nothing."""
    left, library = asked.count("left"), asked.services.reading.library
    if left:
        part = Slice(min(PAGE, left), max(0, left - PAGE))
        rows, total = await library.chapters(asked.shelf_id, series_id, part, states=states)
        rows = rows[::-1]
    else:
        rows, total = await library.chapters(asked.shelf_id, series_id, Slice(PAGE), states=states, downwards=True)
        left = total
    return ChapterPage(rows, total, max(0, total - left), pages_left(left, total))


async def continued(asked: OpdsRequest) -> OpdsFeed:
    """Where to read on in each series."""
    asked.must_show("chapter")
    following = await asked.services.reading.follows.continue_reading(asked.shelf_id, PAGE)
    rows = await _known(asked, [one.chapter_id for one in following])
    return list_feed(asked, "continue", "Continue reading", await _entries(asked, rows))


async def inbox(asked: OpdsRequest) -> OpdsFeed:
    """Chapters as they arrived, the newest first. A page is named by how many older ones are left."""
    asked.must_show("chapter")
    is_unread, left = asked.params.one("unread") == "true", asked.count("left")
    named = {"unread": "true" if is_unread else ""}
    library = asked.services.reading.library
    rows, total = await library.arrived(asked.shelf_id, Slice(PAGE), unread=is_unread or None, left=left)
    left = min(left, total) or total
    return list_feed(
        asked,
        path_with("inbox", named | ({"left": str(left)} if left < total else {})),
        "Unread" if is_unread else "New chapters",
        await _entries(asked, rows),
        identity=path_with("inbox", named),
        paging=pages_left(left, total).paging("inbox", named, total=total, start=total - left),
    )


async def chapter(asked: OpdsRequest) -> OpdsFeed:
    """One chapter, whose pages are counted now: its source is asked where nobody has yet."""
    row, release = await opened_chapter(asked)
    up = f"series/{show_id(row.series_public_id)}"
    return list_feed(asked, f"chapters/{row.id}", chapter_name(row), [publication(asked, row, release)], up=up)


async def opened_chapter(asked: OpdsRequest) -> tuple[LibraryChapter, ReadableRelease]:
    """The chapter in the path, with what it is read from and how many pages that has; NotFound."""
    asked.must_show("chapter")
    row = await asked.services.reading.library.chapter(asked.shelf_id, ChapterId(asked.number("chapter_id")))
    release = (await readable_releases(asked.services, asked.shelf_id, [row.id])).get(row.id)
    if release is None:
        raise NotFound(NO_RELEASE)
    return row, await counted(asked.services, release)


async def _known(asked: OpdsRequest, ids: Sequence[ChapterId]) -> Sequence[LibraryChapter]:
    return await asked.services.reading.library.chapters_of(asked.shelf_id, ids)


async def _entries(asked: OpdsRequest, rows: Sequence[LibraryChapter]) -> Sequence[FeedLink] | Sequence[Publication]:
    """Publications where the pages of all are counted. Else each leads to a feed of its own, which counts them: a list
    asks no source, and kinds of entries are not mixed.
    """
    releases = await readable_releases(asked.services, asked.shelf_id, [row.id for row in rows])
    readable = [(row, releases[row.id]) for row in rows if row.id in releases]
    if all(release.page_count > 0 for _, release in readable):
        return [publication(asked, row, release) for row, release in readable]
    return [
        FeedLink(
            id=permanent_id(asked, f"chapter {row.id}"),
            title=chapter_name(row),
            path=f"chapters/{row.id}",
            updated=row.updated_at,
            about=_about(row, release),
            cover=_cover(row),
        )
        for row, release in readable
    ]


def publication(asked: OpdsRequest, row: LibraryChapter, release: ReadableRelease) -> Publication:
    """A chapter that can be read."""
    base = f"releases/{release.id}"
    language = release.language or row.language
    name = chapter_file_name(row.series_title, row.number, row.volume, title=row.title, chapter_id=row.id)
    name = ascii_name(name, f"chapter {row.id}")
    position = None if row.number_sort is None else row.sort
    return Publication(
        id=permanent_id(asked, f"chapter {row.id}"),
        title=chapter_name(row),
        updated=row.updated_at,
        file=f"{base}/file/{quote(name)}",
        file_type=CBZ,
        about=_about(row, release),
        authors=[row.author] if row.author else [],
        artist=row.artist,
        language=language,
        issued=row.published_at,
        cover=_cover(row),
        stream=PageStream(
            path=f"{base}/pages",
            count=release.page_count,
            page=last_page(row, release.page_count),
            read_at=row.read_at,
        ),
        is_right_to_left=is_right_to_left(language),
        series=SeriesPlace(row.series_title, position, f"series/{show_id(row.series_public_id)}"),
        chapter=f"chapters/{row.id}",
    )


def last_page(row: LibraryChapter, page_count: int) -> int | None:
    """The page that was read last, from 0; None where none was."""
    if row.state == "UNREAD":
        return None
    is_at_end = row.state == "READ" and not row.is_reread
    return page_count - 1 if is_at_end else min(row.page, page_count - 1)


def chapter_name(row: LibraryChapter) -> str:
    """With its series and number in front."""
    return full_name(row.series_title, row.number, row.volume, row.title)


def _about(row: LibraryChapter, release: ReadableRelease) -> str:
    parts = [f"Chapter {row.number}" if row.number else "", release.group_name or ""]
    parts.append(f"{release.page_count} pages" if release.page_count > 0 else "")
    parts.append("read" if row.state == "READ" else "")
    return ", ".join(part for part in parts if part)


def _cover(row: LibraryChapter) -> str | None:
    return None if row.cover_id is None else f"chapters/{row.id}/cover"
