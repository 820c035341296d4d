"""Readers, feeds, items and entries by bulk statements, for `bench.scale`: every shelf follows as many feeds.

Each feed has as many followers as each other one. Items have a title and 200 characters of text, and no words in the
index: what a real item takes is measured with real ones.
"""

from functools import partial
from itertools import pairwise
from typing import Any

import asyncpg
import msgspec

from tests.delivery.crowd import add_shelves, spans_of
from tsuzuki.db import Database, Tx
from tsuzuki.db.queries import Query, parse_queries
from tsuzuki.db.statistics import refresh_statistics

FIRST = 10_000_000
"""Feeds and items have the ids from here on, above all that is added one by one."""
CHUNK = 10_000

q = parse_queries(
    "bench",
    """
-- fragment: numbers
with recursive number (n) as (select cast(:first as bigint) union all select n + 1 from number where n + 1 < :until)
-- name: add_feeds
insert into feed (id, link, title, created_at, updated_at)
{numbers} select :base + n, 'https://example.org/' || n, 'Feed ' || n, 1, 1 from number;
-- name: add_watches
insert into watch (feed_id, host, priority, next_check_at, last_checked_at, first_harvest_at, created_at)
{numbers} select :base + n, 'h' || n, 1 + n % 3, cast(:due as bigint), 1, 1, 1 from number;
-- name: make_due
update watch set next_check_at = 1, lease_until = null where feed_id >= :base;
-- name: put_off
update watch set next_check_at = 4000000000000, lease_until = null where feed_id >= :base;
-- name: add_items
insert into item (id, feed_id, key, title, link, content, published_at, sort_at, content_hash, created_at)
{numbers}
select :base + n, :base + n % :feeds, cast(n as text), 'Item ' || n, 'https://example.org/item/' || n,
  '<p>' || substr(hex(randomblob(100)), 1, 200) || '</p>', n, n, unhex('00'), 1
from number;
-- name: subscribe
insert into subscription (public_id, shelf_id, feed_id, group_id, created_at, updated_at)
select unhex(printf('%016x%016x', feed.id, shelf_group.shelf_id)), shelf_group.shelf_id, feed.id, shelf_group.id, 1, 1
from shelf_group
join json_each(cast(:places as text)) as place
join feed on feed.id = :base + (shelf_group.shelf_id + cast(place.value as bigint)) % :feeds
where shelf_group.shelf_id >= :first and shelf_group.shelf_id < :until;
-- name: add_entries
insert into entry (shelf_id, feed_id, item_id, sort_at, created_at)
select subscription.shelf_id, item.feed_id, item.id, item.sort_at, 1
from subscription cross join item
where subscription.shelf_id >= :first and subscription.shelf_id < :until and subscription.feed_id >= :base
  and item.feed_id = subscription.feed_id
order by subscription.shelf_id, item.id;
-- name: size
select (page_count - freelist_count) * page_size
from pragma_page_count(), pragma_freelist_count(), pragma_page_size();
""",
    """
-- fragment: numbers
with number (n) as (select generate_series(cast(:first as bigint), cast(:until as bigint) - 1))
-- name: add_items
insert into item (id, feed_id, key, title, link, content, published_at, sort_at, content_hash, created_at)
{numbers}
select :base + n, :base + n % :feeds, cast(n as text), 'Item ' || n, 'https://example.org/item/' || n,
  '<p>' || repeat(md5(cast(n as text)), 6) || '</p>', n, n, decode('00', 'hex'), 1
from number;
-- name: subscribe
insert into subscription (public_id, shelf_id, feed_id, group_id, created_at, updated_at)
select decode(lpad(to_hex(feed.id), 16, '0') || lpad(to_hex(shelf_group.shelf_id), 16, '0'), 'hex'),
  shelf_group.shelf_id, feed.id, shelf_group.id, 1, 1
from shelf_group
cross join json_each(cast(:places as text)) as place
join feed on feed.id = :base + (shelf_group.shelf_id + cast(place.value as bigint)) % :feeds
where shelf_group.shelf_id >= :first and shelf_group.shelf_id < :until;
-- name: size
select pg_database_size(current_database());
""",
)


class Library(msgspec.Struct, frozen=True):
    """How much of what there is."""

    feeds: int
    items: int
    """Of each feed."""
    follows: int
    """Of each reader."""


class Growth(msgspec.Struct, frozen=True):
    """What the database grew by, in bytes: for each new shelf, subscription and entry."""

    shelf: float
    subscription: float
    entry: float


async def add_feeds(db: Database, library: Library) -> float:
    """The feeds and their items; bytes for each watched feed, without its items."""
    before = await size_of(db)
    for span in _spans(library.feeds):
        await _run(db, q.add_feeds, **span)
        await _run(db, q.add_watches, **span, due=4_000_000_000_000)
    each = (await size_of(db) - before) / library.feeds
    for span in _spans(library.feeds * library.items):
        await _run(db, q.add_items, **span, feeds=library.feeds)
    await refresh_statistics(db)
    return each


