"""A feed or series that more follow than one small transaction takes, and a worker that is led step by step."""

from typing import Any

from tests.builders import NOON
from tests.delivery.builders import entries_of
from tests.ingest.builders import claimed_all
from tsuzuki.coord.wakeup import MemoryWakeup
from tsuzuki.db import Database
from tsuzuki.db.queries import parse_queries
from tsuzuki.delivery.portions import Deliverer
from tsuzuki.delivery.tasks import DELIVERIES, Delivery
from tsuzuki.model.ids import FeedId, PublicId, ShelfId
from tsuzuki.model.times import SECOND, Millis
from tsuzuki.queue.tasks import Task

MOST = 4
"""Entries in a portion of these tests."""
LATER = Millis(NOON + 5 * SECOND)
"""When the portions are delivered; those who come and go meanwhile do it a little earlier."""

q = parse_queries(
    "tests",
    """
-- name: refuse_entries
create trigger poison before insert on entry when new.shelf_id = (select max(id) from shelf)
begin select raise(abort, 'poison'); end;
-- name: accept_entries
drop trigger poison;
-- name: suspend
update subscription set suspended_at = :at where shelf_id = :shelf_id;
-- name: hold
update follow set held_at = :at where shelf_id = :shelf_id;
-- name: subscription
select public_id from subscription where shelf_id = :shelf_id and feed_id = :feed_id;
-- name: followed
select public_id from follow where shelf_id = :shelf_id;
-- name: bury
insert into entry_tombstone (shelf_id, feed_id, key, at) values (:shelf_id, :feed_id, :key, 1);
-- name: drop_items
delete from item where feed_id = :feed_id and key <> :but;
-- name: lose
update task set losses = 2, attempts = 2 where queue = 'delivery';
-- name: count_losses
select max(losses + attempts) from task where queue = 'delivery';
-- name: count_entries
select count(*) from entry;
-- name: doubled
select count(*) from (select 1 as one from event where kind = 'entry' group by shelf_id having count(*) > 1) as twice;
""",
    """
-- name: refuse_entries
create function poison() returns trigger language plpgsql as $$
begin if new.shelf_id = (select max(id) from shelf) then raise exception 'poison'; end if; return new; end $$;
create trigger poison before insert on entry for each row execute function poison();
-- name: accept_entries
drop trigger poison on entry;
""",
)


def a_deliverer(db: Database, most: int = MOST, wakeup: MemoryWakeup | None = None) -> Deliverer:
    wake = (wakeup or MemoryWakeup()).wake
    return Deliverer(db, lambda: LATER, after_commit=wake, most=most)


async def claim_portions(db: Database) -> list[Task[Delivery]]:
    return await claimed_all(db, DELIVERIES, now=LATER)


async def step(db: Database, most: int = MOST) -> int:
    """A new worker does what is due, one portion of each delivery; how many those were."""
    tasks = await claim_portions(db)
    for task in tasks:
        await a_deliverer(db, most).handle(task)
    return len(tasks)


async def deliver_all(db: Database, most: int = MOST) -> int:
    """To the end; how many portions it took."""
    count = 0
    while done := await step(db, most):
        count += done
    return count


async def counts(db: Database, shelves: list[ShelfId]) -> list[int]:
    """How many entries each shelf has."""
    return [len(await entries_of(db, shelf)) for shelf in shelves]


async def change(db: Database, query: Any, **params: Any) -> None:
    await db.with_tx(lambda tx: tx.run(query, **params))


async def subscription_of(db: Database, shelf: ShelfId, feed: FeedId) -> PublicId:
    return await db.read(lambda tx: tx.one(PublicId, q.subscription, shelf_id=shelf, feed_id=feed))


async def follow_of(db: Database, shelf: ShelfId) -> PublicId:
    return await db.read(lambda tx: tx.one(PublicId, q.followed, shelf_id=shelf))
