"""What the product has to do, one row each, and the test that shows it.

`requirements.tsv` has sentences: CRW the crawler, LED the ledger, CAT the catalogue, RDR the reader, ING ingestion.
`fields.tsv` has what may be asked, sent and answered, and is held against the API's description.
"""

import ast
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tsuzuki.api import crawler_health, crawler_sources
from tsuzuki.api.build import ENDPOINTS
from tsuzuki.api.openapi import document
from tsuzuki.ingest.chapters import ChapterBatch
from tsuzuki.model.harvest import FoundChapter

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
AREAS = {"CRW", "LED", "CAT", "RDR", "ING"}

Json = dict[str, Any]


class Requirement(msgspec.Struct, frozen=True):
    number: str
    sentence: str
    test: str


class Field(msgspec.Struct, frozen=True):
    """`part` is `query`, `body`, `answer`, `meta` or `status`; a name may lead into an object by a dot."""

    number: str
    operation: str
    part: str
    name: str
    rule: str


def rows(name: str) -> list[list[str]]:
    """Without the line of titles."""
    return [line.split("\t") for line in (HERE / name).read_text("utf-8").splitlines()[1:]]


REQUIREMENTS = [Requirement(*row) for row in rows("requirements.tsv")]
FIELDS = [Field(*row) for row in rows("fields.tsv")]


def test_every_number_is_given_once():
    numbers = Counter([*(one.number for one in REQUIREMENTS), *(one.number for one in FIELDS)])
    assert [number for number, count in numbers.items() if count > 1] == []
    assert {number.partition("-")[0] for number in numbers} == AREAS


@pytest.mark.parametrize("one", REQUIREMENTS, ids=lambda one: one.number)
def test_every_requirement_names_a_test_that_exists(one: Requirement):
    path, _, name = one.test.partition("::")
    assert name in names_in(path), f"{one.sentence} {one.test}"


@cache
def names_in(path: str) -> set[str]:
    """The names of the tests of a file, which is read and not run."""
    tree = ast.parse((ROOT / path).read_text("utf-8"))
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    return {function.name for function in functions if function.name.startswith("test_")}


# -- tables of the contracts that no other test has as a whole


def test_answers_are_kept_as_long_as_the_contract_says():
    assert (crawler_sources.LIST_SECONDS, crawler_sources.SOURCE_SECONDS, crawler_health.HEALTH_SECONDS) == (
        60,
        120,
        30,
    )


def test_what_ingest_is_handed_has_the_contracts_fields():
    wanted = {"number", "title", "url", "published_at", "source_key", "volume", "group", "language"}
    assert wanted <= set(FoundChapter.__struct_fields__)
    assert {"series_id", "series_source_id", "releases"} <= set(ChapterBatch.__struct_fields__)


# -- the API's description


@cache
def described() -> Json:
    return dict(document(ENDPOINTS, "0"))


@pytest.mark.parametrize("one", FIELDS, ids=lambda one: one.number)
def test_every_field_is_in_the_description(one: Field):
    method, path = one.operation.split()
    operation = described()["paths"][f"/api/v1{path}"][method.lower()]
    if one.part == "status":
        assert one.name in operation["responses"]
        return
    schema, is_required = found(operation, one)
    wrong = [rule for rule in one.rule.split() if not fits(rule, schema, is_required=is_required)]
    assert wrong == [], schema


def found(operation: Json, one: Field) -> tuple[Json, bool]:
    """The schema of what is named there, and whether it must be sent."""
    if one.part == "query":
        parameter = next(each for each in operation["parameters"] if each["name"] == one.name)
        return parameter["schema"], parameter["required"]
    if one.part == "body":
        whole = operation["requestBody"]["content"]["application/json"]["schema"]
    else:
        answer = next(each for code, each in operation["responses"].items() if code.startswith("2"))
        envelope = answer["content"]["application/json"]["schema"]["properties"]
        whole = envelope["meta" if one.part == "meta" else "data"]
    return within(whole, one.name.split("."))


def within(schema: Json, names: list[str]) -> tuple[Json, bool]:
    for option in options(schema):
        if "items" in option and "properties" not in option:
            return within(option["items"], names)
        if names[0] in option.get("properties", {}):
            inside = option["properties"][names[0]]
            is_required = names[0] in option.get("required", ())
            return (inside, is_required) if len(names) == 1 else within(inside, names[1:])
    raise AssertionError(f"{names[0]} is not in {schema}")


def options(schema: Json) -> Iterator[Json]:
    """What it may be, references followed, null left out."""
    if "$ref" in schema:
        yield from options(described()["components"]["schemas"][schema["$ref"].rpartition("/")[2]])
    elif "anyOf" in schema:
        for option in schema["anyOf"]:
            yield from options(option)
    elif schema.get("type") != "null":
        yield schema


def fits(rule: str, schema: Json, *, is_required: bool) -> bool:
    """One rule: a type, `required`, `optional`, or a bound with its value."""
    name, _, value = rule.partition("=")
    every = [*options(schema)]
    if name in ("required", "optional"):
        return is_required == (name == "required")
    if name == "default":
        return str(schema.get("default")) == value
    if name == "enum":
        lists = [one.get("items", one) for one in every]
        return any(sorted(one.get("enum", ())) == value.split(",") for one in lists)
    if bound := {"max": "maximum", "longest": "maxLength", "pattern": "pattern"}.get(name):
        return any(str(one.get(bound)) == value for one in every)
    return any(one.get("type", "string") == name for one in every)