async def add_readers(db: Database, library: Library, readers: range) -> Growth:
    """Shelves with these numbers, what they follow, and their entries."""
    sizes, count = [await size_of(db)], len(readers)
    await add_shelves(db, readers)
    sizes.append(await size_of(db))
    places = [number * library.feeds // library.follows for number in range(library.follows)]
    for span in spans_of(readers, max(1, CHUNK // library.follows)):
        await _run(db, q.subscribe, **span, feeds=library.feeds, places=msgspec.json.encode(places).decode())
    sizes.append(await size_of(db))
    for span in spans_of(readers, max(1, CHUNK // (library.follows * library.items))):
        await _run(db, q.add_entries, **span)
    sizes.append(await size_of(db))
    await refresh_statistics(db)
    parts = [after - before for before, after in pairwise(sizes)]
    subscriptions = count * library.follows
    return Growth(parts[0] / count, parts[1] / subscriptions, parts[2] / (subscriptions * library.items))


async def size_of(db: Database) -> int:
    return await db.read(lambda tx: tx.one(int, q.size))


async def add_watches(db: Database, feeds: range) -> None:
    """More feeds with a watch each, which nobody follows."""
    for start in range(feeds.start, feeds.stop, 20 * CHUNK):
        span = {"first": start, "until": min(start + 20 * CHUNK, feeds.stop)}
        await _run(db, q.add_feeds, **span)
        await _run(db, q.add_watches, **span, due=4_000_000_000_000)


async def follow_as_others(db: Database, library: Library, shelf: int) -> None:
    """A shelf of somebody who signs in follows as many feeds as each of the others, and has their entries."""
    places = [number * library.feeds // library.follows for number in range(library.follows)]
    span: dict[str, Any] = {"first": shelf, "until": shelf + 1}
    await _run(db, q.subscribe, **span, feeds=library.feeds, places=msgspec.json.encode(places).decode())
    await _run(db, q.add_entries, **span)


async def make_due(db: Database, *, is_due: bool) -> None:
    await _run(db, q.make_due if is_due else q.put_off)


async def _run(db: Database, query: Query, **values: Any) -> None:
    known = {"base": FIRST, **values}
    await db.with_tx(partial(_run_tx, query=query, values={name: known[name] for name in query.sqlite.params}))


async def _run_tx(tx: Tx, *, query: Query, values: dict[str, Any]) -> None:
    await tx.run(query, **values)


def _spans(count: int) -> list[dict[str, int]]:
    return [{"first": start, "until": min(start + CHUNK, count)} for start in range(0, count, CHUNK)]


# -- partitions


async def partition_entries(url: str, partitions: int) -> None:
    """Make `entry` of an empty PostgreSQL database a table of so many hash partitions by shelf.

    Its key then has the shelf too, so what refers to an entry by its number alone can no longer be a foreign key.
    """
    connection = await asyncpg.connect(url)
    try:
        async with connection.transaction():
            keys = await connection.fetch(_REFERENCES)
            indexes = [row[0] for row in await connection.fetch(_INDEXES)]
            triggers = [row[0] for row in await connection.fetch(_TRIGGERS)]
            for key in keys:
                await connection.execute(f"alter table {key['table']} drop constraint {key['name']}")
            await connection.execute(_PARTITION)
            for number in range(partitions):
                bounds = f"for values with (modulus {partitions}, remainder {number})"
                await connection.execute(f"create table entry_{number} partition of entry {bounds}")
            for statement in (*indexes, *triggers):
                await connection.execute(statement)
    finally:
        await connection.close()


_REFERENCES = """
select conrelid::regclass::text as table, conname as name from pg_constraint
where contype = 'f' and confrelid = 'entry'::regclass
"""
_INDEXES = """
select pg_get_indexdef(indexrelid) from pg_index where indrelid = 'entry'::regclass and not indisprimary
"""
_TRIGGERS = "select pg_get_triggerdef(oid) from pg_trigger where tgrelid = 'entry'::regclass and not tgisinternal"
_PARTITION = """
alter table entry rename to plain_entry;
alter sequence entry_id_seq rename to plain_entry_id_seq;
create sequence entry_id_seq;
create table entry (like plain_entry including defaults including constraints) partition by hash (shelf_id);
alter table entry alter column id set default nextval('entry_id_seq');
drop table plain_entry;
alter table entry add primary key (shelf_id, id);
alter table entry add foreign key (shelf_id) references shelf (id) on delete cascade;
alter table entry add foreign key (item_id) references item (id) on delete cascade;
alter table entry add foreign key (chapter_id) references chapter (id) on delete restrict;
"""
