"""What very many follow is delivered in portions: once to everyone, whoever dies, comes, goes or fails meanwhile."""

import asyncio

import msgspec
import pytest

from tests.builders import NOON, stored_feed, stored_watch
from tests.catalogue.merge_builders import a_merging
from tests.delivery.builders import (
    a_channel,
    a_followed_feed,
    a_followed_series,
    a_reader,
    entries_of,
    events_of,
    items_tx,
    publish,
    release,
    task_keys,
)
from tests.delivery.portion_builders import (
    LATER,
    MOST,
    a_deliverer,
    change,
    claim_portions,
    counts,
    deliver_all,
    follow_of,
    q,
    step,
    subscription_of,
)
from tests.shelves.builders import shelf_deps
from tests.shelves.library_builders import a_published_series, public_id_of
from tests.waiting import eventually
from tsuzuki.accounts.types import SYSTEM
from tsuzuki.coord.wakeup import MemoryWakeup
from tsuzuki.db import Tx
from tsuzuki.delivery import portions
from tsuzuki.delivery.fanout import FLOOD, Delivered, NewBatch, deliver_feeds_tx, large_ones
from tsuzuki.delivery.portions import SLICE, deliver_portion_tx
from tsuzuki.delivery.tasks import DELIVERIES
from tsuzuki.inbox.events import EventCursor, next_events_tx
from tsuzuki.model.times import MINUTE, Millis
from tsuzuki.polling.moved_feeds import lock_moving_feed_tx, move_feed_tx
from tsuzuki.queue.errors import LeaseLost
from tsuzuki.queue.leases import WorkerContext
from tsuzuki.queue.policy import DELIVERY
from tsuzuki.queue.service import Tasks
from tsuzuki.queue.store import TaskFailure, fail_tx
from tsuzuki.queue.worker import Worker
from tsuzuki.shelves.backfill import KNOWN_ITEMS
from tsuzuki.shelves.events import EVENTS_WAKEUP, counts_changed_tx
from tsuzuki.shelves.follows import Follows
from tsuzuki.shelves.subscriptions import Subscriptions
from tsuzuki.shelves.types import FollowRequest, NewSubscription, SubscriptionChange

pytestmark = pytest.mark.both_engines

LINK = "https://example.org/feed"
MEANWHILE = Millis(NOON + 1)
DIED = TaskFailure(error="gone", code="lost", run_at=NOON, is_counted=False)


@pytest.fixture
def feeds(db):
    return Subscriptions(shelf_deps(db, lambda: MEANWHILE))


@pytest.fixture
def follows(db):
    return Follows(shelf_deps(db, lambda: MEANWHILE))


async def a_feed_with(db, readers: int):
    feed = await stored_feed(db, LINK)
    await stored_watch(db, feed)
    return feed, [await a_reader(db, feeds=[feed]) for _ in range(readers)]


# -- the portions


async def test_small_deliveries_are_part_of_ingest_and_leave_no_task(db):
    feed, readers = await a_followed_feed(db, readers=2)
    assert await publish(db, feed, "ab", most=MOST) == Delivered(4, (EVENTS_WAKEUP,))
    assert await counts(db, readers) == [2, 2]
    assert await task_keys(db, DELIVERIES.name) == []


async def test_i2_large_deliveries_reach_everyone_once_in_portions(db):
    feed, readers = await a_followed_feed(db, readers=5)
    assert await publish(db, feed, "ab", most=MOST) == Delivered(0, (DELIVERIES.name,))
    found = []
    while await step(db):
        found.append(await counts(db, readers))
    assert found == [[2, 2, 0, 0, 0], [2, 2, 2, 2, 0], [2, 2, 2, 2, 2]]
    assert [len(await events_of(db, reader)) for reader in readers] == [1] * 5
    assert [event.payload["count"] for event in await events_of(db, readers[4])] == [2]


