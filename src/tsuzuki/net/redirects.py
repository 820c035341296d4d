"""Redirects, followed by hand: each hop is a new request that is judged like the first. Pure."""

import msgspec

from tsuzuki.model.errors import HttpStatus, RedirectLoop, RefusedAddress
from tsuzuki.model.requests import Ask, Hop, SourceIdentity, Validators
from tsuzuki.net.headers import echo, harmless, has_credentials, sendable
from tsuzuki.net.urls import Url, join, parse

MAX_HOPS = 5
REDIRECTS = frozenset({301, 302, 303, 307, 308})
CONDITIONS = ("if-none-match", "if-modified-since")


class OutgoingRequest(msgspec.Struct, frozen=True):
    """One request as it will be sent, cookies aside; header names are in lower case."""

    method: str
    url: Url
    headers: dict[str, str]
    body: bytes | None = None

    @property
    def is_conditional(self) -> bool:
        """True when a 304 would be an answer to it."""
        return not self.headers.keys().isdisjoint(CONDITIONS)


def first_request(ask: Ask, origin: SourceIdentity, *, user_agent: str) -> OutgoingRequest:
    """What goes out first. The source's own headers stand over the client's, the connector's over both.

    Only the source's config may name another User-Agent; headers that may be credentials stay at home (SEC-09).
    """
    url = parse(ask.url)
    configured = sendable(origin.headers)
    if not is_home(url, origin):
        configured = harmless(configured)
    wanted = {name: value for name, value in sendable(ask.headers).items() if name != "user-agent"}
    headers = {"user-agent": user_agent, "accept": "*/*", **configured, **wanted}
    return OutgoingRequest(method=ask.method.upper(), url=url, headers=headers, body=ask.body)


def is_home(url: Url, origin: SourceIdentity) -> bool:
    """True for the source's own host and those below it, over a connection no less safe than its own."""
    if origin.home_url is None:
        return True
    home = parse(origin.home_url)
    is_below = url.host == home.host or url.host.endswith(f".{home.host}")
    return is_below and url.scheme in {home.scheme, "https"}


class Trail:
    """The way of one request through its redirects. Validators go to the address that they came from, and no other."""

    def __init__(self, first: OutgoingRequest, validators: Validators = Validators()) -> None:  # noqa: B008  frozen
        self._validators = msgspec.structs.replace(validators, url=validators.url or str(first.url))
        self.request = self._conditional(first)
        self.hops: tuple[Hop, ...] = ()
        self.takes_cookies = True
        """False once the way led from https to http: what was given in secret is not said aloud."""
        self._seen: set[tuple[str, str, str]] = set()

    def visit(self, cookies: str) -> None:
        """Note that the current request is sent; RedirectLoop when it was sent before in just the same way.

        The same address with other cookies is no loop: many sites set one and ask to come again.
        """
        here = (self.request.method, str(self.request.url), cookies)
        if here in self._seen:
            raise RedirectLoop(f"The redirects form a loop: {self._names()}.")
        self._seen.add(here)

    def follow(self, status: int, location: str | None, *, retry_after: str | None = None) -> None:
        """Turn to where the answer points."""
        came_from = self.request.url
        self.request = self._conditional(following(self.request, status, location))
        if is_downgrade(came_from, self.request.url):
            self.takes_cookies = False
        self.hops = (*self.hops, Hop(status=status, url=str(self.request.url), retry_after=retry_after))
        if len(self.hops) > MAX_HOPS:
            raise RedirectLoop(f"More than {MAX_HOPS} redirects: {self._names()}.")

    def _conditional(self, request: OutgoingRequest) -> OutgoingRequest:
        headers = request.headers
        if request.is_conditional:
            headers = {name: value for name, value in headers.items() if name not in CONDITIONS}
        if self._validators.url == str(request.url):
            headers = headers | echo(self._validators)
        return OutgoingRequest(request.method, url=request.url, headers=headers, body=request.body)

    def _names(self) -> str:
        return " -> ".join(hop.url for hop in self.hops[-MAX_HOPS - 1 :])


def is_downgrade(origin: Url, target: Url) -> bool:
    """True from https to plain http."""
    return origin.scheme == "https" and target.scheme == "http"


def following(request: OutgoingRequest, status: int, location: str | None) -> OutgoingRequest:
    """The request that a redirect asks for, less what must not follow it there."""
    if location is None or not location.strip():
        raise HttpStatus(f"{request.url.host} redirects ({status}) without saying where.", status=status)
    url = join(request.url, location)
    is_elsewhere = url.origin != request.url.origin
    if is_downgrade(request.url, url) and has_credentials(request.headers):
        raise RefusedAddress(f"{request.url.host} redirects from https to plain http, and this source has credentials.")
    method, body = _method_and_body(request, status)
    if body is not None and is_elsewhere:
        raise HttpStatus(
            f"{request.url.host} asks to send the request's body on to {url.host}, which we do not do.", status=status
        )
    headers = harmless(request.headers) if is_elsewhere else dict(request.headers)
    if body is None:
        headers.pop("content-type", None)
    return OutgoingRequest(method=method, url=url, headers=headers, body=body)


def _method_and_body(request: OutgoingRequest, status: int) -> tuple[str, bytes | None]:
    """303 asks for a GET; so do 301 and 302 after a POST, by long custom."""
    if status == 303 and request.method != "HEAD":
        return "GET", None
    if status in {301, 302} and request.method == "POST":
        return "GET", None
    return request.method, request.body
