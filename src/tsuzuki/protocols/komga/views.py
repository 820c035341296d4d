"""What Komga's clients are shown. What has no value is left out, so that all of it fits Komga's own schema."""

from typing import Any

from tsuzuki.books.comic_info import is_right_to_left
from tsuzuki.images.service import PagePicture
from tsuzuki.model.ids import show_id
from tsuzuki.model.times import Millis, iso
from tsuzuki.model.titles import beside_number, sort_title
from tsuzuki.protocols.content import UNTITLED, chapter_title
from tsuzuki.protocols.releases import NO_RELEASE, ReadableRelease
from tsuzuki.shelves.groups import Group
from tsuzuki.shelves.library import LibraryChapter, LibrarySeries, SeriesRow

Json = dict[str, Any]

ONGOING = "ONGOING"
STATUSES = {"ONGOING": (0, 1, 3), "ENDED": (2, 4), "ABANDONED": (5,), "HIATUS": (6,)}
"""Komga's words for what sources say."""

_DIRECTIONS = {"ltr": "LEFT_TO_RIGHT", "rtl": "RIGHT_TO_LEFT", "vertical": "VERTICAL", "webtoon": "WEBTOON"}

_LIBRARY_SWITCHES = (
    "importComicInfoBook",
    "importComicInfoSeries",
    "importComicInfoCollection",
    "importComicInfoReadList",
    "importComicInfoSeriesAppendVolume",
    "importEpubBook",
    "importEpubSeries",
    "importMylarSeries",
    "importLocalArtwork",
    "importBarcodeIsbn",
    "scanForceModifiedTime",
    "scanOnStartup",
    "scanCbx",
    "scanPdf",
    "scanEpub",
    "repairExtensions",
    "convertToCbz",
    "emptyTrashAfterScan",
    "hashFiles",
    "hashPages",
    "hashKoreader",
    "analyzeDimensions",
    "unavailable",
)


def when(moment: Millis) -> str:
    """A time with seconds and no fraction of them."""
    return f"{iso(moment)[:19]}Z"


def day(moment: Millis) -> str:
    """A date."""
    return iso(moment)[:10]


def _locks(*names: str) -> Json:
    """Nothing is locked: nothing is changed from here."""
    return {f"{name}Lock": False for name in names}


def library_view(library_id: str, name: str) -> Json:
    """A shelf."""
    return {
        "id": library_id,
        "name": name or UNTITLED,
        "root": "",
        "scanInterval": "DISABLED",
        "scanDirectoryExclusions": [],
        "seriesCover": "FIRST",
    } | dict.fromkeys(_LIBRARY_SWITCHES, False)


def collection_view(group: Group, series: list[str]) -> Json:
    """A group."""
    return {
        "id": show_id(group.public_id),
        "name": group.name,
        "ordered": False,
        "seriesIds": series,
        "createdDate": when(group.created_at),
        "lastModifiedDate": when(group.updated_at),
        "filtered": False,
    }


def series_view(series: LibrarySeries, library_id: str) -> Json:
    """A series."""
    row, counts = series.row, series.counts
    title = row.title or UNTITLED
    times = {"created": when(row.followed_at), "lastModified": when(row.last_chapter_at or row.followed_at)}
    makers = ((row.author, "writer"), (row.artist, "penciller"))
    released = {} if counts.published_at is None else {"releaseDate": day(counts.published_at)}
    metadata = {
        "status": next((word for word, numbers in STATUSES.items() if row.status in numbers), ONGOING),
        "title": title,
        "titleSort": sort_title(title),
        "summary": row.description or "",
        "readingDirection": _direction(row),
        "publisher": "",
        "language": row.language or "",
        "genres": series.genres,
        "tags": [],
        "sharingLabels": [],
        "links": [],
        "alternateTitles": [],
    }
    locks = _locks(*metadata, "ageRating", "totalBookCount")
    about = {"authors": [{"name": name, "role": role} for name, role in makers if name], "tags": [], "summary": ""}
    return {
        "id": show_id(row.public_id),
        "libraryId": library_id,
        "name": title,
        "url": "",
        **times,
        "fileLastModified": times["lastModified"],
        "booksCount": counts.chapters,
        "booksReadCount": counts.finished,
        "booksUnreadCount": counts.unread,
        "booksInProgressCount": counts.begun,
        "metadata": metadata | locks | times,
        "booksMetadata": about | released | {"summaryNumber": ""} | times,
        "deleted": False,
        "oneshot": False,
    }


