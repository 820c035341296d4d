"""Series of a shelf as messages of a backup, over what an earlier backup said of them. In a parser process."""

import zlib
from collections import defaultdict
from collections.abc import Mapping
from urllib.parse import urlsplit

import msgspec

from tsuzuki.model.numbers import chapter_key
from tsuzuki.model.times import SECOND
from tsuzuki.shelves.types import Mode
from tsuzuki.transfer.mihon.lines import found_chapter, group_name
from tsuzuki.transfer.mihon.unpack import CATEGORY, CHAPTER, SERIES, SOURCE
from tsuzuki.transfer.mihon.wire import (
    ProtobufMessage,
    bytes_field,
    decimal_field,
    number_field,
    read_fields,
    replaced,
    text_field,
)

MOST_UNPACKED = 16 * 1024 * 1024
"""Bytes of one unpacked series. A limit was checked at the import; this one guards against a damaged row."""
_FLAGS: Mapping[Mode, int] = {"ltr": 1, "rtl": 2, "vertical": 3, "webtoon": 4}
_UNKNOWN_NUMBER = -1.0


class ChapterToWrite(msgspec.Struct, frozen=True):
    """A chapter with what was read of it; `url` is empty where no source has it."""

    key: str
    url: str
    name: str
    group: str | None
    number: str | None
    order: int
    fetched_at: int
    published_at: int | None
    is_read: bool
    is_bookmarked: bool
    page: int
    opened_at: int | None
    changed_at: int | None


class SeriesToWrite(msgspec.Struct, frozen=True, kw_only=True):
    """A series at one source."""

    source: int
    url: str
    title: str
    author: str | None = None
    artist: str | None = None
    description: str | None = None
    genres: tuple[str, ...] = ()
    status: int = 0
    cover_url: str | None = None
    is_kept: bool
    is_merged: bool = False
    """Whether an app shows several series as this one, of which only one need be in its library."""
    group: str | None
    added_at: int
    mode: Mode | None = None
    chapters: list[ChapterToWrite]
    earlier: bytes | None = None
    """What an earlier backup said of it, packed with zlib."""


class Categories(msgspec.Struct, frozen=True):
    """The places of categories by their names, now and in earlier backups."""

    now: dict[str, int]
    earlier: dict[int, str]
    default: str
    """The name of the default group: a category that is called so became it."""


class KnownChapter(msgspec.Struct, frozen=True):
    """A chapter of an earlier backup, and what it is here; None where it is gone."""

    url: str
    message: ProtobufMessage
    raw: bytes
    now: ChapterToWrite | None


class EarlierState(msgspec.Struct):
    """What an earlier backup said of a chapter, all its releases together: here it is one chapter (I2)."""

    is_read: bool = False
    is_bookmarked: bool = False
    pages: set[int] = msgspec.field(default_factory=set)


def earlier_categories(rest: bytes) -> dict[int, str]:
    """The categories of earlier backups by their places."""
    return {one.number(2): group_name(one.text(1) or "") for one in _messages(rest, CATEGORY)}


def write_beginning(rest: bytes, categories: dict[str, int], sources: dict[int, str]) -> bytes:
    """Categories and sources, and what earlier backups said beside them."""
    known = {group_name(one.text(1) or ""): one for one in _messages(rest, CATEGORY)}
    out = [field.raw for field in read_fields(rest) if field.number != CATEGORY]
    for name, order in categories.items():
        place = [number_field(2, order)]
        if name in known:
            out.append(bytes_field(CATEGORY, replaced(known[name].fields, {2: place})))
        else:
            out.append(bytes_field(CATEGORY, text_field(1, name) + place[0] + number_field(3, order + 1)))
    for uid, name in sources.items():
        out.append(bytes_field(SOURCE, text_field(1, name) + number_field(2, uid)))
    return b"".join(out)


