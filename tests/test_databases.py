"""Databases of PostgreSQL that tests hand on to each other."""

from urllib.parse import urlsplit

import asyncpg
import pytest

from tests.databases import migrated

ADD = """
insert into tenant (public_id, name, anchor_at, created_at, updated_at)
values (decode(repeat('01', 16), 'hex'), 'A', 0, 0, 0) returning id"""


async def first_id(url: str) -> int:
    connection = await asyncpg.connect(url)
    try:
        added: int = await connection.fetchval(ADD)
        return added
    finally:
        await connection.close()


async def test_one_that_was_filled_is_handed_on_empty_and_counts_from_the_start(postgres_url):
    async with migrated(postgres_url) as url:
        assert await first_id(url) == 1
    async with migrated(postgres_url) as again:
        assert again == url
        assert await first_id(again) == 1


@pytest.mark.parametrize(
    "change",
    [
        "create table more (id int)",
        "drop table api_token",
        "alter table tenant add column more text",
        "alter table tenant alter column name set default 'x'",
        "alter table tenant add check (name <> 'x')",
        "create index more on tenant (name)",
        "create function more() returns int language sql as 'select 1'",
    ],
)
async def test_one_that_was_changed_is_handed_to_nobody(postgres_url, change):
    async with migrated(postgres_url) as url:
        connection = await asyncpg.connect(url)
        await connection.execute(change)
        await connection.close()
    server = await asyncpg.connect(postgres_url)
    known = "select count(*) from pg_database where datname = $1"
    assert await server.fetchval(known, urlsplit(url).path[1:]) == 0
    await server.close()
