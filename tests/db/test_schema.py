"""Both engines have the same schema, apart from what is named here.

Full-text tables are each engine's own; the log is partitioned on PostgreSQL, so its key begins with the time there and
an index over the time alone is not needed.
"""

import asyncio
import re
from contextlib import closing
from typing import Any

import apsw
import asyncpg
import msgspec
import pytest

SEARCH = re.compile(r"(item|series|chapter)_search(_\w+)?$")
PARTITION = re.compile(r"crawl_log_(rest|\d{4}_\d{2})")
INDEX_EXCEPTIONS = {"crawl_log_age"}
KEY_EXCEPTIONS = {("crawl_log", ("id",)), ("crawl_log", ("created_at", "id"))}


# Deletions of tenants, invoices, users, feeds and series are rare and an operator's; their tables may be read through.
SCANNED = {
    "activity.tenant_id",
    "crawl_job.triggered_by",
    "credit.invoice_id",
    "entry.feed_id",
    "entry.series_id",
    "invoice.tenant_id",
    "invoice_item.shelf_id",
    "invoice_item.tenant_id",
    "user_account.default_shelf_id",
}


class ForeignKey(msgspec.Struct, frozen=True, order=True):
    columns: tuple[str, ...]
    to: str
    on_delete: str


class Table(msgspec.Struct, frozen=True):
    columns: dict[str, bool]
    """Whether each may be null."""
    unique: set[tuple[str, ...]]
    """Keys of plain columns that hold for every row, the primary one among them."""
    foreign: set[ForeignKey]
    indexes: dict[str, bool]
    """Those with a name, and whether each is unique."""


def is_ours(table: str) -> bool:
    return not (SEARCH.match(table) or PARTITION.match(table) or table.startswith("sqlite_"))


def of_sqlite(path: str) -> dict[str, Table]:
    with closing(apsw.Connection(path)) as connection:
        names = [str(name) for (name,) in connection.execute("select name from sqlite_schema where type = 'table'")]
        return {name: _sqlite_table(connection, name) for name in names if is_ours(name)}


def _sqlite_table(connection: apsw.Connection, name: str) -> Table:
    info: Any = connection.execute('select name, "notnull", pk from pragma_table_info(?)', (name,)).fetchall()
    columns = {str(column): not (notnull or pk) for column, notnull, pk in info}
    key = tuple(str(column) for column, _, pk in sorted(info, key=lambda row: row[2]) if pk)
    unique, indexes = {key}, {}
    for index, is_unique, origin, partial in connection.execute(
        'select name, "unique", origin, partial from pragma_index_list(?)', (name,)
    ).fetchall():
        parts = connection.execute("select name from pragma_index_info(?)", (index,)).fetchall()
        if origin == "c":
            indexes[str(index)] = bool(is_unique)
        if is_unique and not partial and all(part for (part,) in parts):
            unique.add(tuple(str(part) for (part,) in parts))
    foreign: dict[int, list[tuple[str, str, str]]] = {}
    rows = connection.execute(
        'select id, "from", "table", on_delete from pragma_foreign_key_list(?) order by id, seq', (name,)
    )
    for number, column, to, on_delete in rows.fetchall():
        foreign.setdefault(int(number), []).append((str(column), str(to), str(on_delete).lower()))  # type: ignore[arg-type]
    keys = {ForeignKey(tuple(part[0] for part in parts), parts[0][1], parts[0][2]) for parts in foreign.values()}
    return Table(columns, unique, keys, indexes)


