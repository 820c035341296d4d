"""Signs an app in by what its protocol sends as a password. Cookies open nothing here."""

import base64
import binascii
from collections.abc import Callable, Mapping, Sequence
from http import HTTPStatus

import msgspec
from starlette.requests import Request

from tsuzuki.accounts.devices import WRONG_PAIR, AppRequest, AppUser
from tsuzuki.accounts.types import Protocol
from tsuzuki.http.auth import address_of, refuse_cross_site
from tsuzuki.http.errors import HttpFailure
from tsuzuki.http.routing import Handler, Resource
from tsuzuki.http.services import Services
from tsuzuki.model.errors import Unauthorized
from tsuzuki.model.times import Millis

_LATER = "60"


class AppResource(Resource):
    """A path that apps call. One that `is_public` needs no device password: it shows nothing of anybody, or
    what the request itself proves a right to.
    """

    takes_doubled_slashes = True
    """Apps put what they ask for behind an address as it was typed, and that may end with a slash."""

    def __init__(self, path: str, handlers: Mapping[str, Handler], *, is_public: bool = False) -> None:
        super().__init__(path, handlers)
        self.is_public = is_public


class ProtocolDeps(msgspec.Struct, frozen=True):
    """What every protocol is given."""

    services: Services
    clock: Callable[[], Millis]
    public_url: str | None = None
    allowed_origins: Sequence[str] = ()
    """Sites whose pages may call this server (CORS)."""

    def base_of(self, request: Request) -> str:
        """The address of this server, without a slash at its end: the public one, else the one that was called."""
        return (self.public_url or f"{request.url.scheme}://{request.url.netloc}").rstrip("/")

    async def sign_in(self, request: Request, protocol: Protocol, username: str | None, password: str) -> AppUser:
        """Whoever sent this; Unauthorized otherwise. `username` is None where the protocol sends none."""
        if not password:
            raise Unauthorized(WRONG_PAIR)
        return await self.services.accounts.devices.sign_in(app_request(request, protocol), username, password)

    async def sign_in_basic(self, request: Request, protocol: Protocol) -> AppUser:
        """By HTTP Basic; Unauthorized without it."""
        username, password = self.basic_of(request) or ("", "")
        return await self.sign_in(request, protocol, username, password)

    def basic_of(self, request: Request) -> tuple[str, str] | None:
        """The name and the password of HTTP Basic; None where there are none.

        Browsers that know them send them with forms of any site: Forbidden for a write that comes from one (SEC-42).
        """
        pair = _basic_of(request)
        if pair is not None and request.headers.get("origin") not in self.allowed_origins:
            refuse_cross_site(request)
        return pair


def failure_headers(failure: HttpFailure) -> dict[str, str]:
    """The headers of a failure: what is unavailable now is worth another request in a minute."""
    later = {"retry-after": _LATER} if failure.status == HTTPStatus.SERVICE_UNAVAILABLE else {}
    return later | dict(failure.headers)


def app_request(request: Request, protocol: Protocol) -> AppRequest:
    """The request as the accounts see it."""
    return AppRequest(protocol.name, address_of(request), request.headers.get("user-agent", ""))


def _basic_of(request: Request) -> tuple[str, str] | None:
    scheme, _, text = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() != "basic":
        return None
    try:
        username, colon, password = base64.b64decode(text.strip(), validate=True).decode().partition(":")
    except (ValueError, binascii.Error):
        return None
    return (username, password) if colon else None
