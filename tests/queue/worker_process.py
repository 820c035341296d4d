"""A worker in a process of its own: `python -m tests.queue.worker_process DATABASE_URL BELL_URL QUEUE SETTINGS`.

What a task does is its payload's manner: `well` takes effect, `briskly` after some milliseconds; `kill` kills the
process, `freeze` stops it (SIGSTOP) before the effect; `endlessly` leaves marks as it begins and as it is cancelled.
"""

import asyncio
import os
import random
import signal
import sys

import msgspec

from tests.queue.builders import Effects, Note, QueueHarness, a_wakeup
from tsuzuki.db import DatabaseOptions, open_database
from tsuzuki.queue.policy import QueueSettings
from tsuzuki.queue.tasks import Queue, Task
from tsuzuki.queue.worker import Worker


class ScriptedHandler(Effects):
    async def handle(self, task: Task[Note]) -> None:
        match task.payload.manner:
            case "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            case "freeze" if task.losses == 0:
                os.kill(os.getpid(), signal.SIGSTOP)
            case "briskly":
                await asyncio.sleep(random.uniform(0, 0.1))
            case "endlessly":
                await self._hang(task)
            case _:
                pass
        await super().handle(task)

    async def _hang(self, task: Task[Note]) -> None:
        await self.leave_mark(f"begun {task.key}")
        try:
            await asyncio.sleep(600)
        except asyncio.CancelledError:
            await asyncio.shield(self.leave_mark(f"cancelled {task.key}"))
            raise


async def main(database_url: str, wakeup_url: str, name: str, settings: str) -> None:
    db = await open_database(DatabaseOptions(database_url))
    async with a_wakeup(wakeup_url) as wakeup:
        harness = QueueHarness(db, wakeup, (database_url, wakeup_url))
        queue = Queue(name, Note, msgspec.json.decode(settings, type=QueueSettings))
        worker = Worker(harness.worker_context(name=f"process-{os.getpid()}"), queue, ScriptedHandler(db))
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, worker.stop)
        await worker.run()
    await db.close()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
