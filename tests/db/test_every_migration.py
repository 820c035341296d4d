"""Every migration keeps every row that was there before it, on both engines."""

import re
from contextlib import closing
from typing import Any

import apsw
import asyncpg

from tests.db.test_migrate import run_on
from tsuzuki.db import DatabaseOptions
from tsuzuki.db.migrate import migrate
from tsuzuki.db.migration_steps import available
from tsuzuki.db.sqlite_file import path_of

REMOVES = {(3, "item_tombstone"): "what each shelf pruned is told by entry_tombstone from then on"}
"""What a step is meant to take away: its number and the table."""
RENAMES = {("event_places", "event", "txid"): "place"}
"""A column that a step gives another name."""
CHANGES = re.compile(r"(?:alter table|delete from|insert into|update|drop table) (?:only )?(\w+)|\bon (\w+) \(")

BEFORE = """
insert into tenant (id, public_id, name, anchor_at, created_at, updated_at) values (1, {id}, '続き', 1, 2, 3);
insert into shelf (id, public_id, tenant_id, name, plan, retention, created_at, updated_at)
values (1, {id}, 1, 'Main', 'basic', 9, 1, 2), (2, {id}, 1, 'Other', 'basic', null, 1, 2);
insert into user_account (id, public_id, tenant_id, default_shelf_id, username, role, created_at, updated_at)
values (1, {id}, 1, null, 'ann', 'admin', 1, 2), (2, {id}, 1, 1, 'bob', 'reader', 1, 2);
insert into session (public_id, user_id, key_hash, created_at, last_used_at, expires_at)
values ({id}, 1, {hash}, 1, 2, 3);
insert into api_token (public_id, user_id, name, kind, key_hash, scopes, created_at)
values ({id}, 1, 'A', 'token', {hash}, 'read write', 1), ({id}, 1, 'B', 'device', {hash}, 'opds', 1);
insert into audit (at, actor, action, entity_type, entity_id) values (1, 'ann', 'a', 'user', '1');
insert into image (hash, media_type, width, height, bytes, created_at, used_at)
values ({hash}, 'image/png', 1, 2, 3, 4, 5);
insert into source (id, uid, name, slug, base_url, created_at, updated_at)
values (100001, 7, 'S', 's', 'https://s.example', 1, 2), (100002, 8, 'T', 't', 'https://t.example', 1, 2);
insert into series (id, public_id, title, match_key, created_at, updated_at) values (1, {id}, 'One', 'one', 1, 2);
insert into series_source (id, series_id, source_id, source_key, url, created_at, updated_at)
values (200001, 1, 100001, 'k', 'https://s.example/k', 1, 2);
insert into chapter (id, series_id, key, number, number_sort, first_seen_at, updated_at)
values (1, 1, '1.5', '1.5', 1500000, 1, 2);
insert into release (chapter_id, series_source_id, key, url, group_name, content_hash, first_seen_at, last_seen_at)
values (1, 200001, 'n:1.5', 'https://s.example/k/1', 'Group', {hash}, 1, 2);
insert into feed (id, link, title, created_at, updated_at) values (1, 'https://f.example/', 'F', 1, 2);
insert into watch (id, feed_id, series_source_id, host, next_check_at, consecutive_failures, etag, created_at)
values (1, 1, null, 'f.example', 9, 6, '"e"', 1), (2, null, 200001, 's.example', 9, 6, null, 1);
insert into item (id, feed_id, key, title, content, sort_at, content_hash, created_at)
values (1, 1, 'g', 'T', '<p>x</p>', 5, {hash}, 6);
insert into item_tombstone (feed_id, key, at) values (1, 'gone', 1);
insert into shelf_group (id, public_id, shelf_id, name, is_default, created_at, updated_at)
values (1, {id}, 1, 'Default', {yes}, 1, 2);
insert into subscription (public_id, shelf_id, feed_id, group_id, name, retention, created_at, updated_at)
values ({id}, 1, 1, 1, 'Mine', 86400000, 1, 2);
insert into follow (public_id, shelf_id, series_id, group_id, created_at, updated_at) values ({id}, 1, 1, 1, 1, 2);
insert into entry (shelf_id, feed_id, item_id, saved, sort_at, created_at) values (1, 1, 1, {yes}, 5, 6);
insert into entry (shelf_id, series_id, chapter_id, sort_at, created_at) values (1, 1, 1, 5, 6);
insert into progress (shelf_id, chapter_id, page, furthest_page, updated_at) values (1, 1, 3, 4, 1);
insert into bookmark (public_id, shelf_id, item_id, feed_id, title, content, created_at)
values ({id}, 1, 1, 1, 'T', '<p>x</p>', 1);
insert into event (shelf_id, kind, payload, created_at) values (1, 'entry', '{{}}', 1), (1, 'counts', '{{}}', 2);
insert into channel (id, public_id, shelf_id, kind, name, config, created_at, updated_at)
values (1, {id}, 1, 'webhook', 'Hook', '{{}}', 1, 2);
insert into surge (kind, of_id, since, count, floods) values ('item', 1, 2, 3, 1);
insert into task (queue, key, payload, run_at, created_at) values ('item-ingest', 'k', '{{}}', 1, 2);
insert into dead_letter (task_id, queue, key, payload, priority, error, error_code, attempts,
  first_failed_at, last_failed_at)
values (1, 'item-ingest', 'k', '{{}}', 2, 'no', 'x', 3, 1, 2);
insert into crawl_job (public_id, kind, source_id, source_name, source_slug, scheduled_at, created_at, updated_at)
values ({id}, 'targeted', 100001, 'S', 's', 1, 1, 2);
insert into activity (id, tenant_id, shelf_id, activity_type, resource_type, snapshot, created_at)
values (1, 1, 1, 'a', 'shelf', '{{}}', 1);
insert into invoice (id, public_id, tenant_id, amount_cents, currency, period_start, period_end, created_at)
values (1, {id}, 1, 500, 'USD', 0, 9, 1);
insert into invoice_item
  (tenant_id, invoice_id, shelf_id, activity_id, description, amount_cents, period_start, period_end, created_at)
values (1, 1, 1, 1, 'A month', 300, 0, 9, 1), (1, 1, 1, null, 'Another', 200, 0, 9, 1);
insert into credit (tenant_id, invoice_id, amount_cents, kind, reason, created_at) values (1, 1, 5, 'granted', 'x', 1);
insert into bolt11 (invoice_id, request, payment_hash, amount_msat, created_at, expires_at)
values (1, 'r', 'h', 7, 1, 2);
insert into intent (id, invoice_id, amount_cents, currency, outcome, created_at)
values ('pi', 1, 500, 'USD', 'paid', 1);
insert into refund (intent_id, total_cents, invoice_id, amount_cents, credit_cents, created_at)
values ('pi', 5, 1, 5, 0, 1);
"""
WRITTEN = {
    "sqlite": {"id": "randomblob(16)", "hash": "randomblob(32)", "yes": "1"},
    "postgres": {
        "id": "decode(md5(random()::text), 'hex')",
        "hash": "decode(md5(random()::text) || md5(random()::text), 'hex')",
        "yes": "true",
    },
}
COLUMNS = {
    "sqlite": "select m.name, c.name from sqlite_schema as m, pragma_table_info(m.name) as c "
    "where m.type = 'table' and m.sql like 'create table%'",
    "postgres": "select table_name, column_name from information_schema.columns where table_schema = 'public'",
}

