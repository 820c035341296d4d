"""How far a chapter was read, in both drafts of OPDS 2: that of Cantook, and OPDS Progression 1.0."""

from collections.abc import Callable
from typing import Any
from uuid import NAMESPACE_URL, uuid5

import msgspec
from starlette.responses import Response

from tsuzuki.model.errors import Conflict, Invalid
from tsuzuki.model.times import Millis, from_iso, iso
from tsuzuki.protocols.opds.chapters import last_page, opened_chapter
from tsuzuki.protocols.opds.json_feeds import PROGRESS_TYPE, PROGRESSION_TYPE, answer_json
from tsuzuki.protocols.opds.requests import SECOND, OpdsRequest
from tsuzuki.protocols.params import read_json
from tsuzuki.shelves.library import LibraryChapter
from tsuzuki.shelves.types import ReportedReading

LONGEST_DEVICE = 100
READ_ON = "Another device has read on since then."


class ReadingDevice(msgspec.Struct, frozen=True):
    """Who read it."""

    name: str = ""


class Locations(msgspec.Struct, frozen=True):
    """Where: by the page, counted from 1, or by the part of the whole."""

    position: int | None = None
    totalProgression: float | None = None  # noqa: N815  as it is sent


class Locator(msgspec.Struct, frozen=True):
    """A place in a publication."""

    locations: Locations


class CantookProgression(msgspec.Struct, frozen=True):
    """As Cantook sends it."""

    modified: str
    locator: Locator
    device: ReadingDevice = ReadingDevice()


class OpdsProgression(msgspec.Struct, frozen=True):
    """As OPDS Progression has it."""

    modified: str
    progression: float
    device: ReadingDevice = ReadingDevice()


async def show_progression(asked: OpdsRequest) -> Response:
    """The last page read, counted from 1; 204 if the chapter was not begun."""
    row, release = await opened_chapter(asked)
    return answer_progression(
        row, release.page_count, lambda page: f"{asked.base}{SECOND}/releases/{release.id}/pages/{page}"
    )


def answer_progression(row: LibraryChapter, count: int, href: Callable[[int], str]) -> Response:
    """As Cantook reads it; `href` is where a page is, counted from 0."""
    page = last_page(row, count)
    if page is None:
        return Response(status_code=204)
    locations = {"position": page + 1, "totalProgression": _part(page, count)}
    locator = {"href": href(page), "type": "image/jpeg", "locations": locations}
    return answer_json(_written(row) | {"locator": locator}, PROGRESSION_TYPE)


async def show_progress(asked: OpdsRequest) -> Response:
    """The part of the whole; 204 where nobody began."""
    row, release = await opened_chapter(asked)
    page = last_page(row, release.page_count)
    if page is None:
        return Response(status_code=204)
    return answer_json(_written(row) | {"progression": _part(page, release.page_count)}, PROGRESS_TYPE)


async def store_progression(asked: OpdsRequest) -> Response:
    """204; Conflict where something as new is known, so that the app fetches it."""
    body = await read_json(asked.request, CantookProgression)
    row, release = await opened_chapter(asked)
    reading, is_known = reading_of(body, row, release.page_count)
    await _store(asked, row, reading, is_known=is_known)
    return Response(status_code=204)


def reading_of(body: CantookProgression, row: LibraryChapter, count: int) -> tuple[ReportedReading, bool]:
    """The reported position, and whether one as new is known; Invalid for a place that the chapter does not have."""
    place = body.locator.locations
    page = place.position - 1 if place.position is not None else _page(place.totalProgression, count)
    if not 0 <= page < count:
        raise Invalid(f"position must be between 1 and {count}.")
    at = _moment(body.modified)
    return _reading(page, at, count, body.device), row.state != "UNREAD" and at <= (row.read_at or 0)


async def store_progress(asked: OpdsRequest) -> Response:
    """What is stored now; Conflict where something newer is known."""
    body = await read_json(asked.request, OpdsProgression)
    row, release = await opened_chapter(asked)
    page, at = _page(body.progression, release.page_count), _moment(body.modified)
    is_known = row.state != "UNREAD" and at < (row.read_at or 0)
    await _store(asked, row, _reading(page, at, release.page_count, body.device), is_known=is_known)
    return await show_progress(asked)


async def _store(asked: OpdsRequest, row: LibraryChapter, reading: ReportedReading, *, is_known: bool) -> None:
    asked.user.must_write()
    if is_known:
        raise Conflict(READ_ON)
    await asked.services.reading.progress.report(asked.shelf_id, row.series_public_id, row.id, reading)


def _reading(page: int, at: Millis, count: int, device: ReadingDevice) -> ReportedReading:
    name = device.name.strip()[:LONGEST_DEVICE] or "OPDS"
    return ReportedReading(page=page, at=at, device=name, page_count=count)


def _written(row: LibraryChapter) -> dict[str, Any]:
    name = row.device or "Tsuzuki"
    device = {"id": f"urn:uuid:{uuid5(NAMESPACE_URL, f'tsuzuki device {name}')}", "name": name}
    return {"modified": iso(row.read_at or Millis(0)), "device": device}


def _part(page: int, count: int) -> float:
    return round(page / (count - 1), 4) if count > 1 else 1.0


def _page(part: float | None, count: int) -> int:
    if part is None or not 0 <= part <= 1:
        raise Invalid("progression must be between 0 and 1.")
    return round(part * (count - 1))


def _moment(text: str) -> Millis:
    try:
        return from_iso(text)
    except ValueError:
        raise Invalid("modified must be a time such as 2026-01-01T08:30:00Z.") from None
