"""Databases for tests, made from migrated templates: to apply every migration takes longer than most tests.

A PostgreSQL database is emptied and used again. Making one copies a thousand files; emptying one takes a few
milliseconds. One whose schema a test has changed is dropped instead.
"""

import asyncio
import atexit
import contextlib
import itertools
import os
import shutil
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import asyncpg

from tests.servers import in_memory, shared_folder
from tsuzuki.app.opening import wall_clock
from tsuzuki.db import DatabaseOptions
from tsuzuki.db.migrate import migrate
from tsuzuki.db.sqlite_file import path_of
from tsuzuki.settings import Settings

TEMPLATE = "tsuzuki_template"

_numbers = itertools.count()
_idle: list[str] = []

_CATALOGUES = ("pg_attribute", "pg_attrdef", "pg_constraint", "pg_index", "pg_trigger", "pg_proc")
_CHANGES = f"""
select sum(pg_stat_get_tuples_inserted(oid) + pg_stat_get_tuples_updated(oid) + pg_stat_get_tuples_deleted(oid))
from pg_class where oid in ({", ".join(f"'{name}'::regclass" for name in _CATALOGUES)})"""
"""How often the schema was changed since the statistics began: each connection tells them at its end."""
_END_OTHERS = """
select pg_terminate_backend(pid, 5000) from pg_stat_get_activity(null)
where datid = (select oid from pg_database where datname = current_database()) and pid <> pg_backend_pid()"""
_EMPTY = """
do $$
declare
  name text;
  filled bigint;
begin
  set local session_replication_role = replica;  -- the order of tables does not matter when all are emptied
  for name in  -- by the statistics, because to open a hundred tables takes longer than most tests
    select oid::regclass from pg_class
    where relnamespace = 'public'::regnamespace and relkind = 'r' and relname <> 'schema_migration'
      and pg_stat_get_tuples_inserted(oid) > 0
  loop
    execute 'select count(*) from (select 1 from ' || name || ' limit 1000) as few' into filled;
    if filled = 1000 then
      execute 'truncate ' || name || ' cascade';
    elsif filled > 0 then
      execute 'delete from ' || name;  -- for a few rows, ten times as fast as truncate
    end if;
  end loop;
  perform setval(seqrelid, seqstart, false) from pg_sequence where pg_stat_get_blocks_fetched(seqrelid) > 0;
  perform pg_stat_force_next_flush();
end $$"""


# -- SQLite


@cache
def sqlite_template() -> Path:
    """A migrated, empty file that others are copied from, one for a process."""
    folder = shared_folder(in_memory())
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    path = folder / "tsuzuki.db"
    with ThreadPoolExecutor(1) as aside:  # the test that asks first has a running loop on this thread
        aside.submit(lambda: asyncio.run(migrate(DatabaseOptions(f"sqlite://{path}"), now=0))).result()
    return path


def put_migrated_file(settings: Settings) -> None:
    """Where these settings have a file that is not there yet, put a migrated and empty one."""
    if settings.database_url.startswith("sqlite:") and not (path := path_of(settings.database_url)).exists():
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        shutil.copy(sqlite_template(), path)


# -- PostgreSQL


async def make_template(server_url: str) -> None:
    """A migrated, empty database that others are copied from."""
    await on_server(server_url, f"drop database if exists {TEMPLATE} with (force)")
    await on_server(server_url, f"create database {TEMPLATE} template template0")
    now = wall_clock()  # the log's partitions are there then, and no start changes the schema
    await migrate(DatabaseOptions(named(server_url, TEMPLATE)), now=now)


@contextlib.asynccontextmanager
async def migrated(server_url: str) -> AsyncIterator[str]:
    """A migrated, empty database of the test's own."""
    name = _idle.pop() if _idle else await make(server_url)
    url = named(server_url, name)
    try:
        yield url
    finally:
        if await _empty(url):
            _idle.append(name)
        else:
            await drop(server_url, name)


async def ask(url: str, question: str) -> Any:
    """The one value that a statement gives."""
    connection = await asyncpg.connect(url)
    try:
        return await connection.fetchval(question)
    finally:
        await connection.close()


@contextlib.asynccontextmanager
async def empty(server_url: str) -> AsyncIterator[str]:
    """A database with nothing in it, dropped afterwards."""
    name = await make(server_url, "template0")
    try:
        yield named(server_url, name)
    finally:
        await drop(server_url, name)


async def make(server_url: str, template: str = TEMPLATE) -> str:
    """The name of a new database out of a template."""
    name = f"test_{os.environ.get('PYTEST_XDIST_WORKER', 'gw')}_{os.getpid()}_{next(_numbers)}"
    await on_server(server_url, f"create database {name} template {template}")
    return name


async def drop(server_url: str, name: str) -> None:
    await on_server(server_url, f"drop database if exists {name} with (force)")


async def _empty(url: str) -> bool:
    """False when it cannot be used again."""
    try:
        connection = await asyncpg.connect(url)
    except (OSError, asyncpg.PostgresError):
        return False
    try:
        await connection.execute(_END_OTHERS)
        if await connection.fetchval(_CHANGES) > 0:
            return False
        await connection.execute(_EMPTY)
        await connection.execute("select pg_stat_reset()")
        return True
    finally:
        await connection.close()


async def on_server(server_url: str, statement: str) -> None:
    connection = await asyncpg.connect(server_url)
    try:
        await connection.execute(statement)
    finally:
        await connection.close()


def named(server_url: str, database: str) -> str:
    return urlunsplit(urlsplit(server_url)._replace(path=f"/{database}"))


_BLOCKED = """
select exists (
  select 1 from pg_locks join pg_stat_activity using (pid)
  where pg_stat_activity.datname = current_database() and not granted and pid <> pg_backend_pid()
)
"""


async def until_blocked(onlooker: "asyncpg.Connection[asyncpg.Record]", doing: "asyncio.Task[Any]") -> None:
    """Return when somebody in this PostgreSQL database waits for a lock, as what is being done is expected to."""
    while not await onlooker.fetchval(_BLOCKED):
        assert not doing.done(), "it is over, and met no lock"
        await asyncio.sleep(0.01)
