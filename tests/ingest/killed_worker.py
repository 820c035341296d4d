"""A worker of feeds' items that dies by kill -9 when its transaction is about to be committed: `... dying URL`."""

import asyncio
import os
import signal
import sys
from collections.abc import Sequence

from tests.ingest.item_builders import working
from tsuzuki.db import DatabaseOptions, Tx, open_database
from tsuzuki.delivery.fanout import Delivered
from tsuzuki.ingest.items import ItemBatch
from tsuzuki.ingest.service import Ingest, WordsByKey
from tsuzuki.queue.tasks import Task


class Dying(Ingest[ItemBatch]):
    async def _ingest_tx(self, tx: Tx, tasks: Sequence[Task[ItemBatch]], words: WordsByKey) -> Delivered:
        await super()._ingest_tx(tx, tasks, words)
        print(len(tasks), flush=True)  # noqa: T201  whoever watches it die wants to know with how many
        os.kill(os.getpid(), signal.SIGKILL)
        return Delivered()


async def main(url: str) -> None:
    db = await open_database(DatabaseOptions(url))
    async with working(db, Dying):
        await asyncio.sleep(60)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
