"""Makes answers of exceptions (R48). This is the only place that knows statuses.

TsuzukiError
└── Invalid
    ├── MethodNotAllowed   405  the path exists; `allow` names what it takes
    ├── BodyTooLarge       413  more bytes than this path takes
    └── BodyTooSlow        408  the body did not arrive in time
"""

import re
from collections.abc import Collection, Mapping

import msgspec
from msgspec import UNSET, UnsetType
from starlette.responses import Response

from tsuzuki.db.errors import Contention, DatabaseUnavailable
from tsuzuki.model.errors import (
    Conflict,
    Forbidden,
    Invalid,
    KeyReused,
    LimitExceeded,
    NotFound,
    Problem,
    RefusedAddress,
    SourceError,
    TooManyRequests,
    TsuzukiError,
    Unauthorized,
    Unavailable,
)


class MethodNotAllowed(Invalid):
    """The path exists, but not with this method."""

    def __init__(self, method: str, allow: Collection[str]) -> None:
        self.allow = ", ".join(sorted(allow))
        super().__init__(f"{method} is not allowed here; use {self.allow}.")


class BodyTooLarge(Invalid):
    """More bytes than the path takes."""

    def __init__(self, limit: int) -> None:
        super().__init__(f"The body is too large; this path takes at most {limit:,} bytes.")


class BodyTooSlow(Invalid):
    """The body did not arrive in time."""


class Disconnected(Exception):
    """The client went away; nobody is left to be answered."""


STATUSES: Mapping[type[TsuzukiError], int] = {
    NotFound: 404,
    Conflict: 409,
    Invalid: 400,
    KeyReused: 422,
    MethodNotAllowed: 405,
    BodyTooSlow: 408,
    BodyTooLarge: 413,
    Unauthorized: 401,
    Forbidden: 403,
    LimitExceeded: 422,
    TooManyRequests: 429,
    Unavailable: 503,
    SourceError: 503,
    RefusedAddress: 400,
}

LONGEST_SENTENCE = 1_000
_ODD = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]+")

# A source's own codes are for the operator's pages; a client of the API gets those of R48.
_CODES: Mapping[type[TsuzukiError], str] = {SourceError: Unavailable.code, RefusedAddress: Invalid.code}

# What an engine says of itself, with addresses and file names, is for the log; so is how two transactions met.
_TOLD: Mapping[type[TsuzukiError], str] = {
    DatabaseUnavailable: "The database does not answer at the moment. Stored data is safe; try again in a minute.",
    Contention: "Somebody else changed this at the same time, so your change was not saved. Try again.",
}


class ErrorBody(msgspec.Struct, frozen=True):
    """The body of every error; `details` lists all problems of a request."""

    error: str
    code: str
    details: tuple[Problem, ...] | UnsetType = UNSET


class HttpFailure(msgspec.Struct, frozen=True):
    """An error as it is answered."""

    status: int
    body: ErrorBody
    headers: Mapping[str, str] = {}


def failure_of(error: Exception, request_id: str) -> HttpFailure:
    """What to answer; a failure that has no name says nothing but where to find it in the log."""
    for kind in type(error).__mro__:
        if kind in STATUSES:
            return HttpFailure(STATUSES[kind], _body(error, _CODES.get(kind)), _headers(error))
    said = f"Something went wrong on the server. The log has the details under request {request_id}."
    return HttpFailure(500, ErrorBody(said, TsuzukiError.code))


def status_of(kind: type[TsuzukiError]) -> int:
    """The status that such an error is answered with."""
    return next((STATUSES[parent] for parent in kind.__mro__ if parent in STATUSES), 500)


def _body(error: Exception, code: str | None) -> ErrorBody:
    assert isinstance(error, TsuzukiError)
    details = error.problems if isinstance(error, Invalid | Conflict | LimitExceeded) and error.problems else UNSET
    return ErrorBody(_TOLD.get(type(error)) or plain_sentence(str(error)), code or error.code, details)


def plain_sentence(text: str) -> str:
    """A text to be shown or logged, which may quote others: without control characters, and cut."""
    text = _ODD.sub(" ", text)
    return text if len(text) <= LONGEST_SENTENCE else f"{text[: LONGEST_SENTENCE - 1]}…"


def _headers(error: Exception) -> dict[str, str]:
    if isinstance(error, TooManyRequests):
        return {"retry-after": str(error.retry_after)}
    if isinstance(error, SourceError) and error.retry_after:
        return {"retry-after": str(-(-error.retry_after // 1000))}
    if isinstance(error, MethodNotAllowed):
        return {"allow": error.allow}
    if isinstance(error, Unauthorized):
        return {"www-authenticate": "Bearer"}
    if isinstance(error, BodyTooSlow):
        return {"connection": "close"}  # the rest of the body is not waited for
    return {}


def json_failure(failure: HttpFailure) -> Response:
    """The R48 envelope."""
    return Response(msgspec.json.encode(failure.body), failure.status, failure.headers, "application/json")
