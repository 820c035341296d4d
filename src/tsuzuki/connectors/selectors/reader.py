"""Loads a definition file: parses it, checks it against its types, and reports problems with their lines."""

import re
from collections.abc import Iterator
from difflib import get_close_matches
from typing import Any

import msgspec
import yaml
from msgspec import inspect

from tsuzuki.connectors.config import OUR_HEADERS
from tsuzuki.connectors.html.addresses import parts_of
from tsuzuki.connectors.selectors.definition import (
    DatePick,
    Definition,
    DefinitionStep,
    Pick,
    Reads,
    SeriesStep,
    pattern_problem,
)
from tsuzuki.connectors.selectors.extraction import css_problem, parse_path, split_expression
from tsuzuki.connectors.selectors.values import date_problem, own_address, own_hosts, template_problem
from tsuzuki.model.errors import Invalid, Problem
from tsuzuki.model.text import readable

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
    """For a mapping, where each key stands."""


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
            yield *place, "Anchors and aliases are not supported; write the value out."
            return
        if getattr(event, "tag", None):
            yield *place, "Tags (!...) are not supported."
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
        problems.append((line, column, "Control characters are not allowed."))
    return Node(line, column, value, text=node.value)


def _mapping(node: yaml.MappingNode, problems: list[tuple[int, int, str]]) -> Node:
    values: dict[str, Node] = {}
    keys: dict[str, Node] = {}
    for key_node, value_node in node.value:
        key = _tree(key_node, problems)
        if not isinstance(key_node, yaml.ScalarNode):
            problems.append((key.line, key.column, "A key must be a plain word."))
            continue
        if key.text in keys:
            first = keys[key.text]
            problems.append((key.line, key.column, f"{key.text} was already set in line {first.line}."))
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


Path = tuple[str | int, ...]
Found = list[tuple[int, int, str]]


class LoadedDefinition(msgspec.Struct, frozen=True):
    """A definition, and the line of each of its parts."""

    definition: Definition
    places: dict[Path, tuple[int, int]]

    def place(self, path: Path) -> tuple[int, int]:
        """Line and column of a part, or of the nearest part around it."""
        while path and path not in self.places:
            path = path[:-1]
        return self.places.get(path, (1, 1))


class DefinitionLoader:
    """Walks the parsed file beside the types of the definition and collects what does not fit."""

    def __init__(self) -> None:
        self.problems: Found = []
        self.places: dict[Path, tuple[int, int]] = {}

    def shape(self, root: Node) -> LoadedDefinition | None:
        """The definition, or None and all the problems."""
        definition = self._value(root, inspect.type_info(Definition), ())
        return None if self.problems else LoadedDefinition(definition, self.places)

    def _value(self, node: Node, kind: inspect.Type, path: Path) -> Any:
        self.places[path] = (node.line, node.column)
        match kind:
            case inspect.UnionType(types=types):
                inner = next(part for part in types if not isinstance(part, inspect.NoneType))
                return None if node.value is None else self._value(node, inner, path)
            case inspect.StructType():
                return self._struct(node, kind, path)
            case inspect.VarTupleType():
                return self._tuple(node, kind, path)
            case inspect.DictType():
                return self._dict(node, kind, path)
            case inspect.LiteralType(values=words):
                expected = f"Expected one of {', '.join(map(str, words))}."
                return node.value if node.value in words else self._refuse(node, expected)
            case _:
                return self._scalar(node, kind)

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
            return self._refuse(node, f"At most {kind.max_length} are allowed here.")
        return tuple(self._value(child, kind.item_type, (*path, index)) for index, child in enumerate(nodes))

    def _dict(self, node: Node, kind: inspect.DictType, path: Path) -> Any:
        if not isinstance(node.value, dict):
            return self._refuse(node, "Expected keys and values here.")
        if kind.max_length is not None and len(node.value) > kind.max_length:
            return self._refuse(node, f"At most {kind.max_length} are allowed here.")
        return {name: self._value(child, kind.value_type, (*path, name)) for name, child in node.value.items()}

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
    return f"`{name[:60]}` is unknown: {hint}"


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
        return f"At most {kind.max_length} characters are allowed here."
    if kind.pattern is not None and not re.search(kind.pattern, node.text):
        return f"{node.text[:60]!r} is not of the form {readable(kind.pattern)}."
    return None


def _range_problem(value: float, kind: inspect.IntType | inspect.FloatType) -> str | None:
    low = kind.ge if kind.ge is not None else kind.gt
    is_low = (kind.ge is not None and value < kind.ge) or (kind.gt is not None and value <= kind.gt)
    is_high = kind.le is not None and not value <= kind.le
    return f"Expected a number from {low} to {kind.le}." if is_low or is_high else None


