"""Who comes to the demo's first page without a session is let in as the guest."""

from starlette.requests import Request
from starlette.responses import RedirectResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from tsuzuki.accounts.services import Accounts
from tsuzuki.demo.seeding import GUEST
from tsuzuki.http.auth import SESSION, Cookies, begin_session, device_of, is_addressed_locally


class Welcome:
    """The same pages; only the first one signs a stranger in. It is reached from this machine alone."""

    def __init__(self, app: ASGIApp, accounts: Accounts, password: str) -> None:
        self._app = app
        self._sign_in = accounts.sign_in
        self._sessions = accounts.sessions
        self._password = password
        self._let_in = Cookies(self._enter)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request (ASGI)."""
        is_first = scope["type"] == "http" and scope["method"] == "GET" and scope["path"] == "/"
        if is_first and await self._is_stranger(Request(scope)):
            await self._let_in(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    async def _enter(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope)
        signed_in = await self._sign_in.sign_in(GUEST, self._password, device_of(request))
        begin_session(request, signed_in)
        await RedirectResponse("/", 303)(scope, receive, send)

    async def _is_stranger(self, request: Request) -> bool:
        """A session of another server that was at this address, or of the last demo, is none here."""
        if not is_addressed_locally(request):
            return False
        key = SESSION.read(request)
        return key is None or await self._sessions.resume(key, device_of(request).address) is None
