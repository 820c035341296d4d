"""What is wrong with a definition although every key and type is right: expressions, patterns, addresses, dates."""

import re
from collections.abc import Iterator

from tsuzuki.connectors.config import OUR_HEADERS
from tsuzuki.connectors.html.addresses import parts_of
from tsuzuki.connectors.selectors.addresses import own_address, own_hosts, template_problem
from tsuzuki.connectors.selectors.dates import date_problem
from tsuzuki.connectors.selectors.definition import DatePick, Definition, DefinitionStep, Pick, Reads, SeriesStep
from tsuzuki.connectors.selectors.extracting import css_problem, split_expression
from tsuzuki.connectors.selectors.jsonpath import parse_path
from tsuzuki.connectors.selectors.patterns import pattern_problem
from tsuzuki.connectors.selectors.shaping import Path

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
        yield (), "There is no way to a series: add `popular`, `latest`, `search` or a fixed list of `series`."
    for index, host in enumerate(definition.hosts):
        if not _HOST.fullmatch(host.lower()):
            yield ("hosts", index), "Expected a host such as cdn.example.com, without http://."
    for name, value in definition.headers.items():
        if not _HEADER_NAME.fullmatch(name) or name.lower() in {*OUR_HEADERS, "user-agent"}:
            yield ("headers", name), f"{name[:60]} cannot be set here."
        if not value.isascii() or not value.isprintable():
            yield ("headers", name), "A header has plain ASCII letters only."
    for index, series in enumerate(definition.series):
        if own_address(definition, series.url) is None:
            yield ("series", index, "url"), "Expected an address on a host of this source."


def _check_list(step: SeriesStep, name: str, hosts: frozenset[str]) -> Iterator[Finding]:
    is_search = name == "search"
    yield from _check_step(step, name, (*_LIST_VARIABLES, "query") if is_search else _LIST_VARIABLES, hosts=hosts)
    if is_search and "{query}" not in step.url and not step.filters:
        yield (name, "url"), "A search has {query} in its address."
    if not is_search and step.filters:
        yield (name, "filters"), "Only a search has filters."
    if step.next is not None and not {"{page}", "{offset}"} & set(re.findall(r"\{[a-z]+\}", step.url)):
        yield (name, "url"), "A list with `next` has {page} or {offset} in its address."
    names = [choice.name for choice in step.filters]
    for index, choice in enumerate(names):
        if choice in names[:index]:
            yield (name, "filters", index), f"There is a filter {choice} already."


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
            yield (*path, "template"), problem or "A template has {value} in it."
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
        return "An @attribute is not taken here: this selects elements."
    if not css:
        return None if takes_attribute else "Expected a CSS selector."
    return css_problem(css)
