"""What the MangaDex API sends. Only what we read is named; anything else may come and go.

Each answer has a function that reads it in a parser process, or raises `ShapeChanged` with the place that did not fit.
"""

from typing import Any, TypeVar

import msgspec

from tsuzuki.model.errors import ShapeChanged

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
    limit: int = 0
    offset: int = 0


class ChapterList(msgspec.Struct, frozen=True):
    data: list[MangaDexChapter]
    total: int
    limit: int = 0
    offset: int = 0


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
        raise ShapeChanged(f"MangaDex sent something else than expected: {error}") from error


def text_in(text: Translated, *languages: str | None) -> str | None:
    """The text in the first of the languages that has one, else in any."""
    if not isinstance(text, dict):
        return None
    return next((found for language in languages if language and (found := text.get(language))), None) or next(
        iter(text.values()), None
    )
