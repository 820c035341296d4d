"""FlareSolverr (API v1): a browser elsewhere that passes a check for us.

It fetches whatever it is told to, so it is told only what the guard let through, and what it brings back is judged by
where it ended (SEC-07). Its cookies count only beside its User-Agent, so the jar keeps both.
"""

import asyncio
import re
from contextlib import suppress
from typing import Any

import aiohttp
import msgspec

from tsuzuki.model.errors import Blocked, NotAFeed, SourceError, TimedOut, TooLarge, Unreachable
from tsuzuki.model.requests import Ask, SourceIdentity
from tsuzuki.net.exchange import Exchange
from tsuzuki.net.failures import challenge_error, status_error
from tsuzuki.net.headers import sendable
from tsuzuki.net.urls import Url, parse

_PATIENCE = 60.0
_GRACE = 10.0
_SESSION_TTL_MINUTES = 30
_BREAKS_COOKIE = re.compile(r"[\x00-\x1f\x7f;]")


class Solution(msgspec.Struct, frozen=True):
    """What the browser saw in the end."""

    url: str
    status: int
    body: bytes
    error: SourceError | None
    """Why this is no answer either; None when it is one."""


class _Cookie(msgspec.Struct, frozen=True):
    name: str
    value: str
    domain: str = ""
    path: str = "/"
    secure: bool = False

    def line(self) -> str | None:
        """As a Set-Cookie header would say it; None where that would say something else."""
        if any(_BREAKS_COOKIE.search(part) for part in (self.name, self.value, self.domain, self.path)):
            return None
        domain = f"; Domain={self.domain}" if self.domain else ""
        return f"{self.name}={self.value}; Path={self.path or '/'}{domain}{'; Secure' if self.secure else ''}"


class _Found(msgspec.Struct, frozen=True, rename="camel"):
    url: str
    status: int = 200
    response: str = ""
    cookies: tuple[_Cookie, ...] = ()
    user_agent: str | None = None


class _Spoken(msgspec.Struct, frozen=True):
    status: str
    message: str = ""
    solution: _Found | None = None
    session: str | None = None


class Solver:
    """One FlareSolverr, with a browser session for each source that needed one."""

    def __init__(self, endpoint: str, exchange: Exchange, *, patience: float = _PATIENCE) -> None:
        self._endpoint = endpoint
        self._exchange = exchange
        self._patience = patience
        self._http: aiohttp.ClientSession | None = None
        self._sessions: dict[tuple[str, str | None], str] = {}
        self._locks: dict[tuple[str, str | None], asyncio.Lock] = {}

    async def solve(self, ask: Ask, origin: SourceIdentity, *, clearances: int) -> Solution | None:
        """Have this page opened; its cookies and User-Agent go into the source's jar.

        None when the jar has more than `clearances` by now: somebody else had the same check solved meanwhile.
        """
        target = parse(ask.url)
        lane = await self._exchange.dialer.lane_of(target, hidden=True)
        async with self._locks.setdefault((origin.source, origin.proxy), asyncio.Lock()):  # one browser for a source
            if self._exchange.jars.of(origin).clearances > clearances:
                return None
            async with self._exchange.turns.at(target, origin, lane):
                spoken = await self._say(self._order(ask, target, await self._session_for(origin)), ask.max_bytes)
            if spoken.solution is None:
                raise NotAFeed("FlareSolverr answered without a solution.")
            return await self._judged(spoken.solution, origin, ask.max_bytes)

    async def close(self) -> None:
        """End the browser sessions that we began; those that cannot be ended run out by themselves."""
        for session in self._sessions.values():
            with suppress(SourceError):
                await self._say({"cmd": "sessions.destroy", "session": session}, 0)
        self._sessions.clear()
        if self._http is not None:
            await self._http.close()

    async def _session_for(self, origin: SourceIdentity) -> str:
        key = (origin.source, origin.proxy)
        if key not in self._sessions:
            order: dict[str, Any] = {"cmd": "sessions.create"}
            if origin.proxy is not None:
                proxy, _ = await self._exchange.dialer.vetted_proxy(origin.proxy)
                login = {} if proxy.user is None else {"username": proxy.user, "password": proxy.password}
                order["proxy"] = {"url": proxy.url.origin, **login}
            spoken = await self._say(order, 0)
            if spoken.session is None:
                raise NotAFeed("FlareSolverr opened no session.")
            self._sessions[key] = spoken.session
        return self._sessions[key]

    def _order(self, ask: Ask, target: Url, session: str) -> dict[str, Any]:
        order: dict[str, Any] = {
            "cmd": f"request.{ask.method.lower()}",
            "url": str(target),
            "session": session,
            "session_ttl_minutes": _SESSION_TTL_MINUTES,
            "maxTimeout": int(self._patience * 1000),
        }
        if ask.method.upper() == "POST":
            order["postData"] = (ask.body or b"").decode("utf-8", "replace")
        elif ask.method.upper() != "GET":
            raise Blocked(f"FlareSolverr cannot send a {ask.method}.")
        return order

    async def _say(self, order: dict[str, Any], max_bytes: int) -> _Spoken:
        """One command; a page comes back as JSON, at worst six characters for one."""
        room = 6 * max_bytes + 1024 * 1024
        try:
            async with (
                asyncio.timeout(self._patience + _GRACE),
                self._connection().post(self._endpoint, json=order, allow_redirects=False) as response,
            ):
                body = bytearray()
                async for piece in response.content.iter_any():
                    body += piece
                    if len(body) > room:
                        raise TooLarge("FlareSolverr's answer is larger than we accept.")
            spoken = msgspec.json.decode(bytes(body), type=_Spoken)
        except TimeoutError as error:
            raise TimedOut(f"FlareSolverr did not answer within {self._patience + _GRACE:g} s.") from error
        except (aiohttp.ClientError, OSError) as error:
            raise Unreachable("FlareSolverr cannot be reached.") from error
        except msgspec.DecodeError as error:
            raise NotAFeed("FlareSolverr's answer cannot be read.") from error
        if spoken.status != "ok":
            self._forget(order.get("session"))
            raise Blocked(f"FlareSolverr says: {spoken.message[:300]}")
        return spoken

    def _forget(self, session: str | None) -> None:
        """A session that failed may be gone on the other side: the next order begins a new one."""
        self._sessions = {key: known for key, known in self._sessions.items() if known != session}

    def _connection(self) -> aiohttp.ClientSession:
        # The endpoint is the operator's own setting, so this session is not guarded; nothing else ever uses it.
        if self._http is None:
            self._http = aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar(), trust_env=False)
        return self._http

    async def _judged(self, found: _Found, origin: SourceIdentity, max_bytes: int) -> Solution:
        url = parse(found.url)
        await self._exchange.dialer.lane_of(url, hidden=True)
        body = found.response.encode("utf-8", "replace")
        if len(body) > max_bytes:
            raise TooLarge(f"The page that FlareSolverr saw is larger than {max_bytes:,} bytes.")
        jar = self._exchange.jars.of(origin)  # as if the page had set them, which also checks the cookies' domains
        jar.store(url, [line for cookie in found.cookies if (line := cookie.line()) is not None])
        jar.clearances += 1
        jar.user_agent = sendable({"user-agent": found.user_agent or ""}).get("user-agent") or None
        challenge = challenge_error(found.status, url.host, {"content-type": "text/html"}, body)
        error = status_error(found.status, url.host, {}, conditional=False, wait=None)
        return Solution(url=str(url), status=found.status, body=body, error=challenge or error)
