"""What the pages stand on, and who looks at them."""

from collections.abc import Awaitable, Callable
from urllib.parse import urlencode

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from tsuzuki.accounts.caller import Caller
from tsuzuki.accounts.services import Accounts
from tsuzuki.edge.auth import Callers, bearer_of
from tsuzuki.edge.csrf import refuse_cross_site
from tsuzuki.edge.oidc import OidcDoor
from tsuzuki.edge.routing import Handler
from tsuzuki.web.forms import see
from tsuzuki.web.rendering import Pages

SIGN_IN = "/sign-in"
ACCOUNT = "/account"
SETUP = "/setup"

Owned = Callable[[Request, Caller], Awaitable[Response]]
"""A handler for someone who is signed in."""


class Site(msgspec.Struct, frozen=True):
    """The templates, the services of accounts, and the two ways to come in."""

    pages: Pages
    accounts: Accounts
    callers: Callers
    oidc: OidcDoor

    async def visitor(self, request: Request) -> Caller | None:
        """Whoever holds the cookie's session. A token opens no page: pages do more than its scopes may say."""
        return None if bearer_of(request) is not None else await self.callers.of(request)

    def signed_in(self, handler: Owned, back: str) -> Handler:
        """For people who are signed in; everyone else signs in first, and comes back to `back`."""

        async def ask(request: Request) -> Response:
            refuse_cross_site(request)
            caller = await self.visitor(request)
            return await handler(request, caller) if caller is not None else see(with_query(SIGN_IN, next=back))

        return ask


def with_query(path: str, **values: str) -> str:
    """The path with these values behind its `?`."""
    return f"{path}?{urlencode(values)}"