COLUMNS = """
select c.relname, a.attname, not a.attnotnull
from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') order by c.relname, a.attnum"""
FOREIGN = """
select c.conrelid::regclass::text, c.confrelid::regclass::text, c.confdeltype,
  array(select a.attname from unnest(c.conkey) with ordinality as k(n, i)
    join pg_attribute a on a.attrelid = c.conrelid and a.attnum = k.n order by k.i)
from pg_constraint c where c.contype = 'f' and c.connamespace = 'public'::regnamespace"""
INDEXES = """
select x.indrelid::regclass::text, x.indexrelid::regclass::text, x.indisunique, x.indpred is not null,
  not exists (select 1 from pg_constraint k where k.conindid = x.indexrelid and k.contype in ('p', 'u')),
  array(select a.attname from unnest(x.indkey::int[]) with ordinality as k(n, i)
    left join pg_attribute a on a.attrelid = x.indrelid and a.attnum = k.n order by k.i)
from pg_index x join pg_class c on c.oid = x.indrelid
where c.relnamespace = 'public'::regnamespace"""
ON_DELETE = {b"c": "cascade", b"r": "restrict", b"n": "set null", b"a": "no action"}


async def of_postgres(url: str) -> dict[str, Table]:
    connection = await asyncpg.connect(url)
    try:
        found: dict[str, Table] = {}
        for table, column, nullable in await connection.fetch(COLUMNS):
            if is_ours(table):
                found.setdefault(table, Table({}, set(), set(), {})).columns[column] = nullable
        for table, to, on_delete, columns in await connection.fetch(FOREIGN):
            if is_ours(table):
                found[table].foreign.add(ForeignKey(tuple(columns), to, ON_DELETE[on_delete]))
        for table, index, is_unique, partial, has_name, columns in await connection.fetch(INDEXES):
            if not is_ours(table):
                continue
            if has_name:
                found[table].indexes[index] = is_unique
            if is_unique and not partial and all(columns):
                found[table].unique.add(tuple(columns))
        return found
    finally:
        await connection.close()


@pytest.fixture(scope="module")
def schemas(sqlite_template, postgres_url):
    url = postgres_url.rpartition("/")[0] + "/tsuzuki_template"
    return of_sqlite(str(sqlite_template)), asyncio.run(of_postgres(url))


def test_both_engines_have_the_same_tables(schemas):
    sqlite, postgres = schemas
    assert sqlite.keys() == postgres.keys()
    assert len(sqlite) > 30


def test_tables_have_the_same_columns_in_the_same_order(schemas):
    sqlite, postgres = schemas
    assert {name: list(table.columns) for name, table in sqlite.items()} == {
        name: list(table.columns) for name, table in postgres.items()
    }


def _differences(schemas, of):
    """Whatever only one engine has, as (table, thing)."""
    mine, theirs = ({(name, thing) for name, table in schema.items() for thing in of(table)} for schema in schemas)
    return mine ^ theirs


def test_columns_may_be_null_on_both_or_on_neither(schemas):
    assert _differences(schemas, lambda table: table.columns.items()) == set()


def test_the_same_keys_are_unique(schemas):
    assert _differences(schemas, lambda table: table.unique) == KEY_EXCEPTIONS


def test_foreign_keys_are_the_same_and_take_the_same_along(schemas):
    assert _differences(schemas, lambda table: table.foreign) == set()


def test_every_foreign_key_says_what_its_deletion_does(schemas):
    silent = [
        (name, key) for name, table in schemas[0].items() for key in table.foreign if key.on_delete == "no action"
    ]
    assert silent == []


def test_indexes_have_the_same_names_and_the_same_uniqueness(schemas):
    odd = {index for _, (index, _) in _differences(schemas, lambda table: table.indexes.items())}
    assert odd == INDEX_EXCEPTIONS


def test_every_foreign_key_can_be_followed_backwards_by_an_index(sqlite_template):
    """Otherwise deleting one row reads the whole table that points to it."""
    with closing(apsw.Connection(str(sqlite_template))) as connection:
        slow = set()
        for name, table in of_sqlite(str(sqlite_template)).items():
            for key in table.foreign:
                where = " and ".join(f"{column} = 1" for column in key.columns)
                plan = connection.execute(f"explain query plan select 1 from {name} where {where}").fetchall()
                if not str(plan[0][3]).startswith("SEARCH"):
                    slow.add(f"{name}.{','.join(key.columns)}")
    assert slow <= SCANNED
