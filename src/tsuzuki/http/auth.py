"""Who is calling: cookies, tokens, the CSRF check, and beginning and ending sessions."""

from ipaddress import ip_address

import msgspec
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tsuzuki.accounts.caller import Caller
from tsuzuki.accounts.invites import AccountRequest, Invites
from tsuzuki.accounts.oidc import Oidc
from tsuzuki.accounts.policy import DEVICE_LIFE, FLOW_LIFE, SESSION_LIFE
from tsuzuki.accounts.sessions import Device, Sessions
from tsuzuki.accounts.sign_in import WRONG_PAIR, SignedIn, SignIn
from tsuzuki.accounts.tokens import Tokens
from tsuzuki.model.errors import Forbidden, NotFound, Unauthorized
from tsuzuki.model.times import SECOND

COOKIES_KEY = "tsuzuki.cookies"


class Cookie(msgspec.Struct, frozen=True):
    """A cookie of ours, and how many seconds a browser keeps it."""

    name: str
    max_age: int

    def read(self, request: Request) -> str | None:
        """Its value; over HTTPS only the one that no other host or plain page can have set counts."""
        return request.cookies.get(self._full_name(request.scope)) or None

    def set(self, request: Request, value: str) -> None:
        """Set the cookie in the answer."""
        self._note(request.scope, f"{value}; Max-Age={self.max_age}")

    def clear(self, request: Request) -> None:
        """Delete the cookie with the answer."""
        self._note(request.scope, "; Max-Age=0")

    def _note(self, scope: Scope, value_and_age: str) -> None:
        secure = "; Secure" if _is_https(scope) else ""
        line = f"{self._full_name(scope)}={value_and_age}; Path=/; HttpOnly; SameSite=Lax{secure}"
        scope.setdefault(COOKIES_KEY, {})[self.name] = line

    def _full_name(self, scope: Scope) -> str:
        return f"__Host-{self.name}" if _is_https(scope) else self.name


class Cookies:
    """Writes the cookies that were noted while a request was answered."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request (ASGI)."""

        async def send_with_cookies(message: Message) -> None:
            if message["type"] == "http.response.start" and COOKIES_KEY in scope:
                lines = [(b"set-cookie", line.encode("latin-1")) for line in scope[COOKIES_KEY].values()]
                message["headers"] = [*message["headers"], *lines]
            await send(message)

        await self._app(scope, receive, send_with_cookies)


def _is_https(scope: Scope) -> bool:
    return bool(scope["scheme"] == "https")


SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
_OWN = frozenset({"same-origin", "none"})


def is_cross_site(request: Request) -> bool:
    """Whether another site's page makes this request, as far as the browser says where it comes from."""
    site = request.headers.get("sec-fetch-site")
    if site is not None:
        return site not in _OWN
    origin = request.headers.get("origin")
    return origin is not None and origin.partition("://")[2] != request.headers.get("host", "")


def refuse_cross_site(request: Request) -> None:
    """Forbidden for a write that another site's page makes. Requests with a token need not be asked."""
    if request.method not in SAFE_METHODS and is_cross_site(request):
        raise Forbidden("This request comes from another site.")


CALLER_KEY = "tsuzuki.caller"
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
        if CALLER_KEY not in request.scope:
            request.scope[CALLER_KEY] = await self._find(request)
        caller: Caller | None = request.scope[CALLER_KEY]
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


async def enter(request: Request, service: SignIn, *, username: str, password: str) -> SignedIn:
    """Begin a session; the one that the browser had ends. Unauthorized for a pair that does not belong together."""
    if not password and not is_addressed_locally(request):
        raise Unauthorized(WRONG_PAIR)  # R76: where no password is needed, another site could still be rebound to us
    return begin_session(request, await service.sign_in(username, password, device_of(request)))


async def join(request: Request, invites: Invites, accepted: AccountRequest, *, is_setup: bool) -> SignedIn:
    """Begin the session of someone who was not there before: see `Invites.accept`."""
    return begin_session(request, await invites.accept(accepted, device_of(request), is_setup=is_setup))


async def leave(request: Request, service: SignIn) -> None:
    """End the session of the cookie, if there is one, and take the cookie back."""
    key = SESSION.read(request)
    if key is not None:
        await service.sign_out(key, address_of(request))
        SESSION.clear(request)


FLOW = Cookie("tsuzuki_oidc", FLOW_LIFE // SECOND)


class OidcDeps(msgspec.Struct, frozen=True):
    """The way in by a provider, where the operator configured one; `name` is what people know it by."""

    oidc: Oidc | None = None
    name: str = ""

    def opened(self) -> Oidc:
        """The OIDC service; NotFound where there is no provider."""
        if self.oidc is None:
            raise NotFound("Sign-in with an identity provider is not set up.")
        return self.oidc

    async def begin(self, request: Request, caller: Caller | None, next_path: str) -> str:
        """Where to send the browser, which is given the flow's cookie; NotFound where there is no provider."""
        begun = await self.opened().begin(caller, next_path, address=address_of(request))
        FLOW.set(request, begun.key)
        return begun.url
