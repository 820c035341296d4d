"""Places of events across the migration that counts them for each shelf: who comes back misses and repeats nothing."""

from contextlib import aclosing
from functools import partial

import pytest

from tests.builders import NOON, a_public_id
from tests.db.test_job_events import q as rows
from tsuzuki.coord.wakeup import MemoryWakeup
from tsuzuki.db import DatabaseOptions, open_database
from tsuzuki.db.migrate import migrate
from tsuzuki.db.migration_steps import available
from tsuzuki.db.queries import parse_queries
from tsuzuki.inbox.events import Events
from tsuzuki.model.ids import ShelfId
from tsuzuki.shelves.events import JobChanged, NewEvent, add_events_tx

q = parse_queries(
    "tests",
    """
-- name: add_event
insert into event (shelf_id, kind, payload, created_at) select id, 'feed', cast(:payload as text), 7 from shelf;
-- name: former_ids
select txid || '-' || id from event order by txid, id;
-- name: swap
-- Written first, and committed by the last transaction.
update event set txid = (select max(txid) from event) + 1 where id = (select min(id) from event) and txid > 0;
-- name: shelf
select id from shelf;
-- name: add_delivery
insert into task (queue, key, payload, run_at, created_at) values ('delivery', 'a', '{"is_told":true}', 0, 0);
-- name: delivery
select payload from task;
""",
)


async def add_event_tx(tx, payload):
    await tx.run(q.add_event, payload=payload)


async def first_of(stream, count):
    for _ in range(count):
        yield await anext(stream)


@pytest.mark.parametrize("seen", [0, 1, 2, 3])
async def test_former_ids_are_read_on_from_without_gaps(empty_database_url, seen):
    options = DatabaseOptions(empty_database_url)
    steps = available("sqlite" if empty_database_url.startswith("sqlite") else "postgres")
    [this] = [step for step in steps if step.name == "event_places"]
    await migrate(options, now=0, known=[step for step in steps if step.version < this.version])
    db = await open_database(options)

    async def add_shelf(tx):
        for query in (rows.add_tenant, rows.add_shelf):
            await tx.run(query, public_id=a_public_id())

    await db.with_tx(add_shelf)
    for payload in "012":
        await db.with_tx(partial(add_event_tx, payload=payload))
    await db.with_tx(lambda tx: tx.run(q.swap))
    await db.with_tx(lambda tx: tx.run(q.add_delivery))
    former = ["0-0", *await db.read(lambda tx: tx.many(str, q.former_ids))]
    order = "012" if db.engine == "sqlite" else "120"
    await db.close()
    await migrate(options, now=0)
    db = await open_database(options)
    assert await db.read(lambda tx: tx.one(str, q.delivery)) == '{"is_notified":true}'
    shelf = await db.read(lambda tx: tx.one(ShelfId, q.shelf))
    news = JobChanged(id="a", kind="targeted", status="done", source="b", comic=None)
    await db.with_tx(lambda tx: add_events_tx(tx, [NewEvent(shelf, news)], NOON))
    async with aclosing(Events(db, MemoryWakeup(), lambda: NOON).follow(shelf, former[seen], with_jobs=True)) as stream:
        told = [each async for each in first_of(stream, len(order) - seen + 2)]
    assert '"missed":false' in told[0].data
    assert [each.data for each in told[1:-1]] == list(order[seen:])
    assert told[-1].kind == "job"
    await db.close()
