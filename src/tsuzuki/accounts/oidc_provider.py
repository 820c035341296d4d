"""The client of an OpenID Connect provider: discovery, authorization code with PKCE, ID token.

I6: the operator configured this address, so it is called by Authlib's own client and not through `net`.
"""

import ssl
from collections.abc import Mapping
from functools import cache
from typing import Any

import httpx2
import msgspec
from authlib.integrations.base_client import OAuthError
from authlib.integrations.httpx_client import AsyncOAuth2Client
from authlib.oidc.core import CodeIDToken
from joserfc import jwt
from joserfc.errors import InvalidKeyIdError, JoseError
from joserfc.jwk import KeySet

from tsuzuki.accounts.policy import Identity, ProviderFailed
from tsuzuki.accounts.types import Clock
from tsuzuki.model.times import HOUR, SECOND, Millis

SCOPE = "openid profile email"
ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
"""Signatures that only the provider can make: a shared secret, or none at all, proves nothing."""
LEEWAY_S = 60
TIMEOUT_S = 10.0
METADATA_LIFE = HOUR


@cache
def trusted() -> ssl.SSLContext:
    """Whom this machine trusts. To read all certificates takes ten milliseconds, and a sign-in calls five times."""
    return httpx2.create_ssl_context()


class OidcOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What the operator agreed with the provider."""

    issuer: str
    client_id: str
    client_secret: str
    redirect_uri: str


class ProviderMetadata(msgspec.Struct, frozen=True):
    """What the provider says of itself."""

    issuer: str
    authorization_endpoint: str
    token_endpoint: str
    jwks_uri: str
    userinfo_endpoint: str | None = None
    token_endpoint_auth_methods_supported: tuple[str, ...] = ("client_secret_basic",)

    @property
    def auth_method(self) -> str:
        """How we prove who we are: by header, or in the form where the provider takes only that."""
        in_form = "client_secret_post"
        return in_form if self.token_endpoint_auth_methods_supported == (in_form,) else "client_secret_basic"


class OidcProvider:
    """One provider. What it says of itself is kept for an hour; its keys until one is missing."""

    def __init__(self, options: OidcOptions, clock: Clock) -> None:
        self.options = options
        self._clock = clock
        self._metadata: tuple[Millis, ProviderMetadata] | None = None
        self._keys: KeySet | None = None

    async def authorization_url(self, *, state: str, nonce: str, verifier: str) -> str:
        """Where to send the browser."""
        metadata = await self._discover()
        async with self._client(metadata) as client:
            url, _ = client.create_authorization_url(
                metadata.authorization_endpoint, state=state, nonce=nonce, code_verifier=verifier
            )
        return str(url)

    async def identify(self, code: str, *, nonce: str, verifier: str) -> Identity:
        """Whom the code stands for; ProviderFailed when that is not proved."""
        metadata = await self._discover()
        try:
            async with self._client(metadata) as client:
                token = await client.fetch_token(
                    metadata.token_endpoint, grant_type="authorization_code", code=code, code_verifier=verifier
                )
        except (httpx2.HTTPError, OAuthError, ValueError) as error:
            raise ProviderFailed(f"The provider rejected the sign-in code: {error}") from error
        id_token = token.get("id_token")
        if not isinstance(id_token, str):
            raise ProviderFailed("The provider sent no id_token.")
        claims = await self._claims(metadata, id_token, nonce)
        if "email" not in claims and metadata.userinfo_endpoint is not None:
            claims = {**await self._user_info(metadata.userinfo_endpoint, token, claims["sub"]), **claims}
        return self._identity(claims, metadata)

    async def _claims(self, metadata: ProviderMetadata, id_token: str, nonce: str) -> Mapping[str, Any]:
        try:
            decoded = await self._decode(metadata, id_token)
            claims = CodeIDToken(
                decoded.claims,
                decoded.header,
                {
                    "iss": {"essential": True, "value": metadata.issuer},
                    "aud": {"essential": True, "value": self.options.client_id},
                },
                {"nonce": nonce, "client_id": self.options.client_id},
            )
            claims.validate(now=self._clock() // SECOND, leeway=LEEWAY_S)
        except (JoseError, LookupError, ValueError, TypeError) as error:  # LookupError: keys that are none
            raise ProviderFailed(f"The provider's id_token is invalid: {error}") from error
        return dict(claims)

    async def _user_info(self, url: str, token: Mapping[str, Any], subject: str) -> Mapping[str, Any]:
        """What some providers say only when asked once more; it must be about the same person."""
        said = await self._get(url, authorization=f"Bearer {token.get('access_token')}")
        if not isinstance(said, dict) or said.get("sub") != subject:
            raise ProviderFailed("The provider's userinfo is for another user.")
        return said

    async def _decode(self, metadata: ProviderMetadata, id_token: str) -> jwt.Token:
        keys = self._keys or await self._fetch_keys(metadata)
        try:
            return jwt.decode(id_token, keys, algorithms=list(ALGORITHMS))
        except InvalidKeyIdError:  # the provider has changed its keys
            return jwt.decode(id_token, await self._fetch_keys(metadata), algorithms=list(ALGORITHMS))

    @staticmethod
    def _identity(claims: Mapping[str, Any], metadata: ProviderMetadata) -> Identity:
        email = claims.get("email")
        names = (claims.get(name) for name in ("preferred_username", "nickname", "email", "name"))
        return Identity(
            issuer=metadata.issuer,
            subject=str(claims["sub"]),
            email=email if isinstance(email, str) else None,
            is_verified=claims.get("email_verified") is True,
            names=tuple(name for name in names if isinstance(name, str)),
        )

    async def _discover(self) -> ProviderMetadata:
        now = self._clock()
        if self._metadata is not None and now - self._metadata[0] < METADATA_LIFE:
            return self._metadata[1]
        said = await self._get(f"{self.options.issuer.rstrip('/')}/.well-known/openid-configuration")
        try:
            metadata = msgspec.convert(said, ProviderMetadata)
        except msgspec.ValidationError as error:
            raise ProviderFailed(f"The provider's discovery document is incomplete: {error}") from error
        if metadata.issuer.rstrip("/") != self.options.issuer.rstrip("/"):
            raise ProviderFailed(f"The provider's issuer is {metadata.issuer}, not the configured one.")
        self._metadata = now, metadata
        return metadata

    async def _fetch_keys(self, metadata: ProviderMetadata) -> KeySet:
        self._keys = KeySet.import_key_set(await self._get(metadata.jwks_uri))
        return self._keys

    async def _get(self, url: str, **headers: str) -> Any:
        try:
            async with httpx2.AsyncClient(verify=trusted(), timeout=TIMEOUT_S) as client:
                response = await client.get(url, headers=headers)
                response.raise_for_status()
                return response.json()
        except (httpx2.HTTPError, httpx2.InvalidURL, ValueError) as error:
            raise ProviderFailed(f"The provider does not answer at {url}: {error}") from error

    def _client(self, metadata: ProviderMetadata) -> AsyncOAuth2Client:
        return AsyncOAuth2Client(
            self.options.client_id,
            self.options.client_secret,
            token_endpoint_auth_method=metadata.auth_method,
            scope=SCOPE,
            redirect_uri=self.options.redirect_uri,
            code_challenge_method="S256",
            verify=trusted(),
            timeout=TIMEOUT_S,
        )
