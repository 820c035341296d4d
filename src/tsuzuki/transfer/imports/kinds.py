"""What a file is, by its beginning, and who reads it."""

import io
import re
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import PurePosixPath

import msgspec

from tsuzuki.connectors.html.lexbor import LIBRARIES
from tsuzuki.model.errors import Invalid, NotAFeed, TooLarge
from tsuzuki.transfer.archive.container import BROKEN_ZIP
from tsuzuki.transfer.archive.format import MANIFEST
from tsuzuki.transfer.documents.articles import read_feed_list, read_reader_json, read_ttrss
from tsuzuki.transfer.documents.titles import read_anilist, read_kaizoku, read_mal
from tsuzuki.transfer.foreign import ForeignLines, LeftOut

FOR_PARSERS = LIBRARIES

ARCHIVE_KIND = "archive"
BACKUP_KIND = "mihon"
MOST_TEXT = 40 * 1024 * 1024
"""Bytes of a document, which is read in one piece."""
_LOOKED_AT = 4_096

Read = Callable[[bytes, int], ForeignLines]


class FileKind(msgspec.Struct, frozen=True):
    """A kind of file."""

    name: str
    read: Read | None = None
    """Reads it at once, in a parser process; None where it takes more."""


_BARE_BACKUP = re.compile(rb"\x0a[\x80-\xff]{0,4}[\x00-\x7f]\x08")
"""How one begins that is not packed, as SyncYomi stores it: a series, and in it the id of its source."""
_OLD_BACKUP = (b'"version"', b'"mangas"')
MOST_MEMBERS = 20_000
"""Members of a ZIP: a library of Kaizoku has a file for each series."""
_MEMBER = b"PK\x01\x02"
_TEXTS = frozenset({".json", ".opml", ".xml"})
NOT_KNOWN = "They are no lists of feeds, articles or titles."
NOT_READABLE = "They are damaged, or locked with a password."
NOTHING_KNOWN = (
    "This ZIP has no file that can be imported. Those of Google Takeout (Reader), Inoreader, FreshRSS and Kaizoku can, "
    "and archives of Tsuzuki."
)

BACKUP = FileKind(BACKUP_KIND)
ARCHIVE = FileKind(ARCHIVE_KIND)
KINDS_BY_WORDS: tuple[tuple[bytes, FileKind], ...] = (
    (b"<opml", FileKind("opml", read_feed_list)),
    (b"<myanimelist", FileKind("mal", read_mal)),
    (b"<articles", FileKind("ttrss", read_ttrss)),
    (b'"medialistcollection"', FileKind("anilist", read_anilist)),
    (b'"kaizokuversion"', FileKind("kaizoku", read_kaizoku)),
    (b'"items"', FileKind("reader_json", read_reader_json)),
    (b'"lists"', FileKind("anilist", read_anilist)),
)
"""Kinds by a word near the beginning of the file; where several match, the first counts."""

UNKNOWN = (
    "This file is none that can be imported. These can: backups of Mihon and its relatives (.tachibk), OPML, starred "
    "articles of FreshRSS, Inoreader and Google Reader (JSON, or the ZIP that they give), articles of TT-RSS (XML), "
    "lists of MyAnimeList (XML) and AniList (JSON), kaizoku.json, and archives of Tsuzuki (.zip)."
)


def kind_of(name: str, body: bytes) -> tuple[FileKind, bytes]:
    """The kind of a file, and the file unpacked where it is text; Invalid when it is none that can be imported."""
    if not body:
        raise Invalid("The file is empty.")
    if body.startswith(b"PK\x03\x04"):
        return _packed_kind(body), body
    if body.startswith(b"\x1f\x8b"):
        if not _begins(body).removeprefix(b"\xef\xbb\xbf").lstrip().startswith((b"<", b"{", b"[")):
            return BACKUP, body
        body = _unpacked(body)
    kind = kind_by_words(body)
    if kind is not None:
        return kind, body
    if (
        name.lower().endswith((".tachibk", ".proto"))
        or _BARE_BACKUP.match(body)
        or body[:2] == b"{}"
        or any(word in body[:_LOOKED_AT] for word in _OLD_BACKUP)
    ):
        return BACKUP, body
    raise Invalid(UNKNOWN)


