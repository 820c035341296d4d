"""Signing in and out: by password, at an identity provider, at the first set-up, and with an invitation."""

from typing import Annotated
from urllib.parse import urlencode

import msgspec
from msgspec import Meta
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from tsuzuki.accounts.invites import AccountRequest, Invites
from tsuzuki.accounts.oidc import OidcCallback, OidcRefused
from tsuzuki.accounts.policy import FIRST_ADMIN, SHORTEST_PASSWORD
from tsuzuki.accounts.setup import Setup
from tsuzuki.accounts.sign_in import SignedIn, SignIn
from tsuzuki.accounts.types import Role, User
from tsuzuki.api.endpoints import Access, Body, QueryParameters, declaring
from tsuzuki.api.views import copied, view_of
from tsuzuki.http.auth import FLOW, Callers, OidcDeps, begin_session, device_of, enter, join, leave
from tsuzuki.model.errors import (
    Conflict,
    Forbidden,
    LimitExceeded,
    NotFound,
    TooManyRequests,
    Unauthorized,
    Unavailable,
)

Name = Annotated[str, Meta(min_length=1, max_length=200)]
NewPassword = Annotated[str, Meta(min_length=SHORTEST_PASSWORD)]
"""There is no upper limit but the body's."""


class SignInBody(Body, frozen=True, kw_only=True):
    """A username, by default `admin`, and its password."""

    username: Name = FIRST_ADMIN
    password: str


class UserView(msgspec.Struct, frozen=True):
    """A user, in short."""

    id: str
    username: str
    role: Role


class SignedInView(msgspec.Struct, frozen=True):
    """The user who is now signed in; the session is in the cookie."""

    user: UserView


user_view = view_of(UserView, User)


def signed_in_view(signed_in: SignedIn) -> SignedInView:
    """Who is signed in now."""
    return SignedInView(user_view(signed_in.user))


async def sign_in(request: Request, body: SignInBody, service: SignIn) -> SignedInView:
    """Starts a session and ends the previous session of this browser."""
    return signed_in_view(await enter(request, service, username=body.username, password=body.password))


async def sign_out(request: Request, service: SignIn) -> None:
    """Ends the session in the cookie, if there is one."""
    await leave(request, service)


_public = declaring("sign-in", Access.PUBLIC)

SESSION_ENDPOINTS = (
    _public("POST", "/sessions", sign_in, "Sign in", errors=(Unauthorized, Forbidden, TooManyRequests)),
    _public("DELETE", "/sessions", sign_out, "Sign out", errors=(Forbidden,)),
)


Code = Annotated[str, Meta(min_length=1, max_length=200)]


class SetupView(msgspec.Struct, frozen=True):
    """Whether the first administrator still has to be created."""

    needed: bool


class SetupBody(Body, frozen=True, kw_only=True):
    """The code from the log, and the username and password of the first administrator."""

    code: Code
    username: Name = FIRST_ADMIN
    password: NewPassword


class InvitedBody(Body, frozen=True, kw_only=True):
    """The code of an invitation, and the username and password of the new account."""

    code: Code
    username: Name
    password: NewPassword


async def show_setup(setup: Setup) -> SetupView:
    """Whether the first administrator still has to be created."""
    return SetupView(await setup.is_needed())


async def set_up(request: Request, body: SetupBody, invites: Invites) -> SignedInView:
    """Creates the first administrator, once, with the code that the server printed in its log."""
    return signed_in_view(await join(request, invites, copied(AccountRequest, body), is_setup=True))


async def accept_invite(request: Request, body: InvitedBody, invites: Invites) -> SignedInView:
    """Creates the invited account and signs it in."""
    return signed_in_view(await join(request, invites, copied(AccountRequest, body), is_setup=False))


_ERRORS = (Unauthorized, Forbidden, Conflict, LimitExceeded, TooManyRequests)


JOINING_ENDPOINTS = (
    _public("GET", "/setup", show_setup, "Check whether setup is needed"),
    _public("POST", "/setup", set_up, "Create the first administrator", status=201, errors=_ERRORS),
    _public("POST", "/invites/accept", accept_invite, "Accept an invitation", status=201, errors=_ERRORS),
)


SIGN_IN_PAGE = "/sign-in"

Text = Annotated[str, Meta(max_length=4096)]


class OidcEnabledView(msgspec.Struct, frozen=True):
    """Whether users can sign in with an identity provider."""

    enabled: bool


class LoginView(msgspec.Struct, frozen=True):
    """The address to send the browser to."""

    auth_url: str


class LoginQuery(QueryParameters, frozen=True, kw_only=True):
    """`next` is the path to come back to."""

    next: Text = "/"


async def show_oidc(deps: OidcDeps) -> OidcEnabledView:
    """Whether users can sign in with an identity provider."""
    return OidcEnabledView(deps.oidc is not None)


async def begin_oidc(request: Request, query: LoginQuery, deps: OidcDeps, callers: Callers) -> LoginView:
    """Starts a sign-in. If you are signed in already, links your account to the provider."""
    deps.opened()  # before anything is said about the caller
    return LoginView(await deps.begin(request, await callers.of(request), query.next))


async def finish_oidc(request: Request, deps: OidcDeps, callers: Callers) -> Response:
    """The provider redirects the browser here. Redirects to the page that was requested, or to the sign-in page."""
    try:
        return _redirect(await _finish(request, deps, callers))
    except OidcRefused as refused:
        return _redirect(f"{SIGN_IN_PAGE}?{urlencode({'reason': f'oidc_{refused.reason}'})}")


async def _finish(request: Request, deps: OidcDeps, callers: Callers) -> str:
    if deps.oidc is None:
        raise OidcRefused("off")
    key = FLOW.read(request)
    FLOW.clear(request)
    sent = request.query_params
    returned = OidcCallback(sent.get("state", ""), sent.get("code", ""), sent.get("error", ""))
    caller = await callers.of(request)
    finished = await deps.oidc.finish(key, returned, caller, device=device_of(request))
    begin_session(request, finished.signed_in)
    return finished.next


def _redirect(path: str) -> Response:
    return RedirectResponse(path, 303)


OIDC_ENDPOINTS = (
    _public("GET", "/oidc/enabled", show_oidc, "Check for an identity provider"),
    _public(
        "GET",
        "/oidc/login",
        begin_oidc,
        "Start signing in with the identity provider",
        errors=(NotFound, Unauthorized, TooManyRequests, Unavailable),
    ),
    _public(
        "GET", "/oidc/callback", finish_oidc, "Return from the identity provider", status=303, errors=(Unauthorized,)
    ),
)
