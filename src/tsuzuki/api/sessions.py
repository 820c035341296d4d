"""Signing in and out."""

from typing import Annotated

import msgspec
from msgspec import Meta
from starlette.requests import Request

from tsuzuki.accounts.nouns import Role, User
from tsuzuki.accounts.policy import SHORTEST_PASSWORD
from tsuzuki.accounts.setup import FIRST_ADMIN
from tsuzuki.accounts.signin import SignedIn, SignIn
from tsuzuki.api.declaring import declaring
from tsuzuki.api.endpoints import Access
from tsuzuki.api.forms import Body
from tsuzuki.api.views import view_of
from tsuzuki.http.entering import enter, leave
from tsuzuki.model.errors import Forbidden, TooManyRequests, Unauthorized

Name = Annotated[str, Meta(min_length=1, max_length=200)]
NewPassword = Annotated[str, Meta(min_length=SHORTEST_PASSWORD)]
"""There is no upper limit but the body's."""


class SignInBody(Body, frozen=True, kw_only=True):
    """A name, by default `admin`, and its password."""

    username: Name = FIRST_ADMIN
    password: str


class UserView(msgspec.Struct, frozen=True):
    """A person, in short."""

    id: str
    username: str
    role: Role


class SignedInView(msgspec.Struct, frozen=True):
    """Who is signed in now; the session is in the cookie."""

    user: UserView


user_view = view_of(UserView, User)


def signed_in_view(signed_in: SignedIn) -> SignedInView:
    """Who is signed in now."""
    return SignedInView(user_view(signed_in.user))


async def sign_in(request: Request, body: SignInBody, service: SignIn) -> SignedInView:
    """Begins a session; the one that the browser had ends."""
    return signed_in_view(await enter(request, service, username=body.username, password=body.password))


async def sign_out(request: Request, service: SignIn) -> None:
    """Ends the session of the cookie, if there is one."""
    await leave(request, service)


_public = declaring("sign-in", Access.PUBLIC)

ENDPOINTS = (
    _public("POST", "/sessions", sign_in, "Sign in", errors=(Unauthorized, Forbidden, TooManyRequests)),
    _public("DELETE", "/sessions", sign_out, "Sign out", errors=(Forbidden,)),
)
