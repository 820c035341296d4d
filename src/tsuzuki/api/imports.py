"""Imports of files from other programs: shown first, imported then, undone as one thing."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal

import msgspec
from msgspec import Meta
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from tsuzuki.accounts.caller import Caller
from tsuzuki.accounts.types import Shelf
from tsuzuki.api.endpoints import Access, Body, declaring
from tsuzuki.api.ids import ImportPath, SyncedPath
from tsuzuki.api.views import Time, copied, view_of
from tsuzuki.http.body import read_upload
from tsuzuki.http.errors import BodyTooLarge
from tsuzuki.model.errors import Conflict, Invalid, NotFound, TooManyRequests, Unavailable
from tsuzuki.model.times import iso
from tsuzuki.transfer.imports.service import MOST_BYTES, Imports
from tsuzuki.transfer.imports.types import ImportAccount, ImportPreview, ImportStatus, ShelfImportRow
from tsuzuki.transfer.mihon.export import MihonExport
from tsuzuki.transfer.servers.kinds import ServerLogin
from tsuzuki.transfer.synced import SyncedBackup, SyncedBackups

FILE_TYPES = ("application/octet-stream", "multipart/form-data")


class LeftOutView(msgspec.Struct, frozen=True):
    """Something in a file that is not imported, how much of it, and why."""

    what: str
    count: int
    why: str


class ImportPreviewView(msgspec.Struct, frozen=True, kw_only=True):
    """What is in a file: how much of each kind, how much of it the shelf has, and series without a source here."""

    counts: Mapping[str, int]
    known: Mapping[str, int]
    unlinked: Mapping[str, int]
    unlinked_series: int
    left_out: Sequence[LeftOutView]


class ReportedPartView(msgspec.Struct, frozen=True):
    """What became of one kind of thing."""

    created: int
    existing: int
    left_out: int


class ImportAccountView(msgspec.Struct, frozen=True, kw_only=True):
    """What an import did, and why something was not taken; `more` is how many further notes there would be."""

    parts: Mapping[str, ReportedPartView]
    notes: Sequence[str]
    more: int


class ImportView(msgspec.Struct, frozen=True, kw_only=True):
    """An import. `done` and `total` say how far the part is that is being imported."""

    id: str
    name: str
    kind: str
    status: ImportStatus
    preview: ImportPreviewView
    report: ImportAccountView | None
    error: str | None
    part: str | None
    done: int
    total: int
    created_at: Time
    finished_at: Time | None


_view = view_of(ImportView, ShelfImportRow, "preview", "report")


def import_view(row: ShelfImportRow) -> ImportView:
    """An import as clients see it."""
    return _view(row, preview=_preview(row.preview), report=None if row.report is None else _account(row.report))


def _preview(preview: ImportPreview) -> ImportPreviewView:
    left = [LeftOutView(one.what, one.count, one.why) for one in preview.left_out]
    return copied(ImportPreviewView, preview, left_out=left)


def _account(report: ImportAccount) -> ImportAccountView:
    parts = {part: ReportedPartView(one.created, one.existing, one.left_out) for part, one in report.parts.items()}
    return copied(ImportAccountView, report, parts=parts)


class ServerBody(Body, frozen=True, kw_only=True):
    """A server to import from. The password, or API key, is used once and not stored."""

    kind: Literal["miniflux", "suwayomi", "komga", "kavita"]
    url: Annotated[str, Meta(min_length=1, max_length=2_000)]
    username: Annotated[str, Meta(max_length=500)] = ""
    password: Annotated[str, Meta(min_length=1, max_length=500)]


async def show_file(request: Request, caller: Caller, shelf: Shelf, imports: Imports) -> ImportView:
    """Takes a file and says what is in it. Nothing is imported yet."""
    with imports.turn(caller.user_id):
        upload = await read_upload(request, MOST_BYTES)
        return import_view(await imports.show(shelf.id, caller.user_id, upload.name or "?", upload.body))


async def show_server(caller: Caller, shelf: Shelf, body: ServerBody, imports: Imports) -> ImportView:
    """Asks another server what it has of its reader. Nothing is imported yet."""
    with imports.turn(caller.user_id):
        return import_view(await imports.show_server(shelf.id, caller.user_id, copied(ServerLogin, body)))


async def list_imports(shelf: Shelf, imports: Imports) -> list[ImportView]:
    """The newest imports of the shelf."""
    return [import_view(row) for row in await imports.list(shelf.id)]


async def get_import(import_id: ImportPath, shelf: Shelf, imports: Imports) -> ImportView:
    """One import: what is in it, how far it is, and what became of it."""
    return import_view(await imports.get(shelf.id, import_id))


async def start_import(import_id: ImportPath, shelf: Shelf, imports: Imports) -> ImportView:
    """Imports what was shown, or continues an import that failed."""
    return import_view(await imports.start(shelf.id, import_id))


async def undo_import(import_id: ImportPath, shelf: Shelf, imports: Imports) -> ImportView:
    """Removes what the import added and restores what was read before. What was read since stays."""
    return import_view(await imports.undo(shelf.id, import_id))


async def drop_import(import_id: ImportPath, shelf: Shelf, imports: Imports) -> None:
    """Forgets an import. What was imported stays, and can no longer be undone together."""
    await imports.drop(shelf.id, import_id)


async def export_backup(shelf: Shelf, export: MihonExport) -> Response:
    """The series of the shelf as a backup that Mihon restores (.tachibk)."""
    file = await export.write(shelf.id)
    headers = {"content-disposition": f'attachment; filename="{file.name}"'}
    return Response(file.body, headers=headers, media_type="application/octet-stream")


class SyncedBackupView(msgspec.Struct, frozen=True, kw_only=True):
    """A version of the library that devices share by SyncYomi. The current one is what they get."""

    id: int
    size: int
    created_at: Time
    is_current: bool


_synced_view = view_of(SyncedBackupView, SyncedBackup, "is_current")


async def list_synced(shelf: Shelf, synced: SyncedBackups) -> list[SyncedBackupView]:
    """The versions that are kept of what devices share by SyncYomi, the current one first."""
    return [_synced_view(each, is_current=place == 0) for place, each in enumerate(await synced.list(shelf.id))]


async def fetch_synced(synced_id: SyncedPath, shelf: Shelf, synced: SyncedBackups) -> Response:
    """The version as a device wrote it: a backup of Mihon's kind, not compressed."""
    found = await synced.get(shelf.id, synced_id)
    name = f"syncyomi_{iso(found.created_at)[:10]}_{found.id}.proto"
    headers = {"content-disposition": f'attachment; filename="{name}"', "content-length": str(found.size)}
    pieces = await synced.pieces(found)
    return StreamingResponse(pieces, headers=headers, media_type="application/octet-stream")


