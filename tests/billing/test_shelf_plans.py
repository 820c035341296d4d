"""Renting shelves, and what their plans do to what hangs on them."""

import asyncio

import msgspec
import pytest

from tests.accounts.builders import AccountServices
from tests.billing.builders import EVERYTHING, OPERATOR, BillingSetup, member_of
from tests.builders import a_public_id, stored_series, stored_series_source, stored_source
from tests.delivery.builders import entries_of, follow, publish
from tests.shelves.builders import on_plan, shelf_deps
from tsuzuki.accounts.types import SYSTEM
from tsuzuki.accounts.users import NewPerson
from tsuzuki.billing.shelf_plans.enforcer import NEVER
from tsuzuki.db.queries import parse_queries
from tsuzuki.model import plans
from tsuzuki.model.errors import Conflict, Forbidden, LimitExceeded, NotFound
from tsuzuki.model.plans import get_plan, is_over
from tsuzuki.model.times import DAY, HOUR, MINUTE, SECOND
from tsuzuki.shelves.subscriptions import Subscriptions
from tsuzuki.shelves.types import NewSubscription, SubscriptionChange

q = parse_queries(
    "tests",
    """
-- name: floors
select poll_floor from watch order by id;
-- name: forget_floors
update watch set poll_floor = null;
-- name: resting
select count(*) from watch where suspended_at is not null;
-- name: held_follows
select count(*) from follow where held_at is not null;
-- name: retention
select retention from shelf where id = :id;
-- name: break_plan
update shelf set plan = 'gone', synced = false where id = :id;
-- name: mend_plan
update shelf set plan = 'basic' where id = :id;
-- name: watch_series
insert into watch (series_source_id, host, next_check_at, created_at) values (:id, 'example.org', 0, 0);
""",
)


def a_subscription(number: int) -> NewSubscription:
    return NewSubscription(link=f"https://example.org/feed/{number}")


@pytest.fixture
async def shelf(billing, tenant):
    return await billing.shelf(tenant)


@pytest.fixture
def subscriptions(db):
    return Subscriptions(shelf_deps(db))


# -- renting


async def test_shelf_changes_are_logged_with_a_snapshot(billing, tenant, shelf):
    who = member_of(tenant)
    second = await billing.services.rented.create(who, tenant.public_id, name="Second", plan="growth")
    await billing.services.rented.rename(who, second.public_id, "Comics")
    await billing.services.rented.change_plan(who, second.public_id, "basic")
    await billing.services.rented.deactivate(who, second.public_id)
    await billing.services.rented.reactivate(who, second.public_id)
    kinds = [kind for kind in await billing.activities(tenant) if not kind.startswith(("invoice.", "credit."))]
    assert kinds == [
        "tenant.created",
        "shelf.created",
        "shelf.created",
        "shelf.renamed",
        "shelf.plan_changed",
        "shelf.deactivated",
        "shelf.reactivated",
    ]
    logged = (await billing.services.books.activity(OPERATOR, tenant.public_id, EVERYTHING))[0][::-1]
    snapshots = [(one.snapshot.name, one.snapshot.plan, one.snapshot.status) for one in logged if one.shelf_id]
    assert snapshots == [
        ("Main", "basic", "active"),
        ("Second", "growth", "active"),
        ("Comics", "growth", "active"),
        ("Comics", "basic", "active"),
        ("Comics", "basic", "inactive"),
        ("Comics", "basic", "active"),
    ]
    shown = await billing.shelves(tenant)
    assert [(one.name, one.plan, one.status, one.synced) for one in shown] == [
        ("Main", "basic", "active", True),
        ("Comics", "basic", "active", True),
    ]


async def test_who_hears_of_a_change_finds_it_committed(billing, tenant, shelf):
    seen = []

    async def hear(activity):
        if activity.shelf_id == shelf.id:
            seen.append((activity.snapshot.plan, (await billing.shelf(tenant)).plan, await billing.activities(tenant)))

    billing.deps.publisher.listen(hear)
    await billing.services.rented.change_plan(member_of(tenant), shelf.public_id, "growth")
    [(told, found, logged)] = seen
    assert (told, found) == ("growth", "growth")
    assert "shelf.plan_changed" in logged


