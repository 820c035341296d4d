"""Receivers of notices, real ones on loopback, and the two workers that notices pass through."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import msgspec
from aiohttp import web

from tests.builders import NOON
from tests.delivery.builders import count_channel_sends
from tests.net.builders import a_client, a_web_app
from tests.queue.builders import Clock
from tests.waiting import eventually
from tsuzuki.coord.wakeup import MemoryWakeup
from tsuzuki.db import Database
from tsuzuki.model.ids import ShelfId
from tsuzuki.model.times import Millis
from tsuzuki.net.client import Client
from tsuzuki.notifications.announcer import Announcer
from tsuzuki.notifications.channels import AddedChannel, Channels, ShownChannel
from tsuzuki.notifications.sender import Sender
from tsuzuki.notifications.tasks import NOTICES, SENDS
from tsuzuki.queue.leases import WorkerContext
from tsuzuki.queue.policy import QueueSettings
from tsuzuki.queue.service import Tasks
from tsuzuki.queue.worker import Worker

QUICK = QueueSettings(attempts=5, lease=Millis(900), jitter=0.0, delays=(Millis(20),) * 4, concurrency=4)


class Received(msgspec.Struct, frozen=True):
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def document(self) -> Any:
        return msgspec.json.decode(self.body)

    @property
    def id(self) -> str:
        return self.headers["webhook-id"]


class Receiver:
    """Remembers what it was sent; answers 200, or what stands in `answers`, the first first."""

    def __init__(self) -> None:
        self.got: list[Received] = []
        self.answers: list[int] = []
        self.always: int = 200
        self.url = ""

    async def take(self, request: web.Request) -> web.Response:
        headers = {name.lower(): value for name, value in request.headers.items()}
        self.got.append(Received(request.path, headers, await request.read()))
        status = self.answers.pop(0) if self.answers else self.always
        return web.Response(status=status, headers={"location": f"{self.url}/elsewhere"} if 300 <= status < 400 else {})


@asynccontextmanager
async def a_receiver() -> AsyncIterator[Receiver]:
    receiver = Receiver()
    async with a_web_app(web.route("*", "/{path:.*}", receiver.take)) as receiver.url:
        yield receiver


class Notifier:
    """Channels, and the workers that tell them."""

    def __init__(self, db: Database, client: Client) -> None:
        self.db = db
        self.wakeup = MemoryWakeup()
        self.clock = Clock(NOON)
        self.client = client
        self.channels = Channels(db, client, self.wakeup, clock=self.clock)
        self.tasks = Tasks(db, self.wakeup, self.clock)
        self.announcer = Announcer(db, self.wakeup, self.clock)
        self.sender = Sender(db, client, self.clock, jitter=lambda: 0.0)

    async def webhook(self, shelf: ShelfId, url: str, **over: Any) -> AddedChannel:
        return await self.channels.add(shelf, "webhook", name=over.pop("name", "Hook"), config={"url": url} | over)

    async def ntfy(self, shelf: ShelfId, url: str, **over: Any) -> AddedChannel:
        return await self.channels.add(shelf, "ntfy", name="Phone", config={"url": url, "topic": "news"} | over)

    async def only_channel(self, shelf: ShelfId) -> ShownChannel:
        [channel] = await self.channels.list(shelf)
        return channel

    @asynccontextmanager
    async def open(self, *, sending: bool = True) -> AsyncIterator[None]:
        """Both workers, or the first alone, until the end of the block."""
        notices, sends = (msgspec.structs.replace(queue, settings=QUICK) for queue in (NOTICES, SENDS))
        workers: list[Worker[Any]] = [Worker(self._worker_context("announcer"), notices, self.announcer)]
        if sending:
            workers.append(Worker(self._worker_context("sender"), sends, self.sender))
        running = [asyncio.create_task(worker.run(patience=2.0)) for worker in workers]
        try:
            yield
        finally:
            for worker in workers:
                worker.stop()
            await asyncio.gather(*running)

    def _worker_context(self, name: str) -> WorkerContext:
        return WorkerContext(db=self.db, wakeup=self.wakeup, clock=self.clock, name=name)

    def later(self, by: int) -> None:
        """So much time passes, and everyone looks at the clock."""
        self.clock.step(by)
        self.wakeup.wake(NOTICES.name, SENDS.name)

    async def until_quiet(self) -> None:
        """Return when nothing is left to be announced or sent at this moment."""

        async def so() -> bool:
            stats = await self.tasks.stats()
            return not any(queue.due + queue.running for queue in stats)

        await eventually(so)

    async def until_idle(self) -> None:
        """Return when nothing is queued at all, not even for later."""

        async def so() -> bool:
            return not any(queue.depth for queue in await self.tasks.stats())

        await eventually(so)

    async def sends(self) -> int:
        return await count_channel_sends(self.db)


@asynccontextmanager
async def a_notifier(db: Database, **over: Any) -> AsyncIterator[Notifier]:
    async with AsyncExitStack() as stack:
        yield Notifier(db, await stack.enter_async_context(a_client(**over)))
