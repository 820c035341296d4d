"""Sources, series, chapters and pages as readers see them, and how each answer was come by."""

from collections.abc import Collection, Iterable
from typing import Any, Literal

import msgspec
from msgspec import UNSET, UnsetType

from tsuzuki.api import PREFIX
from tsuzuki.api.views import Time, shown, view_of
from tsuzuki.catalogue.calls import Freshness
from tsuzuki.catalogue.chapters import PagesAnswer
from tsuzuki.catalogue.types import ListedRelease, Manga, PageRow
from tsuzuki.connectors.filters import CheckBox, Filter, FilterGroup, GroupedFilter, Select, Sort, TextFilter, TriState
from tsuzuki.connectors.protocol import Abilities
from tsuzuki.model.times import SECOND, iso
from tsuzuki.sources.policy import Standing, source_standing
from tsuzuki.sources.types import Pause, Source


class CacheMeta(msgspec.Struct, frozen=True, kw_only=True):
    """Where an answer came from. `age` is in seconds; `error` says why it is stale or incomplete."""  # R64

    fetched_at: Time | None
    fresh_until: Time | None
    stale: bool
    from_cache: bool
    age: int | None
    error: str | UnsetType = UNSET


class ListMeta(CacheMeta, frozen=True, kw_only=True):
    """Where one page of a list came from. `age` is in seconds; `error` says why it is stale or incomplete."""

    page: int
    has_next: bool


class CatalogueHealthView(msgspec.Struct, frozen=True, kw_only=True):
    """The health of a source; while it is `paused`, since when and why, as the operator said."""

    status: Standing
    consecutive_fails: int
    last_succeeded_at: Time | None
    last_failed_at: Time | None
    paused_at: Time | None
    paused_reason: str | None


class CatalogueSourceView(msgspec.Struct, frozen=True, kw_only=True):
    """A source to browse. `uid` is its id in Tachiyomi and its forks, as text."""  # R9

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
    """One search filter of a source; `state` is its default."""

    type: Literal["header", "separator", "select", "text", "checkbox", "tristate", "sort", "group"]
    name: str
    state: Any = UNSET
    values: tuple[str, ...] = ()
    filters: tuple["FilterView", ...] = ()


class MangaView(msgspec.Struct, frozen=True, kw_only=True):
    """A series at one source; `series_id` is the series that a shelf can follow.

    `status`: 0 unknown, 1 ongoing, 2 completed, 3 licensed, 4 publishing finished, 5 cancelled, 6 hiatus.

    `uid` is the id of the source, as text. `genre` and `thumbnail_url` are `genres` and `cover_url` under the names
    that Tachiyomi and its forks use; `thumbnail_last_fetched` is when this server last fetched the cover.
    """  # R10, R9

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
    """A release of a chapter. `chapter_id` is its chapter; `source_order` is 0 for the oldest.

    `page_count` is -1 until it is known. `name` is the title, and `chapter_number` the number, -1 if there is none,
    under the names that Tachiyomi and its forks use.
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
    """A page, counted from 0. `image` is its address on this server; `image_url` is null until first requested."""

    index: int
    url: str
    image_url: str | None
    image: str


_HOW: dict[str, Any] = {
    "stale": "is_stale",
    "from_cache": "is_from_cache",
    "age": lambda freshness: None if freshness.age is None else freshness.age // SECOND,
    "error": lambda freshness: UNSET if freshness.error is None else freshness.error,
}
cache_meta = view_of(CacheMeta, Freshness, **_HOW)
list_meta = view_of(ListMeta, Freshness, "page", "has_next", **_HOW)
_health_view = view_of(CatalogueHealthView, Source, "status", "paused_at", "paused_reason")
_ABILITIES = ("supports_popular", "supports_latest", "supports_search")
_source_view = view_of(CatalogueSourceView, Source, "health", *_ABILITIES, uid=lambda source: str(source.uid))
manga_view = view_of(
    MangaView,
    Manga,
    uid=lambda manga: str(manga.source_uid),
    genre=lambda manga: ", ".join(manga.genres) or None,
    thumbnail_url="cover_url",
    thumbnail_last_fetched="cover_fetched_at",
    initialized="is_initialized",
    in_library=lambda manga: manga.in_library_at is not None,
    last_fetched_at=lambda manga: shown(manga.details_fetched_at or manga.listed_at),
    chapters_last_fetched_at="chapters_fetched_at",
)
_chapter_view = view_of(
    CatalogueChapterView,
    ListedRelease,
    "manga_id",
    "is_downloaded",
    chapter_number=lambda release: -1.0 if release.number is None else float(release.number),
    name="title",
    scanlator="group_name",
    date_upload="published_at",
    fetched_at="first_seen_at",
)
_page_view = view_of(PageView, PageRow, "image", index="position")


def source_view(source: Source, abilities: Abilities | None, *, pause: Pause | None) -> CatalogueSourceView:
    """A source; `abilities` are None while its connector is not installed."""
    can = abilities or Abilities(latest=source.supports_latest)
    health = _health_view(
        source,
        status=source_standing(source, is_installed=abilities is not None, is_paused=pause is not None),
        paused_at=None if pause is None else iso(pause.at),
        paused_reason=None if pause is None else pause.reason or None,
    )
    return _source_view(
        source, health=health, supports_popular=can.popular, supports_latest=can.latest, supports_search=can.search
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


def chapter_views(
    releases: Iterable[ListedRelease], manga_id: int, kept: Collection[int]
) -> list[CatalogueChapterView]:
    """The releases of a series; `kept` are those that the shelf keeps."""
    return [_chapter_view(each, manga_id=manga_id, is_downloaded=each.id in kept) for each in releases]


def page_views(answer: PagesAnswer) -> list[PageView]:
    """The pages of a release."""
    base = f"{PREFIX}/chapters/{answer.release.id}/pages"
    return [_page_view(page, image=f"{base}/{page.position}/image") for page in answer.pages]
