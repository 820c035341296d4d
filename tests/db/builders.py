"""A few queries over a real table, and how the tests of the data layer use them."""

from tsuzuki.db import Database, Tx
from tsuzuki.db.queries import EngineSql, Query, parse_queries

q = parse_queries(
    "tests",
    """
-- name: add_link
insert into feed (link, created_at, updated_at) values (:link, 0, 0)
-- name: add_link_returning
insert into feed (link, created_at, updated_at) values (:link, 0, 0) returning id
-- name: remove_link
delete from feed where link = :link
-- name: rename_links
update feed set title = :title where link like :pattern
-- name: all_links
select link from feed order by link
-- name: find_link
-- inline: one row by its key
select id from feed where link = :link and proxy = ''
-- name: broken
select no_such_column from feed
""",
)


def a_query(sql: str) -> Query:
    """A query of this text, the same for both engines."""
    return parse_queries("tests", f"-- name: made_here\n{sql}").made_here


def for_each(*, sqlite: str, postgres: str) -> Query:
    """A statement without parameters that each engine spells its own way."""
    return Query(
        "made_here", EngineSql(sqlite, ()), EngineSql(postgres, ()), writes=False, returns_rows=True, inline=False
    )


SLOW = for_each(
    sqlite="with recursive n (i) as (select 1 union all select i + 1 from n where i < 200000) select max(i) from n",
    postgres="select 200000",
)
"""Takes longer than SQLite may hold the event loop."""


async def links(db: Database) -> list[str]:
    """What is committed."""
    return await db.read(lambda tx: tx.many(str, q.all_links))


async def add_link_tx(tx: Tx, link: str) -> int:
    return await tx.run(q.add_link, link=link)
