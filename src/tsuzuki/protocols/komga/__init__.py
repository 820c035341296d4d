"""Komga's REST API, as far as comic readers call it: series, books, pages, progress, and Mihon's tracker."""

from collections.abc import Sequence
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from tsuzuki.model.errors import Forbidden, NotFound
from tsuzuki.protocols.access import ProtocolDeps
from tsuzuki.protocols.komga import books, events, readium, series
from tsuzuki.protocols.komga.requests import (
    COOKIE,
    KOMGA,
    LASTING_COOKIE,
    Answer,
    KomgaRequest,
    KomgaResource,
    cookie_line,
    done,
    resource,
)

__all__ = ["KOMGA", "VERSION", "resources"]

VERSION = "1.26.3"
"""The version of Komga's API that apps find here."""
_METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
_NAMES = ("tags", "tags/series", "tags/book", "publishers", "sharing-labels", "age-ratings", "series/release-dates")
"""Lists of what no series here has."""


def resources(deps: ProtocolDeps) -> Sequence[KomgaResource]:
    """Everything below `/komga`. Unknown paths answer 404 only to those who signed in."""
    empty = _saying([])
    return [
        *series.resources(deps),
        *books.resources(deps),
        *readium.resources(deps),
        *events.resources(deps),
        resource(deps, "/api/v2/users/me", {"GET": _me}),
        resource(deps, "/api/v1/users/me", {"GET": _me}),
        resource(deps, "/api/v1/login/set-cookie", {"GET": _done}),
        resource(deps, "/api/logout", {"POST": _sign_out, "GET": _sign_out}, reads=True),
        resource(deps, "/api/v1/readlists", {"GET": _no_read_lists}),
        resource(deps, "/api/v1/books/{book_id}/readlists", {"GET": empty}),
        resource(deps, "/actuator/info", {"GET": _saying({"build": {"version": VERSION}})}),
        KomgaResource(f"{KOMGA.path}/api/v1/client-settings/global/list", {"GET": _no_settings}, is_public=True),
        resource(deps, "/api/v1/client-settings/user/list", {"GET": _saying({})}),
        resource(deps, "/api/v1/announcements", {"GET": _refused}),
        resource(deps, "/api/v1/releases", {"GET": _refused}),
        *(resource(deps, f"/api/v1/{name}", {"GET": empty}) for name in _NAMES),
        resource(deps, "/{rest:path}", dict.fromkeys(_METHODS, _unknown), reads=True),
    ]


def _saying(value: Any) -> Answer:
    async def answer(asked: KomgaRequest) -> Response:
        return asked.answer(value)

    return answer


async def _no_settings(_: Request) -> Response:
    """Nothing that Komga's own pages would keep here. KMReader looks for it before it signs in, to know the server."""
    return Response(b"{}", media_type="application/json")


async def _me(asked: KomgaRequest) -> Response:
    """Nobody administers a server from here."""
    caller = asked.user.caller
    return asked.answer(
        {
            "id": str(caller.user_id),
            "email": caller.username,
            "roles": ["USER", "PAGE_STREAMING", "FILE_DOWNLOAD"],
            "sharedAllLibraries": True,
            "sharedLibrariesIds": [],
            "labelsAllow": [],
            "labelsExclude": [],
        }
    )


async def _done(_: KomgaRequest) -> Response:
    return done()


async def _sign_out(asked: KomgaRequest) -> Response:
    """The app forgets its cookie; it works on until the device password is revoked."""
    response = done()
    for name in (LASTING_COOKIE, COOKIE):
        response.headers.append("set-cookie", cookie_line(asked.request, "", life=0, name=name))
    return response


async def _no_read_lists(asked: KomgaRequest) -> Response:
    """There are none here."""
    return asked.page([], 0)


async def _refused(_: KomgaRequest) -> Response:
    raise Forbidden("Only administrators see this, on this server's pages.")


async def _unknown(_: KomgaRequest) -> Response:
    raise NotFound("There is nothing at this address.")
