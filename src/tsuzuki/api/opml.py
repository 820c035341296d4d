"""OPML import and export of a shelf's feeds."""

from collections import Counter
from typing import Literal

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from tsuzuki.accounts.types import Shelf
from tsuzuki.api.endpoints import Access, declaring
from tsuzuki.api.views import view_of
from tsuzuki.connectors.opml import MAX_BYTES
from tsuzuki.http.body import first_file, read_body
from tsuzuki.http.errors import BodyTooLarge, failure_of
from tsuzuki.model.errors import Invalid, NotFound
from tsuzuki.transfer.opml import ImportedFeed, Lists

XML_TYPES = ("text/xml", "text/x-opml", "application/xml", "multipart/form-data")
_AROUND = 64 * 1024
"""What multipart may add to a list that is as large as it may be."""


class ImportedFeedView(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The result of one feed in the list."""

    line: int
    link: str
    outcome: Literal["created", "existing", "failed"]
    id: str | None = None
    error: str | None = None
    code: str | None = None


class ImportedView(msgspec.Struct, frozen=True):
    """The results of all feeds in the list."""

    created: int
    existing: int
    failed: int
    results: list[ImportedFeedView]


async def import_opml(request: Request, shelf: Shelf, lists: Lists) -> ImportedView:
    """Follows every feed in the list, with its groups. Feeds that the shelf already follows are not changed."""
    body = await read_body(request.scope, request.receive, MAX_BYTES + _AROUND)
    return imported_view(await lists.read(shelf.id, first_file(request.headers.get("content-type", ""), body)))


async def export_opml(shelf: Shelf, lists: Lists) -> Response:
    """The shelf's feeds as OPML 2.0."""
    headers = {"content-disposition": 'attachment; filename="tsuzuki.opml"'}
    return Response(await lists.write(shelf.id), headers=headers, media_type="text/x-opml; charset=utf-8")


def imported_view(report: list[ImportedFeed]) -> ImportedView:
    """The report as clients see it."""
    count = Counter(line.outcome for line in report)
    return ImportedView(count["created"], count["existing"], count["failed"], [_line(line) for line in report])


_line_view = view_of(ImportedFeedView, ImportedFeed, "error", "code")


def _line(line: ImportedFeed) -> ImportedFeedView:
    if line.error is None:
        return _line_view(line, error=None, code=None)
    body = failure_of(line.error, "").body
    return _line_view(line, error=body.error, code=body.code)


_read = declaring("feeds", Access.READ)
_write = declaring("feeds", Access.WRITE)
_ERRORS = (NotFound, Invalid, BodyTooLarge)

ENDPOINTS = (
    _write("POST", "/opml", import_opml, "Import feeds from OPML", errors=_ERRORS, consumes=XML_TYPES),
    _read("GET", "/opml", export_opml, "Export feeds as OPML", errors=(NotFound,)),
)
