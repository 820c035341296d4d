"""From MangaDex's entities to what was found."""

from collections.abc import Iterable
from decimal import Decimal

from tsuzuki.connectors.chapter_names import newest_first, read_name
from tsuzuki.connectors.mangadex.shapes import MangaDexChapter, MangaDexManga, Relationship, text_in
from tsuzuki.model.harvest import FoundChapter, FoundSeries, SeriesDetails
from tsuzuki.model.numbers import parse_number
from tsuzuki.model.times import Millis, from_iso

SITE = "https://mangadex.org"
UPLOADS = "https://uploads.mangadex.org"
NO_GROUP = "00e03853-1b96-4f41-9542-c71b8692033b"
"""The group that stood for none in the first version of the site."""
STATUSES = {"ongoing": 1, "completed": 2, "cancelled": 5, "hiatus": 6}
NSFW_RATINGS = frozenset({"erotica", "pornographic"})


def series_of(manga: MangaDexManga, language: str) -> FoundSeries:
    """As a list shows it."""
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
    number = _number(attributes.chapter)
    is_elsewhere = bool(attributes.external_url) and attributes.pages == 0
    return FoundChapter(
        url=f"{SITE}/chapter/{chapter.id}",
        title=(attributes.title or "").strip()
        or (f"Chapter {attributes.chapter}" if attributes.chapter else "Oneshot"),
        source_key=chapter.id,
        number=number,
        volume=_number(attributes.volume),
        language=attributes.translated_language,
        group=_group(chapter.relationships),
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
    romanised = f"{original}-ro" if original else None
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
