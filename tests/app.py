"""A running Tsuzuki, or a few resources behind the real edge, on a free port; and a client for them."""

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import msgspec
from starlette.types import ASGIApp
from yarl import URL

from tests.builders import CHEAPEST
from tests.databases import put_migrated_file
from tsuzuki.app.bootstrap import open_tsuzuki
from tsuzuki.app.server import Server, listen, url_of
from tsuzuki.http.errors import json_failure
from tsuzuki.http.metrics import Metrics
from tsuzuki.http.middleware import build_app
from tsuzuki.http.routing import Resource
from tsuzuki.settings import PREFIX, Settings, read_settings


class Answer(msgspec.Struct, frozen=True):
    """What a client got. Names of headers are in lower case."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode()

    def json(self) -> Any:
        """What it says. Every time in it, whoever asks, has milliseconds: texts sort as their moments do."""
        said = msgspec.json.decode(self.body)
        assert not (odd := times_without_milliseconds(said)), odd
        return said


_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)")
_OURS = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


def times_without_milliseconds(said: Any) -> list[str]:
    """Every text in an answer that is a time, but not as all others are."""
    if isinstance(said, dict):
        return [odd for value in said.values() for odd in times_without_milliseconds(value)]
    if isinstance(said, list):
        return [odd for value in said for odd in times_without_milliseconds(value)]
    is_odd = isinstance(said, str) and _TIME.fullmatch(said) and not _OURS.fullmatch(said)
    return [said] if is_odd else []


class Client:
    """Speaks to one server. Paths are sent as they are written, dots and escapes included."""

    def __init__(self, session: aiohttp.ClientSession, base: str) -> None:
        self._session = session
        self.base = base

    async def ask(self, method: str, path: str, **options: Any) -> Answer:
        url = URL(self.base + path, encoded=True)
        async with self._session.request(method, url, allow_redirects=False, **options) as response:
            headers = {name.lower(): value for name, value in response.headers.items()}
            return Answer(response.status, headers, await response.read())

    async def begin(self, method: str, path: str, **options: Any) -> Answer:
        """The head of an answer; its body is not waited for."""
        async with self._session.request(method, URL(self.base + path, encoded=True), **options) as response:
            return Answer(response.status, {name.lower(): value for name, value in response.headers.items()}, b"")

    async def get(self, path: str, **options: Any) -> Answer:
        return await self.ask("GET", path, **options)

    async def post(self, path: str, body: Any = None, **options: Any) -> Answer:
        """`body` is sent as JSON."""
        return await self.ask("POST", path, json=body, **options)


def settings_for(folder: Path, **variables: object) -> Settings:
    """Settings for a test: data in this folder, no calls for icons, the rest by default or as said (`port=0`)."""
    said = {PREFIX + name.upper(): str(value) for name, value in ({"icons": "off"} | variables).items()}
    return read_settings({f"{PREFIX}DATA_DIR": str(folder), **said})


def in_settings(url: str) -> str:
    """A database's URL as settings say it: there, three slashes begin a path within the data folder."""
    return url.replace("sqlite:///", "sqlite:////")


@asynccontextmanager
async def serving(
    app: ASGIApp, *, trusted_proxies: Sequence[str] = (), on_stopping: Callable[[], None] | None = None
) -> AsyncIterator[Client]:
    """This application behind a real server, until the end of the block."""
    started = asyncio.Event()
    bound = listen("127.0.0.1", 0)
    server = Server(app, trusted_proxies=trusted_proxies, on_started=started.set, on_stopping=on_stopping)
    running = asyncio.create_task(server.serve(sockets=[bound]))
    await started.wait()
    try:
        async with aiohttp.ClientSession() as session:
            yield Client(session, url_of(bound))
    finally:
        server.stop()
        await running


@asynccontextmanager
async def running_app(settings: Settings) -> AsyncIterator[Client]:
    """All of Tsuzuki with these settings."""
    put_migrated_file(settings)
    async with (
        open_tsuzuki(settings, hash_cost=CHEAPEST) as opened,
        serving(opened.app, trusted_proxies=_proxies(settings), on_stopping=opened.end_streams) as client,
    ):
        yield client


def _proxies(settings: Settings) -> list[str]:
    return [str(network) for network in settings.trusted_proxies]


@asynccontextmanager
async def serving_resources(resources: Iterable[Resource], **options: Any) -> AsyncIterator[Client]:
    """Only these resources, behind the whole edge."""
    metrics = Metrics(version="0", engine="none")
    async with serving(build_app(resources, metrics=metrics, error_page=json_failure, **options)) as client:
        yield client
