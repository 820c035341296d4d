"""Waiting for what another task or process does: nothing wakes a test."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

T = TypeVar("T")

PATIENCE_S = 60.0
LONGEST_PAUSE_S = 0.05


async def eventually(look: Callable[[], Awaitable[T]], within: float = PATIENCE_S) -> T:
    """What `look` finds as soon as it finds anything; it fails when that takes too long.

    The longer it takes, the seldomer it looks: what is waited for needs the machine too.
    """
    deadline, pause = time.monotonic() + within, 0.01
    while not (found := await look()):
        assert time.monotonic() < deadline, f"still not so after {within} s"
        await asyncio.sleep(pause)
        pause = min(pause * 1.3, LONGEST_PAUSE_S)
    return found
