"""Whoever takes part: a server in processes of its own, what it is asked, and a look into its database."""

import asyncio
import contextlib
import os
import signal
import time
from abc import ABC, abstractmethod
from asyncio.subprocess import DEVNULL, Process
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urljoin
from xml.sax.saxutils import quoteattr

import aiohttp
import apsw
import asyncpg

from tests.servers import free_port
from tsuzuki.app.opening import wall_clock

START_S = 120.0
"""For a server to start on a busy machine; then it is left out."""
PAGE = 50


class Broken(Exception):
    """It did not do what it was asked; a sentence."""


# -- databases


class Stored(ABC):
    """A contestant's database, looked at from beside it: that costs the contestant nothing."""

    @abstractmethod
    async def number(self, sql: str, *values: object) -> int:
        """The one number that this reads."""

    @abstractmethod
    async def run(self, sql: str, *values: object) -> None: ...

    @abstractmethod
    async def size(self) -> int:
        """Bytes."""

    @abstractmethod
    async def close(self) -> None: ...


class SqliteFile(Stored):
    def __init__(self, path: Path) -> None:
        self._path = path
        self._opened: apsw.Connection | None = None

    @property
    def _connection(self) -> apsw.Connection:
        if self._opened is None:
            self._opened = apsw.Connection(str(self._path), flags=apsw.SQLITE_OPEN_READWRITE)
            self._opened.set_busy_timeout(30_000)
        return self._opened

    async def number(self, sql: str, *values: object) -> int:
        return int(self._connection.execute(sql, values).fetchall()[0][0])  # type: ignore[arg-type]  # numbers only

    async def run(self, sql: str, *values: object) -> None:
        self._connection.execute(sql, values)

    async def size(self) -> int:
        return await self.number("pragma page_count") * await self.number("pragma page_size")

    async def close(self) -> None:
        if self._opened is not None:
            self._opened.close()
            self._opened = None


class PostgresDatabase(Stored):
    def __init__(self, url: str) -> None:
        self._url = url
        self._opened: asyncpg.Connection[asyncpg.Record] | None = None

    async def _connection(self) -> "asyncpg.Connection[asyncpg.Record]":
        if self._opened is None:
            self._opened = await asyncpg.connect(self._url, ssl=False)
        return self._opened

    async def number(self, sql: str, *values: object) -> int:
        return int(await (await self._connection()).fetchval(_dollars(sql), *values))

    async def run(self, sql: str, *values: object) -> None:
        await (await self._connection()).execute(_dollars(sql), *values)

    async def size(self) -> int:
        return await self.number("select pg_database_size(current_database())")

    async def close(self) -> None:
        if self._opened is not None:
            await self._opened.close()
            self._opened = None


def _dollars(sql: str) -> str:
    first, *rest = sql.split("?")
    return first + "".join(f"${number}{part}" for number, part in enumerate(rest, 1))


async def new_database(server_url: str, name: str) -> str:
    """Its address."""
    connection = await asyncpg.connect(server_url, ssl=False)
    try:
        await connection.execute(f'create database "{name}" template template0')
    finally:
        await connection.close()
    return server_url.rpartition("/")[0] + f"/{name}"


# -- processes


def memory_of(pids: Sequence[int]) -> int | None:
    """Bytes of these processes and their children, shared pages counted once; None where the system does not tell."""
    try:
        return sum(_pss(pid) for pid in pids)
    except OSError:
        return None


def _pss(pid: int) -> int:
    own = next(line for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines() if line.startswith("Pss:"))
    children = " ".join(path.read_text() for path in Path(f"/proc/{pid}/task").glob("*/children")).split()
    return int(own.split()[1]) * 1024 + sum(_pss(int(child)) for child in children)


# -- a contestant


