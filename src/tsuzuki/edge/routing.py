"""Paths and methods. A `Resource` is one path; its handlers are plain `async def handler(request) -> Response`."""

from collections.abc import Awaitable, Callable, Iterable, Mapping

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route, Router
from starlette.types import Receive, Scope, Send

from tsuzuki.edge.errors import MethodNotAllowed
from tsuzuki.model.errors import NotFound

Handler = Callable[[Request], Awaitable[Response]]


class Resource:
    """What lives at one path: a handler for each method. HEAD is answered like GET; the server leaves the body out."""

    def __init__(self, path: str, handlers: Mapping[str, Handler]) -> None:
        self.path = path
        self.handlers = dict(handlers)
        if "GET" in self.handlers:
            self.handlers.setdefault("HEAD", self.handlers["GET"])

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request (ASGI)."""
        handler = self.handlers.get(scope["method"])
        if handler is None:
            raise MethodNotAllowed(scope["method"], self.handlers)
        response = await handler(Request(scope, receive, send))
        await response(scope, receive, send)


def page(path: str, handler: Handler) -> Resource:
    """A path that is only read."""
    return Resource(path, {"GET": handler})


def build_router(resources: Iterable[Resource]) -> Router:
    """One router for all of them; a word wins over a parameter, whatever their order."""
    ordered = sorted(resources, key=lambda resource: [part.startswith("{") for part in resource.path.split("/")])
    routes = [Route(resource.path, resource) for resource in ordered]
    return Router(routes, redirect_slashes=False, default=_nothing_here)


def template_of(scope: Scope) -> str:
    """The path of the resource that was found, as declared; empty when there was none."""
    route = scope.get("route")
    return route.path if isinstance(route, Route) else ""


async def _nothing_here(_scope: Scope, _receive: Receive, _send: Send) -> None:
    raise NotFound("There is nothing at this address.")