Finding = tuple[Path, str]
LISTS = ("popular", "latest", "search")
_HOST = re.compile(r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?(:\d{1,5})?")
_HEADER_NAME = re.compile(r"[A-Za-z0-9-]{1,60}")
_LIST_VARIABLES = ("page", "offset", "language")
_SERIES_VARIABLES = ("url", "id", "language")


def check(definition: Definition) -> Iterator[Finding]:
    """Every problem with the path of the part that has it."""
    base = parts_of(definition.base_url)
    if base is None or base.scheme not in {"http", "https"} or not _HOST.fullmatch(base.netloc.lower()):
        yield ("base_url",), "Expected an address such as https://comics.example.com, without user or password."
        return
    yield from _check_plain(definition)
    hosts = own_hosts(definition)
    for name in LISTS:
        step = getattr(definition, name)
        if step is not None:
            yield from _check_list(step, name, hosts)
    for name in ("details", "chapters", "pages"):
        step = getattr(definition, name)
        if step is not None:
            variables = _SERIES_VARIABLES if name == "details" else (*_SERIES_VARIABLES, "page")
            yield from _check_step(step, name, variables, hosts=hosts)
            if "{page}" in step.url and getattr(step, "next", None) is None:
                yield (name, "url"), "An address with {page} needs `next` to say whether there is another page."


def _check_plain(definition: Definition) -> Iterator[Finding]:
    if not definition.series and not any(getattr(definition, name) for name in LISTS):
        yield (), "No series can be found: add `popular`, `latest`, `search` or a fixed list of `series`."
    for index, host in enumerate(definition.hosts):
        if not _HOST.fullmatch(host.lower()):
            yield ("hosts", index), "Expected a host such as cdn.example.com, without http://."
    for name, value in definition.headers.items():
        if not _HEADER_NAME.fullmatch(name) or name.lower() in {*OUR_HEADERS, "user-agent"}:
            yield ("headers", name), f"{name[:60]} cannot be set here."
        if not value.isascii() or not value.isprintable():
            yield ("headers", name), "A header can only contain ASCII characters."
    for index, series in enumerate(definition.series):
        if own_address(definition, series.url) is None:
            yield ("series", index, "url"), "Expected an address on a host of this source."


def _check_list(step: SeriesStep, name: str, hosts: frozenset[str]) -> Iterator[Finding]:
    is_search = name == "search"
    yield from _check_step(step, name, (*_LIST_VARIABLES, "query") if is_search else _LIST_VARIABLES, hosts=hosts)
    if is_search and "{query}" not in step.url and not step.filters:
        yield (name, "url"), "The address of a search must contain {query}."
    if not is_search and step.filters:
        yield (name, "filters"), "Only a search can have filters."
    if step.next is not None and not {"{page}", "{offset}"} & set(re.findall(r"\{[a-z]+\}", step.url)):
        yield (name, "url"), "The address of a list with `next` must contain {page} or {offset}."
    names = [choice.name for choice in step.filters]
    for index, choice in enumerate(names):
        if choice in names[:index]:
            yield (name, "filters", index), f"There is already a filter {choice}."


def _check_step(
    step: DefinitionStep, name: str, variables: tuple[str, ...], *, hosts: frozenset[str]
) -> Iterator[Finding]:
    problem = template_problem(step.url, variables, hosts)
    if problem:
        yield (name, "url"), problem
    each = getattr(step, "each", None)
    if each is not None:
        problem = expression_problem(each, step.reads, takes_attribute=False)
        if problem:
            yield (name, "each"), problem
    for field in step.__struct_fields__:
        pick = getattr(step, field)
        if isinstance(pick, Pick):
            yield from _check_pick(pick, (name, field), step.reads, hosts=hosts)


def _check_pick(pick: Pick, path: Path, reads: Reads, *, hosts: frozenset[str]) -> Iterator[Finding]:
    if not pick.pick and pick.default is None:
        yield path, "`pick` is missing here."
    for index, expression in enumerate(pick.pick):
        problem = expression_problem(expression, reads)
        if problem:
            yield (*path, "pick", index), problem
    if pick.pattern is not None and (problem := pattern_problem(pick.pattern)):
        yield (*path, "pattern"), problem
    if pick.template is not None:
        problem = template_problem(pick.template, ("value",), hosts) if path[-1] in _ADDRESSES else None
        if problem or "{value}" not in pick.template:
            yield (*path, "template"), problem or "A template must contain {value}."
    if isinstance(pick, DatePick):
        for index, form in enumerate(pick.format):
            if problem := date_problem(form):
                yield (*path, "format", index), problem


_ADDRESSES = frozenset({"link", "next"})
"""Values that we call. Images and covers may be anywhere; the guard of the client judges them."""


def expression_problem(expression: str, reads: Reads, *, takes_attribute: bool = True) -> str | None:
    """Why this expression cannot be used on such an answer; None when it can. The empty one is the row itself."""
    if reads == "json":
        return None if parse_path(expression) is not None else f"{expression!r} is not a path such as data[*].title."
    css, attribute = split_expression(expression)
    if attribute is not None and not takes_attribute:
        return "An @attribute is not allowed here: this selects elements."
    if not css:
        return None if takes_attribute else "Expected a CSS selector."
    return css_problem(css)


def load_definition(text: str, name: str) -> Definition:
    """The definition, or `BadDefinition` with every problem as `name:line:column`."""
    shaper = DefinitionLoader()
    shaped = shaper.shape(read_document(text, name))
    if shaped is None:
        raise bad_definition(name, shaper.problems)
    problems = [(*shaped.place(path), message) for path, message in check(shaped.definition)]
    if problems:
        raise bad_definition(name, problems)
    return shaped.definition
