"""Paths and methods. A `Resource` is one path; its handlers are plain `async def handler(request) -> Response`."""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Match, Route, Router
from starlette.types import Receive, Scope, Send

from tsuzuki.http.errors import MethodNotAllowed
from tsuzuki.model.errors import NotFound

Handler = Callable[[Request], Awaitable[Response]]


class Resource:
    """One path, with a handler for each method. HEAD is answered like GET; the server leaves the body out."""

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


class _Routes(Router):
    """Tries only routes with as many parts and the same third one: to try all took a third of the time."""

    def __init__(self, routes: Sequence[Route]) -> None:
        super().__init__(routes, redirect_slashes=False, default=_nothing_here)
        shapes = {_shape(route.path) for route in routes}
        shapes |= {(count, _ANY) for count, _ in shapes}
        marked = [(route, ":path}" in route.path, _shape(route.path)) for route in routes]
        as_long = {
            count: [one for one in marked if one[1] or one[2][0] == count] for count in {one for one, _ in shapes}
        }
        self._alike = {
            shape: [route for route, is_open, own in as_long[shape[0]] if is_open or _may_match(own, shape)]
            for shape in shapes
        }
        self._open = [route for route, is_open, _ in marked if is_open]

    async def app(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request (ASGI)."""
        count, word = _shape(scope["path"])
        routes = self._alike.get((count, word)) or self._alike.get((count, _ANY), self._open)
        for route in routes:
            match, found = route.matches(scope)
            if match is Match.FULL:
                scope["route"] = route
                scope.update(found)
                await route.handle(scope, receive, send)
                return
        await self.default(scope, receive, send)


_WORD = 3  # below /api/v1/
_ANY = "{}"


def _shape(path: str) -> tuple[int, str]:
    parts = path.split("/")
    return len(parts), parts[_WORD] if len(parts) > _WORD else ""


def _may_match(own: tuple[int, str], shape: tuple[int, str]) -> bool:
    """Whether a path of this shape could fit a pattern of that one."""
    return own[0] == shape[0] and (own[1] == shape[1] or own[1].startswith("{"))


def build_router(resources: Iterable[Resource]) -> Router:
    """One router for all of them; a word wins over a parameter, whatever their order."""
    ordered = sorted(resources, key=lambda resource: [part.startswith("{") for part in resource.path.split("/")])
    routes = [Route(resource.path, resource) for resource in ordered]
    return _Routes(routes)


def template_of(scope: Scope) -> str:
    """The path of the resource that was found, as declared; empty when there was none."""
    route = scope.get("route")
    return route.path if isinstance(route, Route) else ""


async def _nothing_here(_scope: Scope, _receive: Receive, _send: Send) -> None:
    raise NotFound("There is nothing at this address.")
