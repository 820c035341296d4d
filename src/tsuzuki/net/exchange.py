"""One request: cookies, route, turn and redirects, up to the final response.

Each source that keeps cookies (R95) has one jar for each proxy: nobody's serve anybody else (SEC-10).
"""

import ssl
from collections import OrderedDict
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager, nullcontext
from typing import Any

import aiohttp
from aiohttp import CookieJar, hdrs
from aiohttp.abc import AbstractResolver
from yarl import URL

from tsuzuki.coord.pacer import Pacer
from tsuzuki.model.requests import Ask, CallPace, SourceIdentity
from tsuzuki.net.decoder import ACCEPT_ENCODING
from tsuzuki.net.dialer import Dialer, Proxy
from tsuzuki.net.options import ClientOptions
from tsuzuki.net.redirects import REDIRECTS, OutgoingRequest, Trail, first_request
from tsuzuki.net.response import HttpResponse, ending_with_connection, timing_body_ourselves
from tsuzuki.net.turns import Budget, Turns, bucket_of
from tsuzuki.net.urls import Url

MOST_JARS = 1000
MOST_COOKIES = 100
LONGEST_HEADER = 8192

_OURS = (hdrs.USER_AGENT, hdrs.ACCEPT, hdrs.CONTENT_TYPE)
"""Headers that aiohttp adds nothing to."""
_AT_ONCE = nullcontext()
"""What takes no time needs no deadline."""


class Jar:
    """The cookies of one source, and the User-Agent that they were given to, if that was not our own."""

    def __init__(self) -> None:
        self._cookies: CookieJar | None = None  # most sources never set any, and a jar costs more than a request's head
        self.user_agent: str | None = None
        """A cookie from a solved browser check counts only beside the browser's own name."""
        self.clearances = 0
        """How many checks were solved for this jar."""

    def header(self, url: Url) -> str:
        """The Cookie header for this address; empty when there is none. What is too long is left out."""
        if self._cookies is None:
            return ""
        pairs: list[str] = []
        for morsel in self._cookies.filter_cookies(URL(str(url), encoded=True)).values():
            pair = f"{morsel.key}={morsel.coded_value}"
            if sum(map(len, pairs)) + len(pair) < LONGEST_HEADER:
                pairs.append(pair)
        return "; ".join(pairs)

    def store(self, url: Url, set_cookies: Iterable[str]) -> None:
        """Take what this address may set; a jar that overflows is emptied first."""
        lines = [line for line in set_cookies if len(line) <= LONGEST_HEADER][:MOST_COOKIES]
        if not lines:
            return
        if self._cookies is None:
            self._cookies = CookieJar(unsafe=True)  # "unsafe": hosts that are IP addresses may have cookies too
        if len(self._cookies) + len(lines) > MOST_COOKIES:
            self._cookies.clear()
        self._cookies.update_cookies_from_headers(lines, URL(str(url), encoded=True))


class Jars:
    """All jars; the ones longest unused make room."""

    def __init__(self) -> None:
        self._jars: OrderedDict[tuple[str, str | None], Jar] = OrderedDict()

    def of(self, origin: SourceIdentity) -> Jar:
        """This source's jar, through this proxy."""
        key = (origin.source, origin.proxy)
        jar = self._jars.pop(key, None) or Jar()
        self._jars[key] = jar
        while len(self._jars) > MOST_JARS:
            self._jars.popitem(last=False)
        return jar


class Exchange:
    """Sends requests and follows their redirects. Shared by all who ask."""

    def __init__(
        self,
        options: ClientOptions,
        pacer: Pacer,
        *,
        resolver: AbstractResolver | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self.jars = Jars()
        self.dialer = Dialer(options, resolver=resolver, tls=tls)
        self.turns = Turns(options, pacer)
        self._user_agent = options.user_agent
        self._timeout = aiohttp.ClientTimeout(
            total=None, sock_connect=options.deadlines.connect, sock_read=options.deadlines.idle
        )

    @asynccontextmanager
    async def open(self, ask: Ask, origin: SourceIdentity, budget: Budget) -> AsyncIterator[HttpResponse]:
        """The answer at the end of the redirects, whatever its status."""
        jar = self.jars.of(origin) if origin.has_jar else None
        named = jar.user_agent if jar is not None else None
        trail = Trail(first_request(ask, origin, user_agent=named or self._user_agent), ask.validators)
        while True:
            request = trail.request
            cookies = jar.header(request.url) if jar is not None and trail.takes_cookies else ""
            trail.visit(cookies)
            pace = None if trail.hops else ask.pace
            async with self._sent(request, cookies, origin, budget=budget, pace=pace) as response:
                if jar is not None:
                    jar.store(request.url, response.headers.getall("set-cookie", ()))
                if response.status not in REDIRECTS or response.status in ask.accept_statuses:
                    bucket = bucket_of(request.url, origin)
                    with ending_with_connection(response):
                        yield HttpResponse(response, request, hops=trail.hops, bucket=bucket, budget=budget)
                    return
                head = response.headers
                trail.follow(response.status, head.get("location"), retry_after=head.get("retry-after"))

    async def close(self) -> None:
        """Close every connection."""
        await self.dialer.close()

    @asynccontextmanager
    async def _sent(
        self, request: OutgoingRequest, cookies: str, origin: SourceIdentity, *, budget: Budget, pace: CallPace | None
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        url = request.url
        is_slow = self.dialer.takes_lookup(url, origin.proxy)
        async with budget.spend(url.host) if is_slow else _AT_ONCE:
            route = await self.dialer.route_to(url, origin.proxy)
        async with self.turns.at(url, origin, route.lane, pace=pace):
            async with budget.spend(url.host, is_head=True):
                response = await self.dialer.session(route).request(
                    request.method,
                    URL(str(url), encoded=True),
                    headers=_sent_headers(request, cookies, route.proxy),
                    data=request.body,
                    allow_redirects=False,
                    timeout=self._timeout,
                    skip_auto_headers=_OURS,
                    **self._through(route.proxy),
                )
            timing_body_ourselves(response)
            async with response:
                yield response

    def _through(self, proxy: Proxy | None) -> dict[str, Any]:
        if proxy is None:
            return {}
        headers = {"User-Agent": self._user_agent, **_login(proxy)}
        return {"proxy": URL(proxy.url.origin, encoded=True), "proxy_headers": headers}


def _sent_headers(request: OutgoingRequest, cookies: str, proxy: Proxy | None) -> dict[str, str]:
    """All headers of one request. A proxy reads its own among them, except where it only tunnels."""
    is_part = "range" in request.headers  # of a packed body a part is no use
    headers = {**request.headers, "accept-encoding": "identity" if is_part else ACCEPT_ENCODING}
    if cookies:
        headers["cookie"] = f"{headers['cookie']}; {cookies}" if "cookie" in headers else cookies
    return headers | _login(proxy) if proxy is not None and request.url.scheme == "http" else headers


def _login(proxy: Proxy | None) -> dict[str, str]:
    authorization = None if proxy is None else proxy.authorization
    return {} if authorization is None else {"proxy-authorization": authorization}