def write_series(series: list[SeriesToWrite], categories: Categories, now: int) -> bytes:
    """These series, each as a field of the backup."""
    return b"".join(bytes_field(SERIES, _series(one, categories, now)) for one in series)


def _series(one: SeriesToWrite, categories: Categories, now: int) -> bytes:
    if one.earlier is None:
        return _new_series(one, categories, now)
    raw = zlib.decompressobj().decompress(one.earlier, MOST_UNPACKED)
    message = ProtobufMessage(raw, "a series")
    was_kept = bool(message.number(100, 1))
    is_kept = one.is_kept and (was_kept or not one.is_merged)
    is_left_alone = not is_kept and not was_kept
    known = _known_chapters(message, one)
    urls = {each.url for each in known} | {path_of(each.url) for each in known}
    fresh = [each for each in one.chapters if each.url and each.url not in urls]
    chapters = [*_written_again(known), *(_new_chapter(each, now) for each in fresh)]
    new = {
        17: [number_field(17, order) for order in _orders(one, message, categories, is_left_alone=is_left_alone)],
        100: [] if is_kept else [number_field(100, 0)],  # favorite, which is true where it is missing
        CHAPTER: [bytes_field(CHAPTER, chapter) for chapter in chapters],
        104: _history(message, known, fresh),
    }
    return replaced(message.fields, new)