async def test_a_new_plan_needs_no_migration(billing, tenant, shelf, monkeypatch):
    """It is a value in code."""
    new = msgspec.structs.replace(plans.GROWTH, id="huge", name="Huge", price_cents=9_000)
    monkeypatch.setattr(plans, "_PLANS", (*plans.list_plans(), new))
    await billing.services.rented.change_plan(member_of(tenant), shelf.public_id, "huge")
    assert (await billing.shelf(tenant)).plan == "huge"
    assert (await billing.statement(tenant)).totals.charged == 9_000


async def test_a_change_that_changes_nothing_is_not_logged(billing, tenant, shelf):
    before = await billing.activities(tenant)
    await billing.services.rented.change_plan(OPERATOR, shelf.public_id, "basic")
    await billing.services.rented.rename(OPERATOR, shelf.public_id, "Main")
    await billing.services.rented.reactivate(OPERATOR, shelf.public_id)
    assert await billing.activities(tenant) == before


async def test_every_change_of_a_shelf_leaves_it_for_the_enforcer(db):
    """R80"""
    billing = await BillingSetup(db).open_quietly()
    tenant = await billing.tenant("basic")
    rented = billing.services.rented
    changes = (
        lambda shelf: rented.rename(OPERATOR, shelf.public_id, "Other"),
        lambda shelf: rented.change_plan(OPERATOR, shelf.public_id, "growth"),
        lambda shelf: rented.deactivate(OPERATOR, shelf.public_id),
        lambda shelf: rented.reactivate(OPERATOR, shelf.public_id),
    )
    for change in changes:
        await billing.services.plan_enforcer.sync_pending()
        assert (await billing.shelf(tenant)).synced
        await change(await billing.shelf(tenant))
        assert not (await billing.shelf(tenant)).synced


async def test_shelf_names_are_unique_and_other_tenants_shelves_unknown(billing, tenant, shelf):
    """I8, R75"""
    other = await billing.tenant("basic", "Other")
    with pytest.raises(Conflict):
        await billing.services.rented.create(member_of(tenant), tenant.public_id, name="Main", plan="growth")
    second = await billing.services.rented.create(member_of(tenant), tenant.public_id, name="Second", plan="growth")
    with pytest.raises(Conflict):
        await billing.services.rented.rename(member_of(tenant), second.public_id, "Main")
    for refused in (
        billing.services.rented.deactivate(member_of(other), shelf.public_id),
        billing.services.rented.change_plan(member_of(other), shelf.public_id, "growth"),
        billing.services.rented.create(member_of(other), tenant.public_id, name="Mine", plan="growth"),
        billing.services.rented.list(member_of(other), tenant.public_id),
        billing.services.rented.deactivate(OPERATOR, a_public_id()),
    ):
        with pytest.raises(NotFound):
            await refused


async def test_only_the_operator_gives_plans_that_are_not_offered(billing, tenant, shelf):
    with pytest.raises(Forbidden):
        await billing.services.rented.change_plan(member_of(tenant), shelf.public_id, "self-hosted")
    await billing.services.rented.change_plan(OPERATOR, shelf.public_id, "self-hosted")
    await billing.services.rented.create(member_of(tenant), tenant.public_id, name="Free", plan="free")
    with pytest.raises(LimitExceeded):
        await billing.services.rented.create(member_of(tenant), tenant.public_id, name="Free too", plan="free")


async def test_a_plan_below_the_usage_is_refused_with_a_list(billing, tenant, shelf, subscriptions):
    for number in range(12):
        await subscriptions.add(shelf.id, a_subscription(number))
    accounts = AccountServices(billing.db)
    for number in range(2):
        await accounts.users.add(SYSTEM, NewPerson(username=f"someone{number}", tenant_id=tenant.public_id))
    with pytest.raises(LimitExceeded) as caught:
        await billing.services.rented.change_plan(member_of(tenant), shelf.public_id, "free")
    assert [problem.field for problem in caught.value.problems] == ["follows", "members"]
    assert "12 feeds and series are used and Free allows 10; remove 2." in str(caught.value)
    assert (await billing.shelf(tenant)).plan == "basic"


