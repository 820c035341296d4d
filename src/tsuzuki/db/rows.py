"""From a driver's row to a value: a frozen Struct by position, or the single column itself."""

import types
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, TypeVar, Union, get_args, get_origin

import msgspec

T = TypeVar("T")
Raw = Sequence[Any]
Convert = Callable[[Any], Any]

_PLAIN = (int, str, bytes, float, type(None))


@lru_cache(maxsize=None)
def reader(row_type: type[T]) -> Callable[[Raw], T]:
    """What turns a row into `row_type`. Booleans come as 0 and 1 from SQLite, JSON as text from both engines."""
    if not (isinstance(row_type, type) and issubclass(row_type, msgspec.Struct)):
        only = _converter(row_type)
        return (lambda row: row[0]) if only is None else (lambda row: only(row[0]))
    converters = {
        index: convert
        for index, field in enumerate(msgspec.structs.fields(row_type))
        if (convert := _converter(field.type)) is not None
    }
    if not converters:
        return lambda row: row_type(*row)

    def build(row: Raw) -> T:
        values = list(row)
        for index, convert in converters.items():
            if values[index] is not None:
                values[index] = convert(values[index])
        return row_type(*values)

    return build


def _converter(annotation: Any) -> Convert | None:
    """None where the driver's value is the right one already."""
    kinds = _kinds(annotation)
    if kinds == {bool}:
        return bool
    if kinds <= set(_PLAIN):
        return None
    return msgspec.json.Decoder(annotation).decode


def _kinds(annotation: Any) -> set[Any]:
    """The plain types behind NewTypes, Literals and optionals; others stay as they are."""
    while hasattr(annotation, "__supertype__"):
        annotation = annotation.__supertype__
    origin = get_origin(annotation)
    if origin in {Union, types.UnionType}:
        return set().union(*(_kinds(part) for part in get_args(annotation) if part is not type(None)))
    if origin is not None and str(origin) == "typing.Literal":
        return {type(value) for value in get_args(annotation)}
    return {annotation}


def bindable(value: Any) -> Any:
    """A parameter as both drivers take it: what is not plain becomes JSON text."""
    if value is None or isinstance(value, (int, str, bytes, float)):
        return value
    return msgspec.json.encode(value).decode()
