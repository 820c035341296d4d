"""The same content or not: a table's rows, hashed one by one and added up, so that their order does not matter."""

import hashlib
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import msgspec

from tsuzuki.db.copying.tables import Table

_ROOM = 1 << 128


class Sum(msgspec.Struct, frozen=True):
    """How many rows, and their hashes added up."""

    rows: int
    digest: str


class Summing:
    """Adds up rows of one table."""

    def __init__(self, table: Table) -> None:
        self._canonical = _canonical(table)
        self._rows = 0
        self._sum = 0

    def add(self, rows: Iterable[Sequence[Any]]) -> None:
        """Take these rows in."""
        for row in rows:
            text = msgspec.json.encode(self._canonical(row))
            self._sum += int.from_bytes(hashlib.blake2b(text, digest_size=16).digest())
            self._rows += 1

    def result(self) -> Sum:
        """What has been added up."""
        return Sum(self._rows, f"{self._sum % _ROOM:032x}")


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
