"""How people come to be: the first visit, and invitations."""

from typing import Annotated

import msgspec
from msgspec import Meta
from starlette.requests import Request

from tsuzuki.accounts.invites import Accepted, Invites
from tsuzuki.accounts.setup import FIRST_ADMIN, Setup
from tsuzuki.api.declaring import declaring
from tsuzuki.api.endpoints import Access
from tsuzuki.api.forms import Body
from tsuzuki.api.sessions import Name, NewPassword, SignedInView, signed_in_view
from tsuzuki.http.entering import join
from tsuzuki.model.errors import Conflict, Forbidden, LimitExceeded, TooManyRequests, Unauthorized

Code = Annotated[str, Meta(min_length=1, max_length=200)]


class SetupView(msgspec.Struct, frozen=True):
    """Whether nobody can sign in yet."""

    needed: bool


class SetupBody(Body, frozen=True, kw_only=True):
    """The code from the log, and what the first administrator wants to be called."""

    code: Code
    username: Name = FIRST_ADMIN
    password: NewPassword


class InvitedBody(Body, frozen=True, kw_only=True):
    """The code of an invitation, and what its owner wants to be called."""

    code: Code
    username: Name
    password: NewPassword


async def show_setup(setup: Setup) -> SetupView:
    """Whether the first administrator is still to come."""
    return SetupView(await setup.is_needed())


async def set_up(request: Request, body: SetupBody, invites: Invites) -> SignedInView:
    """Makes the first administrator, once, with the code that the server printed in its log."""
    return signed_in_view(await join(request, invites, _accepted(body), is_setup=True))


async def accept_invite(request: Request, body: InvitedBody, invites: Invites) -> SignedInView:
    """Makes the invited account and signs it in."""
    return signed_in_view(await join(request, invites, _accepted(body), is_setup=False))


def _accepted(body: SetupBody | InvitedBody) -> Accepted:
    return Accepted(code=body.code, username=body.username, password=body.password)


_ERRORS = (Unauthorized, Forbidden, Conflict, LimitExceeded, TooManyRequests)


_public = declaring("sign-in", Access.PUBLIC)

ENDPOINTS = (
    _public("GET", "/setup", show_setup, "Whether this server has an administrator"),
    _public("POST", "/setup", set_up, "Become the first administrator", status=201, errors=_ERRORS),
    _public("POST", "/invites/accept", accept_invite, "Accept an invitation", status=201, errors=_ERRORS),
)
