"""A subscriber of the hub, a real one on loopback: it confirms, and remembers what it was sent."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import msgspec
from aiohttp import web

from tests.api.people import RunningApp
from tests.app import Answer
from tests.net.builders import a_web_app
from tests.waiting import eventually
from tsuzuki.inbox.feeds_out.types import FeedFormat, FeedOut


class Push(msgspec.Struct, frozen=True):
    """What came to the callback."""

    headers: dict[str, str]
    body: bytes


class Subscriber:
    """Repeats every challenge and takes every push; or answers as it is told."""

    def __init__(self) -> None:
        self.url = ""
        self.asked: list[dict[str, str]] = []
        self.got: list[Push] = []
        self.challenge: str | None = None
        """What it says instead of what it was asked."""
        self.confirms = 200
        self.answers: list[int] = []
        """To pushes, the first first; then 200."""
        self.waits = 0.0
        self.victim: int | None = None
        """A process that dies before its push is answered."""

    @property
    def callback(self) -> str:
        return f"{self.url}/websub/canary5ecret?mine=1"

    async def confirm(self, request: web.Request) -> web.Response:
        said = dict(request.query)
        self.asked.append(said)
        await asyncio.sleep(self.waits)
        text = said.get("hub.challenge", "") if self.challenge is None else self.challenge
        return web.Response(status=self.confirms, text=text)

    async def take(self, request: web.Request) -> web.Response:
        headers = {name.lower(): value for name, value in request.headers.items()}
        self.got.append(Push(headers, await request.read()))
        if self.victim is not None:
            os.kill(self.victim, signal.SIGKILL)
        await asyncio.sleep(self.waits)
        return web.Response(status=self.answers.pop(0) if self.answers else 200)

    async def has(self, pushes: int) -> None:
        """Return when so many have come."""

        async def look() -> bool:
            return len(self.got) >= pushes

        await eventually(look)


@asynccontextmanager
async def a_subscriber() -> AsyncIterator[Subscriber]:
    subscriber = Subscriber()
    confirm, take = web.get("/websub/{rest:.*}", subscriber.confirm), web.post("/websub/{rest:.*}", subscriber.take)
    async with a_web_app(confirm, take) as subscriber.url:
        yield subscriber


async def ask_hub(
    app: RunningApp, feed: FeedOut, callback: str, *, form: FeedFormat = "atom", mode: str = "subscribe", **over: str
) -> Answer:
    """What the hub says to a request."""
    topic = f"{app.client.base}{feed.path(form)}"
    said = {"hub.mode": mode, "hub.topic": topic, "hub.callback": callback}
    said |= {f"hub.{name}": value for name, value in over.items()}
    return await app.client.ask("POST", "/websub", data=said)


@asynccontextmanager
async def working(app: RunningApp) -> AsyncIterator[None]:
    """With the workers."""
    app.worker_loops.start()
    try:
        yield
    finally:
        await app.worker_loops.stop()


async def until_quiet(app: RunningApp) -> None:
    """Return when the hub has nothing to do at this moment."""

    async def look() -> bool:
        stats = {one.queue: one for one in await app.pipeline.tasks.stats()}
        return not any(one.due + one.running for name, one in stats.items() if name.startswith("hub-"))

    await eventually(look)
