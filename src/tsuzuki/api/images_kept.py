"""Chapters that a shelf keeps: on our disk, whatever becomes of their source."""

import msgspec

from tsuzuki.accounts.caller import Caller
from tsuzuki.accounts.current_user import CurrentUser
from tsuzuki.api import PREFIX
from tsuzuki.api.cursors import CursorQuery, listing
from tsuzuki.api.declaring import declaring
from tsuzuki.api.endpoints import Access
from tsuzuki.api.ids import Number, number_in_path
from tsuzuki.api.shelf import ShelfQuery
from tsuzuki.api.views import CursorMeta, ListAnswer, Time
from tsuzuki.catalogue.chapters import NO_CHAPTER
from tsuzuki.catalogue.images.kept import KeptChapters
from tsuzuki.catalogue.images.rows import CopyStatus, KeptChapter
from tsuzuki.model.errors import LimitExceeded, NotFound
from tsuzuki.model.ids import ReleaseId, show_id
from tsuzuki.model.times import iso


class DownloadView(msgspec.Struct, frozen=True, kw_only=True):
    """A chapter that is kept. `done` of `total` pages are here; `total` is null until its page list is known.

    `images` are the pages' addresses; they work also when `is_available` is false: its source is gone.
    """

    chapter_id: int
    series_id: str
    series_title: str
    number: str | None
    title: str
    language: str | None
    group: str | None
    status: CopyStatus
    done: int
    total: int | None
    bytes: int
    error: str | None
    is_available: bool
    created_at: Time
    images: list[str]


async def keep_chapter(
    *, kept_id: Number, query: ShelfQuery, caller: Caller, current_user: CurrentUser, kept: KeptChapters
) -> DownloadView:
    """Fetches every page and keeps it. Asked again, it says how far that is; after a failure it tries again."""
    shelf = await query.pick(caller, current_user)
    return _view(await kept.keep(shelf.id, _release(kept_id)))


async def show_download(
    *, kept_id: Number, query: ShelfQuery, caller: Caller, current_user: CurrentUser, kept: KeptChapters
) -> DownloadView:
    """How far it is."""
    shelf = await query.pick(caller, current_user)
    return _view(await kept.get(shelf.id, _release(kept_id)))


async def drop_download(
    *, kept_id: Number, query: ShelfQuery, caller: Caller, current_user: CurrentUser, kept: KeptChapters
) -> None:
    """The shelf keeps the chapter no more. What was read of it stays known."""
    shelf = await query.pick(caller, current_user)
    await kept.drop(shelf.id, _release(kept_id))


async def list_downloads(
    query: CursorQuery, caller: Caller, current_user: CurrentUser, kept: KeptChapters
) -> ListAnswer[DownloadView, CursorMeta]:
    """What the shelf keeps, the newest first."""
    shelf = await query.pick(caller, current_user)
    return listing(await kept.list(shelf.id, after=query.after, most=query.limit), _view)


def _release(text: str) -> ReleaseId:
    return ReleaseId(number_in_path(text, NO_CHAPTER))


def _view(kept: KeptChapter) -> DownloadView:
    base = f"{PREFIX}/chapters/{kept.release_id}/pages"
    return DownloadView(
        chapter_id=kept.release_id,
        series_id=show_id(kept.series_id),
        series_title=kept.series_title,
        number=kept.number,
        title=kept.title,
        language=kept.language,
        group=kept.group_name,
        status=kept.status,
        done=kept.done,
        total=kept.total,
        bytes=kept.bytes,
        error=kept.error,
        is_available=kept.is_available,
        created_at=iso(kept.created_at),
        images=[f"{base}/{position}/image" for position in range(kept.total or 0)],
    )


_read = declaring("downloads", Access.READ)
_write = declaring("downloads", Access.WRITE)
_PATH = "/chapters/{kept_id}/download"

ENDPOINTS = (
    _write("POST", _PATH, keep_chapter, "Keep a chapter", status=202, errors=(NotFound, LimitExceeded)),
    _read("GET", _PATH, show_download, "A kept chapter", errors=(NotFound,)),
    _write("DELETE", _PATH, drop_download, "Keep a chapter no more", errors=(NotFound,)),
    _read("GET", "/downloads", list_downloads, "Kept chapters", errors=(NotFound,)),
)