def _packed_kind(body: bytes) -> FileKind:
    """The kind of a ZIP, by its members' names; a damaged one counts as an archive, whose reader says what is wrong."""
    if body.count(_MEMBER) > MOST_MEMBERS:
        raise Invalid(f"The ZIP has more than {MOST_MEMBERS:,} files.")
    try:
        with zipfile.ZipFile(io.BytesIO(body)) as packed:
            names = packed.namelist()
    except BROKEN_ZIP:
        return ARCHIVE
    if MANIFEST in names:
        return ARCHIVE
    return TAKEOUT if any("Reader" in PurePosixPath(name).parts[:-1] for name in names) else PACKED


def read_packed(body: bytes, now: int) -> ForeignLines:
    """A ZIP as Google Takeout, Inoreader and FreshRSS give it: each file that is known, read by its own reader."""
    found: list[ForeignLines] = []
    left = Counter[str]()
    size = 0
    with zipfile.ZipFile(io.BytesIO(body)) as packed:
        for info in packed.infolist():
            if info.is_dir():
                continue
            kind, raw = None, b""
            try:
                if PurePosixPath(info.filename).suffix.lower() in _TEXTS:
                    with packed.open(info) as file:
                        raw = file.read(MOST_TEXT - size + 1)
                    size += len(raw)
                    if size > MOST_TEXT:
                        raise TooLarge(f"The texts in the ZIP are larger than {MOST_TEXT // 1024**2} MB.")
                    kind = kind_by_words(raw)
                if kind is None or kind.read is None:
                    left[NOT_KNOWN] += 1
                else:
                    found.append(kind.read(raw, now))
            except (*BROKEN_ZIP, NotAFeed):
                left[NOT_READABLE] += 1
    if not found:
        raise NotAFeed(NOTHING_KNOWN)
    return _together(found, [LeftOut("files", count, why) for why, count in left.items()])


def _together(found: Sequence[ForeignLines], left: Sequence[LeftOut]) -> ForeignLines:
    """What several files say; an article that is in two of them is one bookmark, a feed one feed."""
    marks = {(mark.link or mark.title): mark for lines in reversed(found) for mark in reversed(lines.bookmarks)}
    feeds = {feed.link: feed for lines in reversed(found) for feed in reversed(lines.feeds)}
    series = {one.key: one for lines in found for one in lines.series}
    chapters = {(one.series, one.key): one for lines in found for one in lines.chapters}
    return ForeignLines(
        feeds=list(reversed(feeds.values())),
        bookmarks=list(reversed(marks.values())),
        series=list(series.values()),
        chapters=list(chapters.values()),
        left_out=[*(one for lines in found for one in lines.left_out), *left],
        unlinked=[one for lines in found for one in lines.unlinked],
    )


def kind_by_words(body: bytes) -> FileKind | None:
    """The kind of JSON or XML; None of all else: in a backup any word may stand."""
    begins = body[:_LOOKED_AT].lstrip(b"\xef\xbb\xbf \t\r\n")
    if begins[:1] not in {b"<", b"{", b"["}:
        return None
    near = (body[: 64 * _LOOKED_AT] + body[-_LOOKED_AT:]).lower()  # kaizoku.json says what it is at its end
    return next((kind for word, kind in KINDS_BY_WORDS if word in near), None)


def _begins(body: bytes) -> bytes:
    try:
        return zlib.decompressobj(31).decompress(body[:_LOOKED_AT], _LOOKED_AT)
    except zlib.error:
        return b""


def _unpacked(body: bytes) -> bytes:
    opened = zlib.decompressobj(31)
    try:
        raw = opened.decompress(body, MOST_TEXT + 1)
    except zlib.error as error:
        raise Invalid(f"The file cannot be unpacked: {error}.") from None
    if len(raw) > MOST_TEXT:
        raise Invalid(f"The file is larger than {MOST_TEXT // 1024**2} MB when it is unpacked.")
    if not opened.eof:
        raise Invalid("The file ends in the middle.")
    return raw


TAKEOUT = FileKind("takeout", read_packed)
PACKED = FileKind("packed", read_packed)
