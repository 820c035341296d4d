"""Adopts the database at a path, as a start does; a test kills it."""

import asyncio
import sys
import time

from tsuzuki.db import DatabaseOptions
from tsuzuki.model.times import Millis
from tsuzuki.transfer.reedme.adoption import adopt

print("ready", flush=True)  # noqa: T201  the test waits for it
asyncio.run(adopt(DatabaseOptions(f"sqlite://{sys.argv[1]}"), lambda: Millis(time.time_ns() // 1_000_000)))
