"""A server that polls, a publisher with many feeds, and readers who call the API."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.api.people import RunningApp, Visitor, a_running_app
from tests.net.builders import a_server, answer
from tests.polling.builders import a_feed
from tests.waiting import PATIENCE_S, eventually
from tsuzuki.accounts.types import SYSTEM

LOOPBACK = "127.0.0.0/8"


class FeedServer:
    """Answers by path, and counts who asked for what."""

    def __init__(self) -> None:
        self.pages: dict[str, bytes] = {}
        self.asked: Counter[str] = Counter()
        self.url = ""

    def publish(self, path: str, *keys: str, **over: Any) -> str:
        """A feed at this path; its address."""
        self.pages[path] = answer(200, a_feed(*keys, **over), **{"Content-Type": "application/rss+xml"})
        return self.url + path

    async def handle(self, head: bytes, writer: asyncio.StreamWriter) -> None:
        path = head.split(b" ", 2)[1].decode()
        self.asked[path] += 1
        writer.write(self.pages.get(path, answer(404, b"")))


class Library:
    """Everything running."""

    def __init__(self, app: RunningApp, press: FeedServer) -> None:
        self.app = app
        self.press = press

    async def reader(self, **over: Any) -> "Reader":
        """Somebody with a tenant, and so a shelf, of their own."""
        tenant = await self.app.accounts.tenants.add(SYSTEM, "A")
        return Reader(await self.app.signed_in(await self.app.add(tenant_id=tenant.public_id, **over)))


class Reader:
    """Calls the API and expects what is said."""

    def __init__(self, visitor: Visitor) -> None:
        self.visitor = visitor

    async def ask(self, method: str, path: str, body: Any = None, *, expect: int = 200) -> Any:
        """The whole answer, which has this status."""
        answered = await self.visitor.ask(method, path, body)
        assert answered.status == expect, (method, path, answered.status, answered.text)
        return answered.json() if answered.body else None

    async def get(self, path: str, *, expect: int = 200) -> Any:
        """The data."""
        found = await self.ask("GET", path, expect=expect)
        return found["data"] if expect < 300 else found

    async def post(self, path: str, body: Any = None, *, expect: int = 201) -> Any:
        found = await self.ask("POST", path, {} if body is None else body, expect=expect)
        return found["data"] if expect < 300 else found

    async def patch(self, path: str, body: Any, *, expect: int = 200) -> Any:
        found = await self.ask("PATCH", path, body, expect=expect)
        return found["data"] if expect < 300 else found

    async def delete(self, path: str, *, expect: int = 204) -> Any:
        return await self.ask("DELETE", path, expect=expect)

    async def follow(self, link: str, items: int, **over: Any) -> Any:
        """Subscribe, and wait until so many items are there."""
        feed = await self.post("/feeds", {"link": link, **over})
        return await self.until(f"/feeds/{feed['id']}", lambda found: found["item_count"] == items)

    async def until(self, path: str, check: Callable[[Any], bool], within: float = PATIENCE_S) -> Any:
        """What the path answers as soon as that is as it should be."""

        async def look() -> Any:
            found = await self.get(path)
            return found if check(found) else None

        return await eventually(look, within)


@asynccontextmanager
async def a_library(
    folder: Path, database_url: str, *, is_working: bool = True, **settings: object
) -> AsyncIterator[Library]:
    """A server with workers, allowed to call loopback, and a publisher."""
    press = FeedServer()
    async with a_server(press.handle) as server:
        press.url = server.url
        wanted = {"database_url": database_url, "allow_private_networks": LOOPBACK, **settings}
        async with a_running_app(folder, **wanted) as app:
            if is_working:
                app.worker_loops.start()
            try:
                yield Library(app, press)
            finally:
                await app.worker_loops.stop()
