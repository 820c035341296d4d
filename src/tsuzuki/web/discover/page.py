"""`/discover`: something new by its address, or from a source's catalogue."""

from typing import Any, Literal

import msgspec
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from tsuzuki.accounts.caller import Caller
from tsuzuki.accounts.nouns import Slice
from tsuzuki.catalogue.addresses import Addresses
from tsuzuki.connectors.registry import Registry
from tsuzuki.edge.routing import Resource
from tsuzuki.model.errors import RefusedAddress, SourceError, Unavailable
from tsuzuki.sources.sites.rows import Source, SourceFilter
from tsuzuki.sources.sites.service import Sources, info_of
from tsuzuki.web.feeds.adding import LONGEST_URL, read_url
from tsuzuki.web.forms import BLANK, Form, Rules, Sheet, fill, see
from tsuzuki.web.frame import framing_of
from tsuzuki.web.ids import number_of
from tsuzuki.web.site import Site

PATH = "/discover"
PAGE = 60
_FARTHEST = 10_000
_LONGEST_TEXT = 200
_RULES = Rules(keep=("url",), beside={SourceError: "url", RefusedAddress: "url", Unavailable: "url"})

Standing = Literal["ok", "failing", "disabled", "paused", "not_installed"]


class SourceCard(msgspec.Struct, frozen=True):
    """A source to browse, and how it fares."""

    source: Source
    standing: Standing


def discover_pages(site: Site) -> tuple[Resource, ...]:
    """The page, and `/discover/find`, which looks at an address."""
    framing = framing_of(site)
    sources, registry, addresses = site.part(Sources), site.part(Registry), site.part(Addresses)

    async def show(request: Request, caller: Caller, sheet: Sheet = BLANK) -> Response:
        frame = await framing.frame(request, caller, "discover")
        text = request.query_params.get("q", "").replace("\0", "").strip()[:_LONGEST_TEXT]
        page = min(max(number_of(request.query_params.get("page")) or 1, 1), _FARTHEST)
        part = Slice(most=PAGE, skip=(page - 1) * PAGE)
        found, total = await sources.list(SourceFilter(text=text or None), part)
        is_paused = await sources.paused_since() is not None
        cards = [SourceCard(one, standing(one, registry, is_paused=is_paused)) for one in found]
        values: dict[str, Any] = {
            "cards": cards,
            "total": total,
            "text": text,
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


def standing(source: Source, registry: Registry, *, is_paused: bool) -> Standing:
    """How a source fares, in one word."""
    if not source.is_enabled:
        return "disabled"
    if info_of(registry, source.connector) is None:
        return "not_installed"
    if is_paused:
        return "paused"
    return "failing" if source.consecutive_fails else "ok"
