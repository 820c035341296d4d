"""A provider that checks what we send, and lies where a test tells it to."""

import base64
import hashlib
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import parse_qs, urlsplit

from aiohttp import web
from joserfc import jwt
from joserfc.jwk import OctKey, RSAKey

from tests.net.builders import a_web_app
from tsuzuki.accounts.oidc_provider import OidcOptions

CLIENT = "tsuzuki"
SECRET = "canary-secret-of-the-client"
REDIRECT = "https://reader.example.org/api/v1/oidc/callback"


class StrictProvider:
    """Issues one code per authorization URL; PKCE and client credentials are checked for real."""

    def __init__(self) -> None:
        self.key = RSAKey.generate_key(2048, {"kid": "one"}, private=True)
        self.base = ""
        self.claims: dict[str, Any] = {}
        self.metadata: dict[str, Any] = {}
        self.user: dict[str, Any] = {}
        self.asked: list[str] = []
        self.sign_with: Any = None
        self.header: dict[str, Any] = {}
        self._codes: dict[str, dict[str, str]] = {}

    @property
    def options(self) -> OidcOptions:
        return OidcOptions(issuer=self.base, client_id=CLIENT, client_secret=SECRET, redirect_uri=REDIRECT)

    def authorize(self, url: str) -> tuple[str, str]:
        """What a browser would bring back for this URL: the state and a code."""
        query = {name: values[0] for name, values in parse_qs(urlsplit(url).query).items()}
        assert url.startswith(f"{self.base}/authorize?")
        assert query["response_type"] == "code"
        assert query["client_id"] == CLIENT
        assert query["redirect_uri"] == REDIRECT
        assert "openid" in query["scope"].split()
        assert query["code_challenge_method"] == "S256"
        code = f"code-{len(self._codes)}"
        self._codes[code] = query
        return query["state"], code

    def change_key(self) -> None:
        self.key = RSAKey.generate_key(2048, {"kid": "two"}, private=True)

    async def configuration(self, request: web.Request) -> web.Response:
        self.asked.append(request.path)
        said = {
            "issuer": self.base,
            "authorization_endpoint": f"{self.base}/authorize",
            "token_endpoint": f"{self.base}/token",
            "jwks_uri": f"{self.base}/keys",
        }
        return web.json_response({name: value for name, value in (said | self.metadata).items() if value})

    async def keys(self, request: web.Request) -> web.Response:
        self.asked.append(request.path)
        return web.json_response({"keys": [self.key.as_dict(private=False)]})

    def _is_client(self, request: web.Request, form: dict[str, Any]) -> bool:
        if self.metadata.get("token_endpoint_auth_methods_supported") == ["client_secret_post"]:
            return (form.get("client_id"), form.get("client_secret")) == (CLIENT, SECRET)
        expected = base64.b64encode(f"{CLIENT}:{SECRET}".encode()).decode()
        return request.headers.get("authorization") == f"Basic {expected}"

    async def user_info(self, request: web.Request) -> web.Response:
        self.asked.append(request.path)
        if request.headers.get("authorization") != "Bearer a":
            return web.Response(status=401)
        return web.json_response(self.user)

    async def token(self, request: web.Request) -> web.Response:
        self.asked.append(request.path)
        form = await request.post()
        flow = self._codes.pop(str(form.get("code")), None)
        if flow is None or not self._is_client(request, dict(form)):
            return web.json_response({"error": "invalid_grant"}, status=400)
        digest = hashlib.sha256(str(form.get("code_verifier")).encode()).digest()
        if base64.urlsafe_b64encode(digest).decode().rstrip("=") != flow["code_challenge"]:
            return web.json_response({"error": "invalid_grant"}, status=400)
        now = time.time_ns() // 1_000_000_000
        claims = {"iss": self.base, "aud": CLIENT, "sub": "subject-1", "iat": now, "exp": now + 60}
        claims |= {"nonce": flow["nonce"]} | self.claims
        kept = {name: value for name, value in claims.items() if value is not None}
        header = {"alg": "RS256", "kid": self.key.kid} | self.header
        signed = jwt.encode(header, kept, self.sign_with or self.key, algorithms=[header["alg"]])
        return web.json_response({"access_token": "a", "token_type": "Bearer", "id_token": signed})


@asynccontextmanager
async def strict_provider() -> AsyncIterator[StrictProvider]:
    """One on a free port, until the end of the block."""
    provider = StrictProvider()
    routes = (
        web.get("/.well-known/openid-configuration", provider.configuration),
        web.get("/keys", provider.keys),
        web.post("/token", provider.token),
        web.get("/user", provider.user_info),
    )
    async with a_web_app(*routes) as provider.base:
        yield provider


def shared_secret() -> OctKey:
    """What a forger would sign with who knows the client's secret."""
    return OctKey.import_key(SECRET)
