"""Every query is used, every use exists, both engines accept each, and each gives what its Struct says."""

import ast
import inspect
import re
from collections import defaultdict
from functools import cache
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import Any

import apsw
import apsw.ext
import asyncpg
import msgspec
import pytest

import tsuzuki
from tests.databases import TEMPLATE, named
from tsuzuki.db.queries import Queries, Query, load_queries

SOURCE = Path(tsuzuki.__file__).parent
FILES = [file for file in SOURCE.rglob("*.sql") if not file.is_relative_to(SOURCE / "db" / "migrations")]
AREAS = sorted(
    str((file.parent if file.stem == "queries" else file.with_suffix("")).relative_to(SOURCE))
    for file in FILES
    if not file.stem.endswith(".postgres")
)
VERBS = {"one", "maybe", "many", "run", "bulk"}

each_area = pytest.mark.parametrize("area", AREAS)


@cache
def queries(area: str) -> Queries:
    return load_queries(f"tsuzuki.{area.replace('/', '.')}")


def files_of(area: str) -> list[Path]:
    """The modules of an area, without those of areas inside it; a module with queries of its own is one."""
    if not (SOURCE / area).is_dir():
        return [SOURCE / f"{area}.py"]
    inside = [SOURCE / other for other in AREAS if other.startswith(f"{area}/")]
    found = sorted((SOURCE / area).rglob("*.py"))
    return [file for file in found if not any(file.with_suffix("").is_relative_to(folder) for folder in inside)]


@cache
def uses(area: str) -> list[tuple[str, str, ast.Call]]:
    """Every `tx.verb(..., q.name, ...)` of an area: the module, the query's name, the call; or one of two queries."""
    found = []
    for file in files_of(area):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in VERBS:
                for argument in chain.from_iterable(map(_either, node.args)):
                    if isinstance(argument, ast.Attribute) and ast.unparse(argument.value) == "q":
                        module = ".".join(("tsuzuki", *file.relative_to(SOURCE).with_suffix("").parts))
                        found.append((module, argument.attr, node))
    return found


def _either(argument: ast.expr) -> list[ast.expr]:
    return [argument.body, argument.orelse] if isinstance(argument, ast.IfExp) else [argument]


@cache
def row_types(area: str) -> dict[str, list[Any]]:
    """The types that the store reads each query's rows as; none where it only runs it."""
    found: dict[str, list[Any]] = defaultdict(list)
    for module, name, call in uses(area):
        if ast.unparse(call.func) != "tx.run":
            found[name].append(eval(ast.unparse(call.args[0]), vars(import_module(module))))
    return found


def disagreements(area: str, query: Query, columns: list[str]) -> list[str]:
    """The types that do not fit these columns: a Struct has the same names; all else is one value, where any is."""
    return [
        repr(expected)
        for expected in row_types(area)[query.name]
        if (columns != list(fields_of(expected)) if fields_of(expected) else len(columns) != int(query.returns_rows))
    ]


def fields_of(row: Any) -> tuple[str, ...]:
    if inspect.isclass(row) and issubclass(row, msgspec.Struct):
        return row.__struct_fields__
    return ()


def test_there_are_queries():
    assert sum(len(list(queries(area))) for area in AREAS) >= 600


@each_area
def test_every_query_is_used_and_every_use_exists(area):
    assert {name for _, name, _ in uses(area)} == {query.name for query in queries(area)}


@each_area
def test_a_query_is_named_in_one_module(area):
    """Of its area: its store, or the module of the thing that it is about."""
    modules: dict[str, set[str]] = defaultdict(set)
    for module, name, _ in uses(area):
        modules[name].add(module)
    assert {name: found for name, found in modules.items() if len(found) > 1} == {}


def test_sec_44_only_db_runs_sql_and_nobody_a_shell():
    """All others name a query of a file; what was sent to us is a value beside it."""
    made, shells = [], []
    for file in SOURCE.rglob("*.py"):
        for call in (node for node in ast.walk(ast.parse(file.read_text("utf-8"))) if isinstance(node, ast.Call)):
            said, verb = ast.unparse(call), ast.unparse(call.func)
            if verb in {f"tx.{name}" for name in VERBS} and not re.search(r"\bq\.\w+", said):
                made.append(file.relative_to(SOURCE).parts[0])
            if re.search(r"\b(system|popen)$|_shell$", verb) or "shell=" in said:
                shells.append(said)
            if verb.endswith("Popen") and not isinstance(call.args[0], ast.List):
                shells.append(said)
    assert set(made) == {"db"}
    assert shells == []


