"""The declaration of an endpoint, and who may call it."""

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from datetime import datetime
from enum import Enum
from typing import Annotated, Any, Protocol

import msgspec
from msgspec import Meta
from starlette.requests import Request

from tsuzuki.accounts.caller import Caller
from tsuzuki.accounts.types import Scope
from tsuzuki.http.auth import Callers, bearer_of, refuse_cross_site
from tsuzuki.http.body import MAX_BODY
from tsuzuki.model.errors import Forbidden, Problem, TsuzukiError, Unauthorized

LARGEST = 2**63 - 1


class QueryParameters(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Parameters after the `?`. A list may repeat its name or put commas between; an unknown name is a problem.

    Declared as `class FeedQuery(Query, frozen=True)`; a list is a `tuple[X, ...] = ()`.
    """


class Body(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A JSON object; an unknown key is a problem. A key that may be left out is `X | UnsetType = UNSET`;
    an object within it is a `Body` too.

    Declared as `class NewFeed(Body, frozen=True)`. What no field says alone is a ValueError of `__post_init__`; what a
    field's type cannot say is a problem of `beyond_types`, reported together with those of the types.
    """

    @classmethod
    def beyond_types(cls, raw: Mapping[str, Any]) -> Iterator[Problem]:  # noqa: ARG003  most forms have none
        """What is wrong with what was sent though its types may be right."""
        yield from ()


Id = Annotated[int, Meta(ge=1, le=LARGEST)]
PageNumber = Annotated[int, Meta(ge=1, le=1_000_000)]
Moment = Annotated[datetime, Meta(tz=True)]


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
    """Asked of a body that is refused, for what only a service knows is wrong with it: all problems are listed at once.

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


_SCOPES: dict[Access, Scope] = {Access.READ: "read", Access.WRITE: "write", Access.ADMIN: "admin"}


class AccountsGate:
    """Admits by session or token (R77). What is public needs neither, but takes no write from other sites' pages."""

    caller: type = Caller

    def __init__(self, callers: Callers) -> None:
        self._callers = callers

    async def admit(self, request: Request, access: Access) -> Caller | None:
        """The caller; None at a public endpoint. Unauthorized and Forbidden say which of the two is missing."""
        if access is Access.PUBLIC:
            if bearer_of(request) is None:
                refuse_cross_site(request)
            return None
        caller = await self._callers.of(request)
        if caller is None:
            raise Unauthorized("Sign in first.")
        if not caller.may(_SCOPES[access]):
            raise Forbidden(_refusal(caller, access))
        return msgspec.structs.replace(caller, writes=True) if access is Access.WRITE else caller


def _refusal(caller: Caller, access: Access) -> str:
    if access is Access.ADMIN and caller.role != "admin":
        return "This is for administrators."
    return f"This token does not have the scope {_SCOPES[access]}."


def declaring(tag: str, access: Access) -> Callable[..., Endpoint]:
    """Makes endpoints out of what differs: method, path, handler, summary, and by name what is not as usual."""

    def declare(method: str, path: str, handler: Handler, summary: str, **unusual: Any) -> Endpoint:
        return Endpoint(
            method=method, path=path, handler=handler, summary=summary, access=access, tags=(tag,), **unusual
        )

    return declare
