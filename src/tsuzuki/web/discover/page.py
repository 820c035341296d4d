"""`/discover`: something new by its address, or from a source's catalogue."""

from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from tsuzuki.accounts.caller import Caller
from tsuzuki.accounts.nouns import Slice
from tsuzuki.connectors.registry import Registry
from tsuzuki.http.routing import Resource
from tsuzuki.model.errors import RefusedAddress, SourceError, Unavailable
from tsuzuki.sources.sites.policy import Standing, standing
from tsuzuki.sources.sites.rows import Source, SourceFilter
from tsuzuki.sources.sites.service import info_of
from tsuzuki.web.feeds.adding import LONGEST_URL, read_url
from tsuzuki.web.forms import BLANK, Form, Rules, Sheet, fill, see
from tsuzuki.web.frame import framing_of
from tsuzuki.web.ids import page_of, word_of
from tsuzuki.web.site import Site

PATH = "/discover"
PAGE = 60
_RULES = Rules(keep=("url",), beside={SourceError: "url", RefusedAddress: "url", Unavailable: "url"})


class SourceCard(msgspec.Struct, frozen=True):
    """A source to browse, and how it fares."""

    source: Source
    standing: Standing


def discover_pages(site: Site) -> tuple[Resource, ...]:
    """The page, and `/discover/find`, which looks at an address."""
    framing = framing_of(site)
    sources, registry, addresses = site.crawling.sources, site.registry, site.catalogue.addresses

    async def show(request: Request, caller: Caller, sheet: Sheet = BLANK) -> Response:
        frame = await framing.frame(request, caller, "discover")
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
        return framing.show(frame, "discover.html", sheet, longest=LONGEST_URL, **values)

    async def show_discover(request: Request, caller: Caller) -> Response:
        return await show(request, caller)

    async def find(request: Request, caller: Caller) -> Response:
        async def act(form: Form) -> Response:
            found = await addresses.find(read_url(form))
            if found is not None:
                return see(f"{PATH}/series/{found}")
            return RedirectResponse("/feeds/find", 307)  # the same form: it may be a feed, or a page with one

        return await fill(request, act, lambda sheet: show(request, caller, sheet), rules=_RULES)

    return (
        Resource(PATH, {"GET": site.signed_in(show_discover)}),
        Resource(f"{PATH}/find", {"POST": site.signed_in(find, PATH)}),
    )


def standing_of(source: Source, registry: Registry, *, is_paused: bool) -> Standing:
    """How a source fares."""
    is_installed = info_of(registry, source.connector) is not None
    return standing(source, is_installed=is_installed, is_paused=is_paused)
