"""A folder of CBZ files and image folders as a source."""

from collections.abc import Iterable
from datetime import UTC, datetime
from decimal import Decimal
from typing import Annotated
from urllib.parse import parse_qsl, quote, unquote, urlencode

import msgspec
from msgspec import Meta

from tsuzuki.connectors.chapter_names import newest_first, read_name, without_restarts
from tsuzuki.connectors.config import SourceConfig
from tsuzuki.connectors.filters import FilterValue
from tsuzuki.connectors.protocol import Abilities, Connector, ConnectorInfo, Visit
from tsuzuki.model.documents import name_md5
from tsuzuki.model.errors import Invalid, ShapeChanged, SourceError
from tsuzuki.model.harvest import FoundChapter, FoundPage, FoundSeries, SeriesDetails, SeriesPage
from tsuzuki.model.numbers import parse_number
from tsuzuki.model.requests import DigestFile, FileEntry, Parse, ReadArchive, ReadFile, ReadFolder
from tsuzuki.model.text import natural
from tsuzuki.model.times import Millis, from_datetime

SCHEME = "local:"
IMAGES = (".jpg", ".jpeg", ".png", ".webp", ".gif", ".avif", ".jxl")
ARCHIVES = (".cbz", ".zip")
COVERS = ("cover", "folder", "poster", "thumbnail")
_HIDDEN = ("__MACOSX", "@eaDir")


def is_image(name: str) -> bool:
    """A page by its name; hidden files and what some systems strew about are none."""
    return name.lower().endswith(IMAGES) and not is_hidden(name)


def is_archive(name: str) -> bool:
    """A chapter in one file."""
    return name.lower().endswith(ARCHIVES) and not is_hidden(name)


def is_hidden(name: str) -> bool:
    """Any part of the path begins with a dot, or is known rubbish."""
    return any(part.startswith(".") or part in _HIDDEN for part in name.split("/"))


def stem(name: str) -> str:
    """The last part of a path without the ending of a page or archive."""
    last = name.rpartition("/")[2]
    return last[: last.rindex(".")] if last.lower().endswith((*IMAGES, *ARCHIVES)) else last


def address(path: str, entry: str | None = None) -> str:
    """`local:Series/Chapter%201.cbz?entry=001.jpg`: never an address that is fetched."""
    query = f"?{urlencode({'entry': entry}, quote_via=quote)}" if entry is not None else ""
    return f"{SCHEME}{quote(path)}{query}"


def parts(url: str) -> tuple[str, str | None]:
    """Path and entry of an address of ours, or `Invalid`. Whether it is below the root, the reader checks."""
    if not url.startswith(SCHEME):
        raise Invalid(f"{url[:200]!r} is not an address of a local file.")
    path, _, query = url.removeprefix(SCHEME).partition("?")
    return unquote(path), dict(parse_qsl(query)).get("entry")


MAX_BYTES = 256 * 1024
MAX_TEXT = 10_000
FIRST_YEAR = 1800


class ComicInfo(msgspec.Struct, frozen=True, kw_only=True):
    """What it says; None where it does not."""

    title: str | None = None
    series: str | None = None
    number: Decimal | None = None
    volume: Decimal | None = None
    summary: str | None = None
    writer: str | None = None
    artist: str | None = None
    genres: tuple[str, ...] = ()
    language: str | None = None
    translator: str | None = None
    web: str | None = None
    year: int | None = None
    month: int | None = None
    day: int | None = None
    is_nsfw: bool = False


def read_comic_info(data: bytes) -> ComicInfo:
    """What the file says; nothing at all when it is too large, has a DTD or is not readable (SEC-19, SEC-20)."""
    if len(data) > MAX_BYTES or b"<!DOCTYPE" in data or b"<!ENTITY" in data:
        return ComicInfo()
    from lxml import etree

    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False, recover=False)
    try:
        root = etree.fromstring(data, parser)
    except (etree.XMLSyntaxError, ValueError):
        return ComicInfo()
    if root is None or root.getroottree().docinfo.internalDTD is not None:  # UTF-16 hides a DTD from the search above
        return ComicInfo()
    elements = [child for child in root if isinstance(child.tag, str)]
    return _read({etree.QName(child).localname: (child.text or "").strip()[:MAX_TEXT] for child in elements})


def _read(texts: dict[str, str]) -> ComicInfo:
    volume, web = parse_number(texts.get("Volume")), texts.get("Web", "").split(" ", maxsplit=1)[0]
    genres = [genre.strip() for name in ("Genre", "Tags") for genre in texts.get(name, "").split(",")]
    return ComicInfo(
        title=texts.get("Title") or None,
        series=texts.get("Series") or None,
        number=parse_number(texts.get("Number")),
        # Western comics write the year in which the series began there, which is no volume.
        volume=None if volume is not None and volume >= FIRST_YEAR else volume,
        summary=texts.get("Summary") or None,
        writer=texts.get("Writer") or None,
        artist=texts.get("Penciller") or None,
        genres=tuple(dict.fromkeys(genre for genre in genres if genre)),
        language=texts.get("LanguageISO") or None,
        translator=texts.get("Translator") or texts.get("ScanInformation") or None,
        web=web if web.startswith(("https://", "http://")) else None,
        year=_whole(texts.get("Year"), FIRST_YEAR, 9999),
        month=_whole(texts.get("Month"), 1, 12),
        day=_whole(texts.get("Day"), 1, 31),
        is_nsfw=texts.get("AgeRating", "") in {"Adults Only 18+", "X18+", "R18+", "Mature 17+"},
    )