def _new_series(one: SeriesToWrite, categories: Categories, now: int) -> bytes:
    texts = {3: one.title, 4: one.artist, 5: one.author, 6: one.description, 9: one.cover_url}
    out = [number_field(1, one.source), text_field(2, one.url)]
    out += [text_field(number, text) for number, text in texts.items() if text]
    out += [text_field(7, genre) for genre in one.genres]
    out += [number_field(8, one.status), number_field(13, one.added_at)]
    chapters = [each for each in one.chapters if each.url]
    out += [bytes_field(CHAPTER, _new_chapter(each, now)) for each in chapters]
    out += [number_field(17, categories.now[one.group])] if one.group in categories.now else []
    out += [] if one.is_kept else [number_field(100, 0)]
    out += [number_field(103, _FLAGS[one.mode])] if one.mode in _FLAGS else []  # type: ignore[index]
    out += [_opened(each.url, each.opened_at) for each in chapters if each.opened_at is not None]
    # lastModifiedAt, version, and that the details are known, so that Mihon need not fetch them.
    out += [number_field(106, now // SECOND), number_field(109, 1), number_field(111, 1)]
    return b"".join(out)


def _orders(one: SeriesToWrite, message: ProtobufMessage, categories: Categories, *, is_left_alone: bool) -> list[int]:
    """Its group; where that is still its first category of before, or it was and is in no library, as before."""
    before = [categories.earlier[order] for order in message.numbers(17) if order in categories.earlier]
    group = one.group or categories.default
    names = before if is_left_alone or before[:1] == [group] else [one.group] if one.group is not None else []
    return [categories.now[name] for name in names if name in categories.now]


def _known_chapters(message: ProtobufMessage, one: SeriesToWrite) -> list[KnownChapter]:
    by_key = {each.key: each for each in one.chapters}
    by_url = {each.url: each for each in one.chapters if each.url}
    title = message.text(3) or ""
    found: list[KnownChapter] = []
    for raw in message.messages(CHAPTER):
        chapter = ProtobufMessage(raw, "a chapter")
        url = chapter.required(1)
        now = by_url.get(path_of(url)) or by_key.get(chapter_key(found_chapter(chapter, title, None)))
        found.append(KnownChapter(url, chapter, raw, now))
    return found


def _written_again(known: list[KnownChapter]) -> list[bytes]:
    """The chapters of before, changed where more was read since."""
    before: dict[str, EarlierState] = defaultdict(EarlierState)
    for each in known:
        if each.now is not None:
            state = before[each.now.key]
            state.is_read = state.is_read or bool(each.message.number(4))
            state.is_bookmarked = state.is_bookmarked or bool(each.message.number(5))
            state.pages.add(each.message.number(6))
    return [each.raw if each.now is None else _changed(each, each.now, before[each.now.key]) for each in known]


def _changed(known: KnownChapter, now: ChapterToWrite, before: EarlierState) -> bytes:
    """The release as it was imported, unless its state changed here: the app may have read another release of the
    chapter.
    """
    chapter = known.message
    own = bool(chapter.number(4)), bool(chapter.number(5)), chapter.number(6)  # read, bookmark, lastPageRead
    is_read = own[0] if now.is_read == before.is_read else now.is_read
    is_bookmarked = own[1] if now.is_bookmarked == before.is_bookmarked else now.is_bookmarked
    page = own[2] if now.is_read or now.page in before.pages else now.page
    page = 0 if is_read and not own[0] else page
    if (is_read, is_bookmarked, page) == own:
        return known.raw
    new = {
        4: [number_field(4, 1)] if is_read else [],
        5: [number_field(5, 1)] if is_bookmarked else [],
        6: [number_field(6, page)] if page else [],
        11: [number_field(11, (now.changed_at or 0) // SECOND)],  # lastModifiedAt
        12: [number_field(12, chapter.number(12) + 1)],  # version: Mihon's sync takes the higher one
    }
    return replaced(chapter.fields, new)


def _new_chapter(one: ChapterToWrite, now: int) -> bytes:
    number = _UNKNOWN_NUMBER if one.number is None else float(one.number)
    out = [text_field(1, one.url), text_field(2, one.name)]
    out += [text_field(3, one.group)] if one.group else []
    out += [number_field(4, 1)] if one.is_read else []
    out += [number_field(5, 1)] if one.is_bookmarked else []
    out += [number_field(6, one.page)] if one.page and not one.is_read else []
    out += [number_field(7, one.fetched_at), number_field(8, one.published_at or 0), decimal_field(9, number)]
    out += [number_field(10, one.order), number_field(11, (one.changed_at or now) // SECOND), number_field(12, 1)]
    return b"".join(out)


def _history(message: ProtobufMessage, known: list[KnownChapter], fresh: list[ChapterToWrite]) -> list[bytes]:
    """Lines of the history: of each chapter the later moment, and one new line if it had none, however many releases it
    has.
    """
    urls = {url: each.now for each in known for url in (each.url, path_of(each.url))}
    lines = [(raw, ProtobufMessage(raw, "a line of the history")) for raw in message.messages(104)]
    latest: dict[str, int] = {}
    for _, line in lines:
        now = urls.get(line.required(1))
        if now is not None:
            latest[now.key] = max(line.number(2), latest.get(now.key, 0))
    out: list[bytes] = []
    for raw, line in lines:
        now = urls.get(line.required(1))
        opened = 0 if now is None else now.opened_at or 0
        is_later = now is not None and opened > latest[now.key] == line.number(2)
        out.append(bytes_field(104, replaced(line.fields, {2: [number_field(2, opened)]}) if is_later else raw))
    listed = {path_of(line.required(1)) for _, line in lines}
    for url, one in [*((each.url, each.now) for each in known), *((each.url, each) for each in fresh)]:
        if one is not None and one.opened_at is not None and one.key not in latest and path_of(url) not in listed:
            latest[one.key] = one.opened_at
            out.append(_opened(url, one.opened_at))
    return out


def _opened(url: str, at: int) -> bytes:
    return bytes_field(104, text_field(1, url) + number_field(2, at))


def path_of(url: str) -> str:
    """An address as most extensions store it."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return url
    return f"{parts.path}?{parts.query}" if parts.query else parts.path


def _messages(raw: bytes, number: int) -> list[ProtobufMessage]:
    return [ProtobufMessage(each, "a category") for each in ProtobufMessage(raw, "a backup").messages(number)]
