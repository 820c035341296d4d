"""Migration 0002: who shared a shelf keeps it, nothing is lost, and each is offered a shelf of their own (R91)."""

import msgspec

from tests.db.test_migrate import run_on
from tsuzuki.db import DatabaseOptions, open_database
from tsuzuki.db.migrate import migrate
from tsuzuki.db.migration_steps import available
from tsuzuki.db.queries import parse_queries

BEFORE = """
insert into tenant (id, public_id, name, anchor_at, created_at, updated_at)
values (1, {id}, 'Household', 0, 0, 0), (2, {id}, 'Single', 0, 0, 0), (3, {id}, 'Nobody', 0, 0, 0);
insert into shelf (id, public_id, tenant_id, name, plan, created_at, updated_at) values
  (1, {id}, 1, 'Main', 'self-hosted', 0, 0), (2, {id}, 1, 'Chosen', 'self-hosted', 0, 0),
  (3, {id}, 1, 'Besides', 'self-hosted', 0, 0), (4, {id}, 2, 'Main', 'self-hosted', 0, 0),
  (5, {id}, 3, 'Main', 'self-hosted', 0, 0);
insert into user_account (id, public_id, tenant_id, default_shelf_id, username, role, created_at, updated_at) values
  (1, {id}, 1, null, 'first', 'admin', 5, 5), (2, {id}, 1, 1, 'second', 'reader', 6, 6),
  (3, {id}, 1, 2, 'third', 'reader', 7, 7), (4, {id}, 2, null, 'single', 'reader', 8, 8);
insert into shelf_group (id, public_id, shelf_id, name, is_default, created_at, updated_at)
values (1, {id}, 1, 'Default', {yes}, 0, 0);
insert into feed (id, link, title, created_at, updated_at) values (1, 'https://f.example/', 'F', 0, 0);
insert into item (id, feed_id, key, title, sort_at, content_hash, created_at) values (1, 1, 'g', 'T', 0, {hash}, 0);
insert into subscription (public_id, shelf_id, feed_id, group_id, created_at, updated_at) values ({id}, 1, 1, 1, 0, 0);
insert into entry (shelf_id, feed_id, item_id, sort_at, created_at) values (1, 1, 1, 0, 0);
insert into channel (id, public_id, shelf_id, kind, name, config, created_at, updated_at)
values (1, {id}, 1, 'webhook', 'Shared', '{{}}', 0, 0), (2, {id}, 4, 'webhook', 'Own', '{{}}', 0, 0);
"""

q = parse_queries(
    "test",
    """
-- name: members
select shelf_id, user_id, role from shelf_member order by shelf_id, user_id;
-- name: offered
select id from user_account where is_offered_shelf order by id;
-- name: channels
select channel.id, shelf_member.user_id from channel
left join shelf_member on shelf_member.id = channel.member_id order by channel.id;
-- name: entries
select count(*) as total from entry where shelf_id = 1 and unread;
""",
)


class MemberRow(msgspec.Struct, frozen=True):
    shelf_id: int
    user_id: int
    role: str


class ChannelRow(msgspec.Struct, frozen=True):
    id: int
    user_id: int | None


async def test_people_keep_the_shelf_that_they_shared(empty_database_url, engine):
    """Whoever read from it, by choice or by default, owns it; one that was nobody's home stays everybody's."""
    options = DatabaseOptions(empty_database_url)
    await migrate(options, now=0, known=available(engine)[:1])
    made = {
        "sqlite": {"id": "randomblob(16)", "yes": "1", "hash": "zeroblob(8)"},
        "postgres": {"id": "decode(md5(random()::text), 'hex')", "yes": "true", "hash": "'\\x00'::bytea"},
    }[engine]
    await run_on(empty_database_url, BEFORE.format(**made))
    await migrate(options, now=0)
    db = await open_database(options)
    try:
        members = [msgspec.structs.astuple(one) for one in await db.read(lambda tx: tx.many(MemberRow, q.members))]
        offered = await db.read(lambda tx: tx.many(int, q.offered))
        channels = [msgspec.structs.astuple(one) for one in await db.read(lambda tx: tx.many(ChannelRow, q.channels))]
        unread = await db.read(lambda tx: tx.one(int, q.entries))
    finally:
        await db.close()
    everybody = [(3, 1, "owner"), (3, 2, "owner"), (3, 3, "owner")]
    assert members == [(1, 1, "owner"), (1, 2, "owner"), (2, 3, "owner"), *everybody, (4, 4, "owner")]
    assert offered == [1, 2]  # who has a shelf to themselves needs no other
    assert channels == [(1, None), (2, 4)]
    assert unread == 1
