"""The page that a browser shows when something is not there or went wrong."""

from functools import partial
from http import HTTPStatus
from typing import Any

import structlog
from starlette.requests import Request
from starlette.responses import Response

from tsuzuki.http.errors import HttpFailure
from tsuzuki.http.middleware import ErrorPage, FramedPage
from tsuzuki.model.errors import TsuzukiError
from tsuzuki.web.labels import find_label
from tsuzuki.web.renderer import Pages
from tsuzuki.web.site import Site
from tsuzuki.web.texts import say_refused

_NAMELESS = 500

_log = structlog.stdlib.get_logger("tsuzuki.web")


def error_page(pages: Pages) -> ErrorPage:
    """How a failure looks. It says what the API would say, and repeats nothing of the request (SEC-13)."""
    return partial(_shown, pages)


def framed_errors(site: Site) -> FramedPage:
    """The same for somebody who is signed in, within the frame, so that every place is one step away.

    An address that no page has is answered like this too. What has no name, and whatever goes wrong while the frame is
    made, is left to the page that needs nothing.
    """

    async def show(request: Request, failure: HttpFailure) -> Response | None:
        if failure.status == _NAMELESS:
            return None
        try:
            caller = await site.visitor(request)
            if caller is None:
                return None
            frame = await site.frame(request, caller, "")
            return _shown(site.pages, failure, frame=frame, visitor=caller.username)
        except TsuzukiError:
            return None  # a page of another site, or a token that is none: who it is has no say here
        except Exception:  # noqa: BLE001  the page that says sorry must not be the one that fails
            _log.exception("framed_error_failed")
            return None

    return show


def _shown(pages: Pages, failure: HttpFailure, **around: Any) -> Response:
    title = find_label("error_title", str(failure.status)) or HTTPStatus(failure.status).phrase
    return pages.render(
        "error.html",
        status=failure.status,
        headers={"cache-control": "no-store", **failure.headers},
        code=failure.status,
        title=title,
        message=say_refused(failure.status, failure.body.error, failure.headers.get("retry-after")),
        **around,
    )
