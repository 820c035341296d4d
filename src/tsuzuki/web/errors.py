"""The page that a browser shows when something is not there or went wrong."""

from collections.abc import Mapping
from http import HTTPStatus
from types import MappingProxyType

from starlette.responses import Response

from tsuzuki.edge.boundary import ErrorPage
from tsuzuki.edge.errors import Failure
from tsuzuki.web.messages import say, wait_in_words
from tsuzuki.web.rendering import Pages

_TITLES: Mapping[int, str] = MappingProxyType(
    {404: "Nothing here", 405: "Not like this", 429: "Not so fast", 500: "That was our fault", 503: "Not right now"}
)


def error_page(pages: Pages) -> ErrorPage:
    """How a failure looks. It says what the API would say, and repeats nothing of the request (SEC-13)."""

    def show(failure: Failure) -> Response:
        title = _TITLES.get(failure.status, HTTPStatus(failure.status).phrase)
        return pages.render(
            "error.html",
            status=failure.status,
            headers={"cache-control": "no-store", **failure.headers},
            code=failure.status,
            title=title,
            message=_message(failure),
        )

    return show


def _message(failure: Failure) -> str:
    """With how long to wait where that is known."""
    seconds = failure.headers.get("retry-after")
    return failure.body.error if seconds is None else say("trouble.wait", wait=wait_in_words(int(seconds)))
