"""The declaration of an endpoint, and who may call it."""

from collections.abc import Awaitable, Callable, Iterable
from enum import Enum
from typing import Any, Protocol

import msgspec
from starlette.requests import Request

from tsuzuki.http.body import MAX_BODY
from tsuzuki.model.errors import Problem, TsuzukiError, Unauthorized

Handler = Callable[..., Awaitable[Any]]
Also = Callable[..., Awaitable[Iterable[Problem]]]


class Access(Enum):
    """What a caller needs. Every endpoint says it; nothing is open by omission (SEC-30)."""

    PUBLIC = "public"
    READ = "read"
    WRITE = "write"
    ADMIN = "admin"


class Endpoint(msgspec.Struct, frozen=True, kw_only=True):
    """One method of one path, declared once: routing, validation and documentation all come from this.

    The handler's parameters say what it wants: those in the path by their name, a `Query`, a `Body`, the `Request`,
    the gate's caller, the `Shelf` that is meant, or a service, by its type. What it returns is the answer's data; None
    is a 204.
    """

    method: str
    path: str
    """Below /api/v1, with parameters in braces: `/feeds/{feed_id}`."""
    handler: Handler
    summary: str
    access: Access
    tags: tuple[str, ...]
    status: int = 200
    errors: tuple[type[TsuzukiError], ...] = ()
    """What it may answer beyond what every endpoint may."""
    max_body: int = MAX_BODY
    also: Also | None = None
    """Asked of a body that is refused, for what only a service knows is wrong with it: all is told at once.

    Its parameters are `raw`, the parameters of the path as texts, and services.
    """
    consumes: tuple[str, ...] = ()
    """Media types of a body that the handler reads from the `Request` by itself."""


class AccessGate(Protocol):
    """Who comes in. It is asked before anything of a request is read."""

    caller: type
    """A handler's parameter of this type is given what `admit` returned."""

    async def admit(self, request: Request, access: Access) -> Any:
        """The caller, or Unauthorized, or Forbidden."""
        ...


class PublicGate:
    """Lets everyone into what is public, and nobody into anything else."""

    caller: type = type(None)

    async def admit(self, _: Request, access: Access) -> None:
        """See `AccessGate`."""
        if access is not Access.PUBLIC:
            raise Unauthorized("Sign in first.")
