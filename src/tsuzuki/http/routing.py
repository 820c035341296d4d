"""Paths and methods. A `Resource` is one path; its handlers are plain `async def handler(request) -> Response`."""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from functools import cache

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Match, Route
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


class Routes:
    """Finds the resource of a path among those with as many parts and the same third one: to try all took long.

    Patterns are compiled when a path like theirs is first asked for, since all of them would take a while of the start.
    """

    def __init__(self, resources: Iterable[Resource]) -> None:
        """A word wins over a parameter, whatever their order."""
        self.resources = sorted(resources, key=lambda one: [part.startswith("{") for part in one.path.split("/")])
        self._shapes = {_shape(resource.path) for resource in self.resources}
        self._shapes |= {(count, _ANY) for count, _ in self._shapes}
        self._routes_of = cache(self._compile)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request (ASGI)."""
        for route in self._routes_of(self._known(*_shape(scope["path"]))):
            match, found = route.matches(scope)
            if match is Match.FULL:
                scope["route"] = route
                scope.update(found)
                await route.handle(scope, receive, send)
                return
        raise NotFound("There is nothing at this address.")

    def _known(self, count: int, word: str) -> tuple[int, str]:
        """A shape that some resource has: whoever asks for paths of others does not fill memory."""
        shapes = ((count, word), (count, _ANY))
        return next((shape for shape in shapes if shape in self._shapes), _NONE)

    def _compile(self, shape: tuple[int, str]) -> list[Route]:
        return [Route(one.path, one) for one in self.resources if _may_match(one.path, shape)]


_WORD = 3  # below /api/v1/
_ANY = "{}"
_NONE = (0, "")


def _shape(path: str) -> tuple[int, str]:
    parts = path.split("/")
    return len(parts), parts[_WORD] if len(parts) > _WORD else ""


def _may_match(path: str, shape: tuple[int, str]) -> bool:
    """Whether a path of this shape could fit this pattern."""
    count, word = _shape(path)
    return ":path}" in path or (count == shape[0] and (word == shape[1] or word.startswith("{")))


def template_of(scope: Scope) -> str:
    """The path of the resource that was found, as declared; empty when there was none."""
    route = scope.get("route")
    return route.path if isinstance(route, Route) else ""
