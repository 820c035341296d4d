"""A process that ingests, announces and tells, and dies by kill -9 at a named point; nothing of it cleans up.

Its points: `before commit`, `after commit`, `announcing`, `announced`, `telling`, `told`.
"""

import asyncio
import os
import signal
import sys
from collections.abc import Sequence

from tests.delivery.builders import chapters_tx
from tests.notifications.receivers import Notifier, a_notifier
from tsuzuki.db import DatabaseOptions, Tx, open_database
from tsuzuki.delivery.fanout import Delivered, deliver_chapters_tx
from tsuzuki.model.ids import SeriesId
from tsuzuki.notifications.announcer import Announcer
from tsuzuki.notifications.sender import Sender
from tsuzuki.notifications.tasks import Notice, Send
from tsuzuki.queue.tasks import Task

BEFORE = ("before commit",)
"""Here nothing is stored yet, and the source is polled again."""
TELLING = ("telling", "told")
AFTER = ("after commit", "announcing", "announced", *TELLING)


class KillableWorker:
    """Dies when it comes to its point."""

    def __init__(self, point: str) -> None:
        self._point = point

    def reach(self, point: str) -> None:
        if point == self._point:
            os.kill(os.getpid(), signal.SIGKILL)


class KillableAnnouncer(Announcer):
    killable: KillableWorker

    async def handle_all(self, tasks: Sequence[Task[Notice]]) -> None:
        self.killable.reach("announcing")
        await super().handle_all(tasks)
        self.killable.reach("announced")


class KillableSender(Sender):
    killable: KillableWorker

    async def handle(self, task: Task[Send]) -> None:
        self.killable.reach("telling")
        await super().handle(task)

    async def _send(self, *arguments: object) -> bool:
        is_there = await super()._send(*arguments)  # type: ignore[arg-type]  # whatever they are
        self.killable.reach("told")
        return is_there


async def ingest(notifier: Notifier, series: SeriesId, number: int, killable: KillableWorker) -> None:
    async def work(tx: Tx) -> Delivered:
        new = await chapters_tx(tx, series, [number], notifier.clock())
        delivered = await deliver_chapters_tx(tx, series, new, is_first_harvest=False, now=notifier.clock())
        killable.reach("before commit")
        return delivered

    delivered = await notifier.db.with_tx(work)
    killable.reach("after commit")
    notifier.wakeup.wake(*delivered.wakeups)


async def live(url: str, series: SeriesId, number: int, point: str) -> None:
    db, killable = await open_database(DatabaseOptions(url)), KillableWorker(point)
    async with a_notifier(db) as notifier:
        notifier.announcer = KillableAnnouncer(db, notifier.wakeup, notifier.clock)
        notifier.announcer.killable = killable
        notifier.sender = KillableSender(db, notifier.client, notifier.clock, jitter=lambda: 0.0)
        notifier.sender.killable = killable
        await ingest(notifier, series, number, killable)  # first: what others left behind may be where we die
        async with notifier.open():
            await notifier.until_idle()
    await db.close()


if __name__ == "__main__":
    asyncio.run(live(sys.argv[1], SeriesId(int(sys.argv[2])), int(sys.argv[3]), sys.argv[4]))
