"""The tree of errors.

TsuzukiError
├── NotFound               404  what was asked for is not there, or not yours to see
├── Conflict               409  it exists already, or its state forbids this
├── Invalid                400  the request is wrong; `problems` lists every field
│   └── KeyReused          422  its idempotency key belongs to another request
├── Unauthorized           401  who are you?
├── Forbidden              403  you may not
├── LimitExceeded          422  the plan's limit is reached
├── TooManyRequests        429  slow down; `retry_after` seconds
├── Unavailable            503  a part we need does not answer; try again
└── SourceError            a source's failure is data on that source, never a 500
    ├── RefusedAddress     the guard does not let us call this address
    ├── Unreachable        no connection, or it broke
    ├── TimedOut           the deadline passed
    ├── TooLarge           more bytes, headers or nodes than we accept
    ├── HttpStatus         an answer that is neither success nor one of the next
    ├── Blocked            403, or a page that wants a human
    ├── RateLimited        429, or 503 with Retry-After
    │   └── NotOurTurn     nothing was asked: we are to wait for longer than we can
    ├── Gone               410
    ├── RedirectLoop       redirects that never arrive
    ├── NotAFeed           an answer, but nothing we can read
    ├── NotAnImage         an answer, but no image, or one that does not decode
    ├── NotMedia           an answer, but no sound or film that we pass on
    ├── Unended            polls of it do not end: whoever reads it dies or stands still
    └── ShapeChanged       readable, but not what this source used to send
"""

from typing import ClassVar

import msgspec


class Problem(msgspec.Struct, frozen=True):
    """One thing that is wrong with one field of a request."""

    field: str
    message: str


class TsuzukiError(Exception):
    """The root; `code` is stable and is what clients may test for."""

    code: ClassVar[str] = "INTERNAL_ERROR"


class NotFound(TsuzukiError):
    code = "NOT_FOUND"


class Conflict(TsuzukiError):
    """`problems` may say what it is in conflict with."""

    code = "CONFLICT"
    problems: "tuple[Problem, ...]" = ()


class Invalid(TsuzukiError):
    """The message is the first problem's; `problems` holds all of them."""

    code = "VALIDATION_ERROR"

    def __init__(self, message: str, problems: tuple[Problem, ...] = ()) -> None:
        super().__init__(message)
        self.problems = problems


class KeyReused(Invalid):
    """REL-47: an idempotency key that came with another request before."""


class Unauthorized(TsuzukiError):
    code = "UNAUTHORIZED"


class Forbidden(TsuzukiError):
    code = "FORBIDDEN"


class LimitExceeded(TsuzukiError):
    """`problems` name the limits, by the names that plans have for them."""

    code = "LIMIT_EXCEEDED"

    def __init__(self, message: str, problems: tuple[Problem, ...] = ()) -> None:
        super().__init__(message)
        self.problems = problems


class TooManyRequests(TsuzukiError):
    code = "RATE_LIMITED"

    def __init__(self, message: str, retry_after: int) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class Unavailable(TsuzukiError):
    code = "SERVICE_UNAVAILABLE"


class SourceError(TsuzukiError):
    """Calling a source went wrong. The message is a sentence that an operator understands.

    `status` is the HTTP status where there was one; `retry_after` is in milliseconds, already read from its header.
    `retried` are the rate limits that were waited out before: the status, and for how many milliseconds.
    """

    code = "source_error"
    retried: tuple[tuple[int, int], ...] = ()

    def __init__(self, message: str, *, status: int | None = None, retry_after: int | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.retry_after = retry_after


class RefusedAddress(SourceError):
    code = "refused_address"


class RefusedProxy(RefusedAddress):
    """The address of the proxy that somebody wants to be used."""


class Unreachable(SourceError):
    code = "unreachable"


class TimedOut(SourceError):
    code = "timeout"


class TooLarge(SourceError):
    code = "too_large"


class HttpStatus(SourceError):
    code = "http_status"


class Blocked(SourceError):
    code = "blocked"


class RateLimited(SourceError):
    code = "rate_limited"


class NotOurTurn(RateLimited):
    code = "not_our_turn"


class Gone(SourceError):
    code = "gone"


class RedirectLoop(SourceError):
    code = "redirect_loop"


class NotAFeed(SourceError):
    code = "not_a_feed"


class NotAnImage(SourceError):
    code = "not_an_image"


class NotMedia(SourceError):
    code = "not_media"


class Unended(SourceError):
    code = "unended"


class ShapeChanged(SourceError):
    code = "shape_changed"
