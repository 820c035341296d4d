"""What the pages stand on, and who looks at them."""

from collections.abc import Awaitable, Callable
from urllib.parse import urlencode

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from tsuzuki.accounts.caller import Caller
from tsuzuki.accounts.policy import LONGEST_PATH
from tsuzuki.accounts.types import MemberShelf
from tsuzuki.http.auth import SAFE_METHODS, bearer_of, refuse_cross_site
from tsuzuki.http.routing import Handler
from tsuzuki.http.services import Services
from tsuzuki.model.errors import Forbidden
from tsuzuki.web.forms import see
from tsuzuki.web.rendering import Pages

SIGN_IN = "/sign-in"
ACCOUNT = "/account"
DEVICE_PASSWORDS = f"{ACCOUNT}/device-passwords"
SETUP = "/setup"

Owned = Callable[[Request, Caller], Awaitable[Response]]
"""A handler for someone who is signed in."""
OnShelf = Callable[[Request, MemberShelf], Awaitable[Response]]
"""A handler that needs to know no more of them than their shelf."""


class SettingRow(msgspec.Struct, frozen=True, kw_only=True):
    """A setting for people; its secrets are masked already."""

    name: str
    value: str
    is_set: bool
    """By the environment; else it is what it is by default."""
    group: str
    says: str


class Site(Services, frozen=True, kw_only=True):
    """The templates, and every service by its name."""

    pages: Pages
    settings: tuple[SettingRow, ...]
    """In the order of their table. The settings themselves lie above the pages."""
    public_url: str | None
    """Where people reach this server, if its operator said so; else a request tells how it came here."""

    async def visitor(self, request: Request) -> Caller | None:
        """Whoever holds the cookie's session. A token opens no page: pages do more than its scopes may say."""
        return None if bearer_of(request) is not None else await self.callers.of(request)

    def signed_in(self, handler: Owned, back: str | None = None) -> Handler:
        """For people who are signed in; everyone else signs in first, and comes back to `back`, else to the page."""

        async def ask(request: Request) -> Response:
            refuse_cross_site(request)
            caller = await self.visitor(request)
            if caller is None:
                return see(with_query(SIGN_IN, next=_here(request) if back is None else back))
            return await handler(request, msgspec.structs.replace(caller, writes=request.method not in SAFE_METHODS))

        return ask

    def on_shelf(self, handler: OnShelf, back: str | None = None) -> Handler:
        """The same for what is done on the shelf that is theirs, or that they have chosen."""

        async def ask(request: Request, caller: Caller) -> Response:
            return await handler(request, await self.accounts.current_user.shelf_of(caller))

        return self.signed_in(ask, back)

    def operator(self, handler: Owned, back: str | None = None) -> Handler:
        """For administrators; other people are refused."""

        async def ask(request: Request, caller: Caller) -> Response:
            if not caller.may("admin"):
                raise Forbidden("This page is for administrators.")
            return await handler(request, caller)

        return self.signed_in(ask, back)


def with_query(path: str, **values: str) -> str:
    """The path with these values behind its `?`."""
    return f"{path}?{urlencode(values)}"


def _here(request: Request) -> str:
    """Where a reader wanted to go; what was posted is not posted again, nor does a header hold whatever was asked."""
    here = request.url.path + (f"?{request.url.query}" if request.url.query else "")
    return here if request.method in SAFE_METHODS and len(here) <= LONGEST_PATH else "/"
