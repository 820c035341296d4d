"""The page that a browser shows when something is not there or went wrong."""

from http import HTTPStatus

from starlette.responses import Response

from tsuzuki.edge.boundary import ErrorPage
from tsuzuki.edge.errors import Failure
from tsuzuki.web.messages import said, say, wait_in_words
from tsuzuki.web.rendering import Pages


def error_page(pages: Pages) -> ErrorPage:
    """How a failure looks. It says what the API would say, and repeats nothing of the request (SEC-13)."""

    def show(failure: Failure) -> Response:
        title = said("error", f"title_{failure.status}") or HTTPStatus(failure.status).phrase
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
