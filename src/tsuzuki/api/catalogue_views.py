"""Sources, series, chapters and pages as readers see them, and how each answer was come by."""

from collections.abc import Callable, Collection, Iterable
from typing import Any, Literal

import msgspec
from msgspec import UNSET, UnsetType

from tsuzuki.api import PREFIX
from tsuzuki.api.views import Time, shown
from tsuzuki.catalogue.chapters import PagesAnswer
from tsuzuki.catalogue.rows import ListedRelease, Manga
from tsuzuki.catalogue.ttl_cache import Freshness
from tsuzuki.connectors.filters import CheckBox, Filter, FilterGroup, GroupedFilter, Select, Sort, TextFilter, TriState
from tsuzuki.connectors.protocol import Abilities
from tsuzuki.model.ids import show_id
from tsuzuki.model.times import SECOND, Millis, iso
from tsuzuki.sources.sites.policy import Standing, standing
from tsuzuki.sources.sites.rows import Pause, Source


class CacheMeta(msgspec.Struct, frozen=True, kw_only=True):
    """How an answer was come by (R64). `age` is in seconds; `error` says why it is stale, or not whole."""

    fetched_at: Time | None
    fresh_until: Time | None
    stale: bool
    from_cache: bool
    age: int | None
    error: str | UnsetType = UNSET


class ListMeta(CacheMeta, frozen=True, kw_only=True):
    """The same for one page of a list."""

    page: int
    has_next: bool


class CatalogueHealthView(msgspec.Struct, frozen=True, kw_only=True):
    """How a source fares; while it is `paused`, since when and why, as the operator said."""

    status: Standing
    consecutive_fails: int
    last_succeeded_at: Time | None
    last_failed_at: Time | None
    paused_at: Time | None
    paused_reason: str | None


class CatalogueSourceView(msgspec.Struct, frozen=True, kw_only=True):
    """A source to browse. `uid` is what Tachiyomi's family knows it by, as a text (R9)."""

    id: int
    uid: str
    name: str
    lang: str
    base_url: str
    supports_popular: bool
    supports_latest: bool
    supports_search: bool
    is_nsfw: bool
    health: CatalogueHealthView


