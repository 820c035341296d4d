"""A request as Komga's clients send it: who asks and how, pages of results, and failures in their shape."""

import hashlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from http import HTTPStatus
from typing import Any, TypeVar

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from tsuzuki.accounts.devices import WRONG_PAIR, AppUser
from tsuzuki.accounts.types import Protocol, Slice
from tsuzuki.http.auth import SAFE_METHODS, refuse_cross_site
from tsuzuki.http.errors import HttpFailure
from tsuzuki.http.middleware import FAILURES
from tsuzuki.http.services import Services
from tsuzuki.model.errors import Forbidden, NotFound, Unauthorized
from tsuzuki.model.ids import ChapterId, PublicId, ShelfId, read_id, read_number, show_id
from tsuzuki.model.times import DAY, SECOND
from tsuzuki.protocols.access import AppResource, ProtocolDeps, failure_headers
from tsuzuki.protocols.komga.views import with_nulls
from tsuzuki.protocols.params import Params, query_params, read_json
from tsuzuki.shelves.library import MOST_LISTED, Library

Json = dict[str, Any]
T = TypeVar("T")

COOKIE = "KOMGA-SESSION"
LASTING_COOKIE = "komga-remember-me"
"""The only one that Komelia keeps when it is closed, and only where it asks for it."""
_SESSION = "komga-"
_LIFE = 365 * DAY // SECOND
_SIZE = 20
_LONGEST_DEVICE = 50
_WANTS_NULLS = "Komelia"
_LARGEST_PAGE = 10**9
NO_SERIES = "There is no such series."


def session_of(username: str, password: str) -> str:
    """What stands for a device password in the cookie that trackers are left with; it ends with the password."""
    del username  # whoever sends an API key says no name
    if password.startswith(_SESSION):
        return password
    return _SESSION + hashlib.sha256(f"komga session {password}".encode()).hexdigest()


KOMGA = Protocol(name="komga", title="Komga", path="/komga", digest=session_of)


class KomgaRequest(msgspec.Struct, frozen=True):
    """Who asks for what."""

    deps: ProtocolDeps
    user: AppUser
    request: Request
    params: Params

    @property
    def services(self) -> Services:
        """What answers."""
        return self.deps.services

    @property
    def library(self) -> Library:
        """What is listed."""
        return self.services.reading.library

    @property
    def shelf_id(self) -> ShelfId:
        """Whose series these are."""
        return self.user.shelf.id

    @property
    def library_id(self) -> str:
        """The shelf, as the one library that there is."""
        return show_id(self.user.shelf.public_id)

    @property
    def series_id(self) -> PublicId:
        """The series in the path; NotFound for what is no id."""
        series = read_id(self.request.path_params["series_id"])
        if series is None:
            raise NotFound(NO_SERIES)
        return series

    @property
    def chapter_id(self) -> ChapterId:
        """The book in the path; NotFound for what is no id."""
        chapter = read_number(self.request.path_params["book_id"])
        if chapter is None:
            raise NotFound("There is no such book.")
        return ChapterId(chapter)

    @property
    def device(self) -> str:
        """What the app calls itself: with its version behind it, or its maker in front ("Snd-R/Komelia")."""
        first, _, second = self._agent.partition(" ")[0].partition("/")
        is_version = not second or second[0].isdigit()
        return (first if is_version else second)[:_LONGEST_DEVICE] or "Komga"

    @property
    def _agent(self) -> str:
        return self.request.headers.get("user-agent", "")

    @property
    def part(self) -> Slice:
        """Which part of a list is asked for."""
        if self.is_unpaged:
            return Slice(MOST_LISTED)
        page, size = self.params.number("page") or 0, self.params.number("size") or 0
        size = min(size, MOST_LISTED) if size > 0 else _SIZE
        return Slice(size, min(max(page, 0), _LARGEST_PAGE) * size)

    @property
    def is_unpaged(self) -> bool:
        """Whether all is asked for at once."""
        return self.params.one("unpaged").lower() == "true"

    def texts(self, name: str) -> list[str]:
        """The values of a parameter that is repeated, or a list with commas."""
        return [text for value in self.params.all(name) for text in value.split(",") if text]

    async def body(self, kind: type[T]) -> T:
        """The JSON that was sent."""
        return await read_json(self.request, kind)

    def answer(self, said: Any) -> Response:
        """A JSON answer. What has no value is left out, but for Komelia, which fails where Komga's null is missing."""
        body = with_nulls(said) if _WANTS_NULLS in self._agent else said
        return Response(msgspec.json.encode(body), media_type="application/json")

    def page(self, content: Sequence[Any], total: int) -> Response:
        """A page of results, as Spring says it."""
        part, is_sorted = self.part, "sort" in self.params
        size = max(total, 1) if self.is_unpaged else part.most
        number, pages = part.skip // part.most, -(-total // size)
        sort = {"empty": not is_sorted, "sorted": is_sorted, "unsorted": not is_sorted}
        paged = not self.is_unpaged
        return self.answer(
            {
                "content": content,
                "pageable": {
                    "pageNumber": number,
                    "pageSize": size,
                    "offset": part.skip,
                    "paged": paged,
                    "unpaged": not paged,
                    "sort": sort,
                },
                "totalElements": total,
                "totalPages": pages,
                "last": number + 1 >= pages,
                "first": number == 0,
                "size": size,
                "number": number,
                "numberOfElements": len(content),
                "empty": not content,
                "sort": sort,
            }
        )


