"""Discover: find something to follow by its address, or in a source's catalogue."""

from collections.abc import Iterator, Sequence
from typing import Any, get_args
from urllib.parse import urlencode

import msgspec
from msgspec.structs import replace
from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from tsuzuki.accounts.caller import Caller
from tsuzuki.accounts.types import Slice
from tsuzuki.catalogue.browse import ListRequest
from tsuzuki.catalogue.calls import CachedAnswer
from tsuzuki.catalogue.chapters import Releases
from tsuzuki.catalogue.types import ListKind, MangaPage
from tsuzuki.connectors.filters import (
    MAX_TEXT,
    CheckBox,
    Filter,
    FilterGroup,
    FilterValue,
    GroupedFilter,
    Select,
    Sort,
    SortState,
    TextFilter,
    TriState,
)
from tsuzuki.connectors.protocol import Abilities
from tsuzuki.connectors.registry import Registry
from tsuzuki.http.routing import Resource, page
from tsuzuki.model.errors import Invalid, RefusedAddress, SourceError, Unavailable
from tsuzuki.model.ids import ShelfId
from tsuzuki.sources.policy import Standing, source_standing
from tsuzuki.sources.sites import info_of, source_info
from tsuzuki.sources.types import Source, SourceFilter
from tsuzuki.web.feeds.feed import LONGEST_URL, read_url
from tsuzuki.web.forms import BLANK, Form, FormState, Rules, post_form, see
from tsuzuki.web.ids import number_at, number_of, page_of, word_of
from tsuzuki.web.inbox.page import InboxTab
from tsuzuki.web.site import Site
from tsuzuki.web.texts import gettext as _

PATH = "/discover"
PAGE = 60
_RULES = Rules(keep=("url",), beside={SourceError: "url", RefusedAddress: "url", Unavailable: "url"})


class SourceCard(msgspec.Struct, frozen=True):
    """A source to browse, and how it fares."""

    source: Source
    standing: Standing


