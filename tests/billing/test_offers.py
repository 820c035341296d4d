"""What a change costs is said before it is made, to the cent, and so is what stands against it."""

import pytest

from tests.accounts.builders import AccountServices
from tests.billing.builders import member_of
from tests.builders import a_public_id
from tests.shelves.builders import shelf_deps
from tsuzuki.accounts.types import SYSTEM
from tsuzuki.accounts.users import NewPerson
from tsuzuki.billing.shelf_plans.offers import MOST_SHELVES
from tsuzuki.model.errors import NotFound
from tsuzuki.model.times import DAY
from tsuzuki.shelves.subscriptions import Subscriptions
from tsuzuki.shelves.types import NewSubscription


@pytest.fixture
async def tenant(billing):
    """Ten days and a half into its month, with nothing to pay."""
    tenant = await billing.tenant("basic")
    await billing.pay_all(tenant)
    billing.time.pass_(10 * DAY + DAY // 2)
    await billing.services.catch_up()
    return tenant


async def charged(billing, tenant):
    return (await billing.statement(tenant)).totals.charged


async def test_every_change_is_charged_exactly_as_it_was_offered(billing, tenant):
    """R82"""
    who, offers, rented = member_of(tenant), billing.services.offers, billing.services.rented
    shelf = await billing.shelf(tenant)
    for plan in ("growth", "free", "basic"):
        before, offer = await charged(billing, tenant), (await offers.for_shelf(who, shelf.public_id)).of(plan)
        await rented.change_plan(who, shelf.public_id, plan)
        assert await charged(billing, tenant) - before == offer.cents != 0
        billing.time.pass_(DAY)
    for status, change in (("inactive", rented.deactivate), ("active", rented.reactivate)):
        before, turn = await charged(billing, tenant), await offers.for_status(who, shelf.public_id, status)
        await change(who, shelf.public_id)
        assert await charged(billing, tenant) - before == turn.cents != 0
        billing.time.pass_(DAY)
    before, offer = await charged(billing, tenant), (await offers.for_new(who, tenant.public_id)).of("growth")
    await rented.create(who, tenant.public_id, name="Second", plan="growth")
    assert await charged(billing, tenant) - before == offer.cents > 0


async def test_what_stands_against_a_plan_is_listed_one_thing_each(billing, tenant):
    shelf = await billing.shelf(tenant)
    subscriptions = Subscriptions(shelf_deps(billing.db))
    for number in range(11):
        await subscriptions.add(shelf.id, NewSubscription(link=f"https://example.org/{number}"))
    accounts = AccountServices(billing.db)
    for number in range(2):
        await accounts.users.add(SYSTEM, NewPerson(username=f"someone{number}", tenant_id=tenant.public_id))
    plan_options = await billing.services.offers.for_shelf(member_of(tenant), shelf.public_id)
    assert plan_options.of("free").against == (
        "11 feeds and series are used and Free allows 10; remove 1.",
        "2 members are used and Free allows 1; remove 1.",
    )
    assert plan_options.of("growth").against == ()
    with pytest.raises(NotFound):
        plan_options.of("self-hosted")


async def test_a_tenant_with_too_many_shelves_is_refused(billing, tenant):
    for number in range(MOST_SHELVES - 1):
        await billing.services.rented.create(member_of(tenant), tenant.public_id, name=str(number), plan="basic")
    plan_options = await billing.services.offers.for_new(member_of(tenant), tenant.public_id)
    against = f"A tenant can have at most {MOST_SHELVES} shelves, plus one for each user."
    assert {offer.against for offer in plan_options.offers} == {(against,)}


async def test_the_next_month_costs_what_is_awake(billing, tenant):
    who = member_of(tenant)
    second = await billing.services.rented.create(who, tenant.public_id, name="Second", plan="growth")
    ahead = await billing.services.offers.ahead(who, tenant.public_id)
    assert (ahead.cents, ahead.members, ahead.member_room) == (2_000, 0, 25)
    await billing.services.rented.deactivate(who, second.public_id)
    assert (await billing.services.offers.ahead(who, tenant.public_id)).cents == 500


async def test_i8_another_tenants_account_is_as_unknown_as_none(billing, tenant):
    other, offers = member_of(await billing.tenant("basic", "Other")), billing.services.offers
    shelf = await billing.shelf(tenant)
    for refused in (
        offers.for_new(other, tenant.public_id),
        offers.for_shelf(other, shelf.public_id),
        offers.for_status(other, shelf.public_id, "inactive"),
        offers.ahead(other, tenant.public_id),
        offers.for_shelf(other, a_public_id()),
    ):
        with pytest.raises(NotFound):
            await refused
