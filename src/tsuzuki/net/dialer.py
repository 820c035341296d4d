"""Sessions that connect only to vetted addresses (I6).

Each lane, and each proxy, has a session of its own. In it both the resolver's answers and the socket's target are
judged: the resolver is skipped for IP literals, and a name may resolve differently the next time (SEC-02).
"""

import socket
import ssl
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from urllib.parse import unquote

import aiohttp
import msgspec
import structlog
from aiohttp.abc import AbstractResolver, ResolveResult

from tsuzuki.model.errors import RefusedAddress, RefusedProxy, Unreachable
from tsuzuki.net.guard import Address, AddressGuard, Lane, read_address
from tsuzuki.net.options import ClientOptions
from tsuzuki.net.urls import Url, parse

_PROXY_PORTS_FROM = 1024
_BUFFER = 64 * 1024

_log = structlog.stdlib.get_logger("tsuzuki.net")


class Proxy(msgspec.Struct, frozen=True):
    """An HTTP proxy: where it is, and who we are to it."""

    url: Url
    user: str | None = None
    password: str = ""

    @classmethod
    def read(cls, text: str) -> "Proxy":
        """`http://user:secret@proxy.example:3128`; RefusedAddress, without the secret, when it is none."""
        scheme, _, rest = text.partition("://")
        if scheme.lower() not in {"http", "https"}:
            what = "SOCKS is not supported; the" if scheme.lower().startswith("socks") else "its"
            raise RefusedProxy(f"The proxy is refused: {what} address must begin with http:// or https://.")
        login, at, host = rest.rpartition("@")
        url = parse(f"{scheme}://{host}")
        if not at:
            return cls(url=url)
        user, _, password = login.partition(":")
        return cls(url=url, user=unquote(user), password=unquote(password))

    @property
    def authorization(self) -> str | None:
        """The Proxy-Authorization header, where there is a user."""
        if self.user is None:
            return None
        return "Basic " + b64encode(f"{self.user}:{self.password}".encode()).decode("ascii")


class Route(msgspec.Struct, frozen=True):
    """How a target is reached: its own lane, and the lane in which the connection is made."""

    lane: Lane
    way: Lane
    """The proxy's lane, where there is one."""
    proxy: Proxy | None = None


_DIRECT = {lane: Route(lane=lane, way=lane) for lane in Lane}


class RefusedDial(OSError):
    """A socket was about to be opened to an address that the lane forbids. An OSError, as the dialler expects."""


@contextmanager
def naming_no_address(host: str) -> Iterator[None]:
    """The error without the address that a name resolves to, which is logged for the operator only."""
    try:
        yield
    except RefusedAddress as error:
        _log.warning("address_refused", host=host, reason=str(error))
        raise refused_name(host) from error


def refused_name(host: str) -> RefusedAddress:
    """The refusal of a name because of the addresses it resolves to."""
    return RefusedAddress(f"{host} is refused: it does not resolve to an allowed address.")


class VettingResolver(AbstractResolver):
    """Answers only with addresses that the lane allows; a single bad answer refuses the whole name."""

    def __init__(self, inner: AbstractResolver, guard: AddressGuard, lane: Lane) -> None:
        self._inner = inner
        self._guard = guard
        self._lane = lane

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        """The vetted answers; RefusedAddress otherwise."""
        if self._lane is Lane.HOST and host not in self._guard.allow.hosts:
            raise RefusedAddress(f"{host} is not on the allow list.")
        answers = await self._inner.resolve(host, port, family)
        with naming_no_address(host):
            for answer in answers:
                self._guard.check(read_address(answer["host"]), self._lane)
        return answers

    async def close(self) -> None:
        """The inner resolver belongs to the dialer."""