async def test_concurrent_downgrades_and_additions_stay_within_the_plan(billing, tenant, shelf, subscriptions):
    for number in range(9):
        await subscriptions.add(shelf.id, a_subscription(number))
    await asyncio.gather(
        billing.services.rented.change_plan(member_of(tenant), shelf.public_id, "free"),
        *(subscriptions.add(shelf.id, a_subscription(100 + number)) for number in range(10)),
        return_exceptions=True,
    )
    plan = (await billing.shelf(tenant)).plan
    assert not is_over(get_plan(plan), "follows", len(await subscriptions.list(shelf.id)))


async def test_members_and_invitations_count_against_the_largest_plan(billing, tenant):
    accounts = AccountServices(billing.db)

    async def add(number):
        return await accounts.users.add(SYSTEM, NewPerson(username=f"reader{number}", tenant_id=tenant.public_id))

    tried = await asyncio.gather(*(add(number) for number in range(8)), return_exceptions=True)
    assert [type(one) for one in tried if isinstance(one, Exception)] == [LimitExceeded] * 5
    await billing.services.rented.create(OPERATOR, tenant.public_id, name="Large", plan="growth")
    await add(9)
    admin = await accounts.caller(await accounts.add(role="admin"))
    for _ in range(20):  # three, one more, and the administrator
        await accounts.invites.make(admin, "reader", tenant.public_id)
    with pytest.raises(LimitExceeded, match="members"):
        await accounts.invites.make(admin, "reader", tenant.public_id)


# -- the enforcer


async def test_a_watch_is_polled_at_its_fastest_readers_pace(billing, tenant, shelf, subscriptions):
    free = await billing.shelf(await billing.tenant("free", "Poor"))
    await subscriptions.add(free.id, a_subscription(1))
    await billing.services.catch_up()
    assert await billing.db.read(lambda tx: tx.many(int, q.floors)) == [2 * HOUR]
    mine = await subscriptions.add(shelf.id, a_subscription(1))
    await billing.services.catch_up()
    assert await billing.db.read(lambda tx: tx.many(int, q.floors)) == [30 * MINUTE]
    await billing.services.rented.change_plan(OPERATOR, shelf.public_id, "self-hosted")
    assert await billing.db.read(lambda tx: tx.many(int, q.floors)) == [None]
    await subscriptions.delete(shelf.id, mine.public_id)
    assert await billing.db.read(lambda tx: tx.many(int, q.floors)) == [2 * HOUR]


async def test_a_wrong_floor_is_repaired_within_the_hour(billing, shelf, subscriptions):
    await subscriptions.add(shelf.id, a_subscription(1))
    await billing.db.with_tx(lambda tx: tx.run(q.forget_floors))
    await billing.services.tidy()
    assert await billing.db.read(lambda tx: tx.many(int, q.floors)) == [30 * MINUTE]


async def test_a_series_rests_while_all_its_followers_sleep(billing, tenant, shelf, db):
    series = await stored_series(db)
    source = await stored_series_source(db, series, await stored_source(db))
    await db.with_tx(lambda tx: tx.run(q.watch_series, id=source))
    await follow(db, shelf.id, series)
    await billing.services.plan_enforcer.sync(shelf.id)
    assert await db.read(lambda tx: tx.many(int, q.floors)) == [30 * MINUTE]
    await billing.services.rented.deactivate(OPERATOR, shelf.public_id)
    assert await db.read(lambda tx: tx.one(int, q.resting)) == 1
    assert await db.read(lambda tx: tx.one(int, q.held_follows)) == 1
    await billing.services.rented.reactivate(OPERATOR, shelf.public_id)
    assert await db.read(lambda tx: tx.one(int, q.resting)) == 0