async def test_r92_what_comes_in_portions_arrived_when_it_was_stored(db):
    feed, readers = await a_followed_feed(db, readers=5)
    harvest = Millis(NOON - MINUTE)

    async def ingest(tx: Tx) -> None:
        old, new = await items_tx(tx, feed, "ab"), await items_tx(tx, feed, "cd")
        quiet = NewBatch("item", feed, tuple(old), is_quiet=True, arrived_at=harvest)
        await deliver_feeds_tx(tx, [quiet, NewBatch("item", feed, tuple(new), is_quiet=False)], NOON, most=MOST)

    await db.with_tx(ingest)
    await deliver_all(db)
    for reader in readers:
        assert [entry.created_at for entry in await entries_of(db, reader)] == [harvest] * 2 + [NOON] * 2
        assert [event.payload.get("is_quiet", False) for event in await events_of(db, reader)] == [True, False]


async def test_chapters_come_in_portions_too(db):
    series, readers = await a_followed_series(db, readers=5)
    assert await release(db, series, [1, 2], most=MOST) == Delivered(0, (DELIVERIES.name,))
    assert await deliver_all(db) == 3
    assert await counts(db, readers) == [2] * 5
    assert [len(await events_of(db, reader)) for reader in readers] == [1] * 5


async def test_r8_a_large_back_catalogue_notifies_in_portions_without_entries(db):
    series, readers = await a_followed_series(db, readers=5)
    for start in (1, 101):
        await release(db, series, range(start, start + 100), first=True, most=MOST)
    assert await deliver_all(db) == 4
    for reader in readers:
        assert [event.payload["available"] for event in await events_of(db, reader)] == [100, 200]
    assert await counts(db, readers) == [0] * 5
    assert await task_keys(db, "notifications") == []


async def test_a_large_feed_does_not_delay_a_small_one(db):
    large, many = await a_followed_feed(db, readers=5)
    small, few = await a_followed_feed(db, readers=1)

    async def ingest(tx: Tx) -> Delivered:
        stored = {feed: tuple(await items_tx(tx, feed, "ab")) for feed in (large, small)}
        batches = [NewBatch("item", feed, items, is_quiet=False) for feed, items in stored.items()]
        return await deliver_feeds_tx(tx, batches, NOON, most=MOST)

    assert await db.with_tx(ingest) == Delivered(2, (EVENTS_WAKEUP, DELIVERIES.name))
    assert await counts(db, few) == [2]
    await deliver_all(db)
    assert await counts(db, many) == [2] * 5


def test_small_feeds_share_a_transaction_up_to_some_portions():
    assert large_ones({1: 10, 2: 11, 3: 10, 4: 10, 5: 10, 6: 1}, most=10) == {2, 6}


async def test_an_installment_beyond_a_portion_goes_shelf_by_shelf(db):
    feed, readers = await a_followed_feed(db, readers=2)
    await publish(db, feed, range(MOST + 1), most=MOST)
    assert await deliver_all(db) == 3
    assert await counts(db, readers) == [MOST + 1] * 2


async def test_portions_of_two_deliveries_of_one_feed_bring_both(db):
    feed, readers = await a_followed_feed(db, readers=5)
    await publish(db, feed, "a", most=MOST)
    await publish(db, feed, "b", most=MOST)
    await deliver_all(db)
    assert await counts(db, readers) == [2] * 5


async def test_others_write_and_hear_of_it_between_two_portions(db):
    feed, readers = await a_followed_feed(db, readers=60)
    other = await a_reader(db)
    await publish(db, feed, "a", most=1)
    wakeup = MemoryWakeup()
    context = WorkerContext(db=db, wakeup=wakeup, clock=lambda: LATER, name="w")
    worker = Worker(context, DELIVERIES, a_deliverer(db, 1, wakeup))
    running = asyncio.create_task(worker.run())

    async def has_begun() -> bool:
        return await counts(db, readers[:1]) == [1]

    async def has_heard() -> bool:
        return bool(await db.read(lambda tx: next_events_tx(tx, other, EventCursor(), most=1)))

    await eventually(has_begun)
    await db.with_tx(lambda tx: counts_changed_tx(tx, [other], LATER))
    await eventually(has_heard)
    assert await counts(db, readers[-1:]) == [0]
    worker.stop()
    await running


