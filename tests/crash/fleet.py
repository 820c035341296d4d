"""Tsuzuki's processes, and the servers under them, to be killed and started again."""

import asyncio
import contextlib
import os
import shutil
import signal
import sys
import time
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncIterator
from pathlib import Path
from typing import IO

from tests import databases
from tests.servers import Postgres, Redis, shared_folder
from tsuzuki.db import DatabaseOptions
from tsuzuki.db.migrate import migrate

LEASE_S = 3
READY_WITHIN = 60.0
STOPPED_WITHIN = 40.0
"""Twice the patience that its loops have with what they began."""


class Fleet:
    """What runs: on SQLite one process that does everything, else a server and workers on PostgreSQL and Redis."""

    def __init__(self, folder: Path, database_url: str, *, redis_url: str | None = None, workers: int = 0) -> None:
        self.database_url = database_url
        self.redis_url = redis_url
        self.workers: list[Process | None] = [None] * workers
        self.server: Process | None = None
        self.planted: str | None = None
        self.portion: int | None = None
        """Entries in a portion of every other delivery."""
        self.interval_s = 1
        """Between two polls of an outlet."""
        self.exits: list[str] = []
        """Processes that ended otherwise than by our hand."""
        self.log_level = "warning"
        self.work_options: tuple[str, ...] = ()
        self.said: dict[int, str] = {}
        """The first line of each process."""
        self._folder = folder
        self._ours: set[int] = set()
        self._log: IO[bytes] = (folder / "log.jsonl").open("ab")

    @property
    def data_dir(self) -> Path:
        return self._folder / "data"

    @property
    def log(self) -> Path:
        return self._folder / "log.jsonl"

    async def start(self) -> None:
        await self.start_server()
        for place in range(len(self.workers)):
            await self.start_worker(place)

    async def start_server(self, killable: str = "") -> Process:
        """`serve`, with workers where there are no others; it has said that it is there when this returns."""
        self._must_be_ours(self.server)
        options = ["--no-workers"] if self.workers else []
        self.server = await self._start("serve", "--port", "0", *options, killable=killable)
        return self.server

    async def start_worker(self, place: int, killable: str = "") -> Process:
        self._must_be_ours(self.workers[place])
        worker = await self._start("work", *self.work_options, killable=killable)
        self.workers[place] = worker
        return worker

    async def _start(self, *arguments: str, killable: str) -> Process:
        """Its first line says that it is there. Without a database it ends instead, and is started again."""
        until = time.monotonic() + READY_WITHIN
        module = "tests.crash.killable" if killable or self.planted or self.portion else "tsuzuki"
        while True:
            child = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", module, *arguments),
                env=self._environment(killable),
                stdin=DEVNULL,
                stdout=PIPE,
                stderr=self._log,
            )
            assert child.stdout is not None
            async with asyncio.timeout_at(asyncio.get_running_loop().time() + READY_WITHIN):
                line = await child.stdout.readline()
            if killable:
                self._ours.add(child.pid)
            self.said[child.pid] = line.decode()
            if line or killable:
                return child
            status = await child.wait()
            if time.monotonic() > until:
                raise RuntimeError(f"{arguments} ended with {status}: {self.log.read_text('utf-8')[-2000:]}")
            await asyncio.sleep(0.2)

    def _environment(self, killable: str) -> dict[str, str]:
        ours = {
            "DATA_DIR": self.data_dir,
            "DATABASE_URL": self.database_url,
            "ALLOW_PRIVATE_NETWORKS": "127.0.0.0/8",
            "PULL_INTERVAL": f"{self.interval_s}s",
            "PULL_MAX_BACKOFF": f"{2 * self.interval_s}s",
            "TASK_LEASE": f"{LEASE_S}s",
            "PULL_CONCURRENCY": "8",
            "PASSWORD": "canary of the crash test",
            "LOG_FORMAT": "json",
            "LOG_LEVEL": self.log_level,
        }
        if self.redis_url is not None:
            ours["REDIS_URL"] = self.redis_url
        others = {name: value for name, value in os.environ.items() if not name.startswith("TSUZUKI_")}
        extra = {"MORTAL": killable, "PLANTED": self.planted or "", "PORTION": str(self.portion or "")}
        return others | extra | {f"TSUZUKI_{name}": str(value) for name, value in ours.items()}

    def _must_be_ours(self, child: Process | None) -> None:
        """Nobody may end but by our hand."""
        if child is not None and child.returncode is not None and child.pid not in self._ours:
            self.exits.append(f"{child.pid} ended by itself with {child.returncode}")

    async def kill(self, child: Process) -> int:
        """kill -9; the pid of the dead."""
        self._ours.add(child.pid)
        with contextlib.suppress(ProcessLookupError):
            child.kill()
        await child.wait()
        return child.pid

    async def until_dead(self, child: Process, within: float) -> bool:
        """Whether it killed itself at its point."""
        self._ours.add(child.pid)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(within):
                status = await child.wait()
                if status != -signal.SIGKILL:
                    self.exits.append(f"{child.pid} ended with {status} before it came to its point")
                return status == -signal.SIGKILL
        return False

    async def until_stopped(self, child: Process, within: float) -> bool:
        """Whether it froze itself at its point."""
        until = time.monotonic() + within
        while time.monotonic() < until:
            if is_stopped(child.pid):
                return True
            await asyncio.sleep(0.02)
        return False

    async def stop(self) -> list[int]:
        """SIGTERM to all; how each ended."""
        children = [child for child in (self.server, *self.workers) if child is not None]
        for child in children:
            self._must_be_ours(child)
            with contextlib.suppress(ProcessLookupError):
                child.send_signal(signal.SIGCONT)
                child.terminate()
        return [await self._ended(child) for child in children if child.pid not in self._ours]

    async def _ended(self, child: Process) -> int:
        try:
            async with asyncio.timeout(STOPPED_WITHIN):
                return await child.wait()
        except TimeoutError:
            await self.kill(child)
            return -signal.SIGKILL

    async def close(self) -> None:
        for child in (self.server, *self.workers):
            if child is not None and child.returncode is None:
                await self.kill(child)
        self._log.close()

    def left_behind(self) -> list[str]:
        """Processes that outlived those that started them."""
        mark = f"TSUZUKI_DATA_DIR={self.data_dir}".encode()
        found = []
        for entry in Path("/proc").iterdir():
            with contextlib.suppress(OSError):
                if entry.name.isdecimal() and mark in (entry / "environ").read_bytes().split(b"\0"):
                    found.append((entry / "cmdline").read_bytes().replace(b"\0", b" ").decode())
        return found


