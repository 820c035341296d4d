"""The others, each with its best documented settings for many feeds of this machine."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import aiohttp

from bench.peers.contestants import PAGE, Contestant, PostgresDatabase, SqliteFile, opml

_PASSWORD = "bench-password"


class Miniflux(Contestant):
    """On PostgreSQL, as it must be. It polls when its API is asked to, never by itself meanwhile."""

    name = "Miniflux"
    key = "miniflux"
    health = "/healthcheck"

    def __init__(self, folder: Path, binary: Path, url: str, *, at_once: int) -> None:
        super().__init__(folder, PostgresDatabase(url), at_once=at_once)
        self._binary = binary
        self._database_url = url

    def commands(self) -> list[tuple[list[str], dict[str, str]]]:
        settings = {
            "DATABASE_URL": f"{self._database_url}?sslmode=disable",
            "RUN_MIGRATIONS": 1,
            "CREATE_ADMIN": 1,
            "ADMIN_USERNAME": "admin",
            "ADMIN_PASSWORD": _PASSWORD,
            "LISTEN_ADDR": f"127.0.0.1:{self.port}",
            "BASE_URL": self.url,
            "FETCHER_ALLOW_PRIVATE_NETWORKS": 1,
            "WORKER_POOL_SIZE": self.at_once,
            "BATCH_SIZE": 100_000,
            "POLLING_FREQUENCY": 1440,
            "DATABASE_MAX_CONNS": self.at_once + 10,
            "DATABASE_MIN_CONNS": self.at_once,
            "HTTP_SERVER_TIMEOUT": 600,
            "LOG_LEVEL": "error",
        }
        return [([str(self._binary)], {name: str(value) for name, value in settings.items()})]

    async def prepare(self) -> None:
        """With a key: to check a password takes it longer than most answers."""
        sign_in = aiohttp.BasicAuth("admin", _PASSWORD)
        wanted = {"description": "bench"}
        async with self.session.post(f"{self.url}/v1/api-keys", auth=sign_in, json=wanted) as response:
            response.raise_for_status()
            self.headers = {"X-Auth-Token": (await response.json())["token"]}
        self.session.headers.update(self.headers)

    async def import_feeds(self, urls: Sequence[str]) -> None:
        await self.call("POST", "/v1/import", data=opml(urls))
        await self.stored.run("update feeds set checked_at = to_timestamp(0)")  # it notes the import as a check
        await self.ask()

    async def ask(self) -> None:
        await self.call("PUT", "/v1/feeds/refresh")

    async def age(self) -> None:
        await self.stored.run("update feeds set next_check_at = now() - interval '1 day'")

    async def left(self) -> int:
        return await self.stored.number(
            "select count(*) from feeds where checked_at < to_timestamp(cast(? as double precision) / 1000)", self.since
        )

    async def items(self) -> int:
        return await self.stored.number("select count(*) from entries")

    async def unread(self) -> list[Any]:
        path = f"/v1/entries?status=unread&order=published_at&direction=desc&limit={PAGE}"
        return [entry["id"] for entry in (await self.call("GET", path))["entries"]]

    async def entry(self, number: Any) -> None:
        await self.call("GET", f"/v1/entries/{number}")

    async def mark(self, number: Any, *, unread: bool) -> None:
        await self.call("PUT", "/v1/entries", body={"entry_ids": [number], "status": "unread" if unread else "read"})

    async def search(self, word: str) -> int:
        return len((await self.call("GET", f"/v1/entries?search={word}&limit={PAGE}"))["entries"])


class Fusion(Contestant):
    """On SQLite. Without a password, so that it has nothing to check."""

    name = "Fusion"
    key = "fusion"
    finest = 1000
    note = (
        "Fusion gives up what a poll brought when its database stays locked for five seconds (“database is locked” in"
        " its log). Such feeds count as not done; --fusion-at-once 1 avoids it."
    )
    health = "/api/groups"

    def __init__(self, folder: Path, binary: Path, *, at_once: int) -> None:
        super().__init__(folder, SqliteFile(folder / self.key / "fusion.db"), at_once=at_once)
        self._binary = binary

    def commands(self) -> list[tuple[list[str], dict[str, str]]]:
        settings = {
            "FUSION_DB_PATH": self.folder / "fusion.db",
            "FUSION_ALLOW_EMPTY_PASSWORD": "true",
            "FUSION_PORT": self.port,
            "FUSION_ALLOW_PRIVATE_FEEDS": "true",
            "FUSION_PULL_INTERVAL": 86_400,
            "FUSION_PULL_TIMEOUT": 600,  # it includes the wait for a place, at the first fetch of many feeds
            "FUSION_PULL_CONCURRENCY": self.at_once,
            "FUSION_LOG_LEVEL": "ERROR",
            "GIN_MODE": "release",
        }
        return [([str(self._binary)], {name: str(value) for name, value in settings.items()})]

    async def import_feeds(self, urls: Sequence[str]) -> None:
        group = (await self.call("GET", "/api/groups"))["data"][0]["id"]
        feeds = [{"group_id": group, "name": f"Feed {n}", "link": url} for n, url in enumerate(urls)]
        await self.call("POST", "/api/feeds/batch", body={"feeds": feeds})

    async def ask(self) -> None:
        await self.call("POST", "/api/feeds/refresh")

    async def left(self) -> int:
        polled = "select count(*) from feed_fetch_state where last_checked_at >= ?"
        return await self.stored.number(f"select (select count(*) from feeds) - ({polled})", self.since // 1000)

    async def items(self) -> int:
        return await self.stored.number("select count(*) from items")

    async def unread(self) -> list[Any]:
        return [item["id"] for item in (await self.call("GET", f"/api/items?unread=true&limit={PAGE}"))["data"]]

    async def entry(self, number: Any) -> None:
        await self.call("GET", f"/api/items/{number}")

    async def mark(self, number: Any, *, unread: bool) -> None:
        await self.call("PATCH", f"/api/items/-/{'unread' if unread else 'read'}", body={"ids": [number]})

    async def search(self, word: str) -> int:
        return len((await self.call("GET", f"/api/search?q={word}&limit={PAGE}"))["data"]["items"])


class Yarr(Contestant):
    """On SQLite. How many feeds it polls at once, and how long its pages are, cannot be set."""

    name = "yarr"
    key = "yarr"
    health = "/api/folders"
    note = (
        "yarr polls 4 feeds at a time and lists 20 items a page; neither can be set. Its list of 50 is three requests,"
        " its search shows 20."
    )

    def __init__(self, folder: Path, binary: Path, *, at_once: int) -> None:
        super().__init__(folder, SqliteFile(folder / self.key / "yarr.db"), at_once=at_once)
        self._binary = binary
        self._finished = 0

    def commands(self) -> list[tuple[list[str], dict[str, str]]]:
        database = str(self.folder / "yarr.db")
        return [([str(self._binary), "-addr", f"127.0.0.1:{self.port}", "-db", database], {})]

    async def import_feeds(self, urls: Sequence[str]) -> None:
        self._finished = self._refreshes
        form = aiohttp.FormData()
        form.add_field("opml", opml(urls), filename="feeds.opml", content_type="text/x-opml")
        await self.call("POST", "/opml/import", data=form)

    async def ask(self) -> None:
        self._finished = self._refreshes
        await self.call("POST", "/api/feeds/refresh")

    async def left(self) -> int:
        """It notes no times, but says in its log when a refresh is over."""
        return 0 if self._refreshes > self._finished else await self.stored.number("select count(*) from feeds")

    @property
    def _refreshes(self) -> int:
        return self.log.read_bytes().count(b"Finished refreshing")

    async def items(self) -> int:
        return await self.stored.number("select count(*) from items")

    async def unread(self) -> list[Any]:
        ids: list[Any] = []
        after = ""
        while len(ids) < PAGE:
            page = await self.call("GET", f"/api/items?status=unread{after}")
            ids += [item["id"] for item in page["list"]]
            if not page["has_more"]:
                break
            after = f"&after={ids[-1]}"
        return ids[:PAGE]

    async def entry(self, number: Any) -> None:
        await self.call("GET", f"/api/items/{number}")

    async def mark(self, number: Any, *, unread: bool) -> None:
        await self.call("PUT", f"/api/items/{number}", body={"status": "unread" if unread else "read"})

    async def search(self, word: str) -> int:
        return len((await self.call("GET", f"/api/items?search={word}"))["list"])