Rows = dict[str, tuple[tuple[str, ...], list[tuple[Any, ...]]]]
"""By table, its columns and what stands in them."""


async def asked(url: str, *questions: str) -> list[list[tuple[Any, ...]]]:
    if url.startswith("sqlite:"):
        with closing(apsw.Connection(str(path_of(url)))) as connection:
            return [list(connection.execute(question)) for question in questions]
    server = await asyncpg.connect(url)
    try:
        return [[tuple(row.values()) for row in await server.fetch(question)] for question in questions]
    finally:
        await server.close()


async def columns_of(url: str, engine: str) -> dict[str, tuple[str, ...]]:
    [found] = await asked(url, COLUMNS[engine])
    return {table: tuple(sorted(name for of, name in found if of == table)) for table, _ in found}


async def rows_of(url: str, columns: dict[str, tuple[str, ...]]) -> Rows:
    questions = [f'select {", ".join(names)} from "{table}"' for table, names in columns.items()]
    found = await asked(url, *questions)
    return {
        table: (names, sorted(rows, key=repr))
        for (table, names), rows in zip(columns.items(), found, strict=True)
        if rows
    }


async def test_no_step_loses_or_changes_a_row(empty_database_url, engine):
    """Step by step: each finds what the one before left, and leaves it as it was, in the columns that there were."""
    options, steps = DatabaseOptions(empty_database_url), available(engine)
    await migrate(options, now=0, known=steps[:1])
    await run_on(empty_database_url, BEFORE.format(**WRITTEN[engine]))
    for step in steps[1:]:
        columns = await columns_of(empty_database_url, engine)
        before = await rows_of(empty_database_url, columns)
        await migrate(options, now=0, known=steps[: step.version])
        kept = {table: names for table, names in columns.items() if table in before}
        for table in [table for number, table in REMOVES if number == step.version]:
            del before[table], kept[table]
        for table, names in kept.items():
            kept[table] = tuple(RENAMES.get((step.name, table, name), name) for name in names)
            before[table] = (kept[table], before[table][1])
        after = await rows_of(empty_database_url, kept)
        for ours in ("schema_migration", "sqlite_sequence"):  # which may number more tables from then on
            before.pop(ours, None), after.pop(ours, None)
        assert after == before, step.name


async def test_every_table_that_a_step_touches_had_rows(empty_database_url, engine):
    """Otherwise the test above would say nothing of it."""
    options, steps = DatabaseOptions(empty_database_url), available(engine)
    await migrate(options, now=0, known=steps[:1])
    await run_on(empty_database_url, BEFORE.format(**WRITTEN[engine]))
    columns = await columns_of(empty_database_url, engine)
    filled = await rows_of(empty_database_url, columns)
    touched = {name for step in steps[1:] for found in CHANGES.findall(step.sql.lower()) for name in found if name}
    assert touched & columns.keys() - filled.keys() == set()
