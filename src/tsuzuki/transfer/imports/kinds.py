"""What a file is, by its beginning, and who reads it."""

import zlib
from collections.abc import Callable

import msgspec

from tsuzuki.model.errors import Invalid
from tsuzuki.transfer.documents.articles import read_feed_list, read_reader_json, read_ttrss
from tsuzuki.transfer.documents.titles import read_anilist, read_kaizoku, read_mal
from tsuzuki.transfer.foreign import ForeignLines

ARCHIVE_KIND = "archive"
BACKUP_KIND = "mihon"
MOST_TEXT = 40 * 1024 * 1024
"""Of a document that is read at once."""
_LOOKED_AT = 4_096

Read = Callable[[bytes, int], ForeignLines]


class FileKind(msgspec.Struct, frozen=True):
    """A kind of file."""

    name: str
    read: Read | None = None
    """Reads it at once, in a parser process; None where it takes more."""


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
"""By a word that stands near the beginning; the order decides where several do."""

UNKNOWN = (
    "This file is none that can be imported. These can: backups of Mihon and its relatives (.tachibk), OPML, starred "
    "articles of FreshRSS, Inoreader and Google Reader (JSON), articles of TT-RSS (XML), lists of MyAnimeList (XML) "
    "and AniList (JSON), kaizoku.json, and archives of Tsuzuki (.zip)."
)


def kind_of(name: str, body: bytes) -> tuple[FileKind, bytes]:
    """The kind of a file, and the file unpacked where it is text; Invalid when it is none that can be imported."""
    if not body:
        raise Invalid("The file is empty.")
    if body.startswith(b"PK\x03\x04"):
        return ARCHIVE, body
    if body.startswith(b"\x1f\x8b"):
        if not _begins(body).lstrip().startswith((b"<", b"\xef\xbb\xbf<")):
            return BACKUP, body
        body = _unpacked(body)
    kind = _by_words(body)
    if kind is not None:
        return kind, body
    if name.lower().endswith((".tachibk", ".proto")) or body[:2] == b"{}" or b'"version"' in body[:_LOOKED_AT]:
        return BACKUP, body
    raise Invalid(UNKNOWN)


def _by_words(body: bytes) -> FileKind | None:
    """JSON and XML only: in a backup any word may stand."""
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
