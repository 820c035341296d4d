"""The way to the identity provider, for the API and the pages; and the cookie that binds a flow to a browser."""

import msgspec
from starlette.requests import Request

from tsuzuki.accounts.caller import Caller
from tsuzuki.accounts.oidc.service import Oidc
from tsuzuki.accounts.policy import FLOW_LIFE
from tsuzuki.http.auth import address_of
from tsuzuki.http.cookies import Cookie
from tsuzuki.model.errors import NotFound
from tsuzuki.model.times import SECOND

FLOW = Cookie("tsuzuki_oidc", FLOW_LIFE // SECOND)


class OidcDeps(msgspec.Struct, frozen=True):
    """The way in by a provider, where the operator configured one; `name` is what people know it by."""

    oidc: Oidc | None = None
    name: str = ""

    def opened(self) -> Oidc:
        """What is behind the door; NotFound where there is no provider."""
        if self.oidc is None:
            raise NotFound("Sign-in with an identity provider is not set up.")
        return self.oidc

    async def begin(self, request: Request, caller: Caller | None, wish: str) -> str:
        """Where to send the browser, which is given the flow's cookie; NotFound where there is no provider."""
        begun = await self.opened().begin(caller, wish, address=address_of(request))
        FLOW.set(request, begun.key)
        return begun.url
