"""A request of an OPDS app: who asks, by Basic, and failures as its apps take them."""

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from tsuzuki.accounts.devices import AppUser
from tsuzuki.accounts.types import Protocol
from tsuzuki.http.errors import HttpFailure
from tsuzuki.http.middleware import FAILURES
from tsuzuki.http.routing import Handler
from tsuzuki.http.services import Services
from tsuzuki.inbox.sync import LARGEST
from tsuzuki.model.errors import NotFound
from tsuzuki.model.harvest import Kind
from tsuzuki.model.ids import PublicId, ShelfId, UserId, read_id
from tsuzuki.protocols.access import AppResource, ProtocolDeps, failure_headers
from tsuzuki.protocols.params import Params, query_params, whole_number

OPDS = Protocol(
    name="opds",
    title="OPDS",
    path="/opds/v1.2/catalog",
)
FIRST, SECOND = "/opds/v1.2", "/opds/v2"
"""Where the two versions are. Neither ever answers as the other, whatever a request accepts."""
AUTH = f"{SECOND}/auth"
AUTH_TYPE = "application/opds-authentication+json"
NOTHING = "There is nothing here."

_UNAUTHORIZED = 401
_BASIC = 'Basic realm="Tsuzuki", charset="UTF-8"'


class OpdsRequest(msgspec.Struct, frozen=True):
    """Who asks for what."""

    deps: ProtocolDeps
    user: AppUser
    request: Request
    params: Params
    base: str

    @property
    def services(self) -> Services:
        """What answers."""
        return self.deps.services

    @property
    def shelf_id(self) -> ShelfId:
        """Whose library it is."""
        return self.user.shelf.id

    @property
    def user_id(self) -> UserId:
        """Who reads it."""
        return self.user.caller.user_id

    def must_show(self, kind: Kind) -> None:
        """NotFound where the device password does not show such things."""
        if self.user.kind not in {None, kind}:
            raise NotFound(NOTHING)

    def number(self, name: str) -> int:
        """A number in the path, 0 or more; NotFound for what is none."""
        number = whole_number(self.request.path_params[name])
        if number is None or not 0 <= number < LARGEST:
            raise NotFound(NOTHING)
        return number

    def public_id(self, name: str) -> PublicId:
        """An id in the path; NotFound for what is none."""
        found = read_id(self.request.path_params[name])
        if found is None:
            raise NotFound(NOTHING)
        return found

    def count(self, name: str) -> int:
        """A number of the query, 0 where it is none, or none that a list could have."""
        number = self.params.number(name)
        return number if number is not None and 0 < number < _LONGEST_LIST else 0


_LONGEST_LIST = 10**9

Answer = Callable[[OpdsRequest], Awaitable[Response]]


class OpdsResource(AppResource):
    """A path below `/opds`; whatever fails is said in a sentence, and in the second version as JSON."""

    def __init__(
        self, deps: ProtocolDeps, path: str, handlers: Mapping[str, Handler], *, is_public: bool = False
    ) -> None:
        super().__init__(path, handlers, is_public=is_public)
        self._deps = deps

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request (ASGI)."""
        scope[FAILURES] = partial(self._failed, self._deps.base_of(Request(scope)))
        await super().__call__(scope, receive, send)

    def _failed(self, base: str, failure: HttpFailure) -> Response:
        headers = failure_headers(failure)
        if failure.status == _UNAUTHORIZED:
            headers["www-authenticate"] = _BASIC
        if not self.path.startswith(SECOND):
            return Response(failure.body.error, failure.status, headers, "text/plain; charset=utf-8")
        if failure.status == _UNAUTHORIZED:
            headers["link"] = f'<{base}{AUTH}>; rel="http://opds-spec.org/auth/document"; type="{AUTH_TYPE}"'
            return Response(msgspec.json.encode(auth_document(base)), failure.status, headers, AUTH_TYPE)
        problem = {"title": failure.body.error, "status": failure.status}
        return Response(msgspec.json.encode(problem), failure.status, headers, "application/problem+json")


def auth_document(base: str) -> dict[str, Any]:
    """How to sign in, as OPDS 2 says it."""
    return {
        "id": f"{base}{AUTH}",
        "title": "Tsuzuki",
        "description": "Your username and a device password.",
        "authentication": [
            {"type": "http://opds-spec.org/auth/basic", "labels": {"login": "Username", "password": "Device password"}}
        ],
        "links": [{"rel": "help", "href": f"{base}/apps", "type": "text/html"}],
    }


def resource(deps: ProtocolDeps, path: str, answers: Mapping[str, Answer]) -> OpdsResource:
    """A path for those who signed in."""
    return OpdsResource(deps, path, {method: partial(_answer, deps, answer) for method, answer in answers.items()})


async def _answer(deps: ProtocolDeps, answer: Answer, request: Request) -> Response:
    user = await deps.sign_in_basic(request, OPDS)
    return await answer(OpdsRequest(deps, user, request, query_params(request), deps.base_of(request)))