async def test_a_sleeping_shelf_is_readable_and_catches_up_later(billing, tenant, shelf, subscriptions, db):
    """R81"""
    mine = await subscriptions.add(shelf.id, a_subscription(1))
    await publish(db, mine.feed_id, ["1"])
    await billing.services.rented.deactivate(OPERATOR, shelf.public_id)
    assert await db.read(lambda tx: tx.one(int, q.resting)) == 1
    await publish(db, mine.feed_id, ["2"])
    assert len(await entries_of(db, shelf.id)) == 1
    with pytest.raises(LimitExceeded):
        await subscriptions.change(shelf.id, mine.public_id, SubscriptionChange(is_suspended=False))
    with pytest.raises(LimitExceeded):
        await subscriptions.refresh(shelf.id, mine.public_id)
    await billing.services.rented.reactivate(OPERATOR, shelf.public_id)
    assert await db.read(lambda tx: tx.one(int, q.resting)) == 0
    assert len(await entries_of(db, shelf.id)) == 2


async def test_what_a_reader_suspended_stays_suspended_when_the_shelf_wakes(billing, tenant, shelf, subscriptions):
    mine = await subscriptions.add(shelf.id, a_subscription(1))
    held = await subscriptions.add(shelf.id, a_subscription(2))
    await subscriptions.change(shelf.id, mine.public_id, SubscriptionChange(is_suspended=True))
    await billing.services.rented.deactivate(OPERATOR, shelf.public_id)
    with pytest.raises(LimitExceeded, match="reactivate"):
        await subscriptions.refresh(shelf.id, mine.public_id)
    # A form that shows it as suspended says so again: that is no wish of the reader's own.
    await subscriptions.change(shelf.id, held.public_id, SubscriptionChange(name="Renamed", is_suspended=True))
    await billing.services.rented.reactivate(OPERATOR, shelf.public_id)
    assert [one.suspended_at is not None for one in await subscriptions.list(shelf.id)] == [True, False]


async def test_installments_beyond_the_plan_wait_until_there_is_room(billing, db, subscriptions):
    """As when billing is switched on over shelves that have more than they may."""
    tenant = await billing.tenant("growth")
    shelf = await billing.shelf(tenant)
    for number in range(12):
        await subscriptions.add(shelf.id, a_subscription(number))
    await on_plan(db, shelf.id, "free")
    await billing.services.plan_enforcer.sync(shelf.id)
    listed = await subscriptions.list(shelf.id)
    assert [one.suspended_at is not None for one in listed] == [False] * 10 + [True] * 2
    await subscriptions.delete(shelf.id, listed[0].public_id)
    await billing.services.plan_enforcer.sync(shelf.id)
    assert [one.suspended_at is not None for one in await subscriptions.list(shelf.id)] == [False] * 10 + [True]
    await on_plan(db, shelf.id, "basic")
    await billing.services.plan_enforcer.sync(shelf.id)
    assert not any(one.suspended_at for one in await subscriptions.list(shelf.id))


async def test_the_plans_retention_is_applied_to_what_was_read(billing, tenant, shelf, db):
    assert await db.read(lambda tx: tx.one(int, q.retention, id=shelf.id)) == 365 * DAY
    await billing.services.rented.change_plan(OPERATOR, shelf.public_id, "growth")
    assert await db.read(lambda tx: tx.maybe(int, q.retention, id=shelf.id)) is None


async def test_a_failed_sync_is_retried_until_given_up(billing, tenant, shelf, db):
    """R80: after 30 s, doubling to 15 min, six times; the next change begins anew."""
    await db.with_tx(lambda tx: tx.run(q.break_plan, id=shelf.id))
    waits = []
    for _ in range(7):
        assert await billing.services.plan_enforcer.sync_pending() == 0
        found = await billing.shelf(tenant)
        assert "There is no plan gone" in found.sync_error
        waits.append(None if found.sync_at == NEVER else (found.sync_at - billing.time()) // SECOND)
        assert await billing.services.plan_enforcer.sync_pending() == 0  # not before its time
        assert (await billing.shelf(tenant)).sync_attempts == found.sync_attempts
        billing.time.pass_(min(found.sync_at - billing.time(), DAY))
    assert waits == [30, 60, 120, 240, 480, 900, None]
    await db.with_tx(lambda tx: tx.run(q.mend_plan, id=shelf.id))
    await billing.services.rented.rename(OPERATOR, shelf.public_id, "Mended")
    assert ((await billing.shelf(tenant)).synced, (await billing.shelf(tenant)).sync_error) == (True, "")