Answer = Callable[[KomgaRequest], Awaitable[Response]]


class KomgaResource(AppResource):
    """A path below `/komga`; whatever fails is said as Komga says it."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request (ASGI)."""
        scope[FAILURES] = _failed
        await super().__call__(scope, receive, send)


def resource(deps: ProtocolDeps, path: str, answers: Mapping[str, Answer], *, reads: bool = False) -> KomgaResource:
    """A path of the API, for those who signed in; one that only `reads` whatever its method."""
    handlers = {
        method: partial(_answer, deps, answer, writes=not reads and method not in SAFE_METHODS)
        for method, answer in answers.items()
    }
    return KomgaResource(f"{KOMGA.path}{path}", handlers)


async def _answer(deps: ProtocolDeps, answer: Answer, request: Request, *, writes: bool) -> Response:
    user, session = await _sign_in(deps, request)
    if user.kind == "item":
        raise Forbidden("This device password shows only articles.")
    if writes:
        user.must_write()
    params = query_params(request)
    response = await answer(KomgaRequest(deps, user, request, params))
    if "set-cookie" not in response.headers:
        if params.one("remember-me").lower() == "true":
            response.headers.append("set-cookie", cookie_line(request, session, life=_LIFE, name=LASTING_COOKIE))
        if session != request.cookies.get(COOKIE):
            response.headers.append("set-cookie", cookie_line(request, session, life=_LIFE))
    if "x-auth-token" in request.headers:
        response.headers["x-auth-token"] = session
    return response


def cookie_line(request: Request, session: str, *, life: int, name: str = COOKIE) -> str:
    """The cookie for so many seconds."""
    secure = "; Secure" if request.url.scheme == "https" else ""
    return f"{name}={session}; Path={KOMGA.path}; Max-Age={life}; HttpOnly; SameSite=Lax{secure}"


async def _sign_in(deps: ProtocolDeps, request: Request) -> tuple[AppUser, str]:
    """By an API key, Basic, a session token, or last the cookie: a tracker has nothing else.

    Also what goes on in the cookie. Pages of other sites may write nothing by it.
    """
    username, password = None, request.headers.get("x-api-key", "")
    if not password:
        username, password = deps.basic_of(request) or (None, request.headers.get("x-auth-token", ""))
    if not password:
        password = request.cookies.get(COOKIE) or request.cookies.get(LASTING_COOKIE, "")
        if not password.startswith(_SESSION):
            raise Unauthorized(WRONG_PAIR)
        refuse_cross_site(request)
    user = await deps.sign_in(request, KOMGA, username, password.strip())
    return user, session_of(user.caller.username, password.strip())


def done() -> Response:
    """An answer that says nothing but that it was done."""
    return Response(status_code=204)


def _failed(failure: HttpFailure) -> Response:
    headers = failure_headers(failure)
    if failure.status == HTTPStatus.UNAUTHORIZED:
        headers["www-authenticate"] = 'Basic realm="Tsuzuki"'
    said = {"status": failure.status, "error": HTTPStatus(failure.status).phrase, "message": failure.body.error}
    return Response(msgspec.json.encode(said), failure.status, headers, "application/json")