def _whole(text: str | None, low: int, high: int) -> int | None:
    number = int(text) if text and text.isascii() and text.isdigit() and len(text) <= 4 else None
    return number if number is not None and low <= number <= high else None


LIST_SIZE = 50
IMAGE_CAP = 64 * 1024 * 1024
INFO_FILE = "ComicInfo.xml"


class LocalConfig(SourceConfig, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`folder` is the root on the server's disk; nothing outside of it is ever read."""

    folder: Annotated[str, Meta(min_length=1, max_length=4000, pattern=r"^/[^\x00]*\Z")]


class LocalFolder(Connector):
    """Reads folders and archives; there is nothing to call."""

    info = ConnectorInfo(
        id="tsuzuki.local",
        name="Local",
        languages=("all",),
        base_url="local:",
        uid_overrides={"all": 0},
        ratelimit=50.0,
        config=LocalConfig,
        abilities=Abilities(popular=True, latest=True, search=True, details=True, chapters=True, pages=True),
    )

    def popular(self, config: LocalConfig, page: int) -> Visit[SeriesPage]:
        """All series of the folder, by name."""
        series = yield from self._series()
        return _page_of(sorted(series, key=lambda entry: natural(entry.name)), page)

    def latest(self, config: LocalConfig, page: int) -> Visit[SeriesPage]:
        """By the time of the last change."""
        series = yield from self._series()
        return _page_of(sorted(series, key=lambda entry: entry.modified_at, reverse=True), page)

    def search(
        self, config: LocalConfig, page: int, *, text: str, filters: tuple[FilterValue, ...] = ()
    ) -> Visit[SeriesPage]:
        """Series with this in their names."""
        series = yield from self._series()
        fitting = [entry for entry in series if text.casefold().strip() in entry.name.casefold()]
        return _page_of(sorted(fitting, key=lambda entry: natural(entry.name)), page)

    def details(self, config: LocalConfig, series_url: str) -> Visit[SeriesDetails]:
        """By the ComicInfo.xml of the series' folder or first archive; the cover by its name, else the first page."""
        path, _ = parts(series_url)
        inside: tuple[FileEntry, ...] = () if is_archive(path) else (yield ReadFolder(path))
        archives = [f"{path}/{entry.name}" for entry in _sorted(inside) if is_archive(entry.name)]
        archives = [path] if is_archive(path) else archives
        info = yield from self._series_info(path, inside, archives)
        cover = yield from self._cover(path, inside)
        return SeriesDetails(
            title=info.series or stem(path),
            author=info.writer,
            artist=info.artist,
            description=info.summary,
            genres=info.genres,
            cover_url=cover,
            language=info.language,
            is_nsfw=info.is_nsfw,
            real_url=info.web,
        )

    def chapters(self, config: LocalConfig, series_url: str) -> Visit[tuple[FoundChapter, ...]]:
        """Every archive and every folder with images; what cannot be opened is listed as unreadable."""
        path, _ = parts(series_url)
        if is_archive(path):
            single = yield from self._chapter(FileEntry(path, is_folder=False, size=0, modified_at=Millis(0)), "")
            return () if single is None else (single,)
        inside: tuple[FileEntry, ...] = yield ReadFolder(path)
        found = []
        for entry in _sorted(inside):
            chapter = yield from self._chapter(_below(path, entry), path)
            found += [] if chapter is None else [chapter]
        if any(is_image(entry.name) for entry in inside) and not found:
            found = [_plain_chapter(path, stem(path), None)]
        return newest_first(without_restarts(tuple(found)))

    def pages(self, config: LocalConfig, chapter_url: str) -> Visit[tuple[FoundPage, ...]]:
        """The images of the archive or folder, in natural order."""
        path, _ = parts(chapter_url)
        inside: tuple[FileEntry, ...] = yield ReadArchive(path) if is_archive(path) else ReadFolder(path)
        names = [entry.name for entry in _sorted(inside) if not entry.is_folder and is_image(entry.name)]
        if not names:
            raise ShapeChanged(f"There are no images in {path}.")
        images = [address(path, name) if is_archive(path) else address(f"{path}/{name}") for name in names]
        return tuple(FoundPage(index, chapter_url, image) for index, image in enumerate(images))

    def image(self, config: LocalConfig, image_url: str) -> ReadFile:
        """The file or archive entry."""
        path, entry = parts(image_url)
        return ReadFile(path, entry, IMAGE_CAP)

    def _series(self) -> Visit[list[FileEntry]]:
        inside: tuple[FileEntry, ...] = yield ReadFolder("")
        return [entry for entry in inside if _holds_chapter(entry)]

    def _chapter(self, entry: FileEntry, series: str) -> Visit[FoundChapter | None]:
        """None for what is neither an archive nor a folder."""
        if not _holds_chapter(entry):
            return None
        try:
            inside: tuple[FileEntry, ...] = yield ReadFolder(entry.name) if entry.is_folder else ReadArchive(entry.name)
            info = yield from self._info(entry.name, inside)
        except SourceError:
            broken = _plain_chapter(entry.name, stem(entry.name), entry.modified_at or None, series=stem(series))
            return msgspec.structs.replace(broken, is_readable=False)
        count = sum(is_image(one.name) and not one.is_folder for one in inside)
        if not count:
            return None
        found = _chapter(entry, info, count, series=stem(series))
        if not entry.is_folder:
            documents = (yield DigestFile(entry.name)), name_md5(entry.name.rpartition("/")[2])
            found = msgspec.structs.replace(found, documents=documents)
        return found

    def _info(self, path: str, inside: Iterable[FileEntry]) -> Visit[ComicInfo]:
        found = next((entry for entry in inside if entry.name.lower() == INFO_FILE.lower()), None)
        if found is None or found.size > MAX_BYTES:
            return ComicInfo()
        name = f"{path}/{found.name}"
        file = ReadFile(path, found.name, MAX_BYTES) if is_archive(path) else ReadFile(name, None, MAX_BYTES)
        data: bytes = yield file
        info: ComicInfo = yield Parse(read_comic_info, (data,))
        return info

    def _series_info(self, path: str, inside: tuple[FileEntry, ...], archives: list[str]) -> Visit[ComicInfo]:
        info = (yield from self._info(path, inside)) if inside else ComicInfo()
        if info == ComicInfo() and archives:
            try:
                listed: tuple[FileEntry, ...] = yield ReadArchive(archives[0])
                info = yield from self._info(archives[0], listed)
            except SourceError:
                return info
        return info

    def _cover(self, path: str, inside: tuple[FileEntry, ...]) -> Visit[str | None]:
        """The one that is named so, else the first image of the series, else that of its first chapter."""
        images = [entry.name for entry in _sorted(inside) if is_image(entry.name) and not entry.is_folder]
        named = next((name for name in images if stem(name).lower() in COVERS), None)
        if named or images:
            return address(f"{path}/{named or images[0]}")
        chapters = [_below(path, entry).name for entry in _sorted(inside) if _holds_chapter(entry)]
        first = path if is_archive(path) else next(iter(chapters), None)
        if first is None:
            return None
        try:
            listed: tuple[FileEntry, ...] = yield ReadArchive(first) if is_archive(first) else ReadFolder(first)
        except SourceError:
            return None
        page = next((entry.name for entry in _sorted(listed) if is_image(entry.name) and not entry.is_folder), None)
        if page is None:
            return None
        return address(first, page) if is_archive(first) else address(f"{first}/{page}")


def _holds_chapter(entry: FileEntry) -> bool:
    return not is_hidden(entry.name) and (entry.is_folder or is_archive(entry.name))


def _page_of(entries: list[FileEntry], page: int) -> SeriesPage:
    shown = entries[(page - 1) * LIST_SIZE : page * LIST_SIZE]
    series = tuple(FoundSeries(key=entry.name, url=address(entry.name), title=stem(entry.name)) for entry in shown)
    return SeriesPage(series, has_next=len(entries) > page * LIST_SIZE)


def _sorted(entries: Iterable[FileEntry]) -> list[FileEntry]:
    return sorted(entries, key=lambda entry: natural(entry.name))


def _below(folder: str, entry: FileEntry) -> FileEntry:
    return msgspec.structs.replace(entry, name=f"{folder}/{entry.name}" if folder else entry.name)


def _plain_chapter(path: str, title: str, modified_at: Millis | None, *, series: str = "") -> FoundChapter:
    read = read_name(title, series)
    return FoundChapter(
        url=address(path), title=title, number=read.number, volume=read.volume, published_at=modified_at
    )


def _chapter(entry: FileEntry, info: ComicInfo, count: int, *, series: str) -> FoundChapter:
    plain = _plain_chapter(entry.name, info.title or stem(entry.name), None, series=series)
    named = read_name(stem(entry.name), series)
    return msgspec.structs.replace(
        plain,
        number=info.number if info.number is not None else named.number,
        volume=info.volume if info.volume is not None else named.volume,
        language=info.language,
        group=info.translator,
        published_at=_published(info) or entry.modified_at or None,
        page_count=count,
        real_url=info.web,
    )


def _published(info: ComicInfo) -> Millis | None:
    if info.year is None:
        return None
    try:
        return from_datetime(datetime(info.year, info.month or 1, info.day or 1, tzinfo=UTC))
    except ValueError:
        return None
