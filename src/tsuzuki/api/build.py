"""The whole API: every domain's endpoints, bound to their services, and the document that describes them."""

from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from tsuzuki.api import (
    PREFIX,
    about,
    audit_log,
    billing,
    billing_admin,
    bookmarks,
    catalogue,
    channels,
    comics,
    crawler_health,
    crawler_jobs,
    crawler_sources,
    dead_letters,
    downloads,
    feeds,
    feeds_out,
    groups,
    images,
    imports,
    inbox,
    items,
    library,
    me,
    media,
    opml,
    search,
    series,
    shelf,
    sign_in,
    tags,
    tenants,
    users,
)
from tsuzuki.api.binding import BindingError, bind
from tsuzuki.api.endpoints import AccessGate, Endpoint, PublicGate
from tsuzuki.api.openapi import Json, document
from tsuzuki.http.routing import Handler, Resource, page

ENDPOINTS: tuple[Endpoint, ...] = (
    *about.ENDPOINTS,
    *sign_in.SESSION_ENDPOINTS,
    *sign_in.JOINING_ENDPOINTS,
    *sign_in.OIDC_ENDPOINTS,
    *me.ENDPOINTS,
    *shelf.ENDPOINTS,
    *groups.ENDPOINTS,
    *feeds.ENDPOINTS,
    *items.ENDPOINTS,
    *opml.ENDPOINTS,
    *imports.ENDPOINTS,
    *search.ENDPOINTS,
    *bookmarks.ENDPOINTS,
    *library.ENDPOINTS,
    *series.ENDPOINTS,
    *series.MERGING_ENDPOINTS,
    *inbox.ENDPOINTS,
    *tags.ENDPOINTS,
    *channels.ENDPOINTS,
    *feeds_out.ENDPOINTS,
    *users.ENDPOINTS,
    *tenants.ENDPOINTS,
    *billing.ENDPOINTS,
    *billing_admin.ENDPOINTS,
    *audit_log.ENDPOINTS,
    *crawler_sources.ENDPOINTS,
    *crawler_health.ENDPOINTS,
    *crawler_jobs.ENDPOINTS,
    *crawler_sources.TRIAL_ENDPOINTS,
    *comics.ENDPOINTS,
    *dead_letters.ENDPOINTS,
    *catalogue.ENDPOINTS,
    *catalogue.SERIES_ENDPOINTS,
    *images.ENDPOINTS,
    *downloads.ENDPOINTS,
    *media.ENDPOINTS,
)
"""A domain's module is added here; a service that its handlers take is a field of `http.services.Services`."""


class Api(msgspec.Struct, frozen=True):
    """What the server serves, and what pages say of it."""

    resources: tuple[Resource, ...]
    document: Callable[[], Json]
    """Made when it is first asked for: it would take a third of the start."""


def build_api(
    services: msgspec.Struct,
    *,
    version: str,
    gate: AccessGate | None = None,
    endpoints: Sequence[Endpoint] = ENDPOINTS,
) -> Api:
    """Bind every endpoint; `BindingError` for one that cannot work."""
    admits = gate or PublicGate()
    by_path: dict[str, dict[str, Handler]] = {}
    for endpoint in endpoints:
        methods = by_path.setdefault(PREFIX + endpoint.path, {})
        if endpoint.method in methods:
            raise BindingError(f"{endpoint.method} {endpoint.path} is declared twice")
        methods[endpoint.method] = bind(endpoint, services, admits)
    _must_have_own_names(endpoints)
    described = cache(lambda: document(endpoints, version))
    resources = [Resource(path, methods) for path, methods in by_path.items()]
    return Api((*resources, page(f"{PREFIX}/openapi.json", _shown(described))), described)


def _must_have_own_names(endpoints: Sequence[Endpoint]) -> None:
    names = Counter(endpoint.handler.__name__ for endpoint in endpoints)
    if shared := [name for name, count in names.items() if count > 1]:
        raise BindingError(f"two handlers are called {shared[0]}; the name is the operation's id")


def _shown(described: Callable[[], Json]) -> Handler:
    body = cache(lambda: msgspec.json.encode(described()))

    async def show_document(_: Request) -> Response:
        return Response(body(), media_type="application/json", headers={"cache-control": "no-cache"})

    return show_document
