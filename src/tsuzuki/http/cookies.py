"""Cookies: `__Host-` and Secure over HTTPS, never readable by scripts, never sent by other sites' forms.

Handlers answer with data; what a cookie should become is noted on the request and written by `Cookies` at the end.
"""

import msgspec
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

KEY = "tsuzuki.cookies"


class Cookie(msgspec.Struct, frozen=True):
    """A cookie of ours, and how many seconds a browser keeps it."""

    name: str
    max_age: int

    def read(self, request: Request) -> str | None:
        """Its value; over HTTPS only the one that no other host or plain page can have set counts."""
        return request.cookies.get(self._full_name(request.scope)) or None

    def set(self, request: Request, value: str) -> None:
        """Send it with the answer."""
        self._note(request.scope, f"{value}; Max-Age={self.max_age}")

    def clear(self, request: Request) -> None:
        """Take it back with the answer."""
        self._note(request.scope, "; Max-Age=0")

    def _note(self, scope: Scope, value_and_age: str) -> None:
        secure = "; Secure" if _is_https(scope) else ""
        line = f"{self._full_name(scope)}={value_and_age}; Path=/; HttpOnly; SameSite=Lax{secure}"
        scope.setdefault(KEY, {})[self.name] = line

    def _full_name(self, scope: Scope) -> str:
        return f"__Host-{self.name}" if _is_https(scope) else self.name


class Cookies:
    """Writes the cookies that were noted while a request was answered."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request (ASGI)."""

        async def send_with_cookies(message: Message) -> None:
            if message["type"] == "http.response.start" and KEY in scope:
                lines = [(b"set-cookie", line.encode("latin-1")) for line in scope[KEY].values()]
                message["headers"] = [*message["headers"], *lines]
            await send(message)

        await self._app(scope, receive, send_with_cookies)


def _is_https(scope: Scope) -> bool:
    return bool(scope["scheme"] == "https")
