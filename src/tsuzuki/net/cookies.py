"""Cookies, one jar for each source that keeps any (R95) and way out: nobody's serve anybody else (SEC-10)."""

from collections import OrderedDict
from collections.abc import Iterable

from aiohttp import CookieJar
from yarl import URL

from tsuzuki.net.options import SourceIdentity
from tsuzuki.net.urls import Url

MOST_JARS = 1000
MOST_COOKIES = 100
LONGEST_HEADER = 8192


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