async def test_a_portion_pauses_for_those_who_write(db, monkeypatch):
    monkeypatch.setitem(SLICE, db.engine, 1)
    feed, readers = await a_followed_feed(db, readers=40)
    other = await a_reader(db)
    await publish(db, feed, "a", most=1)
    [task] = await claim_portions(db)

    async def mark(tx: Tx) -> int:
        await counts_changed_tx(tx, [other], LATER)
        return await tx.one(int, q.count_entries)

    delivering = asyncio.create_task(a_deliverer(db, 60).handle(task))
    assert await db.with_tx(mark) < 40
    await delivering
    assert await counts(db, readers) == [1] * 40
    assert await step(db) == 0


# -- crashes and failures


async def test_i4_a_worker_that_dies_within_a_portion_leaves_the_rest(db, monkeypatch):
    monkeypatch.setattr(portions, "LARGEST", 2)
    monkeypatch.setitem(SLICE, db.engine, 2)
    feed, readers = await a_followed_feed(db, readers=7)
    await publish(db, feed, "ab", most=MOST)
    [frozen] = await claim_portions(db)
    stale = msgspec.structs.replace(frozen)
    dying = a_deliverer(db, 12)
    await change(db, q.lose)
    for _ in range(3):
        await dying._deliver(frozen, 12)
    assert await counts(db, readers) == [2, 2, 2, 0, 0, 0, 0]
    assert await db.read(lambda tx: tx.one(int, q.count_losses)) == 0  # or the third that dies gives it up
    await db.with_tx(lambda tx: fail_tx(tx, frozen, DIED, now=NOON))
    for late in (frozen, stale):
        with pytest.raises(LeaseLost):
            await dying.handle(late)
    await deliver_all(db)
    assert await counts(db, readers) == [2] * 7
    assert [len(await events_of(db, reader)) for reader in readers] == [1] * 7


async def test_i3_a_worker_that_dies_between_portions_loses_and_doubles_nothing(db):
    feed, readers = await a_followed_feed(db, readers=7)
    await publish(db, feed, "ab", most=MOST)
    for _ in range(3):
        await step(db)
        [held] = await claim_portions(db)  # and dies with it
        await db.with_tx(lambda tx, held=held: fail_tx(tx, held, DIED, now=NOON))
    await deliver_all(db)
    assert await counts(db, readers) == [2] * 7
    assert await db.read(lambda tx: tx.one(int, q.doubled)) == 0


async def test_i4_a_worker_that_lost_its_lease_delivers_nothing(db):
    feed, readers = await a_followed_feed(db, readers=5)
    await publish(db, feed, "ab", most=MOST)
    [frozen] = await claim_portions(db)
    await db.with_tx(lambda tx: fail_tx(tx, frozen, DIED, now=NOON))
    [other] = await claim_portions(db)
    with pytest.raises(LeaseLost):
        await a_deliverer(db).handle(frozen)
    assert await counts(db, readers) == [0] * 5
    await a_deliverer(db).handle(other)
    with pytest.raises(LeaseLost):
        await a_deliverer(db).handle(frozen)
    await deliver_all(db)
    assert await counts(db, readers) == [2] * 5
    assert [len(await events_of(db, reader)) for reader in readers] == [1] * 5


