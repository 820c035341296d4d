"""Every query is used, every use exists, both engines accept each, and each gives what its Struct says."""

import ast
import inspect
import re
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import apsw
import apsw.ext
import asyncpg
import msgspec
import pytest

import tsuzuki
from tsuzuki.db.queries import Queries, Query, load_queries, parse_queries
from tsuzuki.db.sqlite import path_of

SOURCE = Path(tsuzuki.__file__).parent
AREAS = sorted(str(file.parent.relative_to(SOURCE)) for file in SOURCE.rglob("queries.sql"))
VERBS = {"one", "maybe", "many", "run", "bulk"}


@cache
def queries(area: str) -> Queries:
    return load_queries(f"tsuzuki.{area.replace('/', '.')}")


ALL = [(area, query) for area in AREAS for query in queries(area)]
each_query = pytest.mark.parametrize(("area", "query"), ALL, ids=[f"{area}.{query.name}" for area, query in ALL])


def files_of(area: str) -> list[Path]:
    """The modules of an area, without those of areas inside it."""
    inside = [SOURCE / other for other in AREAS if other.startswith(f"{area}/")]
    found = sorted((SOURCE / area).rglob("*.py"))
    return [file for file in found if not any(file.is_relative_to(folder) for folder in inside)]


def uses(area: str) -> list[tuple[str, str, ast.Call]]:
    """Every `tx.verb(..., q.name, ...)` of an area: the module, the query's name, the call."""
    found = []
    for file in files_of(area):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in VERBS:
                for argument in node.args:
                    if isinstance(argument, ast.Attribute) and ast.unparse(argument.value) == "q":
                        module = ".".join(("tsuzuki", *file.relative_to(SOURCE).with_suffix("").parts))
                        found.append((module, argument.attr, node))
    return found


def row_type(area: str, name: str) -> Any:
    """The type that the store reads this query's rows as; None where it only runs it."""
    for module, used, call in uses(area):
        if used == name and ast.unparse(call.func) != "tx.run":
            return eval(ast.unparse(call.args[0]), vars(import_module(module)))
    return None


def test_there_are_queries():
    assert len(ALL) >= 10


@pytest.mark.parametrize("area", AREAS)
def test_every_query_is_used_and_every_use_exists(area):
    assert {name for _, name, _ in uses(area)} == {query.name for query in queries(area)}


@each_query
def test_only_the_store_names_a_query(area, query):
    assert {module.rpartition(".")[2] for module, name, _ in uses(area) if name == query.name} == {"store"}


@each_query
def test_columns_are_listed(area, query):
    for text in (query.sqlite.sql, query.postgres.sql):
        assert not re.search(r"select\s+(\w+\.)?\*|returning\s+\*", text, re.IGNORECASE)


@each_query
def test_sqlite_accepts_it_and_gives_the_columns_of_its_struct(area, query, sqlite_template):
    with apsw.Connection(str(sqlite_template)) as connection:
        info = apsw.ext.query_info(connection, query.sqlite.sql, explain=True)
        columns = [column[0] for column in info.description]
    agrees(area, query, columns)


@each_query
async def test_postgres_accepts_it_and_gives_the_columns_of_its_struct(area, query, template_connection):
    statement = await template_connection.prepare(query.postgres.sql)
    agrees(area, query, [attribute.name for attribute in statement.get_attributes()])


@pytest.fixture
async def template_connection(postgres_url):
    connection = await asyncpg.connect(postgres_url.rpartition("/")[0] + "/tsuzuki_template")
    yield connection
    await connection.close()


def agrees(area: str, query: Query, columns: list[str]) -> None:
    expected = row_type(area, query.name)
    if inspect.isclass(expected) and issubclass(expected, msgspec.Struct):
        assert columns == [field.name for field in msgspec.structs.fields(expected)]
    elif expected is not None:
        assert len(columns) <= 1


@each_query
def test_an_inline_query_finds_its_rows_by_an_index(area, query, sqlite_template):
    if not query.inline:
        return
    with apsw.Connection(str(sqlite_template)) as connection:
        plan = list(connection.execute(f"explain query plan {query.sqlite.sql}", [None] * len(query.sqlite.params)))
    visits = [step[3] for step in plan if "SCALAR SUBQUERY" not in step[3]]  # whose own steps follow
    assert visits
    assert all("SEARCH" in step for step in visits)


# -- the loader itself


def test_parameters_are_numbered_and_casts_literals_and_comments_left_alone():
    found = parse_queries("x", "-- name: a\n-- why :not_one\nselect ':no', :b::text, :a, :b -- :nor\n;")
    assert found.a.sqlite.sql == "select ':no', ?1::text, ?2, ?1"
    assert found.a.postgres.sql == "select ':no', $1::text, $2, $1"
    assert found.a.postgres.params == ("b", "a")


def test_fragments_are_put_in_and_may_differ_for_postgres():
    portable = "-- fragment: columns\nid, {more}\n-- fragment: more\nname\n-- name: a\nselect {columns} from t"
    found = parse_queries("x", portable, "-- fragment: more\ntitle")
    assert (found.a.sqlite.sql, found.a.postgres.sql) == ("select id, name from t", "select id, title from t")


@pytest.mark.parametrize(
    ("sql", "writes", "returns_rows"),
    [
        ("select 'insert' from t", False, True),
        ("insert into t values (1)", True, False),
        ("insert into t values (1) returning id", True, True),
        ("with x as (select 1) update t set a = 1", True, False),
        ("delete from t", True, False),
    ],
)
def test_a_query_knows_whether_it_writes_and_whether_it_returns_rows(sql, writes, returns_rows):
    found = parse_queries("x", f"-- name: a\n{sql}")
    assert (found.a.writes, found.a.returns_rows) == (writes, returns_rows)


@pytest.mark.parametrize(
    ("portable", "postgres", "message"),
    [
        ("-- name: a\nselect 1\n-- name: a\nselect 2", "", "a stands twice"),
        ("-- name: a\nselect {nothing}", "", "no fragment 'nothing'"),
        ("-- name: a\nselect :x", "-- name: a\nselect :y", "takes other parameters"),
        ("-- name: a\nselect 1", "-- name: b\nselect 1", "only PostgreSQL has b"),
    ],
)
def test_a_broken_file_says_what_is_wrong(portable, postgres, message):
    with pytest.raises(ValueError, match=message):
        parse_queries("x", portable, postgres)


def test_an_unknown_query_is_named():
    with pytest.raises(AttributeError, match="has no query 'nothing'"):
        _ = parse_queries("x", "-- name: a\nselect 1").nothing


def test_the_path_of_a_url_is_kept_whole():
    assert path_of("sqlite:///var/lib/a b.db") == Path("/var/lib/a b.db")
