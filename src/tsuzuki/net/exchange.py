"""One request on its way: lane, pace, place, redirects; and the answer, read under its caps."""

import asyncio
import ssl
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager

import aiohttp
from aiohttp.abc import AbstractResolver
from yarl import URL

from tsuzuki.coord.pacer import Pacer
from tsuzuki.model.errors import TooLarge
from tsuzuki.model.fetching import DEFAULT_CAP, Ask, Hop, Pace
from tsuzuki.net.cookies import Jars
from tsuzuki.net.decoding import ACCEPT_ENCODING, Decoding
from tsuzuki.net.dialing import Dialer, Proxy
from tsuzuki.net.failures import Budget
from tsuzuki.net.headers import is_echoable
from tsuzuki.net.options import ClientOptions, SourceIdentity
from tsuzuki.net.redirects import REDIRECTS, Request, Trail, first_request
from tsuzuki.net.turns import Turns, bucket_of

_BREATHE_EVERY = 16  # decoded pieces, so that a large body does not hold up the others
_BODILESS = frozenset({204, 304})


class Answer:
    """What came back: its head at once, its body as it arrives. Good within the context that gave it."""

    def __init__(self, response: aiohttp.ClientResponse, request: Request, *, bucket: str, budget: Budget) -> None:
        self.request = request
        self.bucket = bucket
        """Where a penalty for this answer belongs."""
        self.hops: tuple[Hop, ...] = ()
        self.status = response.status
        self.headers = _plain_headers(response)
        self._response = response
        self._budget = budget
        self._since = asyncio.get_running_loop().time()

    @property
    def host(self) -> str:
        """Whom to name in a sentence."""
        return self.request.url.host

    async def chunks(self, max_bytes: int) -> AsyncGenerator[bytes, None]:
        """The decoded body in pieces; TooLarge past the cap, on the wire or decoded. The seam for streaming images."""
        if self.status in _BODILESS or self.request.method == "HEAD":
            return
        self._check_declared_length(max_bytes)
        decoding = Decoding(self.headers.get("content-encoding", ""), max_bytes)
        received = pieces = 0
        while data := await self._receive():
            received += len(data)
            if received > max_bytes:
                raise self._too_large(max_bytes)
            for piece in decoding.feed(data):
                yield piece
                pieces += 1
                if pieces % _BREATHE_EVERY == 0:
                    await asyncio.sleep(0)
        decoding.finish()

    async def read(self, max_bytes: int) -> bytes:
        """The whole decoded body."""
        body = bytearray()
        async for piece in self.chunks(max_bytes):
            body += piece
        return bytes(body)

    async def peek(self, wanted: int) -> bytes:
        """The beginning of the body, however long the rest may be."""
        body = bytearray()
        async with aclosing(self.chunks(DEFAULT_CAP)) as pieces:
            async for piece in pieces:
                body += piece
                if len(body) >= wanted:
                    break
        return bytes(body)

    async def _receive(self) -> bytes:
        async with self._budget.spend(self.host, body_since=self._since):
            return await self._response.content.readany()

    def _check_declared_length(self, max_bytes: int) -> None:
        length = self.headers.get("content-length", "")
        if length.isdecimal() and len(length) < 20 and int(length) > max_bytes:
            raise self._too_large(max_bytes)

    def _too_large(self, max_bytes: int) -> TooLarge:
        return TooLarge(f"The answer of {self.host} is larger than {max_bytes:,} bytes.")


def _plain_headers(response: aiohttp.ClientResponse) -> dict[str, str]:
    """Lower-case names, repeats joined. Bytes that are no UTF-8 are read as Latin-1, except in a validator: it could
    not be echoed exactly, so it is dropped.
    """
    joined: dict[str, str] = {}
    for name, value in response.headers.items():
        key = name.lower()
        joined[key] = f"{joined[key]}, {value}" if key in joined else value
    for key in ("etag", "last-modified"):
        if key in joined and not is_echoable(joined[key]):
            del joined[key]
    return {key: _text(value) for key, value in joined.items()}


def _text(value: str) -> str:
    if value.isprintable():
        return value
    return value.encode("utf-8", "surrogateescape").decode("latin-1")


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
    async def open(self, ask: Ask, origin: SourceIdentity, budget: Budget) -> AsyncIterator[Answer]:
        """The answer at the end of the redirects, whatever its status."""
        jar = self.jars.of(origin)
        trail = Trail(first_request(ask, origin, user_agent=jar.user_agent or self._user_agent))
        while True:
            request = trail.request
            cookies = jar.header(request.url)
            trail.visit(cookies)
            pace = None if trail.hops else ask.pace
            async with self._sent(request, cookies, origin, budget=budget, pace=pace) as response:
                jar.store(request.url, response.headers.getall("set-cookie", ()))
                if response.status not in REDIRECTS or response.status in ask.accept_statuses:
                    answer = Answer(response, request, bucket=bucket_of(request.url, origin), budget=budget)
                    answer.hops = trail.hops
                    yield answer
                    return
                trail.follow(
                    response.status,
                    response.headers.get("location"),
                    retry_after=response.headers.get("retry-after"),
                    cookies=bool(cookies),
                )

    async def close(self) -> None:
        """Close every connection."""
        await self.dialer.close()

    @asynccontextmanager
    async def _sent(
        self, request: Request, cookies: str, origin: SourceIdentity, *, budget: Budget, pace: Pace | None
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        url, headers = request.url, {**request.headers, "accept-encoding": ACCEPT_ENCODING}
        if cookies:
            headers["cookie"] = f"{headers['cookie']}; {cookies}" if "cookie" in headers else cookies
        async with budget.spend(url.host):
            route = await self.dialer.route_to(url, origin.proxy)
        async with self.turns.at(url, origin, route.lane, pace=pace):
            async with budget.spend(url.host):
                response = await self.dialer.session(route).request(
                    request.method,
                    URL(str(url), encoded=True),
                    headers=headers,
                    data=request.body,
                    allow_redirects=False,
                    timeout=self._timeout,
                    skip_auto_headers=("User-Agent", "Accept", "Content-Type"),
                    proxy=None if route.proxy is None else URL(route.proxy.url.origin, encoded=True),
                    proxy_headers=_proxy_headers(route.proxy),
                )
            async with response:
                yield response


def _proxy_headers(proxy: Proxy | None) -> dict[str, str] | None:
    if proxy is None or proxy.authorization is None:
        return None
    return {"Proxy-Authorization": proxy.authorization}