class Dialer:
    """Finds the lane of a target and the session that goes there."""

    def __init__(
        self, options: ClientOptions, *, resolver: AbstractResolver | None = None, tls: ssl.SSLContext | None = None
    ) -> None:
        self._options = options
        self._guard = options.guard
        self._resolver = resolver or aiohttp.AsyncResolver(timeout=5.0, tries=2)
        self._tls = tls
        self._lane_of_literal = lru_cache(maxsize=1024)(self._guard.lane_of_literal)  # pure, and a dozen networks long
        self._sessions: dict[tuple[Lane, Proxy | None], aiohttp.ClientSession] = {}

    async def lane_of(self, url: Url, *, hidden: bool = False) -> Lane:
        """The lane for this target; RefusedAddress where none may be taken.

        A target that somebody else will dial (`hidden`: behind a proxy, in FlareSolverr) is always resolved here first.
        """
        lane = self._lane_by_form(url, hidden=hidden) or await self._lane_of_name(url)
        if lane is Lane.PUBLIC:
            self._guard.check_public_form(url)
        return lane

    def _lane_by_form(self, url: Url, *, hidden: bool) -> Lane | None:
        """None where it takes what the name resolves to."""
        literal = url.literal
        if literal is not None:
            return self._lane_of_literal(literal)
        return None if hidden or self._guard.allow else Lane.PUBLIC

    async def route_to(self, url: Url, proxy: str | None) -> Route:
        """The vetted route to a target. Through a proxy both are vetted: the target, and the proxy."""
        lane = await self.lane_of(url, hidden=proxy is not None)
        if proxy is None:
            return _DIRECT[lane]
        through, way = await self.vetted_proxy(proxy)
        return Route(lane=lane, way=way, proxy=through)

    def takes_lookup(self, url: Url, proxy: str | None) -> bool:
        """Whether the route to a target depends on what its name resolves to."""
        return proxy is not None or self._lane_by_form(url, hidden=False) is None

    async def vetted_proxy(self, text: str) -> tuple[Proxy, Lane]:
        """The proxy that this text names, itself at an address that may be called (SEC-01), and its lane.

        Proxies live on odd ports, so any high one will do.
        """
        try:
            proxy = Proxy.read(text)
            url = proxy.url if proxy.url.port < _PROXY_PORTS_FROM else msgspec.structs.replace(proxy.url, port=443)
            return proxy, await self.lane_of(url, hidden=True)
        except RefusedAddress as error:
            raise RefusedProxy(str(error)) from error

    def session(self, route: Route) -> aiohttp.ClientSession:
        """The session for a route: one for each lane, and one for each proxy."""
        key = (route.way, route.proxy)
        if key not in self._sessions:
            self._sessions[key] = self._open(route.way)
        return self._sessions[key]

    async def close(self) -> None:
        """Close every session, and the resolver."""
        for session in self._sessions.values():
            await session.close()
        self._sessions.clear()
        await self._resolver.close()

    async def _lane_of_name(self, url: Url) -> Lane:
        if url.host in self._guard.allow.hosts:
            return Lane.HOST
        try:
            answers = await self._resolver.resolve(url.host, url.port, socket.AF_UNSPEC)
        except OSError as error:
            raise Unreachable(f"The name {url.host} cannot be resolved ({error.strerror or error}).") from error
        with naming_no_address(url.host):
            return self._guard.lane_of_answers(url.host, (read_address(answer["host"]) for answer in answers))

    def _open(self, lane: Lane) -> aiohttp.ClientSession:
        connector = aiohttp.TCPConnector(
            resolver=VettingResolver(self._resolver, self._guard, lane),
            socket_factory=make_socket_factory(self._guard, lane),
            use_dns_cache=False,
            ssl=self._tls or True,
        )
        return aiohttp.ClientSession(
            connector=connector,
            cookie_jar=aiohttp.DummyCookieJar(),
            trust_env=False,
            auto_decompress=False,
            requote_redirect_url=False,
            read_bufsize=_BUFFER,
            max_line_size=self._options.max_header_bytes,
            max_field_size=self._options.max_header_bytes,
            max_headers=self._options.max_headers,
        )


def make_socket_factory(guard: AddressGuard, lane: Lane) -> aiohttp.SocketFactoryType:
    """A socket factory that refuses addresses the lane forbids, and this machine itself in the public lane."""

    def make(info: aiohttp.AddrInfoType) -> socket.socket:
        family, kind, protocol, _, target = info
        try:
            address = read_address(str(target[0]))
            guard.check(address, lane)
        except RefusedAddress as error:
            raise _refused_dial(str(error)) from error
        if lane is Lane.PUBLIC and is_own_address(address):
            raise _refused_dial(f"The address {address} is refused: it is this machine's own.")
        return socket.socket(family=family, type=kind, proto=protocol)

    return make


def _refused_dial(reason: str) -> RefusedDial:
    _log.warning("dial_refused", reason=reason)
    return RefusedDial(reason)


def is_own_address(address: Address) -> bool:
    """True when a connection there would not leave this machine (SEC-06). Asks the routing table; sends nothing."""
    family = socket.AF_INET if address.version == 4 else socket.AF_INET6
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect((str(address), 9))
        except OSError:
            return False
        return bool(probe.getsockname()[0] == str(address))
