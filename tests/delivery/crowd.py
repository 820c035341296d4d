"""Very many shelves that follow one feed, made by bulk statements."""

import itertools
from collections.abc import Mapping
from functools import partial

from tests.builders import stored_feed, stored_shelf
from tsuzuki.db import Database, Tx
from tsuzuki.db.queries import Query, parse_queries
from tsuzuki.model.ids import FeedId

FIRST_SHELF = 1_000
"""Shelves of the crowd have the ids from here on."""
CHUNK = 5_000

q = parse_queries(
    "tests",
    """
-- fragment: numbers
with recursive number (n) as (select cast(:first as bigint) union all select n + 1 from number where n + 1 < :until)
-- name: add_shelves
insert into shelf (id, tenant_id, plan, public_id, name, synced, created_at, updated_at)
{numbers} select n, (select min(id) from tenant), 'self-hosted', unhex(printf('%032x', n)), 'Crowd ' || n, true, 1, 1
from number;
-- name: add_groups
insert into shelf_group (public_id, shelf_id, name, is_default, created_at, updated_at)
{numbers} select unhex(printf('%032x', n)), n, 'Default', true, 1, 1 from number;
-- name: subscribe
insert into subscription (public_id, shelf_id, feed_id, group_id, created_at, updated_at)
select unhex(printf('%016x%016x', cast(:feed_id as bigint), shelf_id)), shelf_id, cast(:feed_id as bigint), id, 1, 1
from shelf_group where shelf_id >= :first and shelf_id < :until;
""",
    """
-- name: add_shelves
insert into shelf (id, tenant_id, plan, public_id, name, synced, created_at, updated_at)
{numbers}
select n, (select min(id) from tenant), 'self-hosted', decode(lpad(to_hex(n), 32, '0'), 'hex'), 'Crowd ' || n, true,
  1, 1
from number;
-- name: add_groups
insert into shelf_group (public_id, shelf_id, name, is_default, created_at, updated_at)
{numbers} select decode(lpad(to_hex(n), 32, '0'), 'hex'), n, 'Default', true, 1, 1 from number;
-- name: subscribe
insert into subscription (public_id, shelf_id, feed_id, group_id, created_at, updated_at)
select decode(lpad(to_hex(cast(:feed_id as bigint)), 16, '0') || lpad(to_hex(shelf_id), 16, '0'), 'hex'), shelf_id,
  cast(:feed_id as bigint), id, 1, 1
from shelf_group where shelf_id >= :first and shelf_id < :until;
""",
)


async def add_crowd(db: Database, shelves: int) -> None:
    """So many shelves, which follow nothing."""
    await stored_shelf(db)  # and its tenant
    await add_shelves(db, range(shelves))


async def add_shelves(db: Database, shelves: range) -> None:
    """Those with these numbers, with their groups; there must be a tenant."""
    for span in spans_of(shelves, CHUNK):
        await db.with_tx(partial(_run_tx, query=q.add_shelves, params=span))
        await db.with_tx(partial(_run_tx, query=q.add_groups, params=span))


async def feed_of_crowd(db: Database, shelves: int, link: str | None = None) -> FeedId:
    """A feed that each of them follows."""
    feed = await stored_feed(db, link)
    for span in spans_of(range(shelves), CHUNK):
        await db.with_tx(partial(_run_tx, query=q.subscribe, params={"feed_id": feed, **span}))
    return feed


async def _run_tx(tx: Tx, *, query: Query, params: Mapping[str, int]) -> None:
    await tx.run(query, **params)


def spans_of(shelves: range, most: int) -> list[dict[str, int]]:
    """The ids of these, counted from the first of the crowd, so many at a time."""
    places = [*range(shelves.start, shelves.stop, most), shelves.stop]
    return [{"first": FIRST_SHELF + one, "until": FIRST_SHELF + other} for one, other in itertools.pairwise(places)]
