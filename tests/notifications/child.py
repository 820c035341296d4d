"""A process that ingests, announces and tells, and dies by kill -9 at a named point; nothing of it cleans up.

Its points: `before commit`, `after commit`, `announcing`, `announced`, `telling`, `told`.
"""

import asyncio
import os
import signal
import sys
from collections.abc import Sequence

from tests.delivery.builders import chapters_tx
from tests.notifications.receivers import Office, an_office
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


class Mortal:
    """Dies when it comes to its point."""

    def __init__(self, point: str) -> None:
        self._point = point

    def reach(self, point: str) -> None:
        if point == self._point:
            os.kill(os.getpid(), signal.SIGKILL)


class MortalAnnouncer(Announcer):
    mortal: Mortal

    async def handle_all(self, tasks: Sequence[Task[Notice]]) -> None:
        self.mortal.reach("announcing")
        await super().handle_all(tasks)
        self.mortal.reach("announced")


class MortalSender(Sender):
    mortal: Mortal

    async def handle(self, task: Task[Send]) -> None:
        self.mortal.reach("telling")
        await super().handle(task)

    async def _tell(self, *arguments: object) -> None:
        await super()._tell(*arguments)  # type: ignore[arg-type]  # whatever they are
        self.mortal.reach("told")


async def ingest(office: Office, series: SeriesId, number: int, mortal: Mortal) -> None:
    async def work(tx: Tx) -> Delivered:
        new = await chapters_tx(tx, series, [number], office.clock())
        delivered = await deliver_chapters_tx(tx, series, new, is_first_harvest=False, now=office.clock())
        mortal.reach("before commit")
        return delivered

    delivered = await office.db.with_tx(work)
    mortal.reach("after commit")
    office.wakeup.wake(*delivered.wakeups)


async def live(url: str, series: SeriesId, number: int, point: str) -> None:
    db, mortal = await open_database(DatabaseOptions(url)), Mortal(point)
    async with an_office(db) as office:
        office.announcer = MortalAnnouncer(db, office.wakeup, office.clock)
        office.announcer.mortal = mortal
        office.sender = MortalSender(db, office.client, office.clock, jitter=lambda: 0.0)
        office.sender.mortal = mortal
        await ingest(office, series, number, mortal)  # first: what others left behind may be where we die
        async with office.open():
            await office.until_idle()
    await db.close()


if __name__ == "__main__":
    asyncio.run(live(sys.argv[1], SeriesId(int(sys.argv[2])), int(sys.argv[3]), sys.argv[4]))
