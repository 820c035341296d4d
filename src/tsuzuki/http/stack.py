"""The order of what stands around every handler, from the outside in."""

from collections.abc import Iterable, Sequence

from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp

from tsuzuki.http.boundary import ErrorBoundary, ErrorPage, FramedPage
from tsuzuki.http.cookies import Cookies
from tsuzuki.http.metrics import Metrics
from tsuzuki.http.observing import Observed
from tsuzuki.http.packing import Packed
from tsuzuki.http.request_ids import RequestIds
from tsuzuki.http.routing import Resource, build_router
from tsuzuki.http.security import SecurityHeaders


def build_app(
    resources: Iterable[Resource],
    *,
    metrics: Metrics,
    error_page: ErrorPage,
    framed_page: FramedPage | None = None,
    allowed_origins: Sequence[str] = (),
    is_https: bool = False,
) -> ASGIApp:
    """The whole ASGI application over these resources; `is_https` when its public address is."""
    app: ASGIApp = Packed(Cookies(ErrorBoundary(build_router(resources), error_page, framed_page)))
    if allowed_origins:
        app = CORSMiddleware(
            app,
            allow_origins=allowed_origins,
            allow_methods=("GET", "POST", "PUT", "PATCH", "DELETE"),
            allow_headers=("authorization", "content-type", "x-request-id"),
            expose_headers=("x-request-id", "retry-after"),
        )
    return RequestIds(SecurityHeaders(Observed(app, metrics), is_https=is_https))
