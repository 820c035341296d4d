"""MangaDex's API: its JSON types, and what we make of them."""

from collections.abc import Iterable
from decimal import Decimal
from typing import Any, TypeVar

import msgspec

from tsuzuki.connectors.chapter_names import newest_first, read_name
from tsuzuki.model.errors import ShapeChanged
from tsuzuki.model.harvest import FoundChapter, FoundSeries, SeriesDetails
from tsuzuki.model.numbers import parse_number
from tsuzuki.model.times import Millis, from_iso

Translated = dict[str, str] | list[Any]
"""Text by language. An empty map comes as an empty list."""


class Relationship(msgspec.Struct, frozen=True):
    """Another entity that this one points at; attributes only where `includes[]` asked for them."""

    id: str
    type: str
    attributes: dict[str, Any] | list[Any] | None = None

    def text(self, name: str) -> str | None:
        """One of its attributes, if it is a text that says something."""
        value = self.attributes.get(name) if isinstance(self.attributes, dict) else None
        return value if isinstance(value, str) and value else None


class TagAttributes(msgspec.Struct, frozen=True):
    name: Translated = {}


class Tag(msgspec.Struct, frozen=True):
    attributes: TagAttributes


class MangaAttributes(msgspec.Struct, frozen=True, rename="camel"):
    title: Translated = {}
    alt_titles: list[Translated] = []
    description: Translated = {}
    original_language: str | None = None
    publication_demographic: str | None = None
    status: str | None = None
    content_rating: str | None = None
    tags: list[Tag] = []


class MangaDexManga(msgspec.Struct, frozen=True):
    id: str
    attributes: MangaAttributes
    relationships: list[Relationship] = []


class ChapterAttributes(msgspec.Struct, frozen=True, rename="camel"):
    created_at: str
    title: str | None = None
    volume: str | None = None
    chapter: str | None = None
    pages: int = 0
    translated_language: str | None = None
    external_url: str | None = None
    is_unavailable: bool | None = None
    publish_at: str | None = None
    readable_at: str | None = None


class MangaDexChapter(msgspec.Struct, frozen=True):
    id: str
    attributes: ChapterAttributes
    relationships: list[Relationship] = []


class MangaAnswer(msgspec.Struct, frozen=True):
    data: MangaDexManga


class MangaList(msgspec.Struct, frozen=True):
    data: list[MangaDexManga]
    total: int


class ChapterList(msgspec.Struct, frozen=True):
    data: list[MangaDexChapter]
    total: int


class AtHomeChapter(msgspec.Struct, frozen=True, rename="camel"):
    hash: str
    data: list[str] = []
    data_saver: list[str] = []


class AtHome(msgspec.Struct, frozen=True, rename="camel"):
    base_url: str
    chapter: AtHomeChapter


class ApiError(msgspec.Struct, frozen=True):
    title: str | None = None
    detail: str | None = None


class ErrorAnswer(msgspec.Struct, frozen=True):
    errors: list[ApiError] = []


T = TypeVar("T")


def read_manga(body: bytes) -> MangaAnswer:
    """One series."""
    return _read(body, MangaAnswer)


def read_manga_list(body: bytes) -> MangaList:
    """A page of series."""
    return _read(body, MangaList)


def read_chapter_list(body: bytes) -> ChapterList:
    """A page of chapters."""
    return _read(body, ChapterList)


def read_at_home(body: bytes) -> AtHome:
    """Where the images of a chapter are."""
    return _read(body, AtHome)


def read_error(body: bytes) -> str:
    """What an error answer says, as far as it says anything."""
    try:
        errors = msgspec.json.decode(body, type=ErrorAnswer).errors
    except (msgspec.DecodeError, RecursionError):
        return "no reason given"
    return next((text for error in errors if (text := error.detail or error.title)), "no reason given")


def _read(body: bytes, shape: type[T]) -> T:
    try:
        return msgspec.json.decode(body, type=shape)
    except (msgspec.DecodeError, RecursionError) as error:
        raise ShapeChanged(f"MangaDex sent an unexpected answer: {error}") from error


def text_in(text: Translated, *languages: str | None) -> str | None:
    """The text in the first of the languages that has one, else in any."""
    if not isinstance(text, dict):
        return None
    return next((found for language in languages if language and (found := text.get(language))), None) or next(
        iter(text.values()), None
    )


