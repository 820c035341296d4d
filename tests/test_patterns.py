"""No regular expression takes more than the length of a text: each is attacked with texts made from its own tree."""

import ast
import importlib
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from re import _constants as constants  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

import msgspec
import pytest

import tsuzuki
from tests.attacks import slowest
from tests.growth import Slow
from tests.scale import scaled

SOURCE = Path(tsuzuki.__file__).parent
AREAS = sorted(path.stem for path in SOURCE.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists())
FUNCTIONS = {"compile", "search", "match", "fullmatch", "sub", "subn", "findall", "finditer", "split"}
ANYWHERE = "finditer"

MADE_AT_RUN_TIME = {
    "tsuzuki.connectors.chapter_names:_marked": "called at import, so that its patterns are found by their names",
    "tsuzuki.connectors.selectors.reader:_text_problem": "the patterns of its types, found where they stand",
    "tsuzuki.inbox.search.policy:_pattern": "words of a search, escaped, without anything that repeats",
}
"""Functions that make patterns, and why these need not be attacked here."""


class Found(msgspec.Struct, frozen=True):
    """A pattern, where it stands, and the method that is called on it."""

    where: str
    pattern: re.Pattern[Any]
    method: str


@pytest.mark.soak
@pytest.mark.parametrize("area", AREAS)
def test_every_pattern_is_linear(area: str):
    slow = {one.where: str(found) for one in patterns_of(area) if (found := attacked(one)) is not None}
    assert slow == {}


@pytest.mark.parametrize("area", AREAS)
def test_no_pattern_lets_a_newline_through_at_its_end(area: str):
    """`$` matches before a newline that ends the text, too: `\\Z` does not. Where lines are meant, say MULTILINE."""
    loose = [
        f"{one.where}: {one.pattern.pattern!r}"
        for one in patterns_of(area)
        if one.method != "fullmatch" and not one.pattern.flags & re.MULTILINE and _has_dollar(one.pattern)
    ]
    assert loose == []


def _has_dollar(pattern: re.Pattern[Any]) -> bool:
    def within(node: Any) -> bool:
        if isinstance(node, parser.SubPattern | list | tuple):
            return tuple(node) == (constants.AT, constants.AT_END) or any(within(one) for one in node)
        return False

    return within(parser.parse(pattern.pattern, pattern.flags & ~re.DEBUG))


def attacked(found: Found) -> Slow | None:
    """The pattern's slowest text, when it is out of proportion."""
    return slowest(found.pattern, found.method, most=scaled(120, 1500))


# -- finding them


class Module(msgspec.Struct, frozen=True):
    """A module of ours, read and not run."""

    name: str
    tree: ast.Module


@cache
def modules() -> tuple[Module, ...]:
    found = []
    for path in sorted(SOURCE.rglob("*.py")):
        parts = path.relative_to(SOURCE.parent).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        found.append(Module(name, ast.parse(path.read_text("utf-8"))))
    return tuple(found)


def patterns_of(area: str) -> list[Found]:
    """Every pattern of an area: in its modules and classes, in tables of theirs, and in calls with a literal."""
    found: dict[tuple[str, str, int], Found] = {}
    for module in modules():
        if (f"{module.name}..").split(".")[1] != area or module.name.endswith("__main__"):
            continue
        for one in (*_in_calls(module), *_in_values(module), *_in_bounds(module)):
            found.setdefault((one.method, str(one.pattern.pattern), one.pattern.flags), one)
    return list(found.values())


def _in_values(module: Module) -> Iterator[Found]:
    for name, value in vars(importlib.import_module(module.name)).items():
        for pattern in _patterns_in(value, module.name):
            for method in _methods()[module.name, name] if pattern is value else {ANYWHERE}:
                yield Found(f"{module.name}.{name}", pattern, method)


def _patterns_in(value: Any, module: str, depth: int = 3) -> Iterator[re.Pattern[Any]]:
    if isinstance(value, re.Pattern):
        yield value
    elif depth > 0:
        inside: list[Any] = []
        if isinstance(value, dict):
            inside = [*value.keys(), *value.values()]
        elif isinstance(value, list | tuple | set | frozenset):
            inside = list(value)
        elif isinstance(value, msgspec.Struct):
            inside = list(msgspec.structs.asdict(value).values())
        elif isinstance(value, type) and value.__module__ == module:
            inside = list(vars(value).values())
        elif callable(value) and getattr(value, "__closure__", None):
            inside = [cell.cell_contents for cell in value.__closure__ if cell.cell_contents is not value]
        for one in inside:
            yield from _patterns_in(one, module, depth - 1)


def _in_calls(module: Module) -> Iterator[Found]:
    for call, _ in _calls(module.tree):
        text, function = _text(call.args[0], module), ast.unparse(call.func).removeprefix("re.")
        if text is not None and function != "compile":  # one that is compiled is found by its name
            method = function if function in {"match", "fullmatch", "search"} else ANYWHERE
            yield Found(f"{module.name}:{call.lineno}", re.compile(text, _flags(call)), method)


