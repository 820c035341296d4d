"""Migration 0003: what was stored before stays as it was."""

import msgspec

from tests.builders import a_public_id
from tsuzuki.db import DatabaseOptions, open_database
from tsuzuki.db.migrate import migrate
from tsuzuki.db.migration_steps import available
from tsuzuki.db.queries import parse_queries

before = parse_queries(
    "tests",
    """
-- name: add_tenant
insert into tenant (public_id, name, anchor_at, created_at, updated_at) values (:public_id, 'A', 0, 0, 0);
-- name: add_shelf
insert into shelf (public_id, tenant_id, name, plan, created_at, updated_at)
select :public_id, id, 'Shelf', 'self-hosted', 0, 0 from tenant;
-- name: add_group
insert into shelf_group (public_id, shelf_id, name, is_default, created_at, updated_at)
select :public_id, id, 'Default', true, 0, 0 from shelf;
-- name: add_feed
insert into feed (link, title, created_at, updated_at) values ('https://example.org/', 'A feed', 5, 6);
-- name: add_subscription
insert into subscription (public_id, shelf_id, feed_id, group_id, created_at, updated_at)
select :public_id, shelf_group.shelf_id, feed.id, shelf_group.id, 0, 0 from feed cross join shelf_group;
-- name: add_item
insert into item (feed_id, key, title, sort_at, content_hash, created_at) select id, '1', 'One', 7, :hash, 8 from feed;
-- name: add_entry
insert into entry (shelf_id, feed_id, item_id, unread, saved, sort_at, created_at)
select shelf.id, item.feed_id, item.id, false, true, 7, 8 from item cross join shelf;
-- name: add_tombstone
insert into item_tombstone (feed_id, key, at) select id, 'gone', 9 from feed;
-- name: kept
select item.key, item.title, item.feed_id is not null as is_held, entry.unread, entry.saved, feed.described_at,
  tally.entries, entry_tombstone.key as gone, entry_tombstone.at
from item join entry on entry.item_id = item.id join feed on feed.id = item.feed_id
join tally on tally.shelf_id = entry.shelf_id and tally.of_id = feed.id
join entry_tombstone on entry_tombstone.shelf_id = entry.shelf_id and entry_tombstone.feed_id = feed.id;
-- name: add_detached
insert into item (key, title, sort_at, content_hash, created_at) values ('1', 'Detached', 7, :hash, 8);
-- name: count_items
select count(*) from item;
-- name: drop_subscriptions
delete from subscription;
-- name: drop_feed
delete from feed;
""",
)


class Kept(msgspec.Struct, frozen=True):
    key: str
    title: str
    is_held: bool
    unread: bool
    saved: bool
    described_at: int
    entries: int
    gone: str
    at: int


async def test_rows_of_before_stay_and_tombstones_become_the_shelves(empty_database_url):
    options = DatabaseOptions(empty_database_url)
    steps = available("sqlite" if empty_database_url.startswith("sqlite") else "postgres")
    await migrate(options, now=0, known=[step for step in steps if step.version < 3])
    db = await open_database(options)

    async def fill(tx):
        await tx.run(before.add_feed)
        for query in (before.add_tenant, before.add_shelf, before.add_group, before.add_subscription):
            await tx.run(query, public_id=a_public_id())
        await tx.run(before.add_item, hash=b"0" * 16)
        await tx.run(before.add_entry)
        await tx.run(before.add_tombstone)

    await db.with_tx(fill)
    await db.close()
    await migrate(options, now=0)
    db = await open_database(options)
    [kept] = await db.read(lambda tx: tx.many(Kept, before.kept))
    assert kept == Kept("1", "One", True, False, True, 6, 1, "gone", 9)
    for _ in range(2):
        await db.with_tx(lambda tx: tx.run(before.add_detached, hash=b"0" * 16))
    await db.with_tx(lambda tx: tx.run(before.drop_subscriptions))
    await db.with_tx(lambda tx: tx.run(before.drop_feed))
    assert await db.read(lambda tx: tx.one(int, before.count_items)) == 2
    await db.close()
