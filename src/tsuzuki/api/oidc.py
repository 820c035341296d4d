"""Signing in at an identity provider."""

from typing import Annotated
from urllib.parse import urlencode

import msgspec
from msgspec import Meta
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from tsuzuki.accounts.oidc.service import Refused, Returned
from tsuzuki.api.declaring import declaring
from tsuzuki.api.endpoints import Access
from tsuzuki.api.forms import QueryParameters
from tsuzuki.http.auth import Callers, begin_session, device_of
from tsuzuki.http.oidc import FLOW, OidcDeps
from tsuzuki.model.errors import NotFound, TooManyRequests, Unauthorized, Unavailable

SIGN_IN_PAGE = "/sign-in"

Text = Annotated[str, Meta(max_length=4096)]


class OidcEnabledView(msgspec.Struct, frozen=True):
    """Whether there is a provider to sign in at."""

    enabled: bool


class LoginView(msgspec.Struct, frozen=True):
    """Where to send the browser."""

    auth_url: str


class LoginQuery(QueryParameters, frozen=True, kw_only=True):
    """`next` is the path to come back to."""

    next: Text = "/"


async def show_oidc(deps: OidcDeps) -> OidcEnabledView:
    """Whether there is a provider to sign in at."""
    return OidcEnabledView(deps.oidc is not None)


async def begin_oidc(request: Request, query: LoginQuery, deps: OidcDeps, callers: Callers) -> LoginView:
    """Begins a sign-in; for someone who is signed in, the linking of their account."""
    deps.opened()  # before anything is said about the caller
    return LoginView(await deps.begin(request, await callers.of(request), query.next))


async def finish_oidc(request: Request, deps: OidcDeps, callers: Callers) -> Response:
    """Where the provider sends the browser back to. Leads to the page that was wanted, or to the sign-in page."""
    try:
        return _redirect(await _finish(request, deps, callers))
    except Refused as refused:
        return _redirect(f"{SIGN_IN_PAGE}?{urlencode({'reason': f'oidc_{refused.reason}'})}")


async def _finish(request: Request, deps: OidcDeps, callers: Callers) -> str:
    if deps.oidc is None:
        raise Refused("off")
    key = FLOW.read(request)
    FLOW.clear(request)
    sent = request.query_params
    returned = Returned(sent.get("state", ""), sent.get("code", ""), sent.get("error", ""))
    caller = await callers.of(request)
    finished = await deps.oidc.finish(key, returned, caller, device=device_of(request))
    begin_session(request, finished.signed_in)
    return finished.next


def _redirect(path: str) -> Response:
    return RedirectResponse(path, 303)


_public = declaring("sign-in", Access.PUBLIC)

ENDPOINTS = (
    _public("GET", "/oidc/enabled", show_oidc, "Whether there is an identity provider"),
    _public(
        "GET",
        "/oidc/login",
        begin_oidc,
        "Begin to sign in at the identity provider",
        errors=(NotFound, Unauthorized, TooManyRequests, Unavailable),
    ),
    _public(
        "GET", "/oidc/callback", finish_oidc, "Come back from the identity provider", status=303, errors=(Unauthorized,)
    ),
)
