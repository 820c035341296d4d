"""Paths and methods. A `Resource` is one path; its handlers are plain `async def handler(request) -> Response`."""

import re
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

    takes_doubled_slashes = False
    """Whether it is also found where a path has several slashes in the place of one."""

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
    """Finds the resource of a path among those with as many parts, the same first and third: to try all took long.

    Patterns are compiled when a path like theirs is first asked for, since all of them would take a while of the start.
    """

    def __init__(self, resources: Iterable[Resource]) -> None:
        """A word wins over a parameter, whatever their order."""
        self.resources = sorted(resources, key=lambda one: [part.startswith("{") for part in one.path.split("/")])
        self._shapes = {_shape(resource.path) for resource in self.resources}
        self._shapes |= {(count, first, _ANY) for count, first, _ in self._shapes}
        self._routes_of = cache(self._compile)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request (ASGI)."""
        route = self._find(scope) or self._find_joined(scope)
        if route is None:
            raise NotFound("There is nothing at this address.")
        scope["route"] = route
        await route.handle(scope, receive, send)

    def _find(self, scope: Scope) -> Route | None:
        for route in self._routes_of(self._known(*_shape(scope["path"]))):
            match, found = route.matches(scope)
            if match is Match.FULL:
                scope.update(found)
                return route
        return None

    def _find_joined(self, scope: Scope) -> Route | None:
        """With one slash for the first of several, then for the next: further on they may belong to a parameter."""
        path = scope["path"]
        for _ in range(_MOST_JOINED):
            joined = _SLASHES.sub("/", path, count=1)
            if joined == path:
                return None
            path = joined
            asked = {**scope, "path": path}
            route = self._find(asked)
            if route is not None and getattr(route.app, "takes_doubled_slashes", False):
                scope.update(asked)
                return route
        return None

    def _known(self, count: int, first: str, word: str) -> "_Shape":
        """A shape that some resource has: whoever asks for paths of others does not fill memory."""
        shapes = ((count, first, word), (count, first, _ANY))
        return next((shape for shape in shapes if shape in self._shapes), _NONE)

    def _compile(self, shape: "_Shape") -> list[Route]:
        return [Route(one.path, one) for one in self.resources if _may_match(one.path, shape)]


_SLASHES = re.compile("//+")
_MOST_JOINED = 3
_FIRST = 1
_WORD = 3  # below /api/v1/
_ANY = "{}"
_Shape = tuple[int, str, str]
"""How many parts, the first, and the one below /api/v1/."""
_NONE: _Shape = (0, "", "")


def _shape(path: str) -> _Shape:
    parts = path.split("/")
    first = parts[_FIRST] if len(parts) > _FIRST else ""
    word = parts[_WORD] if len(parts) > _WORD else ""
    return len(parts), first, word


def _may_match(path: str, shape: _Shape) -> bool:
    """Whether a path of this shape could fit this pattern."""
    count, first, word = _shape(path)
    return (
        ":path}" in path
        or first.startswith("{")
        or ((count, first) == shape[:2] and (word == shape[2] or word.startswith("{")))
    )


def template_of(scope: Scope) -> str:
    """The path of the resource that was found, as declared; empty when there was none."""
    route = scope.get("route")
    return route.path if isinstance(route, Route) else ""
