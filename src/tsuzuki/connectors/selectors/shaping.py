"""From a tree with places to a `Definition`, naming every key that is unknown, missing or of a wrong type."""

import re
from difflib import get_close_matches
from typing import Any

import msgspec
from msgspec import inspect

from tsuzuki.connectors.selectors.definition import Definition, Pick
from tsuzuki.connectors.selectors.document import Node
from tsuzuki.model.patterns import readable

Path = tuple[str | int, ...]
Found = list[tuple[int, int, str]]


class Shaped(msgspec.Struct, frozen=True):
    """A definition, and where each part of it was said."""

    definition: Definition
    places: dict[Path, tuple[int, int]]

    def place(self, path: Path) -> tuple[int, int]:
        """Line and column of a part, or of the nearest part around it."""
        while path and path not in self.places:
            path = path[:-1]
        return self.places.get(path, (1, 1))


class Shaper:
    """Walks a tree beside the types of the definition and collects what does not fit."""

    def __init__(self) -> None:
        self.problems: Found = []
        self.places: dict[Path, tuple[int, int]] = {}

    def shape(self, root: Node) -> Shaped | None:
        """The definition, or None and all the problems."""
        definition = self._value(root, inspect.type_info(Definition), ())
        return None if self.problems else Shaped(definition, self.places)

    def _value(self, node: Node, kind: inspect.Type, path: Path) -> Any:
        self.places[path] = (node.line, node.column)
        match kind:
            case inspect.UnionType():
                return self._optional(node, kind, path)
            case inspect.StructType():
                return self._struct(node, kind, path)
            case inspect.VarTupleType():
                return self._tuple(node, kind, path)
            case inspect.DictType():
                return self._dict(node, kind, path)
            case inspect.LiteralType(values=words):
                return self._literal(node, words)
            case _:
                return self._scalar(node, kind)

    def _optional(self, node: Node, kind: inspect.UnionType, path: Path) -> Any:
        if node.value is None:
            return None
        inner = next(part for part in kind.types if not isinstance(part, inspect.NoneType))
        return self._value(node, inner, path)

    def _struct(self, node: Node, kind: inspect.StructType, path: Path) -> Any:
        if issubclass(kind.cls, Pick) and isinstance(node.value, str | list):
            node = Node(node.line, node.column, {"pick": node})
        if not isinstance(node.value, dict):
            return self._refuse(node, "Expected keys and values here.")
        fields = {field.encode_name: field for field in kind.fields}
        for name, key in node.keys.items():
            if name not in fields:
                self._refuse(key, _unknown(name, list(fields)))
        values = {}
        for name, field in fields.items():
            if name in node.value:
                values[field.name] = self._value(node.value[name], field.type, (*path, name))
            elif field.required:
                self._refuse(node, f"`{name}` is missing here.")
        return None if self.problems else kind.cls(**values)

    def _tuple(self, node: Node, kind: inspect.VarTupleType, path: Path) -> Any:
        """One value stands for a list of one."""
        nodes = node.value if isinstance(node.value, list) else [node]
        if kind.max_length is not None and len(nodes) > kind.max_length:
            return self._refuse(node, f"At most {kind.max_length} are taken here.")
        return tuple(self._value(child, kind.item_type, (*path, index)) for index, child in enumerate(nodes))

    def _dict(self, node: Node, kind: inspect.DictType, path: Path) -> Any:
        if not isinstance(node.value, dict):
            return self._refuse(node, "Expected keys and values here.")
        if kind.max_length is not None and len(node.value) > kind.max_length:
            return self._refuse(node, f"At most {kind.max_length} are taken here.")
        return {name: self._value(child, kind.value_type, (*path, name)) for name, child in node.value.items()}

    def _literal(self, node: Node, words: tuple[Any, ...]) -> Any:
        return node.value if node.value in words else self._refuse(node, f"Expected one of {', '.join(words)}.")

    def _scalar(self, node: Node, kind: inspect.Type) -> Any:
        reason = _scalar_problem(node, kind)
        if reason:
            return self._refuse(node, reason)
        return node.text if isinstance(kind, inspect.StrType) else node.value

    def _refuse(self, node: Node, message: str) -> None:
        self.problems.append((node.line, node.column, message))


def _unknown(name: str, known: list[str]) -> str:
    close = get_close_matches(name, known, n=1)
    hint = f"did you mean `{close[0]}`?" if close else f"known are {', '.join(known)}."
    return f"`{name[:60]}` is not known here: {hint}"


def _scalar_problem(node: Node, kind: inspect.Type) -> str | None:
    """Why this scalar cannot be of that kind; None when it can."""
    value = node.value
    match kind:
        case inspect.StrType():
            return _text_problem(node, kind)
        case inspect.BoolType():
            return None if isinstance(value, bool) else "Expected true or false."
        case inspect.IntType():
            if not isinstance(value, int) or isinstance(value, bool):
                return "Expected a whole number."
            return _range_problem(value, kind)
        case inspect.FloatType():
            if not isinstance(value, int | float) or isinstance(value, bool):
                return "Expected a number."
            return _range_problem(value, kind)
        case _:
            return "Not expected here."


def _text_problem(node: Node, kind: inspect.StrType) -> str | None:
    if isinstance(node.value, bool):
        return f"Expected text; write it in quotes: '{node.text}'."
    if node.value is None or isinstance(node.value, list | dict):
        return "Expected text."
    if len(node.text) < (kind.min_length or 0):
        return "Expected some text."
    if kind.max_length is not None and len(node.text) > kind.max_length:
        return f"At most {kind.max_length} characters are taken here."
    if kind.pattern is not None and not re.search(kind.pattern, node.text):
        return f"{node.text[:60]!r} is not of the form {readable(kind.pattern)}."
    return None


def _range_problem(value: float, kind: inspect.IntType | inspect.FloatType) -> str | None:
    low = kind.ge if kind.ge is not None else kind.gt
    is_low = (kind.ge is not None and value < kind.ge) or (kind.gt is not None and value <= kind.gt)
    is_high = kind.le is not None and not value <= kind.le
    return f"Expected a number from {low} to {kind.le}." if is_low or is_high else None
