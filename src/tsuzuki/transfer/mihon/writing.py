"""Series of a shelf as messages of a backup, over what an earlier backup said of them. In a parser process."""

import zlib
from collections.abc import Mapping
from urllib.parse import urlsplit

import msgspec

from tsuzuki.model.numbers import chapter_key
from tsuzuki.model.times import SECOND
from tsuzuki.shelves.types import Mode
from tsuzuki.transfer.mihon.lines import found_chapter, group_name
from tsuzuki.transfer.mihon.unpack import CATEGORY, CHAPTER, SERIES, SOURCE
from tsuzuki.transfer.mihon.wire import (
    Message,
    bytes_field,
    decimal_field,
    number_field,
    read_fields,
    replaced,
    text_field,
)

MOST_UNPACKED = 16 * 1024 * 1024
"""Of one series: what is stored was bounded when it came."""
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
    message = Message(raw, "a series")
    chapters, urls = _known_chapters(message, one)
    fresh = [_new_chapter(each, now) for each in one.chapters if each.url and each.url not in urls]
    new = {
        17: [number_field(17, order) for order in _orders(one, message, categories)],
        100: [] if one.is_kept else [number_field(100, 0)],
        CHAPTER: [bytes_field(CHAPTER, chapter) for chapter in [*chapters, *fresh]],
        104: _history(message, one, urls),
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
    out += [number_field(106, now // SECOND), number_field(109, 1), number_field(111, 1)]
    return b"".join(out)


def _orders(one: SeriesToWrite, message: Message, categories: Categories) -> list[int]:
    """Its group; where that is still its first category of before, the others too."""
    before = [categories.earlier[order] for order in message.numbers(17) if order in categories.earlier]
    names = before if before and before[0] == one.group else [one.group] if one.group is not None else []
    return [categories.now[name] for name in names if name in categories.now]


def _known_chapters(message: Message, one: SeriesToWrite) -> tuple[list[bytes], dict[str, ChapterToWrite | None]]:
    """The chapters of before, changed where more was read since; and what each address is here."""
    by_key = {each.key: each for each in one.chapters}
    by_url = {each.url: each for each in one.chapters if each.url}
    title = message.text(3) or ""
    out: list[bytes] = []
    urls: dict[str, ChapterToWrite | None] = {}
    for raw in message.messages(CHAPTER):
        chapter = Message(raw, "a chapter")
        url = chapter.required(1)
        now = by_url.get(path_of(url)) or by_key.get(chapter_key(found_chapter(chapter, title, None)))
        urls[url] = urls[path_of(url)] = now
        out.append(raw if now is None else _changed(chapter, raw, now))
    return out, urls


def _changed(chapter: Message, raw: bytes, now: ChapterToWrite) -> bytes:
    """As it came, unless something else was read here."""
    before = (bool(chapter.number(4)), bool(chapter.number(5)))
    page = 0 if now.is_read else now.page
    is_same_page = now.is_read or page == chapter.number(6)
    if before == (now.is_read, now.is_bookmarked) and is_same_page:
        return raw
    new = {
        4: [number_field(4, 1)] if now.is_read else [],
        5: [number_field(5, 1)] if now.is_bookmarked else [],
        6: [number_field(6, page)] if page else [],
        11: [number_field(11, (now.changed_at or 0) // SECOND)],
        12: [number_field(12, chapter.number(12) + 1)],
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


def _history(message: Message, one: SeriesToWrite, urls: Mapping[str, ChapterToWrite | None]) -> list[bytes]:
    """Of each chapter the later of both."""
    out: list[bytes] = []
    told: set[str] = set()
    for raw in message.messages(104):
        line = Message(raw, "a line of the history")
        url = line.required(1)
        now = urls.get(url)
        told.add(path_of(url))
        is_later = now is not None and (now.opened_at or 0) > line.number(2)
        if now is not None and is_later:
            raw = replaced(line.fields, {2: [number_field(2, now.opened_at or 0)]})
        out.append(bytes_field(104, raw))
    known = {url: each for url, each in urls.items() if each is not None}
    known |= {each.url: each for each in one.chapters if each.url and each.url not in urls}
    for url, each in known.items():
        if each.opened_at is not None and path_of(url) not in told:
            told.add(path_of(url))
            out.append(_opened(url, each.opened_at))
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


def _messages(raw: bytes, number: int) -> list[Message]:
    return [Message(each, "a category") for each in Message(raw, "a backup").messages(number)]