async def restore_synced(synced_id: SyncedPath, shelf: Shelf, synced: SyncedBackups) -> SyncedBackupView:
    """Makes the version the current one, as a new version. Devices get it when they synchronise next."""
    return _synced_view(await synced.restore(shelf.id, synced_id), is_current=True)


_read = declaring("imports", Access.READ)
_write = declaring("imports", Access.WRITE)
_ONE = "/imports/{import_id}"

ENDPOINTS = (
    _write(
        "POST",
        "/imports",
        show_file,
        "Show what is in a file",
        status=201,
        errors=(NotFound, Invalid, BodyTooLarge, TooManyRequests),
        consumes=FILE_TYPES,
    ),
    _write(
        "POST",
        "/imports/server",
        show_server,
        "Show what is on a server",
        status=201,
        errors=(NotFound, Invalid, TooManyRequests),
    ),
    _read("GET", "/imports", list_imports, "List imports", errors=(NotFound,)),
    _read("GET", _ONE, get_import, "Show an import", errors=(NotFound,)),
    _write("POST", f"{_ONE}/start", start_import, "Start an import", status=202, errors=(NotFound, Conflict)),
    _write("POST", f"{_ONE}/undo", undo_import, "Undo an import", status=202, errors=(NotFound, Conflict)),
    _write("DELETE", _ONE, drop_import, "Forget an import", errors=(NotFound, Conflict)),
    _read("GET", "/synced", list_synced, "List synchronised libraries", errors=(NotFound,)),
    _read(
        "GET",
        "/synced/{synced_id}/file",
        fetch_synced,
        "Fetch a synchronised library",
        errors=(NotFound, Unavailable),
    ),
    _write(
        "POST",
        "/synced/{synced_id}/restore",
        restore_synced,
        "Restore a synchronised library",
        status=201,
        errors=(NotFound, Unavailable),
    ),
    _read("GET", "/library/backup", export_backup, "Export the library for Mihon", errors=(NotFound,)),
)
