"""The series of a backup as lines of an archive of ours. In a parser process."""

import zlib
from collections import Counter
from collections.abc import Mapping
from decimal import Decimal
from urllib.parse import urljoin

import msgspec

from tsuzuki.connectors.chapter_names import read_name
from tsuzuki.connectors.html.addresses import http_url
from tsuzuki.connectors.html.sanitiser import one_line, valid_text
from tsuzuki.model.harvest import FoundChapter
from tsuzuki.model.numbers import chapter_key, number_key, parse_number, release_key
from tsuzuki.model.times import LATEST, SECOND
from tsuzuki.shelves.types import Mode
from tsuzuki.transfer.archive.format import (
    ArchivedChapter,
    ArchivedPreferences,
    ArchivedRelease,
    ArchivedSeries,
    BackupLine,
    FollowLine,
    ProgressLine,
    SeriesSource,
)
from tsuzuki.transfer.foreign import ForeignLines, LeftOut
from tsuzuki.transfer.mihon.unpack import chapters_of
from tsuzuki.transfer.mihon.wire import ProtobufMessage

DEVICE = "mihon"
_MODES: Mapping[int, Mode] = {1: "ltr", 2: "rtl", 3: "vertical", 4: "webtoon", 5: "vertical"}
_LONGEST = 5_000
_MOST_PAGES = 100_000

_KEPT = "kept for the backup that you export."
LEFT_OUT = {
    "categories": f"A series is in one group here; its further categories are {_KEPT}",
    "trackers": f"This server has no trackers; their links are {_KEPT}",
    "notes": f"Series have no notes here; they are {_KEPT}",
    "hidden_groups": f"Groups cannot be hidden here; the choice is {_KEPT}",
}
"""What is not taken of a series, and why."""


class BackupPlace(msgspec.Struct, frozen=True):
    """Where a series of a backup can be read on this server."""

    slug: str
    key: str
    url: str
    base_url: str
    language: str | None
    chapters: str = ""
    """What stands before a chapter's own id in its address, where it has one."""


class SeriesPlaces(msgspec.Struct, frozen=True):
    """Where a series of a backup, and the series merged into it, can be read on this server."""

    own: BackupPlace | None = None
    merged: tuple[BackupPlace, ...] = ()

    @property
    def all(self) -> tuple[BackupPlace, ...]:
        """All of them, without repeats."""
        found = {(place.slug, place.key): place for place in (self.own, *self.merged) if place is not None}
        return tuple(found.values())


class BackupContext(msgspec.Struct, frozen=True):
    """What the whole backup says that its series refer to."""

    categories: dict[int, str]
    sources: dict[int, str]
    now: int


def read_series(series: list[bytes], places: list[SeriesPlaces], context: BackupContext) -> ForeignLines:
    """These series with their chapters; `places` says of each where it is to be found here."""
    lines: list[ArchivedSeries] = []
    chapters: list[ArchivedChapter] = []
    left: Counter[str] = Counter()
    for raw, where in zip(series, places, strict=True):
        reading = SeriesReading(raw, where, context)
        found = reading.chapters()
        lines.append(reading.line(found))
        chapters += found
        left.update(reading.left_out())
    left_out = [LeftOut(what, count, LEFT_OUT[what]) for what, count in left.items() if count]
    return ForeignLines(series=lines, chapters=chapters, left_out=left_out)


