"""`/discover/sources/{id}`: one source's lists, its search and its filters."""

from collections.abc import Sequence
from typing import get_args
from urllib.parse import urlencode

import msgspec
from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import Response

from tsuzuki.accounts.caller import Caller
from tsuzuki.catalogue.browsing import ListWish
from tsuzuki.catalogue.rows import ListKind, MangaPage
from tsuzuki.catalogue.ttl_cache import CachedAnswer
from tsuzuki.connectors.filters import Filter
from tsuzuki.connectors.protocol import Abilities
from tsuzuki.http.routing import Resource, page
from tsuzuki.model.errors import Invalid, SourceError, Unavailable
from tsuzuki.sources.sites.service import source_info
from tsuzuki.web.discover.filters import fields_of, values_of
from tsuzuki.web.discover.page import PATH, standing_of
from tsuzuki.web.frame import framing_of
from tsuzuki.web.ids import number_at, page_of, word_of
from tsuzuki.web.inbox.page import Tab
from tsuzuki.web.site import Site
from tsuzuki.web.texts import gettext as _

KINDS: tuple[ListKind, ...] = get_args(ListKind)


class ShownListing(msgspec.Struct, frozen=True):
    """A page of a list, or why there is none."""

    answered: CachedAnswer[MangaPage] | None
    trouble: str | None = None


def source_page(site: Site) -> Resource:
    """The page of a source."""
    framing = framing_of(site)
    sources, registry, browsing = site.crawling.sources, site.registry, site.catalogue.browsing

    async def filters_of(source_id: int) -> Sequence[Filter]:
        try:
            return await browsing.filters(source_id)
        except (SourceError, Unavailable):
            return ()

    async def listed(source_id: int, wish: ListWish) -> ShownListing:
        try:
            return ShownListing(await browsing.browse(source_id, wish))
        except (Invalid, SourceError, Unavailable) as error:
            return ShownListing(None, str(error))

    async def show_source(request: Request, caller: Caller) -> Response:
        frame = await framing.frame(request, caller, "discover")
        query = request.query_params
        source = await sources.get(number_at(request, "site_id"))
        info = source_info(registry, source.connector, source.config)
        kinds = _kinds(info.abilities if info is not None else Abilities(latest=source.supports_latest))
        kind = next((one for one in kinds if one == query.get("list")), kinds[0] if kinds else "popular")
        filters = await filters_of(source.id)
        text = (word_of(request, "q") or "") if kind == "search" else ""
        wish = ListWish(
            kind=kind,
            shelf_id=frame.shelf.id,
            page=page_of(request.query_params),
            text=text,
            filters=values_of(filters, query) if kind == "search" else (),
        )
        is_asked = kind != "search" or "q" in query or bool(wish.filters)
        pause = await sources.show_pause()
        return framing.show(
            frame,
            "discover_source.html",
            source=source,
            standing=standing_of(source, registry, is_paused=pause is not None),
            pause=pause,
            tabs=_tabs(source.id, kinds, kind),
            kind=kind,
            text=text,
            fields=fields_of(filters, query) if kind == "search" else [],
            narrowed=len(wish.filters),
            listed=await listed(source.id, wish) if is_asked and kinds else None,
            page=wish.page,
            before=_page_path(source.id, query, wish.page - 1),
            after=_page_path(source.id, query, wish.page + 1),
        )

    return page(f"{PATH}/sources/{{site_id}}", site.signed_in(show_source))


def _kinds(abilities: Abilities) -> list[ListKind]:
    return [kind for kind in KINDS if getattr(abilities, kind)]


def _tabs(source_id: int, kinds: Sequence[ListKind], here: ListKind) -> list[Tab]:
    names = {
        "popular": _("Popular"),
        "latest": _("Latest"),
        "search": _("Search"),
    }
    return [Tab(names[kind], f"{PATH}/sources/{source_id}?list={kind}", kind == here) for kind in kinds]


def _page_path(source_id: int, query: QueryParams, number: int) -> str:
    said = [(name, value) for name, value in query.multi_items() if name != "page"]
    return f"{PATH}/sources/{source_id}?{urlencode([*said, ('page', str(number))])}"