async def test_r55_a_failed_portion_dead_letters_and_replay_delivers_the_rest(db):
    feed, readers = await a_followed_feed(db, readers=5)
    await a_channel(db, readers[0])
    await change(db, q.refuse_entries)
    await publish(db, feed, "ab", most=MOST)
    wakeup = MemoryWakeup()
    queue = msgspec.structs.replace(DELIVERIES, settings=msgspec.structs.replace(DELIVERY, attempts=2, delays=()))
    context = WorkerContext(db=db, wakeup=wakeup, clock=lambda: LATER, name="w")
    worker, tasks = Worker(context, queue, a_deliverer(db, MOST, wakeup)), Tasks(db, wakeup, lambda: LATER)
    running = asyncio.create_task(worker.run(patience=2.0))
    try:

        async def is_given_up() -> bool:
            return bool(await tasks.letters())

        await eventually(is_given_up)
        [letter] = await tasks.letters()
        assert (letter.queue, letter.attempts) == (DELIVERIES.name, 2)
        assert await counts(db, readers) == [2, 2, 2, 2, 0]
        assert await task_keys(db, "notifications") == []
        await change(db, q.accept_entries)
        await tasks.replay(letter.id)

        async def has_all() -> bool:
            return await counts(db, readers) == [2] * 5

        await eventually(has_all)
    finally:
        worker.stop()
        await running
    assert [len(await events_of(db, reader)) for reader in readers] == [1] * 5
    assert len(await task_keys(db, "notifications")) == 2


async def test_what_is_removed_meanwhile_is_left_out_and_stops_nobody(db):
    feed, readers = await a_followed_feed(db, readers=5)
    await publish(db, feed, "ab", most=MOST)
    await step(db)
    await change(db, q.drop_items, feed_id=feed, but="b")
    await deliver_all(db)
    assert await counts(db, readers) == [1] * 5


async def test_rel_39d_a_portion_does_not_bring_back_former_entries(db):
    feed, readers = await a_followed_feed(db, readers=5)
    await change(db, q.bury, shelf_id=readers[3], feed_id=feed, key="a")
    await publish(db, feed, "ab", most=MOST)
    await deliver_all(db)
    assert await counts(db, readers) == [2, 2, 2, 1, 2]


# -- notices


async def test_r8_notices_of_each_installment_follow_the_last_portion(db):
    feed, readers = await a_followed_feed(db, readers=5)
    await a_channel(db, readers[0])
    await publish(db, feed, "ab", most=MOST)
    for _ in range(2):
        await step(db)
        assert await task_keys(db, "notifications") == []
    await step(db)
    assert len(await task_keys(db, "notifications")) == 2


async def test_nobody_who_is_not_told_makes_no_notices(db):
    feed, _ = await a_followed_feed(db, readers=5)
    await a_channel(db, await a_reader(db))
    await publish(db, feed, "ab", most=MOST)
    await deliver_all(db)
    assert await task_keys(db, "notifications") == []


async def test_r8_a_flood_of_large_deliveries_is_announced_once_to_everyone(db, notifier, receiver):
    feed, readers = await a_followed_feed(db, readers=3)
    for reader in readers:
        await notifier.webhook(reader, receiver.url)
    for batch in range(3):
        keys = [f"{batch}-{number}" for number in range(FLOOD + 1)]
        await publish(db, feed, keys, most=MOST, now=Millis(NOON + batch))
    await deliver_all(db)
    assert len(await task_keys(db, "notifications")) == 1
    notifier.clock.step(MINUTE)
    async with notifier.open():
        await notifier.until_idle()
    assert len(receiver.got) == 3


# -- who comes and goes meanwhile


@pytest.mark.parametrize("is_first", [True, False], ids=["before the first portion", "between two"])
async def test_r8_who_subscribes_meanwhile_has_the_newest_fifty_and_no_more(db, feeds, is_first):
    feed, readers = await a_feed_with(db, 3)
    await publish(db, feed, range(KNOWN_ITEMS + 10), most=MOST)
    if not is_first:
        await step(db)
    late = await a_reader(db)
    await feeds.add(late, NewSubscription(link=LINK))
    await deliver_all(db)
    assert await counts(db, [*readers, late]) == [KNOWN_ITEMS + 10] * 3 + [KNOWN_ITEMS]
    events = [event.payload["is_quiet"] for event in await events_of(db, late) if event.kind == "entry"]
    assert events == [True]


