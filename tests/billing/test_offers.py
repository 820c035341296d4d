"""What a change costs is said before it is made, to the cent, and so is what stands against it."""

import pytest

from tests.accounts.builders import House
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
async def tenant(shop):
    """Ten days and a half into its month, with nothing to pay."""
    tenant = await shop.tenant("basic")
    await shop.pay_all(tenant)
    shop.time.pass_(10 * DAY + DAY // 2)
    await shop.billing.look_after()
    return tenant


async def charged(shop, tenant):
    return (await shop.statement(tenant)).totals.charged


async def test_every_change_is_charged_exactly_as_it_was_offered(shop, tenant):
    """R82"""
    who, offers, rented = member_of(tenant), shop.billing.offers, shop.billing.rented
    shelf = await shop.shelf(tenant)
    for plan in ("growth", "free", "basic"):
        before, offer = await charged(shop, tenant), (await offers.for_shelf(who, shelf.public_id)).of(plan)
        await rented.change_plan(who, shelf.public_id, plan)
        assert await charged(shop, tenant) - before == offer.cents != 0
        shop.time.pass_(DAY)
    for status, change in (("inactive", rented.deactivate), ("active", rented.reactivate)):
        before, turn = await charged(shop, tenant), await offers.turn(who, shelf.public_id, status)
        await change(who, shelf.public_id)
        assert await charged(shop, tenant) - before == turn.cents != 0
        shop.time.pass_(DAY)
    before, offer = await charged(shop, tenant), (await offers.for_new(who, tenant.public_id)).of("growth")
    await rented.create(who, tenant.public_id, name="Second", plan="growth")
    assert await charged(shop, tenant) - before == offer.cents > 0


async def test_what_stands_against_a_plan_is_listed_one_thing_each(shop, tenant):
    shelf = await shop.shelf(tenant)
    subscriptions = Subscriptions(shelf_deps(shop.db))
    for number in range(11):
        await subscriptions.add(shelf.id, NewSubscription(link=f"https://example.org/{number}"))
    house = House(shop.db)
    for number in range(2):
        await house.users.add(SYSTEM, NewPerson(username=f"someone{number}", tenant_id=tenant.public_id))
    deal = await shop.billing.offers.for_shelf(member_of(tenant), shelf.public_id)
    assert deal.of("free").against == (
        "11 feeds and series are used and Free has room for 10; take away 1.",
        "2 members are used and Free has room for 1; take away 1.",
    )
    assert deal.of("growth").against == ()
    with pytest.raises(NotFound):
        deal.of("self-hosted")


async def test_a_tenant_with_as_many_shelves_as_it_may_have_is_told_so(shop, tenant):
    for number in range(MOST_SHELVES - 1):
        await shop.billing.rented.create(member_of(tenant), tenant.public_id, name=str(number), plan="basic")
    deal = await shop.billing.offers.for_new(member_of(tenant), tenant.public_id)
    against = f"A tenant has at most {MOST_SHELVES} shelves, besides one for each person."
    assert {offer.against for offer in deal.offers} == {(against,)}


async def test_the_next_month_costs_what_is_awake(shop, tenant):
    who = member_of(tenant)
    second = await shop.billing.rented.create(who, tenant.public_id, name="Second", plan="growth")
    ahead = await shop.billing.offers.ahead(who, tenant.public_id)
    assert (ahead.cents, ahead.members, ahead.member_room) == (2_000, 0, 25)
    await shop.billing.rented.deactivate(who, second.public_id)
    assert (await shop.billing.offers.ahead(who, tenant.public_id)).cents == 500


async def test_i8_another_tenants_account_is_as_unknown_as_none(shop, tenant):
    other, offers = member_of(await shop.tenant("basic", "Other")), shop.billing.offers
    shelf = await shop.shelf(tenant)
    for refused in (
        offers.for_new(other, tenant.public_id),
        offers.for_shelf(other, shelf.public_id),
        offers.turn(other, shelf.public_id, "inactive"),
        offers.ahead(other, tenant.public_id),
        offers.for_shelf(other, a_public_id()),
    ):
        with pytest.raises(NotFound):
            await refused
