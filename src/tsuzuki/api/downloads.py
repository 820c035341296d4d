"""Downloaded chapters: on our disk, whatever becomes of their source."""

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from tsuzuki.accounts.caller import Caller
from tsuzuki.accounts.types import Shelf
from tsuzuki.api import PREFIX
from tsuzuki.api.endpoints import Access, declaring
from tsuzuki.api.ids import ReleasePath
from tsuzuki.api.paging import CursorQuery, listing
from tsuzuki.api.views import CursorMeta, ListAnswer, Time, view_of
from tsuzuki.books.chapters import ChapterFiles
from tsuzuki.http.books import answer_chapter
from tsuzuki.images.downloads import CopyStatus, Download, Downloads
from tsuzuki.images.service import Images
from tsuzuki.model.errors import Conflict, LimitExceeded, NotFound, Unavailable


class DownloadView(msgspec.Struct, frozen=True, kw_only=True):
    """A downloaded chapter. `done` of `total` pages are downloaded; `total` is null until the page list is known.

    `images` are the addresses of the pages; they work even if `is_available` is false because the source is gone.
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


def _images(download: Download) -> list[str]:
    base = f"{PREFIX}/chapters/{download.release_id}/pages"
    return [f"{base}/{position}/image" for position in range(download.total or 0)]


_download_view = view_of(DownloadView, Download, chapter_id="release_id", group="group_name", images=_images)


async def keep_chapter(kept_id: ReleasePath, shelf: Shelf, downloads: Downloads) -> DownloadView:
    """Downloads every page and keeps it. Call it again to see the progress; after a failure it tries again."""
    return _download_view(await downloads.add(shelf.id, kept_id))


async def show_download(kept_id: ReleasePath, shelf: Shelf, downloads: Downloads) -> DownloadView:
    """The progress of a download."""
    return _download_view(await downloads.get(shelf.id, kept_id))


async def drop_download(kept_id: ReleasePath, shelf: Shelf, downloads: Downloads) -> None:
    """Removes the download from the shelf. Reading progress is kept."""
    await downloads.remove(shelf.id, kept_id)


async def list_downloads(
    query: CursorQuery, shelf: Shelf, downloads: Downloads
) -> ListAnswer[DownloadView, CursorMeta]:
    """The shelf's downloaded chapters, newest first."""
    return listing(await downloads.list(shelf.id, after=query.after, most=query.limit), _download_view)


async def fetch_chapter_file(
    *, release_id: ReleasePath, request: Request, caller: Caller, chapter_files: ChapterFiles, images: Images
) -> Response:
    """The chapter as a CBZ with a ComicInfo.xml: the same bytes each time for the same pages.

    A downloaded chapter is there at once; of another one, all pages are fetched first. Range requests work.
    """
    return await answer_chapter(request, chapter_files, images, release_id=release_id, user_id=caller.user_id)


_read = declaring("downloads", Access.READ)
_write = declaring("downloads", Access.WRITE)
_PATH = "/chapters/{kept_id}/download"

ENDPOINTS = (
    _write("POST", _PATH, keep_chapter, "Download a chapter", status=202, errors=(NotFound, LimitExceeded)),
    _read("GET", _PATH, show_download, "Show a download", errors=(NotFound,)),
    _write("DELETE", _PATH, drop_download, "Delete a download", errors=(NotFound,)),
    _read(
        "GET",
        "/chapters/{release_id}/file",
        fetch_chapter_file,
        "Fetch a chapter as a file",
        errors=(NotFound, Conflict, Unavailable),
    ),
    _read("GET", "/downloads", list_downloads, "List downloads", errors=(NotFound,)),
)
