"""The headers that every answer carries, errors included (I7, SEC-13, SEC-15)."""

from starlette.types import ASGIApp, Message, Receive, Scope, Send

CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; manifest-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)

WITH_PLAYERS = f"{CONTENT_SECURITY_POLICY}; media-src 'self'"
"""For the pages that play something: sounds and films come through this server like everything else."""
SANDBOXED = "sandbox; default-src 'none'; frame-ancestors 'none'"
"""For what others made: whatever its bytes are, nothing of it runs, even where somebody opens it by itself (SEC-12)."""

HEADERS = {
    "content-security-policy": CONTENT_SECURITY_POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    "cache-control": "no-store",
}

STRICT_TRANSPORT = {"strict-transport-security": f"max-age={365 * 24 * 3600}"}
"""For a server whose public address is https. Nothing is said of its subdomains, which may be somebody else's. Browsers
ignore this where it comes over plain HTTP (RFC 6797, 8.1)."""


class SecurityHeaders:
    """Adds to an answer each of `HEADERS` that it does not set itself: a stricter policy, a longer life in caches."""

    def __init__(self, app: ASGIApp, *, is_https: bool = False) -> None:
        """`is_https` says that people reach this server over HTTPS, whatever lies between."""
        self._app = app
        headers = HEADERS | (STRICT_TRANSPORT if is_https else {})
        self._encoded = tuple((name.encode(), value.encode()) for name, value in headers.items())

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request (ASGI)."""

        async def send_safely(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = message["headers"]
                present = {name for name, _ in headers}
                message["headers"] = [*headers, *(pair for pair in self._encoded if pair[0] not in present)]
            await send(message)

        await self._app(scope, receive, send_safely)
