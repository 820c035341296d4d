"""Komga and Kavita: series with their chapters and how far they were read, as a backup of Mihon has them."""

import re
from collections.abc import AsyncIterator, Mapping
from typing import Any, Final

import msgspec

from tsuzuki.connectors.protocol import computed_uid
from tsuzuki.model.errors import TooLarge
from tsuzuki.model.requests import Parsers
from tsuzuki.model.times import Millis
from tsuzuki.transfer.documents.articles import decoded
from tsuzuki.transfer.foreign import ForeignLines, LeftOut, UnlinkedSource
from tsuzuki.transfer.mihon.lines import BackupContext, SeriesPlaces, read_series
from tsuzuki.transfer.mihon.wire import bytes_field, decimal_field, number_field, text_field
from tsuzuki.transfer.servers.calls import ServerCalls, basic
from tsuzuki.transfer.servers.kinds import ServerLogin
from tsuzuki.transfer.servers.miniflux import moment_of

KOMGA_UID: Final = 4508733312114627536
"""The uid of Mihon's Komga extension, which sets it instead of deriving it from its name."""
KAVITA_UID: Final = computed_uid("Kavita", "all")
_PAGE = 20
_MOST_PAGES = 500
_MOST_OF_PAGE = 1_000
"""Most rows taken from one page, if a server sends more than it was asked for."""
_ID = re.compile(r"[\w-]{1,100}", re.ASCII)
"""An id of a series, safe to put into an address; programs that imitate Komga have UUIDs."""
_UNKNOWN_NUMBER = -1.0
_LOOSE = -10_000
"""Below it Kavita's numbers stand for none."""
_KOMGA_STATES: Mapping[str, int] = {"ONGOING": 1, "ENDED": 2, "ABANDONED": 5, "HIATUS": 6}
_KOMGA_ORDER = "metadata.titleSort,asc"
"""Without one, pages may overlap."""
STAY_THERE = "They stay on that server, and so do its collections and reading lists."
_TOO_MANY = f"The server has more than {_PAGE * _MOST_PAGES:,} series."


class BookToWrite(msgspec.Struct, frozen=True, kw_only=True):
    """A chapter of such a server."""

    url: str
    name: str
    number: float
    order: int
    is_read: bool
    page: int
    opened_at: int | None
    published_at: int | None = None


# -- Komga


async def read_komga(
    calls: ServerCalls, login: ServerLogin, parsers: Parsers, now: Millis
) -> AsyncIterator[ForeignLines]:
    """Every series of every library that the person sees, with how far they read."""
    headers = basic(login)
    for page in range(_MOST_PAGES):
        body = await calls.get("/api/v1/series", headers, page=page, size=_PAGE, sort=_KOMGA_ORDER, deleted="false")
        found = await parsers.run(komga_page, (body,))
        if not found:
            return
        for id_, series in found:
            books = await calls.get(f"/api/v1/series/{id_}/books", headers, unpaged="true", deleted="false")
            yield await parsers.run(komga_lines, (series, books, calls.base, now))
    raise TooLarge(_TOO_MANY)


def komga_page(body: bytes) -> list[tuple[str, bytes]]:
    """The series of a page, each with its id."""
    rows = _rows(decoded(body, Any), "content")[:_MOST_OF_PAGE]
    return [(str(one["id"]), msgspec.json.encode(one)) for one in rows if _ID.fullmatch(str(one.get("id", "")))]


def komga_lines(series: bytes, books: bytes, base: str, now: int) -> ForeignLines:
    """A series with the list of its books."""
    written = _komga_series(decoded(series, Any), _rows(decoded(books, Any), "content"), base)
    return _lines(written, KOMGA_UID, "Komga", now)


def _komga_series(one: Mapping[str, Any], books: list[dict[str, Any]], base: str) -> bytes:
    about = _dict(one.get("metadata"))
    chapters = [_komga_book(book, base, len(books) - 1 - place) for place, book in enumerate(books)]
    out = [number_field(1, KOMGA_UID), text_field(2, f"{base}/api/v1/series/{one['id']}")]
    out += [
        text_field(3, str(about.get("title") or one.get("name") or "?")),
        text_field(6, str(about.get("summary") or "")),
    ]
    out += [text_field(7, str(genre)) for genre in about.get("genres") or ()]
    out += [number_field(8, _KOMGA_STATES.get(str(about.get("status")), 0))]
    out += [number_field(13, moment_of(str(one.get("created") or "")) or 0)]
    return _message(out, chapters)


def _komga_book(book: Mapping[str, Any], base: str, order: int) -> BookToWrite:
    about, progress = _dict(book.get("metadata")), _dict(book.get("readProgress"))
    return BookToWrite(
        url=f"{base}/api/v1/books/{book.get('id')}",
        name=str(about.get("title") or book.get("name") or "?"),
        number=_number(about.get("numberSort", book.get("number"))),
        order=order,
        is_read=progress.get("completed") is True,
        page=max(0, _whole(progress.get("page")) - 1),  # Komga counts from 1
        opened_at=moment_of(str(progress.get("readDate") or "")),
        published_at=moment_of(str(about.get("releaseDate") or "")),
    )


# -- Kavita