@pytest.mark.parametrize("place", [0, 4], ids=["who has it", "who waits for it"])
async def test_who_leaves_meanwhile_gets_nothing_and_can_have_all_back(db, feeds, place):
    feed, readers = await a_feed_with(db, 5)
    await publish(db, feed, "ab", most=MOST)
    await step(db)
    leaver = readers[place]
    mine = await subscription_of(db, leaver, feed)
    await feeds.delete(leaver, mine)
    await deliver_all(db)
    assert await counts(db, [leaver]) == [0]
    await feeds.restore(leaver, mine)
    assert await counts(db, readers) == [2] * 5


async def test_i9_leaving_after_a_portion_was_given_up_can_be_undone(db, feeds):
    feed, readers = await a_feed_with(db, 5)
    await publish(db, feed, "ab", most=MOST)
    [task] = await claim_portions(db)
    given_up = msgspec.structs.replace(DIED, run_at=None)
    assert await db.with_tx(lambda tx: fail_tx(tx, task, given_up, now=LATER))
    mine = await subscription_of(db, readers[4], feed)
    await feeds.delete(readers[4], mine)
    await feeds.restore(readers[4], mine)
    assert await counts(db, readers) == [0, 0, 0, 0, 2]


async def test_leaving_and_returning_before_a_portion_delivers_once(db, feeds):
    feed, readers = await a_feed_with(db, 5)
    await publish(db, feed, "ab", most=MOST)
    mine = await subscription_of(db, readers[4], feed)
    await feeds.delete(readers[4], mine)
    await feeds.restore(readers[4], mine)
    await deliver_all(db)
    assert await counts(db, readers) == [2] * 5


async def test_i9_a_changed_address_delivers_first_what_the_feed_brought(db, feeds):
    feed, readers = await a_feed_with(db, 1)
    await publish(db, feed, "abcdef", most=MOST)
    mine = await subscription_of(db, readers[0], feed)
    await feeds.change(readers[0], mine, SubscriptionChange(link="https://example.org/elsewhere"))
    await deliver_all(db)
    assert await counts(db, readers) == [6]


async def test_who_suspends_meanwhile_has_what_came_before(db, feeds):
    feed, readers = await a_feed_with(db, 5)
    await change(db, q.suspend, shelf_id=readers[3], at=NOON)
    await publish(db, feed, "ab", most=MOST)
    mine = await subscription_of(db, readers[4], feed)
    await feeds.change(readers[4], mine, SubscriptionChange(is_suspended=True))
    await deliver_all(db)
    await publish(db, feed, "c", now=Millis(NOON + MINUTE))
    assert await counts(db, readers) == [3, 3, 3, 0, 2]


async def test_who_resumes_meanwhile_has_it_once(db, feeds):
    feed, readers = await a_feed_with(db, 5)
    await change(db, q.suspend, shelf_id=readers[4], at=NOON)
    await publish(db, feed, "ab", most=MOST)
    await step(db)
    mine = await subscription_of(db, readers[4], feed)
    await feeds.change(readers[4], mine, SubscriptionChange(is_suspended=False))
    assert await counts(db, [readers[4]]) == [2]
    await deliver_all(db)
    assert await counts(db, readers) == [2] * 5
    assert len([event for event in await events_of(db, readers[4]) if event.kind == "entry"]) == 1


async def test_following_during_portions_gets_the_count_and_no_duplicates(db, follows):
    series, readers = await a_followed_series(db, readers=5)
    await release(db, series, [1, 2], most=MOST)
    late = await a_reader(db)
    await follows.add(late, FollowRequest(series=await public_id_of(db, series)))
    await deliver_all(db)
    assert await counts(db, [*readers, late]) == [2] * 5 + [0]
    assert [event.payload["available"] for event in await events_of(db, late)] == [2]


