"""Opens a backup within limits, and cuts it into portions that are read one after another. In a parser process."""

import zlib
from collections.abc import Iterator

import msgspec

from tsuzuki.model.errors import NotAFeed, TooLarge
from tsuzuki.transfer.mihon.wire import LENGTH, Field, ProtobufMessage, damaged, read_fields

MOST_UNPACKED = 56 * 1024 * 1024
RATIO = 300
SMALL = 8 * 1024 * 1024
"""What may shrink as it likes."""
PORTION = 512 * 1024
MOST_SERIES = 20_000
MOST_CHAPTERS = 500_000
MOST_OF_ONE = 50_000
"""Chapters of one series."""
MOST_REST = 2 * 1024 * 1024
MOST_CATEGORIES = 1_000
MOST_SOURCES = 10_000

GZIP = b"\x1f\x8b"
_OLD = (b"{}", b'{"', b"{\n")

SERIES, CATEGORY, SOURCE = 1, 2, 101
MERGED = 600
"""The field of a series in TachiyomiSY or Komikku that has one of the series merged into it."""
MERGED_SOURCE = 6969
"""The id of the source that these apps say such a series has."""
_MOST_MERGED = 50
_PRIVATE = frozenset({104, 105, 9001})
"""Preferences of the app and its sources, and a server's settings: passwords stand there in plain text."""
CHAPTER = 16


class SeriesHead(msgspec.Struct, frozen=True):
    """Which series it is: by the id of its source, and by what the source's extension calls it."""

    source: int
    url: str
    title: str
    is_kept: bool
    """Whether it is in the app's library; else it was only read."""
    merged: tuple[tuple[int, str], ...] = ()
    """Source and address of each series that the app shows as this one."""


class Portion(msgspec.Struct, frozen=True):
    """Some series, as they stand in the file."""

    heads: list[SeriesHead]
    series: list[bytes]


class Unpacked(msgspec.Struct, frozen=True):
    """A backup in portions."""

    portions: list[Portion]
    categories: dict[int, str]
    """Names by their places: series name the places."""
    sources: dict[int, str]
    rest: bytes
    """All else that it says, without anybody's passwords."""
    chapters: int
    has_preferences: bool


def unpack(body: bytes) -> Unpacked:
    """The backup; NotAFeed or TooLarge says in a sentence why not."""
    unpacking = _Unpacking()
    for field in read_fields(_plain(body)):
        if field.number == SERIES:
            unpacking.add_series(_message(field))
        elif field.number == SOURCE:
            unpacking.add_source(ProtobufMessage(_message(field), "a source"))
        elif field.number in _PRIVATE:
            unpacking.has_preferences = True
        else:
            unpacking.add_other(field)
    return unpacking.result()


class _Portions:
    """Series, as many at a time as one call of a parser process reads."""

    def __init__(self) -> None:
        self.all: list[Portion] = []
        self._size = 0

    def add(self, head: SeriesHead, message: bytes) -> None:
        if not self.all or self._size + len(message) > PORTION:
            self.all.append(Portion([], []))
            self._size = 0
        self._size += len(message)
        self.all[-1].heads.append(head)
        self.all[-1].series.append(message)


class _Unpacking:
    def __init__(self) -> None:
        self._merged, self._others = _Portions(), _Portions()
        self._series = self._chapters = 0
        self._categories: dict[int, str] = {}
        self._sources: dict[int, str] = {}
        self._rest: list[bytes] = []
        self.has_preferences = False

    def add_series(self, message: bytes) -> None:
        head, count = _head(message)
        self._series, self._chapters = self._series + 1, self._chapters + count
        if self._series > MOST_SERIES:
            raise TooLarge(f"The backup has more than {MOST_SERIES:,} series.")
        if self._chapters > MOST_CHAPTERS:
            raise TooLarge(f"The backup has more than {MOST_CHAPTERS:,} chapters.")
        (self._merged if head.merged else self._others).add(head, message)

    def add_source(self, source: ProtobufMessage) -> None:
        self._sources[source.number(2)] = source.text(1) or ""
        self._check_names()

    def add_other(self, field: Field) -> None:
        self._rest.append(field.raw)
        if field.number == CATEGORY:
            category = ProtobufMessage(_message(field), "a category")
            self._categories[category.number(2)] = category.required(1)
            self._check_names()

    def _check_names(self) -> None:
        if len(self._categories) > MOST_CATEGORIES or len(self._sources) > MOST_SOURCES:
            raise TooLarge("The backup has more categories or sources than any app makes.")

    def result(self) -> Unpacked:
        rest = b"".join(self._rest)
        if len(rest) > MOST_REST:
            raise TooLarge(f"The backup has more than {MOST_REST // 1024**2} MB beside its series.")
        portions = [*self._merged.all, *self._others.all]  # what a series was made of is found by it
        return Unpacked(portions, self._categories, self._sources, rest, self._chapters, self.has_preferences)


def _plain(body: bytes) -> bytes:
    if body[:2] in _OLD:
        raise NotAFeed(
            "This is a JSON backup of Tachiyomi from before 2020, which no current app reads either. "
            "Restore it in an old version and make a new backup there."
        )
    if not body.startswith(GZIP):
        if len(body) > MOST_UNPACKED:
            raise _too_large()
        return body
    opened = zlib.decompressobj(31)  # 15 + 16: gzip's header and trailer
    try:
        raw = opened.decompress(body, MOST_UNPACKED + 1)
    except zlib.error as error:
        raise damaged(f"it cannot be unpacked ({error})") from None
    if len(raw) > MOST_UNPACKED or (len(raw) > SMALL and len(raw) > RATIO * len(body)):
        raise _too_large()
    if not opened.eof:
        raise damaged("it ends in the middle")
    return raw


def _too_large() -> TooLarge:
    return TooLarge(f"The backup is larger than {MOST_UNPACKED // 1024**2} MB when it is unpacked.")


def _message(field: Field) -> bytes:
    if field.kind != LENGTH or not isinstance(field.value, bytes):
        raise damaged(f"field {field.number} should hold a message")
    return field.value


def _head(message: bytes) -> tuple[SeriesHead, int]:
    """Without building its chapters, of which there may be millions."""
    few: list[bytes] = []
    merged: list[bytes] = []
    has_source = False
    chapters = 0
    for field in read_fields(message):
        if field.number in {1, 2, 3, 100}:
            few.append(field.raw)
            has_source = has_source or field.number == 1
        elif field.number == MERGED and isinstance(field.value, bytes) and len(merged) < _MOST_MERGED:
            merged.append(field.value)
        elif field.number == CHAPTER:
            chapters += 1
            if chapters > MOST_OF_ONE:
                raise TooLarge(f"A series of the backup has more than {MOST_OF_ONE:,} chapters.")
    said = ProtobufMessage(b"".join(few), "a series")
    if not has_source:
        raise damaged("a series has no source")
    is_kept = said.number(100, 1) != 0
    parts = tuple(part for raw in merged if (part := _merged_part(raw)) is not None)
    return SeriesHead(said.number(1), said.required(2), said.text(3) or "", is_kept, parts), chapters


def _merged_part(raw: bytes) -> tuple[int, str] | None:
    """None for what is no such reference: another app may mean something else by the field."""
    try:
        part = ProtobufMessage(raw, "a merged series")
        url = part.text(7)
        return None if url is None or 8 not in part else (part.number(8), url)
    except NotAFeed:
        return None


def chapters_of(message: ProtobufMessage) -> Iterator[ProtobufMessage]:
    """The chapters of a series, read one by one."""
    for raw in message.messages(CHAPTER):
        yield ProtobufMessage(raw, "a chapter")