class SeriesReading:
    """One series of a backup."""

    def __init__(self, raw: bytes, places: SeriesPlaces, context: BackupContext) -> None:
        self._raw = raw
        self._message = ProtobufMessage(raw, "a series")
        self._place = places.own
        self._places = places.all
        self._context = context
        self._source = self._message.number(1)
        self._url = self._message.required(2)
        self._title = one_line(valid_text(self._message.text(3) or ""))[:500] or valid_text(self._url)[:500] or "?"
        self._key = f"backup/{self._source}/{valid_text(self._url)}"[:_LONGEST]
        self.categories = [
            context.categories[order] for order in self._message.numbers(17) if order in context.categories
        ]
        self._opened = self._history()

    def line(self, chapters: list[ArchivedChapter]) -> ArchivedSeries:
        """The series, what the shelf has of it, and the message itself for the next export."""
        message = self._message
        numbers = [number for each in chapters if (number := parse_number(each.number)) is not None]
        status = message.number(8)
        return ArchivedSeries(
            key=self._key,
            title=self._title,
            author=self._text(5),
            artist=self._text(4),
            description=self._text(6),
            cover_url=http_url(self._text(9)),
            status=status if 0 <= status <= 6 else 0,
            latest_number=number_key(max(numbers)) if numbers else None,
            last_chapter_at=max((each.published_at for each in chapters if each.published_at), default=None),
            sources=tuple(self._mapping(place) for place in self._places),
            follow=self._follow(),
            backups=(
                BackupLine(
                    source=self._source,
                    url=valid_text(self._url),
                    source_name=one_line(valid_text(self._context.sources.get(self._source, "")))[:200],
                    message=zlib.compress(self._raw),
                ),
            ),
        )

    def _mapping(self, place: BackupPlace) -> SeriesSource:
        return SeriesSource(
            source=place.slug,
            key=place.key,
            url=place.url,
            title=self._title,
            author=self._text(5),
            artist=self._text(4),
            description=self._text(6),
            genres=tuple(one_line(valid_text(genre))[:100] for genre in self._message.texts(7))[:100],
            cover_url=http_url(self._text(9)),
            update_strategy="ONLY_FETCH_ONCE" if self._message.number(105) == 1 else "ALWAYS_UPDATE",
        )

    def _follow(self) -> FollowLine | None:
        if self._message.number(100, 1) == 0:
            return None
        flags = self._message.number(103) or self._message.number(14)  # 14 is the viewer of older versions
        return FollowLine(
            group=group_name(self.categories[0]) if self.categories else None,
            status="reading",
            preferences=ArchivedPreferences(mode=_MODES.get(flags & 7)),  # the bits above are the orientation
            created_at=_moment(self._message.number(13)) or self._context.now,
        )

    def _history(self) -> dict[str, int]:
        """When each chapter was opened last."""
        opened: dict[str, int] = {}
        for raw in self._message.messages(104):
            one = ProtobufMessage(raw, "a line of the history")
            url, at = one.required(1), _moment(one.number(2))
            if at is not None:
                opened[url] = max(at, opened.get(url, 0))
        return opened

    def left_out(self) -> dict[str, int]:
        """How much of it is not taken, by what it is."""
        return {
            "categories": max(0, len(self.categories) - 1),
            "trackers": len(self._message.messages(18)),
            "notes": int(bool(self._message.text(110))),
            "hidden_groups": len(self._message.messages(108)),
        }

    def chapters(self) -> list[ArchivedChapter]:
        """The chapters, several releases of one as one (I2), from the newest to the oldest as apps list them."""
        found: dict[str, ArchivedChapter] = {}
        for message in chapters_of(self._message):
            chapter = self._chapter(message)
            known = found.get(chapter.key)
            found[chapter.key] = chapter if known is None else joined(known, chapter)
        return list(found.values())

    def _chapter(self, message: ProtobufMessage) -> ArchivedChapter:
        read = found_chapter(message, self._title, self._place)
        published = read.published_at
        seen = _moment(message.number(7)) or published or self._context.now
        return ArchivedChapter(
            series=self._key,
            key=chapter_key(read),
            number=None if read.number is None else number_key(read.number),
            volume=None if read.volume is None else number_key(read.volume),
            title=read.title,
            published_at=published,
            first_seen_at=seen,
            releases=() if self._place is None else (self._release(read, message, self._place, seen),),
            progress=self._progress(message),
        )

    def _release(self, read: FoundChapter, message: ProtobufMessage, place: BackupPlace, seen: int) -> ArchivedRelease:
        order = message.number(10)
        return ArchivedRelease(
            source=place.slug,
            series_key=place.key,
            key=release_key(read),
            source_key=read.source_key,
            url=read.url,
            title=read.title,
            language=read.language,
            group=read.group,
            published_at=read.published_at,
            source_order=-order if abs(order) < 10**9 else 0,  # Mihon counts from the newest on
            first_seen_at=seen,
            last_seen_at=seen,
        )

    def _progress(self, message: ProtobufMessage) -> ProgressLine | None:
        """What was read. The page of a chapter that is read means nothing."""
        is_read, is_marked, page = bool(message.number(4)), bool(message.number(5)), message.number(6)
        page = 0 if is_read or not 0 < page <= _MOST_PAGES else page
        opened = self._opened.get(message.required(1))
        if not (is_read or is_marked or page or opened):
            return None
        at = opened or _moment(message.number(11) * SECOND) or self._context.now
        return ProgressLine(
            page=page,
            furthest_page=page,
            is_read=is_read,
            is_bookmarked=is_marked,
            device=DEVICE if page else None,
            paged_at=at if page or opened else None,
            marked_at=at if is_read else None,
            opened_at=opened,
            updated_at=at,
        )

    def _text(self, number: int) -> str | None:
        text = self._message.text(number)
        return valid_text(text).strip() or None if text else None


