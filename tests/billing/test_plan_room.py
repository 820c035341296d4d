"""What a plan held back and what came meanwhile, once there is room again; and what a plan keeps."""

import asyncio
import secrets

import pytest

from tests.billing.builders import OPERATOR, member_of
from tests.builders import NOON, stored_series
from tests.delivery.builders import entries_of, events_of, follow, publish, release, task_keys
from tests.shelves.builders import on_plan, shelf_deps
from tests.shelves.library_builders import a_published_series
from tsuzuki.db.queries import parse_queries
from tsuzuki.model.times import DAY, HOUR, MINUTE, Millis
from tsuzuki.notifications.tasks import NOTICES
from tsuzuki.retention.policy import RetentionRules
from tsuzuki.retention.service import Pruner
from tsuzuki.shelves.follows import Follows
from tsuzuki.shelves.subscriptions import Subscriptions
from tsuzuki.shelves.types import FollowRequest
from tsuzuki.shelves.types import NewSubscription as Feed
from tsuzuki.transfer.opml import Lists

q = parse_queries(
    "tests",
    """
-- name: read_entries
update entry set unread = false, read_at = 1 where shelf_id = :shelf_id;
-- name: save_newest
update entry set saved = true where id = (select max(id) from entry where shelf_id = :shelf_id);
-- name: drop_entries
delete from entry where shelf_id = :shelf_id;
-- name: read_chapters
insert into progress (shelf_id, chapter_id, is_read, updated_at)
select cast(:shelf_id as bigint), id, true, 1 from chapter
where series_id = :series_id and number_sort <= :most * 1000000;
-- name: floors
select poll_floor from watch order by id;
-- name: count_read
select count(*) from progress where shelf_id = :shelf_id and is_read;
""",
)


@pytest.fixture
async def shelf(billing, tenant):
    return await billing.shelf(tenant)


@pytest.fixture
def subscriptions(db):
    return Subscriptions(shelf_deps(db))


async def sleep(billing, shelf):
    await billing.services.rented.deactivate(OPERATOR, shelf.public_id)
    billing.time.pass_(HOUR)


async def wake(billing, shelf):
    billing.time.pass_(HOUR)
    await billing.services.rented.reactivate(OPERATOR, shelf.public_id)


# -- what came meanwhile


async def test_chapters_during_sleep_become_entries_with_one_quiet_notice(db, billing, shelf):
    """R8, R81"""
    series = await stored_series(db)
    await follow(db, shelf.id, series)
    await release(db, series, [1], first=True)
    await release(db, series, [2])
    billing.time.pass_(HOUR)
    await sleep(billing, shelf)
    await release(db, series, [3, 4, 5], now=billing.time())
    assert len(await entries_of(db, shelf.id)) == 1
    before = len(await events_of(db, shelf.id))
    await wake(billing, shelf)
    found = await entries_of(db, shelf.id)
    assert [entry.unread for entry in found] == [True] * 4
    (event,) = (await events_of(db, shelf.id))[before:]
    assert (event.payload["count"], event.payload["is_quiet"]) == (3, True)
    assert await task_keys(db, NOTICES.name) == []
    await billing.services.plan_enforcer.sync(shelf.id)
    assert await entries_of(db, shelf.id) == found


async def test_a_series_that_appeared_during_sleep_is_a_back_catalogue(db, billing, shelf):
    """R8"""
    series = await stored_series(db)
    await follow(db, shelf.id, series)
    billing.time.pass_(HOUR)
    await sleep(billing, shelf)
    await release(db, series, range(30), first=True, now=billing.time())
    await wake(billing, shelf)
    assert await entries_of(db, shelf.id) == []
    assert (await events_of(db, shelf.id))[-1].payload["available"] == 30


async def test_what_was_read_meanwhile_is_no_news(db, billing, shelf):
    """I9: a shelf that sleeps can be read."""
    series = await stored_series(db)
    await follow(db, shelf.id, series)
    await release(db, series, [1], first=True)
    billing.time.pass_(HOUR)
    await sleep(billing, shelf)
    await release(db, series, [2, 3], now=billing.time())
    await db.with_tx(lambda tx: tx.run(q.read_chapters, shelf_id=shelf.id, series_id=series, most=2))
    await wake(billing, shelf)
    assert len(await entries_of(db, shelf.id)) == 1


