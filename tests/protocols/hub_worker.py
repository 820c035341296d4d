"""A process that works, until it is ended: `python -m tests.protocols.hub_worker FOLDER DATABASE_URL`."""

import asyncio
import sys
from pathlib import Path

from tests.app import settings_for
from tests.builders import CHEAPEST
from tsuzuki.app.bootstrap import open_tsuzuki


async def work(folder: Path, database_url: str) -> None:
    settings = settings_for(
        folder, database_url=database_url, allow_private_networks="127.0.0.0/8", task_lease="5", password="any password"
    )
    async with open_tsuzuki(settings, hash_cost=CHEAPEST) as opened:
        opened.worker_loops.start()
        await opened.worker_loops.wait()


if __name__ == "__main__":
    asyncio.run(work(Path(sys.argv[1]), sys.argv[2]))
