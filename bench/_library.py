"""A library as large as is wanted, made by bulk statements: it grows from size to size, nothing is made twice.

One reader follows all feeds and has every item; a hundred others share the feeds out among themselves. That one also
follows thousands of feeds without an item: a search looks at the names of all.
"""

import random
from functools import partial

import msgspec

from tests.builders import NOON, a_public_id, stored_feed, stored_watch
from tests.delivery.builders import a_reader, subscribe
from tsuzuki.db import Database, Tx
from tsuzuki.db.fulltext import words_of
from tsuzuki.db.queries import parse_queries
from tsuzuki.db.statistics import refresh_statistics
from tsuzuki.model.ids import FeedId, ShelfId
from tsuzuki.model.times import MINUTE

FEEDS = 200
QUIET_FEEDS = 4_800
"""Without an item; only the one reader follows them."""
SHELVES = 100
BODIES = 1_000
"""Different texts; each item has one of them, and a word of its own."""
CHUNK = 20_000
COMMON = ["river", "stone", "window", "morning", "letter", "garden", "winter", "engine", "silver", "market"]
RARE = [f"rare{number}" for number in range(3_000)]

q = parse_queries(
    "bench",
    """
-- name: make_bodies
create table bench_body (id bigint primary key, title text, content text, body text, vector text);
-- name: add_bodies
insert into bench_body (id, title, content, body, vector)
select cast(value ->> 'id' as bigint), value ->> 'title', value ->> 'content', value ->> 'body', value ->> 'vector'
from json_each(cast(:rows as text));
-- name: add_feeds
insert into feed (link, title, created_at, updated_at)
select value ->> 'link', value ->> 'title', cast(:now as bigint), cast(:now as bigint)
from json_each(cast(:rows as text));
-- name: add_watches
insert into watch (feed_id, host, next_check_at, created_at)
select feed.id, 'example.org', cast(:now as bigint), cast(:now as bigint)
from json_each(cast(:rows as text)) as wanted join feed on feed.link = wanted.value ->> 'link';
-- name: follow_feeds
insert into subscription (public_id, shelf_id, feed_id, group_id, created_at, updated_at)
select unhex(wanted.value ->> 'public_id'), shelf_group.shelf_id, feed.id, shelf_group.id,
  cast(:now as bigint), cast(:now as bigint)
from json_each(cast(:rows as text)) as wanted
join feed on feed.link = wanted.value ->> 'link'
join shelf_group on shelf_group.shelf_id = :shelf_id and shelf_group.is_default;
-- fragment: numbers
with recursive number (n) as (select cast(:first as bigint) union all select n + 1 from number where n + 1 < :until)
-- name: add_items
insert into item (id, feed_id, key, title, link, content, published_at, sort_at, content_hash, created_at)
{numbers}
select n, cast(:feed as bigint) + n % 200, cast(n as text), bench_body.title, 'https://example.org/' || n,
  '<p>' || bench_body.content || ' item' || n || '</p>', :now + n * :minute, :now + n * :minute, unhex('00'), :now
from number cross join bench_body where bench_body.id = n % 1000;
-- name: index_items
insert into item_search (rowid, title, body)
{numbers}
select n, bench_body.title, bench_body.body || ' item' || n
from number cross join bench_body where bench_body.id = n % 1000;
-- name: add_entries
insert into entry (shelf_id, feed_id, item_id, sort_at, created_at)
{numbers}
select subscription.shelf_id, item.feed_id, item.id, item.sort_at, :now
from number cross join item cross join subscription
where item.id = n and subscription.feed_id = item.feed_id;
-- name: drop_index
select 1;
-- name: make_index
select 1;
""",
    """
-- fragment: numbers
with number (n) as (select generate_series(cast(:first as bigint), cast(:until as bigint) - 1))
-- name: index_items
insert into item_search (item_id, document)
{numbers}
select n, cast(bench_body.vector || ' ''item' || n || ''':60' as tsvector)
from number cross join bench_body where bench_body.id = n % 1000;
-- name: drop_index
drop index item_search_document;
-- name: make_index
create index item_search_document on item_search using gin (document);
""",
)


class LibraryUsers(msgspec.Struct, frozen=True):
    """Who reads in it."""

    feed: FeedId
    """The first; the others follow."""
    one: ShelfId
    """Has everything."""
    some: ShelfId
    """One of a hundred."""


async def build(db: Database, one: ShelfId | None = None) -> LibraryUsers:
    """Feeds and readers, without an item; the reader of everything is new if there is none yet."""
    feeds = [await stored_feed(db) for _ in range(FEEDS)]
    assert feeds == list(range(feeds[0], feeds[0] + FEEDS))
    for feed in feeds:
        await stored_watch(db, feed)
    one = one or await a_reader(db)
    for feed in feeds:
        await subscribe(db, one, feed)
    await db.with_tx(partial(_add_quiet_feeds_tx, shelf_id=one))
    others = [await a_reader(db, feeds=feeds[number::SHELVES]) for number in range(SHELVES)]
    await db.with_tx(lambda tx: tx.run(q.make_bodies))
    await db.with_tx(_add_bodies_tx)
    return LibraryUsers(feeds[0], one, others[0])


async def grow(db: Database, case: LibraryUsers, first: int, until: int) -> None:
    """Items with these numbers, indexed and on the shelves, and what the nightly upkeep does after them."""
    await db.with_tx(lambda tx: tx.run(q.drop_index))
    for start in range(first, until, CHUNK):
        numbers = {"first": start, "until": min(start + CHUNK, until)}
        await db.with_tx(partial(_add_items_tx, case=case, numbers=numbers))
    await db.with_tx(lambda tx: tx.run(q.make_index))
    await refresh_statistics(db)


async def _add_items_tx(tx: Tx, *, case: LibraryUsers, numbers: dict[str, int]) -> None:
    await tx.run(q.add_items, feed=case.feed, now=NOON, minute=MINUTE, **numbers)
    await tx.run(q.index_items, **numbers)
    await tx.run(q.add_entries, now=NOON, **numbers)


async def _add_quiet_feeds_tx(tx: Tx, *, shelf_id: ShelfId) -> None:
    rows = [
        {"public_id": a_public_id(), "link": f"https://quiet{number}.example.org/feed.xml", "title": f"Quiet {number}"}
        for number in range(QUIET_FEEDS)
    ]
    await tx.bulk(int, q.add_feeds, rows, now=NOON)
    await tx.bulk(int, q.add_watches, rows, now=NOON)
    await tx.bulk(int, q.follow_feeds, rows, now=NOON, shelf_id=shelf_id)


async def _add_bodies_tx(tx: Tx) -> None:
    rng = random.Random(1)
    rows = []
    for number in range(BODIES):
        title = rng.choices(COMMON, k=2) + rng.choices(RARE, k=2)
        body = rng.choices(COMMON, k=10) + rng.choices(RARE, k=30)
        indexed = words_of(tx.engine, title, body)
        rows.append(
            {
                "id": number,
                "title": " ".join(title),
                "content": " ".join(body),
                "body": indexed.body,
                "vector": indexed.vector,
            }
        )
    await tx.run(q.add_bodies, rows=rows)
