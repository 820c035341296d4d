"""A SQLite file with one table, and transactions that the writer finds waiting together."""

import asyncio
import threading
from contextlib import asynccontextmanager, closing

import msgspec

from tests.db.builders import a_query
from tsuzuki.db.sqlite import SqliteDatabase
from tsuzuki.db.sqlite_file import connect

PUT = a_query("insert into kept (key, value) values (:key, :value) on conflict (key) do update set value = :value")
ADD = a_query("insert into kept (key, value) values (:key, :value)")
ALL = a_query("select key, value from kept order by key")
SCHEMA = "create table kept (key integer primary key, value text not null check (value <> ''))"


class Pair(msgspec.Struct, frozen=True):
    key: int
    value: str


@asynccontextmanager
async def store(folder, vfs=None):
    path = folder / "store.db"
    with closing(connect(path)) as connection:
        connection.execute(SCHEMA)
    db = SqliteDatabase(path, vfs=vfs)
    try:
        yield db
    finally:
        await db.close()


async def kept(db):
    return {pair.key: pair.value for pair in await db.read(lambda tx: tx.many(Pair, ALL))}


async def add_tx(tx, key, value="x"):
    await tx.run(ADD, key=key, value=value)
    return key


async def raises_tx(tx, key, value):
    await tx.run(PUT, key=key, value=value)
    raise LookupError(value)


async def as_one_group(db, works):
    """Their results or errors; the writer finds them all waiting."""
    begun, go_on = threading.Event(), threading.Event()

    async def hold(tx):
        begun.set()
        assert go_on.wait(10)

    holding = asyncio.ensure_future(db.with_tx(hold))
    await asyncio.to_thread(begun.wait, 10)
    waiting = [asyncio.ensure_future(db.with_tx(work)) for work in works]
    await asyncio.sleep(0)
    go_on.set()
    await holding
    return await asyncio.gather(*waiting, return_exceptions=True)
