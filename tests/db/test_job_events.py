"""Migration 0015: events of before stay, keep their places, and no place is used twice."""

import msgspec

from tests.builders import a_public_id
from tsuzuki.db import DatabaseOptions, open_database
from tsuzuki.db.migrate import migrate
from tsuzuki.db.migration_steps import available
from tsuzuki.db.queries import parse_queries

q = parse_queries(
    "tests",
    """
-- name: add_tenant
insert into tenant (public_id, name, anchor_at, created_at, updated_at) values (:public_id, 'A', 0, 0, 0);
-- name: add_shelf
insert into shelf (public_id, tenant_id, name, plan, created_at, updated_at)
select :public_id, id, 'Shelf', 'self-hosted', 0, 0 from tenant;
-- name: add_event
insert into event (shelf_id, kind, payload, created_at) select id, cast(:kind as text), '{}', 7 from shelf returning id;
-- name: forget
delete from event where id = :id;
-- name: events
select id, kind, created_at from event order by id;
""",
)


class Kept(msgspec.Struct, frozen=True):
    id: int
    kind: str
    created_at: int


async def test_events_of_before_stay_and_no_id_comes_again(empty_database_url):
    options = DatabaseOptions(empty_database_url)
    steps = available("sqlite" if empty_database_url.startswith("sqlite") else "postgres")
    [this] = [step for step in steps if step.name == "job_events"]
    await migrate(options, now=0, known=[step for step in steps if step.version < this.version])
    db = await open_database(options)

    async def fill(tx):
        for query in (q.add_tenant, q.add_shelf):
            await tx.run(query, public_id=a_public_id())
        kept = [await tx.one(int, q.add_event, kind=kind) for kind in ("entry", "counts", "feed")]
        newest = await tx.one(int, q.add_event, kind="entry")
        await tx.run(q.forget, id=newest)
        return kept, newest

    kept, newest = await db.with_tx(fill)
    await db.close()
    await migrate(options, now=0)
    db = await open_database(options)
    rows = await db.read(lambda tx: tx.many(Kept, q.events))
    assert rows == [Kept(event_id, kind, 7) for event_id, kind in zip(kept, ("entry", "counts", "feed"), strict=True)]
    assert await db.with_tx(lambda tx: tx.one(int, q.add_event, kind="job")) > newest
    await db.close()
