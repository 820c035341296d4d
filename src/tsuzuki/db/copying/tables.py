"""Which tables there are to copy, with which columns, in which order."""

from collections.abc import Callable, Mapping, Sequence
from graphlib import TopologicalSorter
from typing import Any, TypeAlias

import apsw
import asyncpg
import msgspec

from tsuzuki.db.errors import SchemaRefused

Connection: TypeAlias = "asyncpg.Connection[asyncpg.Record]"

OURS = {"schema_migration"}
"""Each database keeps its own."""
_INDEXES = "_search"
"""Tables of tokens: they are made anew from what was copied."""

_TABLES = r"""
select name from sqlite_schema
where type = 'table' and name not like 'sqlite\_%' escape '\' and sql not like '%using fts5%'
"""
_COLUMNS = """
select column_name, data_type from information_schema.columns
where table_schema = current_schema() and table_name = $1
"""
_IDENTITIES = """
select column_name from information_schema.columns
where table_schema = current_schema() and table_name = $1 and is_identity = 'YES'
"""


class Table(msgspec.Struct, frozen=True):
    """A table that both databases have."""

    name: str
    columns: tuple[str, ...]
    key: tuple[str, ...]
    """The columns of its primary key: chunks are taken in their order."""
    kinds: tuple[str, ...]
    """What PostgreSQL calls the type of each column."""
    identity: str | None
    """The column that numbers itself."""


async def tables_of(source: apsw.Connection, target: Connection) -> list[Table]:
    """Every table with content, those that others refer to first; SchemaRefused when the two do not fit."""
    names = [name for (name,) in source.execute(_TABLES) if name not in OURS and not _is_index(name)]
    return [await _described(source, target, name) for name in in_order(_references(source, names))]


def in_order(references: Mapping[str, Sequence[str]]) -> list[str]:
    """The tables so that each comes after those that it refers to; a reference to itself does not count."""
    graph = {name: {other for other in others if other != name} for name, others in sorted(references.items())}
    return list(TopologicalSorter(graph).static_order())


def converter(table: Table) -> Callable[[Sequence[Any]], tuple[Any, ...]]:
    """From a row as SQLite gives it to one that PostgreSQL takes: 0 and 1 become truth values."""
    truths = [place for place, kind in enumerate(table.kinds) if kind == "boolean"]

    def convert(row: Sequence[Any]) -> tuple[Any, ...]:
        values = list(row)
        for place in truths:
            values[place] = None if values[place] is None else bool(values[place])
        return tuple(values)

    return convert


def _is_index(name: str) -> bool:
    return _INDEXES in name


def _references(source: apsw.Connection, names: Sequence[str]) -> dict[str, list[str]]:
    text = 'select "table" from pragma_foreign_key_list(?)'
    return {name: [other for (other,) in source.execute(text, (name,))] for name in names}


async def _described(source: apsw.Connection, target: Connection, name: str) -> Table:
    own = list(source.execute("select name, pk from pragma_table_info(?)", (name,)))
    theirs: dict[str, str] = {row[0]: row[1] for row in await target.fetch(_COLUMNS, name)}
    if {column for column, _ in own} != set(theirs):
        raise SchemaRefused(f"The table {name} differs between the two databases; run `tsuzuki migrate` on both first.")
    columns = tuple(column for column, _ in own)
    key = tuple(column for column, place in sorted(own, key=lambda row: row[1]) if place)
    identity = await target.fetchval(_IDENTITIES, name)
    return Table(name, columns, key, tuple(theirs[column] for column in columns), identity)