@each_area
def test_columns_are_listed(area):
    every = re.compile(r"select\s+(\w+\.)?\*|returning\s+\*", re.IGNORECASE)
    texts = [(query.name, text) for query in queries(area) for text in (query.sqlite.sql, query.postgres.sql)]
    assert [name for name, text in texts if every.search(text)] == []


@each_area
def test_sqlite_accepts_each_query_with_its_structs_columns(area, sqlite_template):
    wrong = {}
    with apsw.Connection(str(sqlite_template)) as connection:
        for query in queries(area):
            try:
                info = apsw.ext.query_info(connection, query.sqlite.sql, explain=True)
            except apsw.Error as refusal:
                wrong[query.name] = [str(refusal)]
            else:
                wrong[query.name] = disagreements(area, query, [column[0] for column in info.description])
    assert {name: problems for name, problems in wrong.items() if problems} == {}


CAST = "a sum is no int on PostgreSQL, and JSON would have it as text: cast(... as bigint)"


@each_area
async def test_postgres_accepts_each_query_with_its_structs_columns(area, postgres_url):
    wrong = {}
    connection = await asyncpg.connect(named(postgres_url, TEMPLATE))
    try:
        for query in queries(area):
            try:
                columns = (await connection.prepare(query.postgres.sql)).get_attributes()
            except asyncpg.PostgresError as refusal:
                wrong[query.name] = [str(refusal)]
            else:
                wrong[query.name] = disagreements(area, query, [column.name for column in columns])
                wrong[query.name] += [f"{one.name} is numeric; {CAST}" for one in columns if one.type.name == "numeric"]
    finally:
        await connection.close()
    assert {name: problems for name, problems in wrong.items() if problems} == {}


@each_area
def test_an_inline_query_finds_its_rows_by_an_index(area, sqlite_template):
    wrong = {}
    with apsw.Connection(str(sqlite_template)) as connection:
        for query in queries(area):
            if query.inline:
                values = [None] * len(query.sqlite.params)
                plan = list(connection.execute(f"explain query plan {query.sqlite.sql}", values))
                visits = [step[3] for step in plan if "SCALAR SUBQUERY" not in step[3]]  # whose own steps follow
                if not visits or not all("SEARCH" in step for step in visits):
                    wrong[query.name] = visits
    assert wrong == {}


LISTS_WITHIN = {"series_facts", "settle_letters", "list_series", "count_series", "genres_of", "all_genres"}
"""An UPDATE takes its own table first; letters that are open are few. Genres are a list within each row."""


@each_area
def test_plans_look_up_rows_from_the_bound_list(area, sqlite_template):
    """SQLite would rather walk through all items of a feed and look each up in a list; CROSS JOIN forbids it."""
    wrong = {}
    with apsw.Connection(str(sqlite_template)) as connection:
        for query in queries(area):
            values = [None] * len(query.sqlite.params)
            loops: dict[int, str] = {}
            for _, parent, _, step in connection.execute(f"explain query plan {query.sqlite.sql}", values):
                is_list = "VIRTUAL TABLE INDEX 1:" in step and "LEFT-JOIN" not in step
                if is_list and "(" in loops.get(parent, "") and "rowid=?" not in loops[parent]:
                    wrong[query.name] = [loops[parent], step]
                if step.startswith(("SEARCH", "SCAN")):
                    loops.setdefault(parent, step)
    assert wrong.keys() - LISTS_WITHIN == set(), wrong


GROWING = re.compile(r"Seq Scan on (item|chapter|release|entry|task)\b")


@pytest.mark.parametrize("area", ["delivery", "ingest"])
async def test_a_few_new_rows_cause_no_full_scan_on_postgres(area, postgres_url):
    """It takes any list for a thousand rows, and would rather read a table that has grown since it was analyzed."""
    wrong = {}
    connection = await asyncpg.connect(named(postgres_url, TEMPLATE), statement_cache_size=0)
    try:
        await connection.execute("set plan_cache_mode = force_generic_plan")
        for query in queries(area):
            if "json_each" in query.postgres.sql:
                values = ", ".join(["null"] * len(query.postgres.params))
                await connection.execute(f"prepare {query.name} as {query.postgres.sql}")
                plan = [row[0] for row in await connection.fetch(f"explain execute {query.name}({values})")]
                if walks := list(filter(GROWING.search, plan)):
                    wrong[query.name] = walks
    finally:
        await connection.close()
    assert wrong == {}