class FilterView(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One line of a source's filters; `state` is what it is when nobody sets it."""

    type: Literal["header", "separator", "select", "text", "checkbox", "tristate", "sort", "group"]
    name: str
    state: Any = UNSET
    values: tuple[str, ...] = ()
    filters: tuple["FilterView", ...] = ()


class MangaView(msgspec.Struct, frozen=True, kw_only=True):
    """A series as one source knows it; `series_id` is the work, which a shelf can follow. `status` as R10.

    `uid` is the source's, as a text (R9). `genre` and `thumbnail_url` are `genres` and `cover_url` by the names that
    Tachiyomi's family has for them; `thumbnail_last_fetched` is when this server last fetched the cover.
    """

    id: int
    series_id: str
    source_id: int
    uid: str
    url: str
    real_url: str | None
    title: str
    author: str | None
    artist: str | None
    description: str | None
    genres: list[str]
    genre: str | None
    status: int
    cover_url: str | None
    thumbnail_url: str | None
    thumbnail_last_fetched: Time | None
    is_nsfw: bool
    initialized: bool
    update_strategy: str
    in_library: bool
    in_library_at: Time | None
    last_fetched_at: Time | None
    chapters_last_fetched_at: Time | None


class CatalogueChapterView(msgspec.Struct, frozen=True, kw_only=True):
    """A release of a chapter. `chapter_id` is the chapter that it is a release of; `source_order` is 0 for the oldest.

    `page_count` is -1 until somebody knows it; `name` is the title by the name that Tachiyomi's family has for it, and
    `chapter_number` the number, -1 where there is none.
    """

    id: int
    manga_id: int
    chapter_id: str
    number: str | None
    chapter_number: float
    volume: str | None
    title: str
    name: str
    scanlator: str | None
    language: str | None
    url: str
    real_url: str | None
    source_order: int
    date_upload: Time | None
    fetched_at: Time | None
    page_count: int
    is_available: bool
    is_readable: bool
    is_read: bool
    is_bookmarked: bool
    is_downloaded: bool
    last_page_read: int
    last_read_at: Time | None


class PageView(msgspec.Struct, frozen=True, kw_only=True):
    """A page, counted from 0. `image` is where this server has it; `image_url` is null until somebody asked for it."""

    index: int
    url: str
    image_url: str | None
    image: str


def cache_meta(freshness: Freshness) -> CacheMeta:
    """What to say of an answer."""
    return CacheMeta(**_meta(freshness))


def list_meta(freshness: Freshness, *, page: int, has_next: bool) -> ListMeta:
    """What to say of a page of a list."""
    return ListMeta(**_meta(freshness), page=page, has_next=has_next)


def _meta(freshness: Freshness) -> dict[str, Any]:
    return {
        "fetched_at": shown(freshness.fetched_at),
        "fresh_until": shown(freshness.fresh_until),
        "stale": freshness.is_stale,
        "from_cache": freshness.is_from_cache,
        "age": None if freshness.age is None else freshness.age // SECOND,
        "error": UNSET if freshness.error is None else freshness.error,
    }


def source_view(source: Source, abilities: Abilities | None, *, pause: Pause | None) -> CatalogueSourceView:
    """A source; `abilities` are None while its connector is not installed."""
    can = abilities or Abilities(latest=source.supports_latest)
    health = CatalogueHealthView(
        status=standing(source, is_installed=abilities is not None, is_paused=pause is not None),
        consecutive_fails=source.consecutive_fails,
        last_succeeded_at=shown(source.last_succeeded_at),
        last_failed_at=shown(source.last_failed_at),
        paused_at=None if pause is None else iso(pause.at),
        paused_reason=None if pause is None else pause.reason or None,
    )
    return CatalogueSourceView(
        id=source.id,
        uid=str(source.uid),
        name=source.name,
        lang=source.lang,
        base_url=source.base_url,
        supports_popular=can.popular,
        supports_latest=can.latest,
        supports_search=can.search,
        is_nsfw=source.is_nsfw,
        health=health,
    )


def filter_view(entry: Filter | GroupedFilter) -> FilterView:
    """A line of filters."""
    kind = str(entry.__struct_config__.tag)
    said: dict[str, Any] = {"type": kind, "name": entry.name}
    match entry:
        case Select() | Sort():
            said |= {"values": entry.values, "state": entry.state}
        case TextFilter() | CheckBox() | TriState():
            said |= {"state": entry.state}
        case FilterGroup():
            said |= {"filters": tuple(map(filter_view, entry.filters))}
        case _:
            pass
    return FilterView(**said)


def manga_view(manga: Manga) -> MangaView:
    """A series."""
    return MangaView(
        id=manga.id,
        series_id=show_id(manga.series_public_id),
        source_id=manga.source_id,
        uid=str(manga.source_uid),
        url=manga.url,
        real_url=manga.real_url,
        title=manga.title,
        author=manga.author,
        artist=manga.artist,
        description=manga.description,
        genres=manga.genres,
        genre=", ".join(manga.genres) or None,
        status=manga.status,
        cover_url=manga.cover_url,
        thumbnail_url=manga.cover_url,
        thumbnail_last_fetched=shown(manga.cover_fetched_at),
        is_nsfw=manga.is_nsfw,
        initialized=manga.is_initialized,
        update_strategy=manga.update_strategy,
        in_library=manga.in_library_at is not None,
        in_library_at=shown(manga.in_library_at),
        last_fetched_at=shown(manga.details_fetched_at or manga.listed_at),
        chapters_last_fetched_at=shown(manga.chapters_fetched_at),
    )


def chapter_views(
    releases: Iterable[ListedRelease], manga_id: int, kept: Collection[int]
) -> list[CatalogueChapterView]:
    """The releases of a series; `kept` are those that the shelf keeps.

    A list shares most of its moments, and a text for each costs more than all the rest of a row.
    """
    texts: dict[Millis | None, Time | None] = {None: None}

    def said(moment: Millis | None) -> Time | None:
        if moment not in texts:
            texts[moment] = shown(moment)
        return texts[moment]

    return [_chapter_view(each, manga_id, said, is_downloaded=each.id in kept) for each in releases]


def _chapter_view(
    release: ListedRelease, manga_id: int, said: Callable[[Millis | None], Time | None], *, is_downloaded: bool
) -> CatalogueChapterView:
    return CatalogueChapterView(
        id=release.id,
        manga_id=manga_id,
        chapter_id=str(release.chapter_id),
        number=release.number,
        chapter_number=-1.0 if release.number is None else float(release.number),
        volume=release.volume,
        title=release.title,
        name=release.title,
        scanlator=release.group_name,
        language=release.language,
        url=release.url,
        real_url=release.real_url,
        source_order=release.source_order,
        date_upload=said(release.published_at),
        fetched_at=said(release.first_seen_at),
        page_count=release.page_count,
        is_available=release.is_available,
        is_readable=release.is_readable,
        is_read=release.is_read,
        is_bookmarked=release.is_bookmarked,
        is_downloaded=is_downloaded,
        last_page_read=release.last_page_read,
        last_read_at=said(release.last_read_at),
    )


def page_views(answer: PagesAnswer) -> list[PageView]:
    """The pages of a release."""
    base = f"{PREFIX}/chapters/{answer.release.id}/pages"
    return [
        PageView(index=page.position, url=page.url, image_url=page.image_url, image=f"{base}/{page.position}/image")
        for page in answer.pages
    ]