async def test_items_removed_before_the_sleep_do_not_return(db, billing, shelf, subscriptions):
    mine = await subscriptions.add(shelf.id, Feed(link="https://example.org/feed"))
    await publish(db, mine.feed_id, ["old", "older"])
    await db.with_tx(lambda tx: tx.run(q.drop_entries, shelf_id=shelf.id))
    billing.time.pass_(HOUR)
    await sleep(billing, shelf)
    await publish(db, mine.feed_id, ["new"], now=billing.time())
    await wake(billing, shelf)
    assert len(await entries_of(db, shelf.id)) == 1


async def test_room_that_becomes_free_is_given_to_what_was_held(db, billing, subscriptions):
    shelf = await billing.shelf(await billing.tenant("growth", "Many"))
    made = [await subscriptions.add(shelf.id, Feed(link=f"https://example.org/{number}")) for number in range(12)]
    await on_plan(db, shelf.id, "free")
    await billing.services.plan_enforcer.sync(shelf.id)
    await subscriptions.delete(shelf.id, made[0].public_id)
    await billing.services.catch_up()
    assert [one.suspended_at is not None for one in await subscriptions.list(shelf.id)] == [False] * 10 + [True]


# -- what a plan keeps


async def test_read_chapters_beyond_the_plan_go_and_stay_read(db, billing, shelf):
    """I9: basic keeps a year. What is unread or saved stays."""
    series = await stored_series(db)
    await follow(db, shelf.id, series)
    await release(db, series, [1], first=True)
    await release(db, series, [2, 3, 4])
    await billing.services.plan_enforcer.sync(shelf.id)

    async def prune(days):
        pruner = Pruner(db, lambda: Millis(NOON + days * DAY), RetentionRules())
        return (await pruner.prune()).get("chapters", 0)

    assert await prune(400) == 0
    await db.with_tx(lambda tx: tx.run(q.read_entries, shelf_id=shelf.id))
    await db.with_tx(lambda tx: tx.run(q.read_chapters, shelf_id=shelf.id, series_id=series, most=4))
    await db.with_tx(lambda tx: tx.run(q.save_newest, shelf_id=shelf.id))
    assert await prune(364) == 0
    assert await prune(366) == 2
    assert len(await entries_of(db, shelf.id)) == 1
    assert await db.read(lambda tx: tx.one(int, q.count_read, shelf_id=shelf.id)) == 4


# -- the pace


async def test_the_pace_of_a_series_follows_its_readers_at_once(db, billing, shelf):
    follows = Follows(shelf_deps(db))
    poor = await billing.shelf(await billing.tenant("free", "Poor"))
    series = await a_published_series(db, [1])

    async def floors():
        return await db.read(lambda tx: tx.many(int, q.floors))

    await follows.add(poor.id, FollowRequest(series=series.public_id))
    assert set(await floors()) == {2 * HOUR}
    mine = await follows.add(shelf.id, FollowRequest(series=series.public_id))
    assert set(await floors()) == {30 * MINUTE}
    await follows.leave(shelf.id, mine.follow.public_id)
    assert set(await floors()) == {2 * HOUR}


# -- at the same time


async def test_concurrent_imports_sleep_and_waking_all_succeed(db, billing, tenant, shelf, subscriptions):
    """Everyone locks the same feeds, and lists name them in another order."""
    links = [f"https://example.org/{number}" for number in range(40)]
    lists = Lists(shelf_deps(db), subscriptions)
    await lists.read(shelf.id, opml(links))
    for turn in range(3):
        others = [await billing.shelf(await billing.tenant("basic", f"{turn}-{n}")) for n in range(3)]
        orders = [links[::-1], sorted(links, key=lambda _: secrets.randbits(32)), links]
        reports = await asyncio.gather(
            *(lists.read(other.id, opml(order)) for other, order in zip(others, orders, strict=True)),
            toggle(billing, tenant, shelf),
        )
        assert {line.outcome for report in reports[:3] for line in report} == {"created"}
        assert (await billing.shelf(tenant)).synced


async def toggle(billing, tenant, shelf):
    who = member_of(tenant)
    await billing.services.rented.deactivate(who, shelf.public_id)
    assert (await billing.shelf(tenant)).sync_error == ""
    await billing.services.rented.reactivate(who, shelf.public_id)
    return []


def opml(links):
    lines = "".join(f'<outline text="{link}" type="rss" xmlUrl="{link}"/>' for link in links)
    return f'<opml version="2.0"><body>{lines}</body></opml>'.encode()
