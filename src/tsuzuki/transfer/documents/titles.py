"""Lists of titles: MyAnimeList, AniList, Kaizoku. They name no source, so their series are kept without one."""

from collections import Counter
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
"""Chapters made for one series: lists say only how many were read."""
NO_TITLE = "They have no title in this file. Export the list by another way, such as to MyAnimeList's XML."
NOT_READING = "Anime is not read here."
SAME_TITLE = "They have the same title as another series of this list."
TOO_MANY_TITLES = f"A list may have {MOST_TITLES:,} series."
TOO_MANY_CHAPTERS = f"A series of a list may have {MOST_CHAPTERS:,} chapters."
ONLY_VOLUMES = "Only read volumes are in the list, and not which chapters are in them."
NO_RATINGS = "This server has no ratings."
NO_NUMBER = "Their numbers are not in the file."

_MOST_ROWS = 100_000

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
    volumes: int = 0
    """Read ones."""
    is_rated: bool = False
    author: str | None = None
    artist: str | None = None
    description: str | None = None
    cover_url: str | None = None


def read_mal(body: bytes, now: int) -> ForeignLines:
    """The XML that MyAnimeList exports, and others write."""
    reading = _ListReading()
    for row in xml_rows(body, "myanimelist", "manga", most=_MOST_ROWS):
        reading.add(
            row.get("manga_title", ""),
            row.get("manga_mangadb_id") or "0",
            status=_MAL.get(row.get("my_status", "").lower(), "reading"),
            read=_count(row.get("my_read_chapters")),
            volumes=_count(row.get("my_read_volumes")),
            is_rated=_count(row.get("my_score")) > 0,
        )
    reading.left[NOT_READING] = sum(1 for _ in xml_rows(body, "myanimelist", "anime", most=_MOST_ROWS))
    return reading.lines("MyAnimeList", now)


def read_anilist(body: bytes, now: int) -> ForeignLines:
    """A MediaListCollection of AniList's API, as export tools save it."""
    found: Any = decoded(body, dict[str, Any])
    for name in ("data", "MediaListCollection"):
        inner = found.get(name, found)
        found = inner if isinstance(inner, dict) else found
    reading = _ListReading()
    lists = _dicts(found.get("lists"))
    reading.left[NO_TITLE] += sum("series_id" in one for one in lists)  # what AniList exports itself has ids alone
    for row in (row for one in lists for row in _dicts(one.get("entries"))):
        media = _dict(row.get("media"))
        if media.get("type") == "ANIME":
            reading.left[NOT_READING] += 1
            continue
        names = _dict(media.get("title"))
        titles = [names.get(key) for key in ("userPreferred", "english", "romaji", "native")]
        reading.add(
            next((each for each in titles if isinstance(each, str) and each), ""),
            str(media.get("id") or row.get("mediaId") or "0"),
            status=_ANILIST.get(str(row.get("status")), "reading"),
            read=_count(row.get("progress")),
            volumes=_count(row.get("progressVolumes")),
            is_rated=isinstance(score := row.get("score"), int | float) and score > 0,
        )
    return reading.lines("AniList", now)


class _ListReading:
    """The rows of a list, each of which becomes a title or is counted among those that do not."""

    def __init__(self) -> None:
        self.left = Counter[str]()
        self._titles: dict[str, Title] = {}
        self._ids: dict[str, str] = {}
        """The list's own id by title: custom lists name a series a second time."""

    def add(self, name: str, id_: str, **of: Any) -> None:
        title = one_line(valid_text(name))[:500]
        if not title:
            self.left[NO_TITLE] += 1
        elif title in self._titles:
            self.left[SAME_TITLE] += id_ == "0" or id_ != self._ids[title]
        elif len(self._titles) >= MOST_TITLES:
            self.left[TOO_MANY_TITLES] += 1
        else:
            self._titles[title], self._ids[title] = Title(title=title, **of), id_

    def lines(self, source: str, now: int) -> ForeignLines:
        titles = list(self._titles.values())
        left = [LeftOut("series", count, why) for why, count in self.left.items()]
        left.append(LeftOut("volumes", sum(one.volumes for one in titles if not one.read), ONLY_VOLUMES))
        left.append(LeftOut("ratings", sum(one.is_rated for one in titles), NO_RATINGS))
        return _lines(source, titles, now, left=left)


def read_kaizoku(body: bytes, now: int) -> ForeignLines:
    """The kaizoku.json of a series, or a list of several."""
    found: Any = decoded(body, Any)
    reading = _ListReading()
    nameless = 0
    for row in (_lower(one) for one in _dicts(found if isinstance(found, list) else [found])):
        numbers = list(_archived(row))
        nameless += sum(number is None for number in numbers)
        reading.add(
            _text(row.get("title")) or "",
            "0",
            author=_text(row.get("author")),
            artist=_text(row.get("artist")),
            description=_text(row.get("description")),
            chapters=tuple(sorted({number for number in numbers if number is not None}, key=float)),
        )
    lines = reading.lines("Kaizoku", now)
    left = [*lines.left_out, LeftOut("chapters", nameless, NO_NUMBER)]
    return msgspec.structs.replace(lines, left_out=[one for one in left if one.count])


def _archived(row: Mapping[str, Any]) -> Iterable[str | None]:
    for provider in _dicts(row.get("providers")):
        for archive in _dicts(_lower(provider).get("archives")):
            number = parse_number(str(_lower(archive).get("chapternumber")))
            yield None if number is None else number_key(number)


def _lines(source: str, titles: Iterable[Title], now: int, *, left: list[LeftOut]) -> ForeignLines:
    series: list[ArchivedSeries] = []
    chapters: list[ArchivedChapter] = []
    beyond = 0
    for one in titles:
        key = f"list/{source}/{one.title}"
        read = min(one.read, MOST_CHAPTERS)
        beyond += one.read - read + max(0, len(one.chapters) - MOST_CHAPTERS)
        numbers = tuple(dict.fromkeys((*map(str, range(1, read + 1)), *one.chapters[:MOST_CHAPTERS])))
        series.append(
            ArchivedSeries(
                key=key,
                title=one.title,
                author=one.author,
                artist=one.artist,
                description=one.description,
                cover_url=http_url(one.cover_url),
                latest_number=max(numbers, key=float) if numbers else None,
                follow=FollowLine(status=one.status, preferences=ArchivedPreferences(), created_at=now),
            )
        )
        for number in numbers:
            is_read = number.isdecimal() and int(number) <= read
            progress = ProgressLine(is_read=True, marked_at=now, updated_at=now) if is_read else None
            chapters.append(
                ArchivedChapter(series=key, key=number, number=number, first_seen_at=now, progress=progress)
            )
    return ForeignLines(
        series=series,
        chapters=chapters,
        left_out=[one for one in [*left, LeftOut("chapters", beyond, TOO_MANY_CHAPTERS)] if one.count],
        unlinked=[UnlinkedSource(source, len(series))] if series else [],
    )


def _count(value: object) -> int:
    text = str(value or "").strip()
    return int(text) if text.isdecimal() and len(text) < 9 else 0


def _text(value: object) -> str | None:
    return valid_text(value).strip()[:20_000] or None if isinstance(value, str) else None


def _lower(row: Mapping[str, Any]) -> dict[str, Any]:
    return {str(name).lower(): value for name, value in row.items()}


def _dict(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _dicts(value: object) -> list[dict[str, Any]]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []
