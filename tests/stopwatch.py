"""Seconds of a test, without those in which the whole machine stood still.

A virtual machine may be held for a second or two; nothing in a test is the cause, and no test should fail by it. One
process of the run does nothing but sleep and look at the clock. What it oversleeps, nobody else could use either.
"""

import mmap
import os
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

FILE = "TSUZUKI_TEST_STALLS"
NAP_S = 0.02
NOTICED_S = 0.1
"""Later than this it was not the scheduler's ordinary delay."""
_TOTAL = struct.Struct("d")


class Stopwatch:
    def __init__(self) -> None:
        self._began, self._stalled = time.monotonic(), _stalled()

    def seconds(self) -> float:
        """Since it was made."""
        took = time.monotonic() - self._began
        time.sleep(2 * NAP_S)  # what has just ended is counted then
        return took - (_stalled() - self._stalled)


@contextmanager
def stalls_counted() -> Iterator[None]:
    """Let a process count them, for this one and those that it starts."""
    with tempfile.NamedTemporaryFile() as file:
        file.write(_TOTAL.pack(0.0))
        file.flush()
        counter = subprocess.Popen([sys.executable, __file__, file.name])
        os.environ[FILE] = file.name
        try:
            yield
        finally:
            counter.kill()
            counter.wait()


def _stalled() -> float:
    if (name := os.environ.get(FILE)) is None:
        return 0.0
    with Path(name).open("rb") as file:
        total: float = _TOTAL.unpack(file.read(_TOTAL.size))[0]
        return total


def _count(name: str) -> None:
    parent, total, before = os.getppid(), 0.0, time.monotonic()
    with Path(name).open("r+b") as file, mmap.mmap(file.fileno(), _TOTAL.size) as shared:
        while os.getppid() == parent:
            time.sleep(NAP_S)
            now = time.monotonic()
            if (late := now - before - NAP_S) > NOTICED_S:
                total += late
                _TOTAL.pack_into(shared, 0, total)
            before = now


if __name__ == "__main__":
    _count(sys.argv[1])
