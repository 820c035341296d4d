"""Answers as apps read them, and what went wrong."""

from collections.abc import Awaitable, Mapping
from typing import Any

import msgspec
from starlette.responses import Response

from tsuzuki.http.errors import failure_of
from tsuzuki.model.errors import Conflict, NotFound, SourceError, TsuzukiError, Unauthorized

Json = dict[str, Any]

CORS = {
    "access-control-allow-origin": "*",
    "access-control-allow-headers": "Authorization, Content-Type",
    "access-control-allow-methods": "GET, POST",
    "access-control-max-age": "600",
}
"""For readers in a browser. No cookie opens anything here, so any site's page may ask."""
Refusal = tuple[str, Mapping[str, str]]
"""What somebody unknown is told: a body and headers."""

_BAD_TOKEN = {"x-reader-google-bad-token": "true", "google-bad-token": "true"}
_PLAIN = 400
_SAID_PLAINLY = frozenset({400, 403, 429})
"""With other statuses, apps look for the sentence in JSON."""


def text_answer(text: str, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """A text."""
    return Response(text, status, CORS | dict(headers or {}), "text/plain; charset=utf-8")


def json_answer(body: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """JSON."""
    said = msgspec.json.encode(body)
    return Response(said, status, CORS | dict(headers or {}), "application/json; charset=utf-8")


def done() -> Response:
    """What was asked for is so; some apps compare these two letters."""
    return text_answer("OK")


REFUSAL: Refusal = ("Unauthorized", _BAD_TOKEN)
WRONG_PAIR: Refusal = ("Error=BadAuthentication\nUnauthorized\n", {})


async def shaped(answering: Awaitable[Response], refusal: Refusal) -> Response:
    """The answer, or what went wrong as apps read it. A failure of ours is answered like everywhere."""
    try:
        return await answering
    except Unauthorized:
        return text_answer(refusal[0], 401, refusal[1])
    except TsuzukiError as error:
        failure = failure_of(error, "")
        # A 404 is a wrong address to apps, and a 503 a server that is down.
        status = _PLAIN if isinstance(error, NotFound | Conflict | SourceError) else failure.status
        if status >= 500:
            raise
        if status in _SAID_PLAINLY:
            return text_answer(failure.body.error, status, failure.headers)
        return json_answer({"errors": [failure.body.error]}, status, failure.headers)
