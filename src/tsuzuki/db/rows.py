"""From a driver's row to a value, and from a value to what a driver takes."""

import types
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from operator import itemgetter
from typing import Any, Literal, Protocol, TypeVar, Union, cast, get_args, get_origin

import msgspec

from tsuzuki.db.errors import MisuseError
from tsuzuki.db.vault import Vault
from tsuzuki.model.secrets import Sealed

T = TypeVar("T")
Raw = Sequence[Any]
Convert = Callable[[Any], Any]

PLAIN = frozenset((int, str, bytes, float, bool, type(None)))
"""What both drivers take and give as it is."""


# -- reading


@cache
def _builder(row_type: Any, vault: Vault) -> Callable[[Raw], Any]:
    """Booleans come as 0 and 1 from SQLite, JSON as text from both engines; NULL stays None. Secrets are opened."""
    if not (isinstance(row_type, type) and issubclass(row_type, msgspec.Struct)):
        only = _converter(row_type)
        if only is None:
            return itemgetter(0)
        return lambda row: None if row[0] is None else only(row[0])
    fields = msgspec.structs.fields(row_type)
    every = [(index, _field_converter(field.type, vault)) for index, field in enumerate(fields)]
    converters = [(index, convert) for index, convert in every if convert is not None]
    if not converters:
        return lambda row: row_type(*row)

    def build(row: Raw) -> Any:
        values = list(row)
        for index, convert in converters:
            if values[index] is not None:
                values[index] = convert(values[index])
        return row_type(*values)

    return build


class _Reader(Protocol):
    def __call__(self, row_type: type[T], vault: Vault, /) -> Callable[[Raw], T]: ...


reader = cast("_Reader", _builder)
"""What turns a row into `row_type`: a Struct by position, anything else from the single column."""


def _field_converter(annotation: Any, vault: Vault) -> Convert | None:
    marks = [mark for mark in getattr(annotation, "__metadata__", ()) if isinstance(mark, Sealed)]
    if not marks:
        return _converter(annotation)
    place, decode = marks[0].place, _converter(get_args(annotation)[0])
    if decode is None:
        return lambda text: vault.open(text, place)
    return lambda text: vault.open_values(decode(text), place)


def _converter(annotation: Any) -> Convert | None:
    """None where the driver's value is the right one already."""
    kinds = _kinds(annotation)
    if kinds == {bool}:
        return bool
    if kinds <= PLAIN:
        return None
    return msgspec.json.Decoder(annotation).decode


def _kinds(annotation: Any) -> set[Any]:
    """The types behind NewTypes, Literals and optionals."""
    while hasattr(annotation, "__supertype__"):
        annotation = annotation.__supertype__
    origin = get_origin(annotation)
    if origin in {Union, types.UnionType}:
        return set().union(*(_kinds(part) for part in get_args(annotation) if part is not type(None)))
    if origin is Literal:
        return {type(value) for value in get_args(annotation)}
    return {annotation}


# -- writing


def bindable(value: Any) -> Any:
    """A parameter as both drivers take it: Structs, dicts and sequences become JSON text."""
    if value is None or isinstance(value, (int, str, bytes, float)):
        return value
    if isinstance(value, (msgspec.Struct, dict, list, tuple)):
        return msgspec.json.encode(value).decode()
    raise MisuseError(f"a parameter cannot be a {type(value).__name__}")


def json_batch(rows: Iterable[Any]) -> str:
    """The rows (Structs, dicts or sequences) as one JSON array; bytes among their values become hex digits."""
    return msgspec.json.encode([_with_hex(row) for row in rows]).decode()


def _with_hex(row: Any) -> Any:
    """JSON would carry bytes as base64, which SQLite cannot read; both engines have `unhex`."""
    if isinstance(row, msgspec.Struct):
        if not _has_bytes(type(row)):
            return row
        row = msgspec.structs.asdict(row)
    if isinstance(row, dict):
        # Most rows have none, and to look for one is ten times as quick as to make the row anew.
        if bytes not in map(type, row.values()):
            return row
        return row | {name: value.hex() for name, value in row.items() if isinstance(value, bytes)}
    if isinstance(row, (list, tuple)):
        return [_hex(value) for value in row] if bytes in map(type, row) else row
    return _hex(row)


def _hex(value: Any) -> Any:
    return value.hex() if isinstance(value, bytes) else value


@cache
def _has_bytes(row_type: type[msgspec.Struct]) -> bool:
    return any(bytes in _kinds(field.type) for field in msgspec.structs.fields(row_type))


def in_portions(rows: Iterable[T], *, size: Callable[[T], int], most: int) -> Iterator[list[T]]:
    """So many at a time that no statement takes long to make: each portion but the last has `most` or a little more."""
    some, so_far = list[T](), 0
    for row in rows:
        some.append(row)
        so_far += size(row)
        if so_far >= most:
            yield some
            some, so_far = [], 0
    if some:
        yield some