async def test_i9_leaving_before_a_portion_keeps_its_entries_for_later(db, follows):
    series, readers = await a_followed_series(db, readers=5)
    await release(db, series, [1, 2], most=MOST)
    await follows.leave(readers[4], await follow_of(db, readers[4]))
    await deliver_all(db)
    assert await counts(db, readers) == [2, 2, 2, 2, 0]
    await follows.add(readers[4], FollowRequest(series=await public_id_of(db, series)))
    assert await counts(db, readers) == [2] * 5


async def test_whom_a_plan_holds_back_meanwhile_has_what_came_before(db):
    series, readers = await a_followed_series(db, readers=5)
    await release(db, series, [1, 2], most=MOST)
    await change(db, q.hold, shelf_id=readers[4], at=MEANWHILE)
    await deliver_all(db)
    await release(db, series, [3], now=LATER)
    assert await counts(db, readers) == [3, 3, 3, 3, 2]


async def test_nobody_comes_or_goes_while_a_portion_is_delivered(db):
    """What happens without that lock depends on the moment."""
    feed, _ = await a_feed_with(db, 3)
    series, _ = await a_followed_series(db, readers=3)
    await publish(db, feed, "ab", most=MOST)
    await release(db, series, [1, 2], most=MOST)
    locked = []

    for task in await claim_portions(db):

        async def deliver(tx: Tx, task=task) -> set[str]:
            await deliver_portion_tx(tx, task.payload, most=MOST, now=LATER)
            return {lock.name for lock, _ in tx.locks.values()}

        locked.append(await db.with_tx(deliver))
    assert locked == [{"feed"}, {"series_merges", "series"}]


async def test_portions_survive_concurrent_follows_and_leaves(db, feeds):
    feed, readers = await a_feed_with(db, 12)
    late = [await a_reader(db) for _ in range(4)]
    await publish(db, feed, range(3), most=MOST)

    async def come_and_go(shelf) -> None:
        made = await feeds.add(shelf, NewSubscription(link=LINK))
        await feeds.delete(shelf, made.public_id)
        await feeds.restore(shelf, made.public_id)

    async def go_and_come(shelf) -> None:
        mine = await subscription_of(db, shelf, feed)
        await feeds.delete(shelf, mine)
        await feeds.restore(shelf, mine)

    going = [go_and_come(shelf) for shelf in readers[::3]]
    await asyncio.gather(deliver_all(db), *(come_and_go(shelf) for shelf in late), *going)
    assert await counts(db, [*readers, *late]) == [3] * 16


# -- what a feed or series becomes


async def test_a_feed_that_moves_delivers_first_what_it_brought(db):
    feed, readers = await a_feed_with(db, 5)
    await publish(db, feed, "ab", most=MOST)
    await step(db)

    async def move(tx: Tx) -> None:
        await lock_moving_feed_tx(tx, feed)
        await move_feed_tx(tx, feed, "https://example.org/elsewhere", same=[], now=LATER)

    await db.with_tx(move)
    assert await counts(db, readers) == [2] * 5
    assert await step(db) == 0


async def test_series_that_become_one_deliver_first_what_they_brought(db):
    one, other = await a_published_series(db, title="One"), await a_published_series(db, title="Ichi")
    readers = [await a_reader(db, series=[other.id]) for _ in range(5)]
    await release(db, other.id, [1, 2], most=MOST)
    await step(db)
    await a_merging(db).merge(SYSTEM, other.public_id, one.public_id)
    assert await counts(db, readers) == [2] * 5
    assert await step(db) == 0


async def test_a_series_that_is_split_delivers_first_what_it_brought(db):
    whole = await a_published_series(db, [1], sources=2)
    readers = [await a_reader(db, series=[whole.id]) for _ in range(5)]
    await release(db, whole.id, [2, 3], most=MOST)
    await step(db)
    await a_merging(db).split(SYSTEM, whole.public_id, whole.sources[1:])
    assert await counts(db, readers) == [2] * 5
    assert await step(db) == 0
