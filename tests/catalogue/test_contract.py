"""docs/catalogue.md is true: every table, column and query that it names is there."""

import re
from pathlib import Path

import apsw
import pytest

from tsuzuki.db.queries import load_queries

PAGE = (Path(__file__).parents[2] / "docs" / "catalogue.md").read_text("utf-8")
CONTRACT = PAGE.partition("## The contract's tables")[2]
TABLES = ["source", "series_source", "release", "page", "source_meta"]
"""Ours, in the order of the page's tables."""


def tables() -> list[list[str]]:
    """The rows of each table, without its line."""
    found = [block.splitlines() for block in re.split(r"\n\n", CONTRACT) if block.strip().startswith("|")]
    return [[line for line in lines if line.startswith("|") and "---" not in line] for lines in found]


def names(cell: str) -> set[str]:
    return set(re.findall(r"`([a-z_.]+)`", cell))


@pytest.mark.parametrize(("place", "table"), list(enumerate(TABLES)))
def test_the_columns_that_it_names_exist(place, table, sqlite_template):
    with apsw.Connection(str(sqlite_template)) as connection:
        known = {row[0] for row in connection.execute("select name from sqlite_schema where type = 'table'")}
        columns = {name: {row[1] for row in connection.execute(f"pragma table_info({name})")} for name in sorted(known)}
    every = {name for each in columns.values() for name in each} | known
    rows = tables()[place]
    assert table in names(rows[0].split("|")[2])
    for row in rows[1:]:
        for name in names(row.split("|")[2]):
            owner, _, column = name.rpartition(".")
            assert column in (columns[owner] if owner else every), name


def test_the_queries_that_it_names_exist():
    areas = ("catalogue", "ingest", "sources", "sources.sites")
    known = {query.name for area in areas for query in load_queries(f"tsuzuki.{area}")}
    rows = tables()[len(TABLES)]
    assert len(rows) > 10
    for row in rows[1:]:
        assert names(row.split("|")[2]) - known <= {"catalogue", "ingest", "sources"}, row
