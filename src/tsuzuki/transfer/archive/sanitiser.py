"""Sanitises lines of an archive, which is as untrusted as the web (I7): the clean line, or why there is none."""

from collections.abc import Callable
from typing import Any, TypeVar
from urllib.parse import unquote, urlsplit

import msgspec

from tsuzuki.connectors.html.addresses import http_url
from tsuzuki.connectors.html.sanitiser import Sanitiser
from tsuzuki.db.fulltext import NO_WORDS, IndexWords, split_words
from tsuzuki.db.queries import Engine
from tsuzuki.model.errors import Invalid
from tsuzuki.model.numbers import number_key, parse_number
from tsuzuki.model.secrets import Unreadable
from tsuzuki.transfer.archive.format import (
    PARTS,
    ArchivedChapter,
    ArchivedRelease,
    ArchivedSeries,
    ArchiveLine,
    BookmarkLine,
    FeedLine,
    ItemLine,
    SeriesSource,
)

MAX_KEY = 2_000
"""Bytes that fit into an index of either engine."""

LOCAL = "local:"


L = TypeVar("L", bound=ArchiveLine)
IsSecret = Callable[[str], bool]


class CleanLine(msgspec.Struct, frozen=True):
    """A line as it may be stored, as msgpack; or why it may not."""

    line: bytes = b""
    words: IndexWords = NO_WORDS
    """The words for the search index."""
    why: str | None = None


def clean_lines(lines: list[bytes], part: str, engine: Engine) -> list[CleanLine]:
    """Lines of this part, each as msgpack. Runs in a parser process."""
    cleaner = Cleaner()
    return [_cleaned(cleaner, msgspec.msgpack.decode(line, type=PARTS[part]), engine) for line in lines]


def _cleaned(cleaner: "Cleaner", line: ArchiveLine, engine: Engine) -> CleanLine:
    try:
        clean = cleaner.clean(line)
    except Invalid as error:
        return CleanLine(why=str(error))
    words = split_words(engine, [(clean.title, clean.content)])[0] if isinstance(clean, ItemLine) else NO_WORDS
    return CleanLine(msgspec.msgpack.encode(clean), words)


class Cleaner:
    """Cleans lines; Invalid for one that cannot be stored."""

    def __init__(self) -> None:
        self._sanitiser = Sanitiser()

    def clean(self, line: Any) -> Any:
        """The line as it may be stored."""
        if isinstance(line, FeedLine):
            return self._feed(line)
        if isinstance(line, ItemLine):
            return self._item(line)
        if isinstance(line, ArchivedSeries):
            return self._series(line)
        if isinstance(line, ArchivedChapter):
            return self._chapter(line)
        if isinstance(line, BookmarkLine):
            return self._bookmark(line)
        key = getattr(line, "key", None)
        if isinstance(key, str):
            _fitting(key)
        return line

    def _feed(self, feed: FeedLine) -> FeedLine:
        return _with_addresses(feed, "site_url", "icon_url", "hub_url", "own_site_url")

    def _item(self, item: ItemLine) -> ItemLine:
        _fitting(item.key)
        link = http_url(item.link)
        base = link or item.feed.link
        full_text = item.full_text
        if full_text is not None:
            content = self._sanitiser.sanitise(full_text.content, base)
            full_text = msgspec.structs.replace(full_text, content=content)
        cleaned = msgspec.structs.replace(
            item,
            link=link,
            content=self._sanitiser.sanitise(item.content, base),
            # An address that would have to be changed was not written by an export of ours.
            enclosures=tuple(each for each in item.enclosures if http_url(each.url) == each.url),
            page_urls=tuple(each for each in item.page_urls if http_url(each) == each),
            full_text=full_text,
        )
        return _with_addresses(cleaned, "image_url", "comments_url")

    def _series(self, series: ArchivedSeries) -> ArchivedSeries:
        _fitting(series.key)
        sources = tuple(_series_source(each) for each in series.sources if _is_place(each.url))
        return msgspec.structs.replace(series, sources=sources, cover_url=_place(series.cover_url))

    def _chapter(self, chapter: ArchivedChapter) -> ArchivedChapter:
        """R2: a number is exact, and is the key of its chapter (R3)."""
        _fitting(chapter.key)
        number = parse_number(chapter.number)
        if (number is None) != (chapter.number is None) or (number is not None and number_key(number) != chapter.key):
            raise Invalid(f"{chapter.number!r} is not the number of the chapter {chapter.key!r}.")
        volume = parse_number(chapter.volume)
        return msgspec.structs.replace(
            chapter,
            number=None if number is None else number_key(number),
            volume=None if volume is None else number_key(volume),
            releases=tuple(_release(each) for each in chapter.releases if _is_place(each.url)),
        )

    def _bookmark(self, mark: BookmarkLine) -> BookmarkLine:
        link = http_url(mark.link) or ""
        base = link or (mark.feed.link if mark.feed else "")
        content = self._sanitiser.sanitise(mark.content, base)
        return msgspec.structs.replace(mark, link=link, content=content)


