"""The loader of query files."""

import pytest

from tsuzuki.db.queries import parse_queries


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
def test_a_query_knows_whether_it_writes_or_returns_rows(sql, writes, returns_rows):
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
        list(parse_queries("x", portable, postgres))


def test_an_unknown_query_is_named():
    with pytest.raises(AttributeError, match="has no query 'nothing'"):
        _ = parse_queries("x", "-- name: a\nselect 1").nothing
