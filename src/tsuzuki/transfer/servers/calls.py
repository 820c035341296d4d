"""Calls to another server, by the polite client and its guard."""

import base64
import time
from collections.abc import Mapping
from typing import Any, Protocol
from urllib.parse import urlencode

import msgspec

from tsuzuki.model.errors import SourceError, TooLarge
from tsuzuki.model.requests import Ask, Reply, SourceIdentity
from tsuzuki.transfer.servers.kinds import ServerLogin

MOST_BYTES = 64 * 1024 * 1024
"""Bytes of one answer."""
MOST_IN_ALL = 1024 * 1024 * 1024
PATIENCE_S = 1_800.0
"""Seconds for all calls to one server together: a person is waiting, and each answer may come slowly."""
_PER_SECOND = 20.0  # it is the reader's own server, and one call follows another
_REFUSED = (401, 403)


class Fetcher(Protocol):
    """The client."""

    async def fetch(self, ask: Ask, origin: SourceIdentity) -> Reply: ...


class ServerCalls:
    """Asks one server for one reader."""

    def __init__(self, client: Fetcher, login: ServerLogin) -> None:
        self._client = client
        self.base = login.url.rstrip("/")
        self._left = MOST_IN_ALL
        self._until = time.monotonic() + PATIENCE_S
        self._identity = SourceIdentity(source="import", home_url=self.base, ratelimit=_PER_SECOND)

    async def get(self, path: str, headers: Mapping[str, str], **query: object) -> bytes:
        """What the server answers; SourceError says why not."""
        return await self._ask(Ask(self._url(path, query), headers=headers, max_bytes=self._most))

    async def post(self, path: str, headers: Mapping[str, str], body: Any, **query: object) -> bytes:
        """What the server answers to a POST; SourceError says why not."""
        sent = {**headers, "content-type": "application/json"}
        encoded = msgspec.json.encode(body)
        return await self._ask(
            Ask(self._url(path, query), method="POST", headers=sent, body=encoded, max_bytes=self._most)
        )

    @property
    def _most(self) -> int:
        return min(MOST_BYTES, self._left)

    def _url(self, path: str, query: Mapping[str, object]) -> str:
        return f"{self.base}{path}?{urlencode(query)}" if query else f"{self.base}{path}"

    async def _ask(self, ask: Ask) -> bytes:
        if self._left <= 0:
            raise TooLarge(f"The server sent more than {MOST_IN_ALL // 1024**2:,} MB.")
        if time.monotonic() > self._until:
            raise SourceError(f"The server had not sent everything after {PATIENCE_S / 60:.0f} minutes.")
        try:
            body = (await self._client.fetch(ask, self._identity)).body
        except SourceError as error:
            if error.status in _REFUSED:
                raise SourceError("The server refused the username, the password or the API key.") from error
            raise
        self._left -= len(body)
        return body


def basic(login: ServerLogin) -> dict[str, str]:
    """The header of HTTP Basic."""
    pair = base64.b64encode(f"{login.username}:{login.password}".encode()).decode()
    return {"authorization": f"Basic {pair}"}