def _direction(row: SeriesRow) -> str:
    """As its reader chose it, else as far as its language tells."""
    mode = row.preferences.mode or ("rtl" if is_right_to_left(row.language) else None)
    return "" if mode is None else _DIRECTIONS.get(mode, "")


def book_view(chapter: LibraryChapter, release: ReadableRelease | None, library_id: str) -> Json:
    """A chapter; its pages are those of the release that this shelf reads."""
    name = chapter_title(chapter.number, chapter.volume, chapter.title)
    pages = max(release.page_count, 0) if release is not None else 0
    group = release.group_name if release is not None else None
    kept = release.bytes if release is not None else 0
    created, changed = when(chapter.first_seen_at), when(max(chapter.updated_at, chapter.first_seen_at))
    released = chapter.published_at if chapter.published_at is not None else chapter.first_seen_at
    metadata = {
        "title": beside_number(chapter.title, chapter.number) or name,
        "summary": "",
        "number": chapter.number or chapter.volume or str(chapter.place),
        "numberSort": chapter.sort,
        "releaseDate": day(released),
        "authors": [{"name": group, "role": "translator"}] if group else [],
        "tags": [],
        "isbn": "",
        "links": [],
    }
    shown = {
        "id": str(chapter.id),
        "seriesId": show_id(chapter.series_public_id),
        "seriesTitle": chapter.series_title or UNTITLED,
        "libraryId": library_id,
        "name": name,
        "url": "",
        "number": chapter.place,
        "created": created,
        "lastModified": changed,
        "fileLastModified": when(released),
        "sizeBytes": kept,
        "size": f"{kept / 1024**2:.1f} MiB" if kept else f"{pages} pages" if pages else "",
        "media": {
            "status": "ERROR" if release is None else "READY",
            "mediaType": "application/zip",
            "pagesCount": pages,
            "comment": NO_RELEASE if release is None else "",
            "mediaProfile": "DIVINA",
            "epubDivinaCompatible": False,
            "epubIsKepub": False,
        },
        "metadata": metadata | _locks(*metadata) | {"created": created, "lastModified": changed},
        "deleted": False,
        "fileHash": "",
        "oneshot": False,
    }
    if chapter.state != "UNREAD":
        shown["readProgress"] = _progress(chapter, pages)
    return shown


def _progress(chapter: LibraryChapter, pages: int) -> Json:
    at = when(chapter.read_at or chapter.updated_at)
    is_read = chapter.state == "READ"
    return {
        "page": pages or chapter.page + 1 if is_read else chapter.page + 1,
        "completed": is_read,
        "readDate": at,
        "created": at,
        "lastModified": at,
        "deviceId": "",
        "deviceName": chapter.device or "",
    }


def page_view(number: int, picture: PagePicture) -> Json:
    """A page, numbered from 1."""
    extension = picture.media_type.rpartition("/")[2].replace("jpeg", "jpg")
    shown: Json = {"number": number, "fileName": f"{number:03}.{extension}", "mediaType": picture.media_type}
    if picture.bytes is not None:
        shown |= {"width": picture.width, "height": picture.height, "sizeBytes": picture.bytes}
    return shown | {"size": f"{picture.bytes / 1024:.1f} KiB" if picture.bytes is not None else ""}


_NULLABLE = {
    "sharedAllLibraries": ("ageRestriction",),
    "seriesCover": ("oneshotsDirectory",),
    "totalBookCountLock": ("ageRating", "totalBookCount"),
    "summaryNumber": ("releaseDate",),
    "releaseDateLock": ("releaseDate",),
    "seriesTitle": ("readProgress",),
    "fileName": ("width", "height", "sizeBytes"),
}
"""What may have no value, by a field that stands beside it in nothing else."""


def with_nulls(said: Any) -> Any:
    """The same, but what has no value is null."""
    if isinstance(said, list):
        return [with_nulls(each) for each in said]
    if not isinstance(said, dict):
        return said
    absent = (name for mark, names in _NULLABLE.items() if mark in said for name in names)
    return dict.fromkeys(absent) | {name: with_nulls(each) for name, each in said.items()}