SITE = "https://mangadex.org"
UPLOADS = "https://uploads.mangadex.org"
NO_GROUP = "00e03853-1b96-4f41-9542-c71b8692033b"
"""The group that stood for none in the first version of the site."""
STATUSES = {"ongoing": 1, "completed": 2, "cancelled": 5, "hiatus": 6}
NSFW_RATINGS = frozenset({"erotica", "pornographic"})


def series_of(manga: MangaDexManga, language: str) -> FoundSeries:
    """A series as lists show it."""
    return FoundSeries(
        key=manga.id,
        url=f"{SITE}/title/{manga.id}",
        title=_title(manga, language),
        cover_url=_cover(manga, size=".256.jpg"),
    )


def details_of(manga: MangaDexManga, language: str) -> SeriesDetails:
    """Everything; creators by name, tags in English, as the site has them."""
    attributes = manga.attributes
    title = _title(manga, language)
    others = [text for alternative in attributes.alt_titles if (text := text_in(alternative))]
    tags = [name for tag in attributes.tags if (name := text_in(tag.attributes.name, "en"))]
    demographic = attributes.publication_demographic
    return SeriesDetails(
        title=title,
        alt_titles=tuple(dict.fromkeys(text for text in others if text != title)),
        author=_names(manga, "author"),
        artist=_names(manga, "artist"),
        description=text_in(attributes.description, language, "en"),
        genres=tuple([demographic.capitalize(), *tags] if demographic else tags),
        status=STATUSES.get(attributes.status or "", 0),
        cover_url=_cover(manga, size=".512.jpg"),
        language=language,
        is_nsfw=attributes.content_rating in NSFW_RATINGS,
        real_url=f"{SITE}/title/{manga.id}",
    )


def chapter_of(chapter: MangaDexChapter) -> FoundChapter:
    """One release. One that only links elsewhere, or was taken down, is listed and not readable here."""
    attributes = chapter.attributes
    # Some chapters have both pages and a link to their publisher.
    is_elsewhere = bool(attributes.external_url) and attributes.pages == 0
    return FoundChapter(
        url=f"{SITE}/chapter/{chapter.id}",
        title=(attributes.title or "").strip()
        or (f"Chapter {attributes.chapter}" if attributes.chapter else "Oneshot"),
        source_key=chapter.id,
        number=_number(attributes.chapter),
        volume=_number(attributes.volume),
        language=attributes.translated_language,
        group=_group(chapter.relationships),
        # `publishAt` may lie years ahead, for chapters of publishers.
        published_at=_moment(attributes.readable_at) or _moment(attributes.publish_at),
        page_count=attributes.pages or None,
        real_url=attributes.external_url if is_elsewhere else None,
        is_readable=not is_elsewhere and not attributes.is_unavailable,
    )


def releases_of(chapters: Iterable[MangaDexChapter]) -> tuple[FoundChapter, ...]:
    """By number as the site does, then by time, newest first."""
    return newest_first(sorted(map(chapter_of, chapters), key=lambda found: found.published_at or 0))


def _title(manga: MangaDexManga, language: str) -> str:
    original = manga.attributes.original_language
    romanised = f"{original}-ro" if original else None  # as the site marks romanised titles
    return text_in(manga.attributes.title, language, "en", romanised, original) or manga.id


def _cover(manga: MangaDexManga, size: str) -> str | None:
    for link in manga.relationships:
        file_name = link.text("fileName") if link.type == "cover_art" else None
        if file_name and "/" not in file_name:
            return f"{UPLOADS}/covers/{manga.id}/{file_name}{size}"
    return None


def _names(manga: MangaDexManga, kind: str) -> str | None:
    return ", ".join(name for link in manga.relationships if link.type == kind and (name := link.text("name"))) or None


def _group(relationships: list[Relationship]) -> str | None:
    """The groups that are to be credited; the uploader where there is none."""
    groups = [link for link in relationships if link.type == "scanlation_group" and link.id != NO_GROUP]
    names = sorted(link.text("name") or link.id for link in groups)
    uploader = next((link.text("username") for link in relationships if link.type == "user"), None)
    return " & ".join(names) or uploader


def _number(text: str | None) -> Decimal | None:
    """As the site gives it; people also type "10a" or "12-13" there."""
    if not text:
        return None
    number = parse_number(text)
    return read_name(f"ch. {text}").number if number is None and text[0].isdigit() else number


def _moment(text: str | None) -> Millis | None:
    try:
        return from_iso(text) if text else None
    except (ValueError, OverflowError):
        return None