class Contestant(ABC):
    """One server with a database of its own. Calls raise `Broken`."""

    name: str
    """In the table."""
    key: str
    """In the publisher's addresses."""
    at_once: int
    """Polls at the same time."""
    finest = 1
    """Milliseconds: how exactly it stores when a feed was polled."""
    note = ""
    """What the table cannot say."""
    headers: Mapping[str, str] = {}

    def __init__(self, folder: Path, stored: Stored, *, at_once: int) -> None:
        self.folder = folder / self.key
        self.folder.mkdir()
        self.stored = stored
        self.at_once = at_once
        self.port = free_port()
        self.log = self.folder / "log.txt"
        self._session: aiohttp.ClientSession | None = None
        self._processes: list[Process] = []
        self.since = 0
        """When everything was last asked for, in milliseconds; `began` is the same moment of a steady clock."""
        self.began = 0.0

    # -- what differs

    @abstractmethod
    def commands(self) -> list[tuple[list[str], dict[str, str]]]:
        """Command lines with their environment; the first one serves."""

    @property
    @abstractmethod
    def health(self) -> str:
        """What answers 200 as soon as it serves."""

    async def prepare(self) -> None:
        """Once, when it runs: a token, for who has one."""
        return

    @abstractmethod
    async def import_feeds(self, urls: Sequence[str]) -> None:
        """Follow these; it returns when they are stored, fetched or not."""

    @abstractmethod
    async def ask(self) -> None:
        """Have everything polled now; it may return before that is done."""

    async def age(self) -> None:
        """Let the last poll seem long ago, where a server does not poll again so soon."""
        return

    @abstractmethod
    async def left(self) -> int:
        """Feeds that were not yet polled, and stored, since `since`."""

    @abstractmethod
    async def items(self) -> int:
        """How many are stored."""

    @abstractmethod
    async def unread(self) -> list[Any]:
        """Ids of the newest 50, fetched with their content."""

    @abstractmethod
    async def entry(self, number: Any) -> None: ...

    @abstractmethod
    async def mark(self, number: Any, *, unread: bool) -> None: ...

    @abstractmethod
    async def search(self, word: str) -> int:
        """How many of the first 50 were found."""

    # -- what is the same

    async def start(self) -> float:
        """Seconds until it serves."""
        began = time.perf_counter()
        for command, env in self.commands():
            with self.log.open("ab") as log:
                process = await asyncio.create_subprocess_exec(
                    *command, env=bare_environment(self.folder) | env, stdout=log, stderr=log, stdin=DEVNULL,
                    cwd=self.folder,
                )  # fmt: skip
            self._processes.append(process)
        self._session = aiohttp.ClientSession(headers=dict(self.headers), timeout=aiohttp.ClientTimeout(total=600))
        while not await self._serves():
            if self._processes[0].returncode is not None or time.perf_counter() - began > START_S:
                said = self.log.read_text("utf-8", "replace").strip().splitlines()[-1:]
                raise Broken(f"{self.name} did not start: {' '.join(said) or 'it said nothing'}")
            await asyncio.sleep(0.005)
        return time.perf_counter() - began

    async def _serves(self) -> bool:
        try:
            async with self.session.get(self.url + self.health) as response:
                return response.status == 200
        except aiohttp.ClientError:
            return False

    async def stop(self) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None
        for process in self._processes:
            with contextlib.suppress(ProcessLookupError):
                process.send_signal(signal.SIGTERM)
        for process in self._processes:
            try:
                await asyncio.wait_for(process.wait(), 20)
            except TimeoutError:
                process.kill()
                await process.wait()
        self._processes.clear()
        await self.stored.close()

    @property
    def session(self) -> aiohttp.ClientSession:
        assert self._session is not None
        return self._session

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def memory(self) -> int | None:
        return memory_of([process.pid for process in self._processes])

    @property
    def complaint(self) -> str:
        """The last line of its log that speaks of a lock or an error, as a sentence; empty without one."""
        lines = self.log.read_text("utf-8", "replace").splitlines()
        found = [line for line in lines if "lock" in line.lower() or "error" in line.lower()]
        return f" Errors or locks in its log: {len(found):,} lines, the last “{found[-1][:200]}”." if found else ""

    async def first_fetch(self, urls: Sequence[str]) -> None:
        await self._mark_time()
        await self.import_feeds(urls)

    async def refresh(self) -> None:
        await self._mark_time()
        await self.ask()

    async def _mark_time(self) -> None:
        """From the beginning of what is the smallest step of its times."""
        if self.finest > 1:
            await asyncio.sleep((self.finest - wall_clock() % self.finest + 5) / 1000)
        self.since, self.began = int(wall_clock()), time.perf_counter()

    async def call(self, method: str, path: str, *, body: object = None, data: object = None) -> Any:
        """What the answer holds; None if that is nothing."""
        async with self.session.request(method, self.url + path, json=body, data=data) as response:
            answer = await response.read()
            if response.status >= 400:
                raise Broken(f"{self.name}: {method} {path} was answered with {response.status}: {answer[:200]!r}")
            return await response.json(content_type=None) if answer[:1] in {b"{", b"["} else None


def bare_environment(folder: Path) -> dict[str, str]:
    """Nothing of ours: no proxies, no settings."""
    return {"PATH": os.environ.get("PATH", ""), "HOME": str(folder), "LANG": "C.UTF-8"}


def opml(urls: Sequence[str]) -> bytes:
    """With the sites: some would take the feed itself for the site, and look there for an icon."""
    rows = "".join(
        f"<outline type='rss' text='Feed {n}' xmlUrl={quoteattr(url)} htmlUrl={quoteattr(urljoin(url, '/'))}/>"
        for n, url in enumerate(urls)
    )
    return f"<opml version='2.0'><head><title>Feeds</title></head><body>{rows}</body></opml>".encode()
