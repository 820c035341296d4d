"""Lists of titles: MyAnimeList, AniList, Kaizoku. They name no source, so their series are kept without one."""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from tsuzuki.connectors.html.addresses import http_url
from tsuzuki.connectors.html.sanitiser import one_line, valid_text
from tsuzuki.model.numbers import number_key, parse_number
from tsuzuki.shelves.types import FollowStatus
from tsuzuki.transfer.archive.format import (
    ArchivedChapter,
    ArchivedPreferences,
    ArchivedSeries,
    FollowLine,
    ProgressLine,
)
from tsuzuki.transfer.documents.articles import decoded, xml_rows
from tsuzuki.transfer.foreign import ForeignLines, LeftOut, UnlinkedSource

MOST_TITLES = 20_000
MOST_CHAPTERS = 5_000
"""Of one series: lists say how many were read, and nothing more."""
NO_TITLE = "They have no title in this file. Export the list by another way, such as to MyAnimeList's XML."
NOT_READING = "Anime and novels are not read here."

_MAL: Mapping[str, FollowStatus] = {
    "reading": "reading",
    "completed": "done",
    "on-hold": "reading",
    "dropped": "dropped",
    "plan to read": "plan",
}
_ANILIST: Mapping[str, FollowStatus] = {
    "CURRENT": "reading",
    "REPEATING": "reading",
    "COMPLETED": "done",
    "PAUSED": "reading",
    "DROPPED": "dropped",
    "PLANNING": "plan",
}


class Title(msgspec.Struct, frozen=True, kw_only=True):
    """A series in a list."""

    title: str
    status: FollowStatus = "reading"
    read: int = 0
    """Chapters, from the first on."""
    chapters: tuple[str, ...] = ()
    """Numbers of those that there are."""
    author: str | None = None
    artist: str | None = None
    description: str | None = None
    cover_url: str | None = None


def read_mal(body: bytes, now: int) -> ForeignLines:
    """The XML that MyAnimeList exports, and others write."""
    titles: list[Title] = []
    nameless = 0
    for row in xml_rows(body, "myanimelist", "manga", most=MOST_TITLES):
        name = row.get("manga_title", "")
        if not name:
            nameless += 1
            continue
        status = _MAL.get(row.get("my_status", "").lower(), "reading")
        titles.append(Title(title=name, status=status, read=_count(row.get("my_read_chapters"))))
    return _lines("MyAnimeList", titles, now, left=[LeftOut("series", nameless, NO_TITLE)])


def read_anilist(body: bytes, now: int) -> ForeignLines:
    """A MediaListCollection of AniList's API, as export tools save it."""
    found: Any = decoded(body, dict[str, Any])
    for name in ("data", "MediaListCollection"):
        inner = found.get(name, found)
        found = inner if isinstance(inner, dict) else found
    rows = [row for one in _dicts(found.get("lists")) for row in _dicts(one.get("entries"))]
    titles: dict[str, Title] = {}
    nameless = 0
    for row in rows[:MOST_TITLES]:
        media = row.get("media")
        names = media.get("title") if isinstance(media, dict) else None
        told = [names.get(key) for key in ("userPreferred", "english", "romaji", "native")] if names else []
        name = next((each for each in told if isinstance(each, str) and each), "")
        if not name:
            nameless += 1
            continue
        status = _ANILIST.get(str(row.get("status")), "reading")
        titles[name] = Title(title=name, status=status, read=_count(row.get("progress")))
    return _lines("AniList", titles.values(), now, left=[LeftOut("series", nameless, NO_TITLE)])


def read_kaizoku(body: bytes, now: int) -> ForeignLines:
    """The kaizoku.json of a series, or a list of several."""
    found: Any = decoded(body, Any)
    rows = [_lower(one) for one in _dicts(found if isinstance(found, list) else [found])]
    titles = [
        Title(
            title=str(row["title"]),
            author=_text(row.get("author")),
            artist=_text(row.get("artist")),
            description=_text(row.get("description")),
            chapters=tuple(sorted(set(_archived(row)), key=float)),
        )
        for row in rows[:MOST_TITLES]
        if row.get("title")
    ]
    return _lines("Kaizoku", titles, now, left=[LeftOut("series", len(rows) - len(titles), NO_TITLE)])


def _archived(row: Mapping[str, Any]) -> Iterable[str]:
    for provider in _dicts(row.get("providers")):
        for archive in _dicts(_lower(provider).get("archives")):
            number = parse_number(str(_lower(archive).get("chapternumber")))
            if number is not None:
                yield number_key(number)


def _lines(source: str, titles: Iterable[Title], now: int, *, left: list[LeftOut]) -> ForeignLines:
    series: list[ArchivedSeries] = []
    chapters: list[ArchivedChapter] = []
    for one in titles:
        name = one_line(valid_text(one.title))[:500] or "?"
        key = f"list/{source}/{name}"
        numbers = (*map(str, range(1, one.read + 1)), *(each for each in one.chapters[:MOST_CHAPTERS]))
        numbers = tuple(dict.fromkeys(numbers))
        series.append(
            ArchivedSeries(
                key=key,
                title=name,
                author=one.author,
                artist=one.artist,
                description=one.description,
                cover_url=http_url(one.cover_url),
                latest_number=max(numbers, key=float) if numbers else None,
                follow=FollowLine(status=one.status, preferences=ArchivedPreferences(), created_at=now),
            )
        )
        for number in numbers:
            is_read = number.isdecimal() and int(number) <= one.read
            progress = ProgressLine(is_read=True, marked_at=now, updated_at=now) if is_read else None
            chapters.append(
                ArchivedChapter(series=key, key=number, number=number, first_seen_at=now, progress=progress)
            )
    return ForeignLines(
        series=series,
        chapters=chapters,
        left_out=[one for one in left if one.count],
        unlinked=[UnlinkedSource(source, len(series))] if series else [],
    )


def _count(value: object) -> int:
    text = str(value or "").strip()
    return min(int(text), MOST_CHAPTERS) if text.isdecimal() and len(text) < 9 else 0


def _text(value: object) -> str | None:
    return valid_text(value).strip()[:20_000] or None if isinstance(value, str) else None


def _lower(row: Mapping[str, Any]) -> dict[str, Any]:
    return {str(name).lower(): value for name, value in row.items()}


def _dicts(value: object) -> list[dict[str, Any]]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []
