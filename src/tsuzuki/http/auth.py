"""Who is calling, from what a request carries: a token in its Authorization, else a session in its cookie."""

from ipaddress import ip_address

from starlette.requests import Request

from tsuzuki.accounts.caller import Caller
from tsuzuki.accounts.policy import DEVICE_LIFE, SESSION_LIFE
from tsuzuki.accounts.sessions import Device, Sessions
from tsuzuki.accounts.signin import SignedIn
from tsuzuki.accounts.tokens import Tokens
from tsuzuki.http.cookies import Cookie
from tsuzuki.http.csrf import refuse_cross_site
from tsuzuki.model.errors import Unauthorized
from tsuzuki.model.times import SECOND

KEY = "tsuzuki.caller"
SESSION = Cookie("tsuzuki", SESSION_LIFE // SECOND)
DEVICE = Cookie("tsuzuki_device", DEVICE_LIFE // SECOND)
"""Stays when somebody signs out: it opens nothing, and strangers' guesses do not lock out whoever has it."""


class Callers:
    """Finds the caller once per request; everything after that asks again for free."""

    def __init__(self, sessions: Sessions, tokens: Tokens) -> None:
        self._sessions = sessions
        self._tokens = tokens

    async def of(self, request: Request) -> Caller | None:
        """The caller; None for someone unknown. Unauthorized for a token that is none: no cookie stands in for it.

        Forbidden for a write with a cookie that another site's page makes.
        """
        if KEY not in request.scope:
            request.scope[KEY] = await self._find(request)
        caller: Caller | None = request.scope[KEY]
        return caller

    async def _find(self, request: Request) -> Caller | None:
        token = bearer_of(request)
        if token is not None:
            caller = await self._tokens.resume(token, address_of(request))
            if caller is None:
                raise Unauthorized("This token is unknown, expired or revoked.")
            return caller
        refuse_cross_site(request)
        key = SESSION.read(request)
        return None if key is None else await self._resume(request, key)

    async def _resume(self, request: Request, key: str) -> Caller | None:
        resumed = await self._sessions.resume(key, address_of(request))
        if resumed is None:
            return None
        if resumed.renewed:
            SESSION.set(request, key)
        return resumed.caller


def bearer_of(request: Request) -> str | None:
    """The token that a request carries. Other schemes are not ours: a proxy may have asked for them."""
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else None


def address_of(request: Request) -> str:
    """Where the request comes from; the server has looked behind trusted proxies already, and behind no others."""
    return request.client.host if request.client else ""


def is_addressed_locally(request: Request) -> bool:
    """Whether the browser believes to be talking to its own machine: a name that was rebound to it does not count."""
    host = request.url.hostname or ""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def device_of(request: Request) -> Device:
    """What is known of the device, and the session it came with."""
    user_agent = request.headers.get("user-agent", "")
    return Device(address_of(request), user_agent, SESSION.read(request), DEVICE.read(request))


def begin_session(request: Request, signed_in: SignedIn) -> SignedIn:
    """Send the cookies of a new session with the answer."""
    DEVICE.set(request, signed_in.device_key)
    SESSION.set(request, signed_in.key)
    return signed_in