async def read_kavita(
    calls: ServerCalls, login: ServerLogin, parsers: Parsers, now: Millis
) -> AsyncIterator[ForeignLines]:
    """Read the server with the API key of a person's account."""
    signed = await calls.post("/api/Plugin/authenticate", {}, {}, apiKey=login.password, pluginName="Tsuzuki")
    headers = {"authorization": f"Bearer {await parsers.run(kavita_token, (signed,))}"}
    wanted = {"statements": [], "combination": 1, "limitTo": 0, "sortOptions": {"isAscending": True, "sortField": 1}}
    for page in range(1, _MOST_PAGES + 1):
        body = await calls.post("/api/Series/all-v2", headers, wanted, PageNumber=page, PageSize=_PAGE)
        found = await parsers.run(kavita_page, (body,))
        if not found:
            return
        for id_, series in found:
            detail = await calls.get("/api/Series/series-detail", headers, seriesId=id_)
            yield await parsers.run(kavita_lines, (series, detail, calls.base, now))
        if len(found) < _PAGE:
            return
    raise TooLarge(_TOO_MANY)


def kavita_token(body: bytes) -> str:
    """What the key is exchanged for."""
    return str(_dict(decoded(body, Any)).get("token") or "")


def kavita_page(body: bytes) -> list[tuple[int, bytes]]:
    """The series of a page, each with its id."""
    rows = _rows(decoded(body, Any), "")[:_MOST_OF_PAGE]
    return [(_whole(one.get("id")), msgspec.json.encode(one)) for one in rows]


def kavita_lines(series: bytes, detail: bytes, base: str, now: int) -> ForeignLines:
    """A series with its chapters."""
    return _lines(_kavita_series(decoded(series, Any), _dict(decoded(detail, Any)), base), KAVITA_UID, "Kavita", now)


def _kavita_series(one: Mapping[str, Any], detail: Mapping[str, Any], base: str) -> bytes:
    found: dict[int, dict[str, Any]] = {}
    for volume in _rows(detail, "volumes"):
        for chapter in _rows(volume, "chapters"):
            found.setdefault(_whole(chapter.get("id")), chapter | {"volume": volume.get("name")})
    for name in ("chapters", "storylineChapters", "specials"):
        for chapter in _rows(detail, name):
            found.setdefault(_whole(chapter.get("id")), chapter)
    chapters = [_kavita_chapter(each, base, len(found) - 1 - place) for place, each in enumerate(found.values())]
    out = [number_field(1, KAVITA_UID), text_field(2, f"{base}/api/Series/{_whole(one.get('id'))}")]
    out += [text_field(3, str(one.get("name") or "?")), number_field(13, moment_of(str(one.get("created") or "")) or 0)]
    return _message(out, chapters)


def _kavita_chapter(one: Mapping[str, Any], base: str, order: int) -> BookToWrite:
    pages, read = _whole(one.get("pages")), _whole(one.get("pagesRead"))
    number = _number(one.get("minNumber", one.get("number")))
    name = str(one.get("titleName") or one.get("title") or "")
    if number <= _LOOSE and one.get("volume"):
        name = f"Volume {one['volume']}"
    is_numbered = number > _LOOSE and one.get("isSpecial") is not True
    is_read = read >= pages > 0
    return BookToWrite(
        url=f"{base}/api/Chapter?chapterId={_whole(one.get('id'))}",
        name=name or (f"Chapter {one.get('range') or one.get('number')}" if is_numbered else "?"),
        number=number if is_numbered else _UNKNOWN_NUMBER,
        order=order,
        is_read=is_read,
        page=0 if is_read else read,
        opened_at=moment_of(str(one.get("lastReadingProgressUtc") or "")) if read else None,
    )


# -- both


def _message(out: list[bytes], chapters: list[BookToWrite]) -> bytes:
    for one in chapters:
        fields = [text_field(1, one.url), text_field(2, one.name), number_field(4, int(one.is_read))]
        fields += [number_field(6, one.page), number_field(8, one.published_at or 0)]
        fields += [decimal_field(9, one.number), number_field(10, one.order)]
        out.append(bytes_field(16, b"".join(fields)))
        if one.opened_at is not None:
            out.append(bytes_field(104, text_field(1, one.url) + number_field(2, one.opened_at)))
    return b"".join(out)


def _lines(series: bytes, uid: int, name: str, now: int) -> ForeignLines:
    lines = read_series([series], [SeriesPlaces()], BackupContext({}, {uid: name}, now))
    left = [LeftOut("files", len(lines.chapters), STAY_THERE)] if lines.chapters else []
    return msgspec.structs.replace(lines, unlinked=[UnlinkedSource(name, 1)], left_out=[*lines.left_out, *left])


def _rows(value: Any, name: str) -> list[dict[str, Any]]:
    found = value.get(name) if name and isinstance(value, dict) else value
    return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _whole(value: Any) -> int:
    return int(value) if isinstance(value, int | float) and abs(value) < 2**53 else 0


def _number(value: Any) -> float:
    """Whatever a server calls a number."""
    try:
        number = float(str(value))
    except ValueError:
        return _UNKNOWN_NUMBER
    return number if abs(number) < 10**7 else _UNKNOWN_NUMBER