def _series_source(mapping: SeriesSource) -> SeriesSource:
    _fitting(mapping.key)
    return msgspec.structs.replace(mapping, cover_url=_place(mapping.cover_url), real_url=http_url(mapping.real_url))


def _release(release: ArchivedRelease) -> ArchivedRelease:
    _fitting(release.key)
    return _with_addresses(release, "real_url")


def _with_addresses(line: L, *names: str) -> L:
    """Keep only web addresses in these fields."""
    return msgspec.structs.replace(line, **{name: http_url(getattr(line, name)) for name in names})


def _place(url: str | None) -> str | None:
    return url if url and _is_place(url) else None


def _is_place(url: str) -> bool:
    """Whether a connector may have given this address: of the web, relative to its base, or in a folder."""
    if url.startswith(LOCAL):
        # Also on Windows, and when it is escaped.
        return ".." not in unquote(url.removeprefix(LOCAL)).replace("\\", "/").split("/")
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return parts.scheme == "" or http_url(url) == url


def _fitting(key: str) -> None:
    if len(key.encode()) > MAX_KEY:
        raise Invalid(f"its key is longer than {MAX_KEY:,} bytes.")


def without_secrets(value: Any, *, is_secret: IsSecret, place: str = "") -> tuple[Any, list[str]]:
    """A config without what `is_secret` says of its names, and without passwords in addresses; and where they were."""
    if isinstance(value, dict):
        return _dict_without(value, is_secret, place)
    if isinstance(value, list):
        pairs = [without_secrets(each, is_secret=is_secret, place=f"{place}[{n}]") for n, each in enumerate(value)]
        return [each for each, _ in pairs], [found for _, lacks in pairs for found in lacks]
    if isinstance(value, str):
        bare = without_password(value)
        return bare, [place] if bare != value else []
    return value, []


def _dict_without(value: dict[str, Any], is_secret: IsSecret, place: str) -> tuple[dict[str, Any], list[str]]:
    kept: dict[str, Any] = {}
    lacks: list[str] = []
    for name, each in value.items():
        inside = f"{place}.{name}" if place else name
        if is_secret(name) and each not in (None, "", [], {}):
            lacks.append(inside)
            continue
        kept[name], more = without_secrets(each, is_secret=is_secret, place=inside)
        lacks += more
    return kept, lacks


def without_password(address: str) -> str:
    """An address without its password; any other text as it is, and nothing of one that cannot be read."""
    if isinstance(address, Unreadable):
        return ""
    try:
        parts = urlsplit(address)
    except ValueError:
        return address
    if not parts.scheme or parts.password is None:
        return address
    user, _, host = parts.netloc.rpartition("@")
    return parts._replace(netloc=f"{user.partition(':')[0]}@{host}").geturl()
