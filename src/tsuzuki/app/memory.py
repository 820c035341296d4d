"""Gives memory back to the machine that work took and nothing needs any more."""

import asyncio
import ctypes
import gc
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

from tsuzuki.db import Database
from tsuzuki.model.errors import Unavailable

LOOK_EVERY_S = 10.0
QUIET_S = 0.25
"""Seconds of computing between two looks: with less, nothing runs that would take the memory again at once."""
WORTH_S = 0.5
"""Seconds of computing since memory was last given back: with less, not much can have been taken."""


@asynccontextmanager
async def giving_memory_back(db: Database) -> AsyncIterator[None]:
    """Until the end of the block, whenever there was work and it is quiet again.

    The C library keeps what was freed: after five hundred feeds a third of all that the process had.
    """
    giving = asyncio.ensure_future(_give_back(db, _trim()))
    try:
        yield
    finally:
        giving.cancel()
        await asyncio.gather(giving, return_exceptions=True)


async def _give_back(db: Database, trim: Callable[[int], int]) -> None:
    looked_at = given_at = 0.0
    while True:
        await asyncio.sleep(LOOK_EVERY_S)
        before, looked_at = looked_at, time.process_time()
        if looked_at - before < QUIET_S and looked_at - given_at > WORTH_S:
            with suppress(Unavailable):
                await db.release_memory()
            gc.collect()
            await asyncio.to_thread(trim, 0)
            given_at = time.process_time()


def _trim() -> Callable[[int], int]:
    """That of glibc; elsewhere nothing is kept that would be worth it."""
    trim: Callable[[int], int] = getattr(ctypes.CDLL(None), "malloc_trim", lambda _: 0)
    return trim
