"""The process that parsers are forked from: it is there when it is needed, and never when it is not."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.parsing import parsers
from tsuzuki.model.errors import TooLarge
from tsuzuki.parsing.forkserver import FORK_SERVER, ChildRequest, ForkServer
from tsuzuki.parsing.pool import ParsePool, PoolOptions

A_PARENT = """
import asyncio
from tests.parsing import parsers
from tsuzuki.parsing.forkserver import FORK_SERVER
from tsuzuki.parsing.pool import ParsePool, PoolOptions

async def main():
    pool = ParsePool(PoolOptions(processes=1, cpu_seconds=60))
    print("pids", await pool.run(parsers.say_pid, ()), FORK_SERVER._process.pid, flush=True)
    await pool.run(parsers.spin, ())

asyncio.run(main())
"""


def is_running(pid: int) -> bool:
    """A process that nobody has reaped yet is over too."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def ends(pid: int) -> bool:
    deadline = time.monotonic() + 20
    while is_running(pid):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


async def test_one_that_was_killed_is_followed_by_another():
    async with ParsePool(PoolOptions(processes=1)) as pool:
        await pool.run(parsers.say, ("one",))
        killed = FORK_SERVER._process
        assert killed is not None
        os.kill(killed.pid, signal.SIGKILL)
        with pytest.raises(TooLarge):  # nobody can tell how it ended
            await pool.run(parsers.leave, ())
        assert await pool.run(parsers.say, ("two",)) == "two"
        assert FORK_SERVER._process is not killed


def test_it_and_its_children_end_with_a_killed_parent():
    with subprocess.Popen([sys.executable, "-c", A_PARENT], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        child, server = (int(pid) for pid in parent.stdout.readline().split()[1:])
        assert is_running(child)
        assert is_running(server)
        parent.kill()
    assert ends(server)
    assert ends(child)


def test_it_leaves_when_nobody_needs_it_and_comes_back():
    server = ForkServer(idle_seconds=0.1)
    for _ in range(2):
        connection, watch = server.fork(ChildRequest((), 1024**3))
        with connection, watch:
            assert connection.recv(64)  # it is ready
        assert server._process is not None
        assert ends(server._process.pid)
    server.close()


async def test_a_signal_to_all_processes_ends_no_document():
    async with ParsePool(PoolOptions(processes=1)) as pool:
        pid = await pool.run(parsers.say_pid, ())
        call = asyncio.create_task(pool.run(parsers.sleep, (0.3,)))
        await asyncio.sleep(0.1)
        for one in (pid, FORK_SERVER._process.pid if FORK_SERVER._process else 0):
            os.kill(one, signal.SIGTERM)
            os.kill(one, signal.SIGINT)
        await call