def _in_bounds(module: Module) -> Iterator[Found]:
    """What msgspec holds texts of requests and definitions against."""
    calls = [node for node in ast.walk(module.tree) if isinstance(node, ast.Call)]
    for call in calls:
        for word in call.keywords if ast.unparse(call.func).endswith("Meta") else ():
            if word.arg == "pattern":
                text = _text(word.value, module)
                assert text is not None, f"{module.name}:{call.lineno} has a pattern that is not found here"
                yield Found(f"{module.name}:{call.lineno}", re.compile(text), "search")


def _text(node: ast.expr, module: Module) -> Any:
    """The pattern that stands there, as far as the module's own names say it; None for one made at run time."""
    code = compile(ast.Expression(node), module.name, "eval")
    try:
        value = eval(code, dict(vars(importlib.import_module(module.name))))
    except NameError:
        return None
    return value if isinstance(value, str | bytes) else None


def _flags(call: ast.Call) -> int:
    names = {node.attr for node in ast.walk(call) if isinstance(node, ast.Attribute)}
    return sum(int(flag) for flag in re.RegexFlag if flag.name in names)


def _calls(tree: ast.AST, function: str = "") -> Iterator[tuple[ast.Call, str]]:
    """Every call of a function of `re`, and the function that it stands in."""
    for node in ast.iter_child_nodes(tree):
        inside = node.name if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) else function
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id="re"), attr=name)) if name in FUNCTIONS:
                yield node, inside
        yield from _calls(node, inside)


@cache
def _methods() -> defaultdict[tuple[str, str], set[str]]:
    """By module and name, what is called on a pattern; anything, where it is passed on."""
    used: defaultdict[tuple[str, str], set[str]] = defaultdict(lambda: {ANYWHERE})
    for module in modules():
        imported = {
            alias.asname or alias.name: (node.module or "", alias.name)
            for node in ast.walk(module.tree)
            if isinstance(node, ast.ImportFrom)
            for alias in node.names
        }
        seen: dict[int, str] = {}
        for node in ast.walk(module.tree):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                seen[id(node.value)] = node.attr if node.attr in FUNCTIONS | {"pattern"} else ANYWHERE
            if isinstance(node, ast.Call) and len(node.args) > 1 and isinstance(node.func, ast.Attribute):
                seen[id(node.func.value)] = ANYWHERE  # from a place on: it may be called again and again
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                method = seen.get(id(node), ANYWHERE)
                key = imported.get(node.id, (module.name, node.id))
                if method != "pattern":
                    method = method if method in {"match", "fullmatch", "search"} else ANYWHERE
                    used[key] = used.get(key, set()) | {method}
    return used


# -- whether the tables are true


def test_no_pattern_escapes():
    """Patterns are made by `re.` with its name, at import, by a literal, or by a function that is listed here."""
    made = set()
    for module in modules():
        names = [node.module for node in ast.walk(module.tree) if isinstance(node, ast.ImportFrom)]
        assert "re" not in names, f"{module.name} takes functions out of re, which are not found here"
        for call, function in _calls(module.tree):
            if function and (_text(call.args[0], module) is None or ast.unparse(call.func) == "re.compile"):
                made.add(f"{module.name}:{function}")
    assert made == set(MADE_AT_RUN_TIME)


SLOW = {
    "(a+)+$": "search",
    r"\s+$": "search",
    "<[^>]*>": "finditer",
    "(?:a|a)*b": "match",
    "x*x*y": "match",
    r"^(\w+\s?)*$": "match",
    r"\s*([^\s,]\S*[^\s,]|[^\s,])(?:\s+([\d.]+)([wxh]))?\s*(?:,|$)": "finditer",
    r"(?:width|height)\s*=\s*[\"']?\s*[01](?:px)?\s*(?:[\"'/>]|\s\w)|style\s*=": "search",
    r"(\d+)-(\d+)!": "search",
    r"(?:[a-z]+\.)+[a-z]{2,}": "search",
    r"<!DOCTYPE.*\[": "search",
    "(.*?),(.*?),(.*?);": "match",
    '(?:"[^"]*"|[^>])*>': "match",
}
QUICK = {
    r"\[[^\[\]]*\(": "finditer",
    "<[^<>]*>": "finditer",
    r"\s++$": "match",
    r"\w+": "finditer",
    r"(?:[a-z]+\.)+[a-z]{2,}": "match",
    r'"[^"]*"': "finditer",
    r"a{0,200}b": "finditer",
    r"(?:feed|rss):/{0,2}(?=[^/])": "match",
}


@pytest.mark.parametrize("pattern", SLOW)
def test_a_slow_pattern_is_found_out(pattern: str):
    assert slowest(re.compile(pattern), SLOW[pattern], most=120) is not None


@pytest.mark.parametrize("pattern", QUICK)
def test_a_quick_pattern_is_left_alone(pattern: str):
    assert slowest(re.compile(pattern), QUICK[pattern], most=120) is None
