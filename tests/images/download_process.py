"""A process that keeps chapters until it is killed: `python -m tests.images.download_process FOLDER URL`."""

import asyncio
import sys
from pathlib import Path

from tests.app import settings_for
from tsuzuki.app.bootstrap import open_tsuzuki
from tsuzuki.images.downloads import DOWNLOADS


async def main(folder: str, database_url: str) -> None:
    settings = settings_for(
        Path(folder),
        database_url=database_url,
        allow_private_networks="127.0.0.0/8",
        task_lease="1s",
        password="x" * 12,
    )
    async with open_tsuzuki(settings, queues=[DOWNLOADS.name]) as opened:
        opened.worker_loops.start()
        print("working", flush=True)  # noqa: T201  the parent waits for it
        await opened.worker_loops.wait()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
