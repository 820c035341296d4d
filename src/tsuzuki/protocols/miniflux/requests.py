"""A request as Miniflux's clients send it: who asks, by token or Basic, and failures in their shape."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from tsuzuki.accounts.devices import AppUser
from tsuzuki.accounts.types import Protocol
from tsuzuki.http.errors import HttpFailure
from tsuzuki.http.middleware import FAILURES
from tsuzuki.http.services import Services
from tsuzuki.inbox.fetches import Fetches
from tsuzuki.inbox.sync import LARGEST, SyncEntry, SyncFeed
from tsuzuki.model.errors import NotFound
from tsuzuki.model.harvest import Kind
from tsuzuki.model.ids import ShelfId
from tsuzuki.protocols.access import AppResource, ProtocolDeps
from tsuzuki.protocols.content import AppAnswer, AppEntry
from tsuzuki.protocols.params import Params, query_params, read_json, whole_number
from tsuzuki.protocols.subscriptions import AppSubscriptions
from tsuzuki.shelves.groups import Group

MINIFLUX = Protocol(
    name="miniflux",
    title="Miniflux",
    path="/miniflux",
)

T = TypeVar("T")

_BAD_REQUEST = 400
_UNAUTHORIZED = 401
_THEIRS = {409: _BAD_REQUEST, 422: _BAD_REQUEST}
"""Statuses of ours that its clients do not know, and the less exact ones that they get."""


class MinifluxRequest(msgspec.Struct, frozen=True):
    """Who asks for what."""

    deps: ProtocolDeps
    user: AppUser
    request: Request
    params: Params
    base: str
    fetches: Fetches = msgspec.field(default_factory=Fetches)

    @property
    def services(self) -> Services:
        """What answers."""
        return self.deps.services

    @property
    def shelf_id(self) -> ShelfId:
        """Whose inbox it is."""
        return self.user.shelf.id

    @property
    def kind(self) -> Kind | None:
        """What the device password shows."""
        return self.user.kind

    @property
    def subscriptions(self) -> AppSubscriptions:
        """The feeds and groups of the shelf."""
        return AppSubscriptions(self.services, self.user, self.base)

    def number(self, name: str) -> int:
        """A number in the path; NotFound for what is none."""
        number = whole_number(self.request.path_params[name])
        if number is None or not 0 < number < LARGEST:
            raise NotFound("There is nothing of this number.")
        return number

    async def feed(self, name: str = "feed_id") -> SyncFeed:
        """The feed or series in the path; NotFound for another shelf's."""
        return await self.subscriptions.get(self.number(name))

    async def group(self) -> Group:
        """The group in the path; NotFound for another shelf's."""
        group = await self.group_of(self.number("category_id"))
        if group is None:
            raise NotFound("There is no such category.")
        return group

    async def group_of(self, number: int) -> Group | None:
        """The group of this number; None for another shelf's."""
        return next((group for group in await self.subscriptions.groups() if group.id == number), None)

    async def body(self, kind: type[T]) -> T:
        """The JSON that was sent, whatever type it was said to be; Invalid for anything else."""
        return await read_json(self.request, kind)

    async def shown(self, found: Sequence[SyncEntry]) -> list[AppEntry]:
        """These entries as the app shows them."""
        return await AppAnswer(self.deps, self.user, self.base, self.fetches).entries(found)

    def must_write_feeds(self) -> None:
        """Forbidden where the shelf is only read, or the device password shows no feeds."""
        self.user.must_write()
        self.subscriptions.must_show_feeds()


Answer = Callable[[MinifluxRequest], Awaitable[Response]]


class MinifluxResource(AppResource):
    """A path below `/miniflux`; whatever fails is said as its clients read it."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request (ASGI)."""
        scope[FAILURES] = _failed
        await super().__call__(scope, receive, send)


def resource(deps: ProtocolDeps, path: str, answers: Mapping[str, Answer]) -> MinifluxResource:
    """A path of the API, for those who signed in."""
    handlers = {method: partial(_answer, deps, answer) for method, answer in answers.items()}
    return MinifluxResource(f"{MINIFLUX.path}/v1{path}", handlers)


async def _answer(deps: ProtocolDeps, answer: Answer, request: Request) -> Response:
    token = request.headers.get("x-auth-token", "").strip()
    if token:
        user = await deps.sign_in(request, MINIFLUX, None, token)
    else:
        user = await deps.sign_in_basic(request, MINIFLUX)
    return await answer(MinifluxRequest(deps, user, request, query_params(request), deps.base_of(request)))


def answer_json(value: Any, status: int = 200) -> Response:
    """A JSON answer."""
    return Response(msgspec.json.encode(value), status, media_type="application/json")


def done(status: int = 204) -> Response:
    """An answer that says nothing but that it was done."""
    return Response(status_code=status)


def _failed(failure: HttpFailure) -> Response:
    if failure.status == _UNAUTHORIZED:
        headers = {"www-authenticate": 'Basic realm="Restricted"'}
        body = {"error_message": "access unauthorized"}
        return Response(msgspec.json.encode(body), failure.status, headers, "application/json")
    status = _THEIRS.get(failure.status, failure.status)
    body = {"error_message": failure.body.error}
    return Response(msgspec.json.encode(body), status, failure.headers, "application/json")