def found_chapter(message: ProtobufMessage, title: str, place: BackupPlace | None) -> FoundChapter:
    """A chapter of a backup in the form in which sources report chapters."""
    name = one_line(valid_text(message.required(2)))[:500]
    reading = read_name(name, title)
    number = chapter_number(message.decimal(9))
    url = valid_text(message.required(1))
    prefix = "" if place is None else place.chapters
    return FoundChapter(
        source_key=url.removeprefix(prefix) if prefix and url.startswith(prefix) else None,
        url=url if place is None else urljoin(f"{place.base_url}/", url),
        title=name,
        number=reading.number if number is None else number,
        volume=reading.volume,
        language=None if place is None else place.language,
        group=one_line(valid_text(message.text(3) or ""))[:200] or None,
        published_at=_moment(message.number(8)),  # type: ignore[arg-type]
    )


def chapter_number(value: float | None) -> Decimal | None:
    """A number that was a float of 32 bits: 10.100000381 is 10.1; -1 and -2 are none."""
    if value is None or not 0 <= value < 10**7:  # beyond, such a float has no fraction any more, nor is it a number
        return None
    return parse_number(Decimal(f"{value:.3f}"))


def group_name(category: str) -> str:
    """A category as the name of a group."""
    return one_line(valid_text(category))[:100].strip() or "?"


def joined(one: ArchivedChapter, other: ArchivedChapter) -> ArchivedChapter:
    """Two releases of a chapter joined; it is read if either was."""
    keys = {release.key for release in one.releases}
    releases = (*one.releases, *(each for each in other.releases if each.key not in keys))
    return msgspec.structs.replace(one, releases=releases, progress=_further(one.progress, other.progress))


def _further(one: ProgressLine | None, other: ProgressLine | None) -> ProgressLine | None:
    if one is None or other is None:
        return one or other
    newest, older = sorted((one, other), key=lambda each: each.paged_at or 0, reverse=True)
    return msgspec.structs.replace(
        newest,
        furthest_page=max(one.furthest_page, other.furthest_page),
        is_read=one.is_read or other.is_read,
        is_bookmarked=one.is_bookmarked or other.is_bookmarked,
        marked_at=newest.marked_at or older.marked_at,
        opened_at=newest.opened_at or older.opened_at,
    )


def _moment(value: int) -> int | None:
    """Milliseconds since 1970; None where the app did not know, or said what is no time."""
    return value if 0 < value <= LATEST else None
