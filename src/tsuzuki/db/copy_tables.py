"""The tables that a copy moves, in the order of their references, and checksums to compare them."""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from graphlib import TopologicalSorter
from itertools import groupby, islice
from operator import itemgetter
from typing import Any, TypeAlias

import apsw
import asyncpg
import msgspec

from tsuzuki.db.errors import SchemaRefused
from tsuzuki.db.fulltext import Document, document, words_of

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
    names = [name for (name,) in source.execute(_TABLES) if name not in OURS and _INDEXES not in name]
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


INDEXES = {"series_search": "series_id", "chapter_search": "chapter_id"}
CHUNK = 2_000
_INSTANCES = "select doc, col, term from temp.{0}_words order by doc, col, offset"


async def copy_words(source: apsw.Connection, target: Connection) -> None:
    """Put the small indexes into the target; what is there already stays."""
    for index, column in INDEXES.items():
        text = f"insert into {index} ({column}, document) values ($1, $2::text::tsvector) on conflict do nothing"  # noqa: S608  names of our schema
        documents = read_words(source, index)
        while rows := [(each.id, each.vector) for each in islice(documents, CHUNK)]:
            await target.executemany(text, rows)


def read_words(source: apsw.Connection, index: str) -> Iterator[Document]:
    """What an index holds, document by document."""
    source.execute(f"create virtual table if not exists temp.{index}_words using fts5vocab (main, {index}, instance)")
    for row_id, words in groupby(source.execute(_INSTANCES.format(index)), itemgetter(0)):
        places: dict[Any, list[str]] = {"title": [], "body": []}
        for _, column, term in words:
            places[column].append(term)
        yield document(row_id, words_of("postgres", places["title"], places["body"]))


_ROOM = 1 << 128


class TableChecksum(msgspec.Struct, frozen=True):
    """The number of rows, and the sum of their hashes: the order does not matter."""

    rows: int
    digest: str


class ChecksumBuilder:
    """Adds up the rows of one table."""

    def __init__(self, table: Table) -> None:
        self._canonical = _canonical(table)
        self._rows = 0
        self._sum = 0

    def add(self, rows: Iterable[Sequence[Any]]) -> None:
        """Add these rows to the checksum."""
        for row in rows:
            text = msgspec.json.encode(self._canonical(row))
            self._sum += int.from_bytes(hashlib.blake2b(text, digest_size=16).digest())
            self._rows += 1

    def result(self) -> TableChecksum:
        """The checksum of all rows so far."""
        return TableChecksum(self._rows, f"{self._sum % _ROOM:032x}")


def _canonical(table: Table) -> Callable[[Sequence[Any]], list[Any]]:
    """A row as both engines mean it: JSON read, truth values as such, bytes as hex."""
    readers = [_READERS.get(kind, _same) for kind in table.kinds]

    def canonical(row: Sequence[Any]) -> list[Any]:
        return [None if value is None else read(value) for read, value in zip(readers, row, strict=True)]

    return canonical


def _same(value: Any) -> Any:
    return value


def _document(value: str) -> Any:
    return msgspec.json.encode(msgspec.json.decode(value), order="deterministic").decode()


def _digits(value: bytes) -> str:
    return value.hex()


_READERS: dict[str, Callable[[Any], Any]] = {"jsonb": _document, "boolean": bool, "bytea": _digits}
