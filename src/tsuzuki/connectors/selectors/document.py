"""A definition's text as a tree in which everything knows its line and column.

No tags, no anchors, bounded size, depth and count: a definition is a form, not a program (SEC-26).
"""

from collections.abc import Iterator
from typing import Any

import msgspec
import yaml

from tsuzuki.model.errors import Invalid, Problem

MAX_CHARACTERS = 64 * 1024
MAX_DEPTH = 12
MAX_NODES = 5000

_NULL, _BOOL, _INT, _FLOAT = (f"tag:yaml.org,2002:{kind}" for kind in ("null", "bool", "int", "float"))


class Node(msgspec.Struct, frozen=True):
    """A value and where it stands, counted from 1. `text` is a scalar as it was written."""

    line: int
    column: int
    value: "bool | int | float | str | list[Node] | dict[str, Node] | None"
    text: str = ""
    keys: "dict[str, Node]" = {}
    """Of a mapping: where each key stands."""


class BadDefinition(Invalid):
    """Every problem's field is `file:line:column`; the text lists them all."""


def bad_definition(name: str, problems: list[tuple[int, int, str]]) -> BadDefinition:
    """All problems in the order of the file."""
    listed = tuple(Problem(f"{name}:{line}:{column}", message) for line, column, message in sorted(problems))
    return BadDefinition("\n".join(f"{problem.field}: {problem.message}" for problem in listed), listed)


def read_document(text: str, name: str) -> Node:
    """The tree of a YAML or JSON text, or `BadDefinition`."""
    if len(text) > MAX_CHARACTERS:
        raise bad_definition(name, [(1, 1, f"A definition has at most {MAX_CHARACTERS} characters.")])
    if text.lstrip().startswith(("{", "[")):
        text = text.replace("\t", " ")  # JSON may be indented by tabs, YAML may not; columns stay
    try:
        problems = list(_forbidden(text))
        root = yaml.compose(text, Loader=yaml.SafeLoader) if not problems else None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = (mark.line + 1, mark.column + 1) if mark else (1, 1)
        raise bad_definition(name, [(*place, f"Not readable: {error.problem or error.context}.")]) from error
    except (yaml.YAMLError, ValueError) as error:  # ValueError: a version of ten thousand digits
        raise bad_definition(name, [(1, 1, f"Not readable: {' '.join(str(error).split())}.")]) from error
    if problems:
        raise bad_definition(name, problems)
    if not isinstance(root, yaml.MappingNode):
        raise bad_definition(name, [(1, 1, "A definition is a mapping that begins with `id:`.")])
    tree = _tree(root, problems)
    if problems:
        raise bad_definition(name, problems)
    return tree


def _forbidden(text: str) -> Iterator[tuple[int, int, str]]:
    """What must not reach the composer, which is recursive and believes tags. The first of each kind ends it."""
    depth = nodes = 0
    for event in yaml.parse(text, Loader=yaml.SafeLoader):
        place = (event.start_mark.line + 1, event.start_mark.column + 1)
        nodes += isinstance(event, yaml.NodeEvent)
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > MAX_DEPTH or nodes > MAX_NODES:
            yield *place, f"A definition is at most {MAX_DEPTH} levels deep and has at most {MAX_NODES} values."
            return
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
            yield *place, "Anchors and aliases are not taken here; write the value out."
            return
        if getattr(event, "tag", None):
            yield *place, "Tags (!...) are not taken here."
            return


def _tree(node: yaml.Node, problems: list[tuple[int, int, str]]) -> Node:
    line, column = node.start_mark.line + 1, node.start_mark.column + 1
    if isinstance(node, yaml.MappingNode):
        return _mapping(node, problems)
    if isinstance(node, yaml.SequenceNode):
        return Node(line, column, [_tree(child, problems) for child in node.value])
    try:
        value = _scalar(node)
    except ValueError:
        value = node.value
    if isinstance(value, str) and any(ord(sign) < 32 and sign not in "\n\t" for sign in value):
        problems.append((line, column, "Control characters are not taken here."))
    return Node(line, column, value, text=node.value)


def _mapping(node: yaml.MappingNode, problems: list[tuple[int, int, str]]) -> Node:
    values: dict[str, Node] = {}
    keys: dict[str, Node] = {}
    for key_node, value_node in node.value:
        key = _tree(key_node, problems)
        if not isinstance(key_node, yaml.ScalarNode):
            problems.append((key.line, key.column, "A key is a plain word."))
            continue
        if key.text in keys:
            first = keys[key.text]
            problems.append((key.line, key.column, f"{key.text} was said already in line {first.line}."))
        keys[key.text] = key
        values[key.text] = _tree(value_node, problems)
    return Node(node.start_mark.line + 1, node.start_mark.column + 1, values, keys=keys)


def _scalar(node: Any) -> bool | int | float | str | None:
    """Plain words as YAML reads them; dates, merge keys and whatever else it knows stay text."""
    text: str = node.value
    if node.tag == _NULL:
        return None
    if node.tag == _BOOL:
        return text.lower() in {"yes", "true", "on"}
    if node.tag == _INT:
        return int(text, 10)
    return float(text) if node.tag == _FLOAT else text
