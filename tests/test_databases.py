"""Databases of PostgreSQL that tests hand on to each other."""

from urllib.parse import urlsplit

import pytest

from tests.databases import ask, migrated, on_server

ADD = """
insert into tenant (public_id, name, anchor_at, created_at, updated_at)
values (decode(repeat('01', 16), 'hex'), 'A', 0, 0, 0) returning id"""


async def test_a_reused_test_database_is_empty_with_fresh_ids(postgres_url):
    async with migrated(postgres_url) as url:
        assert await ask(url, ADD) == 1
    async with migrated(postgres_url) as again:
        assert again == url
        assert await ask(again, ADD) == 1


@pytest.mark.parametrize(
    "change",
    [
        "create table more (id int)",
        "drop table device_key",
        "alter table tenant add column more text",
        "alter table tenant alter column name set default 'x'",
        "alter table tenant add check (name <> 'x')",
        "create index more on tenant (name)",
        "create function more() returns int language sql as 'select 1'",
    ],
)
async def test_one_that_was_changed_is_handed_to_nobody(postgres_url, change):
    async with migrated(postgres_url) as url:
        await on_server(url, change)
    assert await ask(postgres_url, f"select count(*) from pg_database where datname = '{urlsplit(url).path[1:]}'") == 0