def discover_pages(site: Site) -> tuple[Resource, ...]:
    """The page, and `/discover/find`, which looks at an address."""
    sources, registry, addresses = site.crawling.sources, site.registry, site.catalogue.addresses

    async def show(request: Request, caller: Caller, form_state: FormState = BLANK) -> Response:
        frame = await site.frame(request, caller, "discover")
        text, page = word_of(request, "q"), page_of(request.query_params)
        found, total = await sources.list(SourceFilter(text=text), Slice.page(page, PAGE))
        pause = await sources.show_pause()
        cards = [SourceCard(one, standing_of(one, registry, is_paused=pause is not None)) for one in found]
        values: dict[str, Any] = {
            "cards": cards,
            "pause": pause,
            "total": total,
            "text": text or "",
            "page": page,
            "pages": -(-total // PAGE),
        }
        return site.show(frame, "discover.html", form_state, longest=LONGEST_URL, **values)

    async def find(_request: Request, _caller: Caller, form: Form) -> Response:
        found = await addresses.find(read_url(form))
        if found is not None:
            return see(f"{PATH}/series/{found}")
        return RedirectResponse("/feeds/find", 307)  # the same form: it may be a feed, or a page with one

    return (
        Resource(PATH, {"GET": site.signed_in(show)}),
        Resource(f"{PATH}/find", {"POST": site.signed_in(post_form(find, show, _RULES), PATH)}),
    )


def standing_of(source: Source, registry: Registry, *, is_paused: bool) -> Standing:
    """The state of a source."""
    is_installed = info_of(registry, source.connector) is not None
    return source_standing(source, is_installed=is_installed, is_paused=is_paused)


class Choice(msgspec.Struct, frozen=True):
    """One of several in a list."""

    value: str
    words: str


class FilterField(msgspec.Struct, frozen=True, kw_only=True):
    """A line of the form; `kind` as the source declares it."""

    kind: str
    name: str
    label: str
    value: str = ""
    choices: tuple[Choice, ...] = ()
    is_ascending: bool = False
    fields: tuple["FilterField", ...] = ()


def fields_of(filters: Sequence[Filter], query: QueryParams) -> list[FilterField]:
    """The form, filled in as the address says, else as the source has it."""
    return [_field(entry, f"f{place}", query) for place, entry in enumerate(filters)]


def values_of(filters: Sequence[Filter], query: QueryParams) -> tuple[FilterValue, ...]:
    """What the address sets to something else than the source has it; a value that cannot be is left out."""
    found: list[FilterValue] = []
    for place, entry in enumerate(filters):
        if isinstance(entry, FilterGroup):
            for inner, part in enumerate(entry.filters):
                found += _values(part, f"f{place}.{inner}", query, group=entry.name)
        else:
            found += _values(entry, f"f{place}", query, group=None)
    return tuple(found)


def _values(
    entry: Filter | GroupedFilter, name: str, query: QueryParams, *, group: str | None
) -> Iterator[FilterValue]:
    state = _state(entry, name, query)
    if state is not None and state != getattr(entry, "state", None):
        yield FilterValue(entry.name, state, group)


def _state(entry: Filter | GroupedFilter, name: str, query: QueryParams) -> int | str | bool | SortState | None:
    """None where nothing was said, or nothing that fits."""
    said = query.get(name)
    match entry:
        case CheckBox():
            return said == "on" if "is_sent" in query else None
        case TextFilter():
            return None if said is None else said.replace("\0", "")[:MAX_TEXT]
        case TriState():
            return number_of(said) if said in ("0", "1", "2") else None
        case Select():
            chosen = number_of(said)
            return chosen if chosen is not None and chosen < len(entry.values) else None
        case Sort():
            chosen = number_of(said)
            fits = chosen is not None and chosen < len(entry.values)
            return SortState(chosen or 0, ascending=query.get(f"{name}.asc") == "on") if fits else None
        case _:
            return None


def _field(entry: Filter | GroupedFilter, name: str, query: QueryParams) -> FilterField:
    field = FilterField(kind=str(entry.__struct_config__.tag), name=name, label=entry.name)
    said = _state(entry, name, query)
    state = getattr(entry, "state", None) if said is None else said
    match entry:
        case FilterGroup():
            inner = tuple(_field(part, f"{name}.{place}", query) for place, part in enumerate(entry.filters))
            return replace(field, fields=inner)
        case Select():
            return replace(field, value=str(state), choices=_choices(entry.values))
        case Sort():
            value, is_ascending = (str(state.index), state.ascending) if isinstance(state, SortState) else ("", False)
            return replace(field, value=value, choices=_choices(entry.values), is_ascending=is_ascending)
        case CheckBox():
            return replace(field, value="on" if state else "")
        case TextFilter() | TriState():
            return replace(field, value=str(state))
        case _:
            return field


def _choices(values: Sequence[str]) -> tuple[Choice, ...]:
    return tuple(Choice(str(place), words) for place, words in enumerate(values))


MOST_SHOWN = 12


def preview_page(site: Site) -> Resource:
    """The preview of a series."""
    details, lists, sources = site.catalogue.details, site.catalogue.chapter_lists, site.crawling.sources

    async def listed(manga_id: int, shelf_id: ShelfId) -> tuple[CachedAnswer[Releases] | None, str | None]:
        try:
            answered = await lists.list(manga_id, shelf_id)
        except (SourceError, Unavailable) as error:
            return None, str(error)
        return answered, answered.freshness.error

    async def show_preview(request: Request, caller: Caller) -> Response:
        frame = await site.frame(request, caller, "discover")
        manga_id = number_at(request, "manga_id")
        answered = await details.show(manga_id, frame.shelf.id)
        chapters, trouble = await listed(manga_id, frame.shelf.id)
        manga = answered.value
        return site.show(
            frame,
            "discover_series.html",
            manga=manga,
            source=await sources.get(manga.source_id),
            pause=await sources.show_pause(),
            freshness=answered.freshness,
            chapters=[] if chapters is None else chapters.value[:MOST_SHOWN],
            total=0 if chapters is None else len({one.chapter_id for one in chapters.value}),
            trouble=trouble,
        )

    return page(f"{PATH}/series/{{manga_id}}", site.signed_in(show_preview))


KINDS: tuple[ListKind, ...] = get_args(ListKind)


class ShownListing(msgspec.Struct, frozen=True):
    """A page of a list, or why there is none."""

    answered: CachedAnswer[MangaPage] | None
    trouble: str | None = None


def source_page(site: Site) -> Resource:
    """The page of a source."""
    sources, registry, browsing = site.crawling.sources, site.registry, site.catalogue.browsing

    async def filters_of(source_id: int) -> Sequence[Filter]:
        try:
            return await browsing.filters(source_id)
        except (SourceError, Unavailable):
            return ()

    async def listed(source_id: int, wanted: ListRequest) -> ShownListing:
        try:
            return ShownListing(await browsing.browse(source_id, wanted))
        except (Invalid, SourceError, Unavailable) as error:
            return ShownListing(None, str(error))

    async def show_source(request: Request, caller: Caller) -> Response:
        frame = await site.frame(request, caller, "discover")
        query = request.query_params
        source = await sources.get(number_at(request, "site_id"))
        info = source_info(registry, source.connector, source.config)
        abilities = info.abilities if info is not None else Abilities(latest=source.supports_latest)
        kinds = [kind for kind in KINDS if getattr(abilities, kind)]
        kind = next((one for one in kinds if one == query.get("list")), kinds[0] if kinds else "popular")
        filters = await filters_of(source.id)
        text = (word_of(request, "q") or "") if kind == "search" else ""
        wanted = ListRequest(
            kind=kind,
            shelf_id=frame.shelf.id,
            page=page_of(request.query_params),
            text=text,
            filters=values_of(filters, query) if kind == "search" else (),
        )
        is_asked = kind != "search" or "q" in query or bool(wanted.filters)
        pause = await sources.show_pause()
        return site.show(
            frame,
            "discover_source.html",
            source=source,
            standing=standing_of(source, registry, is_paused=pause is not None),
            pause=pause,
            tabs=_tabs(source.id, kinds, kind),
            kind=kind,
            text=text,
            fields=fields_of(filters, query) if kind == "search" else [],
            narrowed=len(wanted.filters),
            listed=await listed(source.id, wanted) if is_asked and kinds else None,
            page=wanted.page,
            before=_page_path(source.id, query, wanted.page - 1),
            after=_page_path(source.id, query, wanted.page + 1),
        )

    return page(f"{PATH}/sources/{{site_id}}", site.signed_in(show_source))


def _tabs(source_id: int, kinds: Sequence[ListKind], here: ListKind) -> list[InboxTab]:
    names = {
        "popular": _("Popular"),
        "latest": _("Latest"),
        "search": _("Search"),
    }
    return [InboxTab(names[kind], f"{PATH}/sources/{source_id}?list={kind}", kind == here) for kind in kinds]


def _page_path(source_id: int, query: QueryParams, number: int) -> str:
    said = [(name, value) for name, value in query.multi_items() if name != "page"]
    return f"{PATH}/sources/{source_id}?{urlencode([*said, ('page', str(number))])}"
