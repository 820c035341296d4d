"""Ours: one process on SQLite, or one that serves and two that work on PostgreSQL."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.peers.contestants import PAGE, Contestant, PostgresDatabase, SqliteFile, Stored, opml
from tsuzuki.ingest.items import ITEMS
from tsuzuki.model.times import HOUR

_PASSWORD = "a long password of the bench"
_LEFT = f"""
select (select count(*) from watch where last_checked_at is null or last_checked_at < ?)
  + (select count(*) from task where queue = '{ITEMS.name}' and status in ('queued', 'running'))"""


class Tsuzuki(Contestant):
    """The server as it is run, with a token."""

    health = "/healthz"
    workers = 0

    def __init__(self, folder: Path, stored: Stored, database_url: str, *, at_once: int) -> None:
        super().__init__(folder, stored, at_once=at_once)
        self._database_url = database_url

    def commands(self) -> list[tuple[list[str], dict[str, str]]]:
        settings = {
            "DATA_DIR": self.folder,
            "DATABASE_URL": self._database_url,
            "PORT": self.port,
            "PASSWORD": _PASSWORD,
            "ALLOW_PRIVATE_NETWORKS": "127.0.0.0/8",
            "PULL_CONCURRENCY": max(1, self.at_once // (self.workers or 1)),
            "LOG_LEVEL": "warning",
        }
        env = {f"TSUZUKI_{name}": str(value) for name, value in settings.items()}
        command = [sys.executable, "-m", "tsuzuki"]
        if not self.workers:
            return [([*command, "serve"], env)]
        return [([*command, "serve", "--no-workers"], env), *[([*command, "work"], env)] * self.workers]

    async def prepare(self) -> None:
        """With a token, as a program would."""
        sign_in = {"username": "admin", "password": _PASSWORD}
        async with self.session.post(f"{self.url}/api/v1/sessions", json=sign_in) as response:
            response.raise_for_status()
            cookies = {name: morsel.value for name, morsel in response.cookies.items()}
        wanted = {"name": "bench", "scopes": ["read", "write"]}
        async with self.session.post(f"{self.url}/api/v1/me/tokens", json=wanted, cookies=cookies) as response:
            response.raise_for_status()
            self.headers = {"Authorization": f"Bearer {(await response.json())['data']['token']}"}
        self.session.headers.update(self.headers)

    async def import_feeds(self, urls: Sequence[str]) -> None:
        async with self.session.post(
            self.url + "/api/v1/opml", data=opml(urls), headers={"Content-Type": "text/x-opml"}
        ) as response:
            response.raise_for_status()

    async def ask(self) -> None:
        await self.call("POST", "/api/v1/feeds/refresh")

    async def age(self) -> None:
        await self.stored.run("update watch set last_checked_at = last_checked_at - ?", HOUR)

    async def left(self) -> int:
        return await self.stored.number(_LEFT, self.since)

    async def items(self) -> int:
        return await self.stored.number("select count(*) from item")

    async def unread(self) -> list[Any]:
        found = await self.call("GET", f"/api/v1/items?unread=true&content=true&limit={PAGE}")
        return [item["id"] for item in found["data"]]

    async def entry(self, number: Any) -> None:
        await self.call("GET", f"/api/v1/items/{number}")

    async def mark(self, number: Any, *, unread: bool) -> None:
        await self.call("PATCH", f"/api/v1/items/-/{'unread' if unread else 'read'}", body={"ids": [number]})

    async def search(self, word: str) -> int:
        found = await self.call("GET", f"/api/v1/items?search={word}&content=true&limit={PAGE}")
        return len(found["data"])


class OnSqlite(Tsuzuki):
    name = "Tsuzuki, SQLite"
    key = "sqlite"

    def __init__(self, folder: Path, *, at_once: int) -> None:
        path = folder / self.key / "tsuzuki.db"
        super().__init__(folder, SqliteFile(path), f"sqlite:///{path}", at_once=at_once)


class OnPostgres(Tsuzuki):
    name = "Tsuzuki, PostgreSQL"
    key = "postgres"
    workers = 2

    def __init__(self, folder: Path, url: str, *, at_once: int) -> None:
        super().__init__(folder, PostgresDatabase(url), url, at_once=at_once)