def is_stopped(pid: int) -> bool:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()[0] == "T"
    return False


class KillableServers:
    """A PostgreSQL and a Redis of our own, which may be killed."""

    def __init__(self, folder: Path) -> None:
        # Durable: an immediate restart is to find what was committed.
        self.postgres = Postgres(folder, durable=True)
        self.redis = Redis(folder)

    async def restart_postgres(self) -> None:
        """Immediate: no checkpoint, every connection cut, recovery at the start."""
        await asyncio.to_thread(self.postgres.stop, signal.SIGQUIT)
        await asyncio.to_thread(self.postgres.start)

    async def restart_redis(self) -> None:
        """kill -9; it comes back with nothing in it."""
        await asyncio.to_thread(self.redis.stop, signal.SIGKILL)
        await asyncio.sleep(0.3)
        await asyncio.to_thread(self.redis.start)


@contextlib.asynccontextmanager
async def one_process(folder: Path) -> AsyncIterator[Fleet]:
    """`tsuzuki serve` on SQLite."""
    (folder / "data").mkdir()
    fleet = Fleet(folder, f"sqlite:///{folder / 'data' / 'tsuzuki.db'}")
    await migrate(DatabaseOptions(f"sqlite://{folder / 'data' / 'tsuzuki.db'}"), now=0)
    try:
        yield fleet
    finally:
        await fleet.close()


@contextlib.asynccontextmanager
async def many_processes(folder: Path, workers: int) -> AsyncIterator[tuple[Fleet, KillableServers]]:
    """`tsuzuki serve --no-workers` and workers, on PostgreSQL and Redis."""
    (folder / "data").mkdir()
    place = shared_folder()
    deps = await asyncio.to_thread(KillableServers, place)
    await asyncio.to_thread(deps.postgres.start)
    await asyncio.to_thread(deps.redis.start)
    fleet = None
    try:
        await databases.on_server(deps.postgres.url, "create database tsuzuki template template0")
        url = databases.named(deps.postgres.url, "tsuzuki")
        await migrate(DatabaseOptions(url), now=0)
        fleet = Fleet(folder, url, redis_url=deps.redis.url, workers=workers)
        yield fleet, deps
    finally:
        if fleet is not None:
            await fleet.close()
        deps.redis.stop(signal.SIGKILL)
        deps.postgres.stop(signal.SIGQUIT)
        shutil.rmtree(place, ignore_errors=True)
