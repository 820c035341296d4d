"""The drivers by hand, used the same way: a function gets a connection, binds by name where it can, types its rows."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Protocol, TypeVar

import apsw
import asyncpg
import msgspec

from tsuzuki.db.sqlite_file import connect
from tsuzuki.ingest.chapters import NewChapter, StoredChapter, q
from tsuzuki.model.ids import SeriesId
from tsuzuki.model.times import Millis

T = TypeVar("T")

COLUMNS = "id, series_id, key, number, title, published_at, first_seen_at"
FIND = f"select {COLUMNS} from chapter where id = "
LIST = f"select {COLUMNS} from chapter where series_id = %s order by number_sort desc limit 50"
FIND_SQLITE, FIND_POSTGRES = FIND + ":id", FIND + "$1"
LIST_SQLITE, LIST_POSTGRES = LIST % ":series_id", LIST % "$1"


class Chapter(msgspec.Struct, frozen=True):
    id: int
    series_id: int
    key: str
    number: str | None
    title: str
    published_at: int | None
    first_seen_at: int


class Bare(Protocol):
    async def find_chapter(self, chapter_id: int) -> Chapter: ...
    async def list_chapters(self, series_id: SeriesId) -> list[Chapter]: ...
    async def add_feed(self, link: str) -> None: ...
    async def upsert_chapters(self, series_id: SeriesId, chapters: Sequence[NewChapter], now: Millis) -> int: ...


class BareSqlite:
    """One connection, inline, a transaction and an fsync for each write."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection

    @classmethod
    @asynccontextmanager
    async def opened(cls, path: Path) -> AsyncIterator["BareSqlite"]:
        connection = connect(path)
        yield cls(connection)
        connection.close()

    async def _with(self, work: Callable[[apsw.Connection], Awaitable[T]]) -> T:
        return await work(self._connection)

    async def find_chapter(self, chapter_id: int) -> Chapter:
        return await self._with(lambda connection: _find(connection, chapter_id))

    async def list_chapters(self, series_id: SeriesId) -> list[Chapter]:
        return await self._with(lambda connection: _list(connection, series_id))

    async def add_feed(self, link: str) -> None:
        self._connection.execute("begin immediate")
        self._connection.execute("insert into feed (link, created_at, updated_at) values (:link, 0, 0)", {"link": link})
        self._connection.execute("commit")

    async def upsert_chapters(self, series_id: SeriesId, chapters: Sequence[NewChapter], now: Millis) -> int:
        text = q.upsert_chapters.sqlite
        values: Any = {"series_id": series_id, "now": now, "rows": msgspec.json.encode(chapters).decode()}
        self._connection.execute("begin immediate")
        rows: Any = self._connection.execute(text.sql, [values[name] for name in text.params]).fetchall()
        self._connection.execute("commit")
        return len([StoredChapter(*row) for row in rows])


async def _find(connection: apsw.Connection, chapter_id: int) -> Chapter:
    row: Any = connection.execute(FIND_SQLITE, {"id": chapter_id}).fetchone()
    return Chapter(*row)


async def _list(connection: apsw.Connection, series_id: SeriesId) -> list[Chapter]:
    rows: Any = connection.execute(LIST_SQLITE, {"series_id": series_id}).fetchall()
    return [Chapter(*row) for row in rows]


# What happens on a conflict, and what comes back, is the same statement's on both sides.
UPSERT = f"""
insert into chapter (series_id, key, number, number_sort, volume, title, published_at, first_seen_at, updated_at)
select $1::bigint, key, number, number_sort, volume, title, published_at, $2::bigint, $2::bigint
from unnest($3::text[], $4::text[], $5::bigint[], $6::text[], $7::text[], $8::bigint[])
  as new (key, number, number_sort, volume, title, published_at)
on conflict {q.upsert_chapters.postgres.sql.partition("on conflict")[2]}"""


class BarePostgres:
    """A pool without its reset query; a transaction for each write."""

    def __init__(self, pool: "asyncpg.Pool[asyncpg.Record]") -> None:
        self._pool = pool

    @classmethod
    @asynccontextmanager
    async def opened(cls, url: str) -> AsyncIterator["BarePostgres"]:
        async with asyncpg.create_pool(url, min_size=2, max_size=10, reset=_no_reset) as pool:
            yield cls(pool)

    async def find_chapter(self, chapter_id: int) -> Chapter:
        async with self._pool.acquire() as connection:
            row = await connection.fetchrow(FIND_POSTGRES, chapter_id)
        assert row is not None
        return Chapter(*row)

    async def list_chapters(self, series_id: SeriesId) -> list[Chapter]:
        async with self._pool.acquire() as connection:
            return [Chapter(*row) for row in await connection.fetch(LIST_POSTGRES, series_id)]

    async def add_feed(self, link: str) -> None:
        async with self._pool.acquire() as connection, connection.transaction():
            await connection.execute("insert into feed (link, created_at, updated_at) values ($1, 0, 0)", link)

    async def upsert_chapters(self, series_id: SeriesId, chapters: Sequence[NewChapter], now: Millis) -> int:
        fields = ("key", "number", "number_sort", "volume", "title", "published_at")
        columns = [[getattr(chapter, field) for chapter in chapters] for field in fields]
        async with self._pool.acquire() as connection, connection.transaction():
            return len([StoredChapter(*row) for row in await connection.fetch(UPSERT, series_id, now, *columns)])


async def _no_reset(_: object) -> None:
    return None
