"""R84: what becomes of those who do not pay, and of those who do after all."""

import asyncio

import pytest

from tests.billing.builders import OPERATOR, a_request, member_of
from tsuzuki.model.errors import Conflict
from tsuzuki.model.times import DAY


async def pass_days(billing, days):
    billing.time.pass_(int(days * DAY))
    await billing.services.catch_up()


async def statuses(billing, tenant):
    return [shelf.status for shelf in await billing.shelves(tenant)]


async def test_reminders_are_recorded_once_at_days_0_3_and_6(billing, tenant):
    recorded = []
    for days in (0, 1, 2, 0, 3, 0):
        await pass_days(billing, days)
        (invoice,) = await billing.open_invoices(tenant)
        recorded.append(invoice.notices)
    assert recorded == [1, 1, 2, 2, 3, 3]
    assert (await billing.activities(tenant)).count("invoice.reminded") == 3


async def test_eight_who_look_at_the_same_time_remind_once(billing, tenant):
    billing.time.pass_(3 * DAY)
    done = await asyncio.gather(*(billing.services.dunning.run(tenant.id) for _ in range(8)))
    assert sorted(done) == [0] * 7 + [1]


async def test_whoever_was_away_for_days_is_reminded_once_not_thrice(billing, tenant):
    await pass_days(billing, 6.5)
    assert (await billing.activities(tenant)).count("invoice.reminded") == 2


async def test_at_day_7_paid_shelves_sleep_and_free_ones_stay(billing, tenant):
    await billing.services.rented.create(OPERATOR, tenant.public_id, name="Free", plan="free")
    await pass_days(billing, 6.99)
    assert await statuses(billing, tenant) == ["active", "active"]
    await pass_days(billing, 0.01)
    assert await statuses(billing, tenant) == ["delinquent", "active"]


async def test_paying_wakes_only_what_the_system_put_to_sleep(billing, tenant):
    """R81"""
    second = await billing.services.rented.create(member_of(tenant), tenant.public_id, name="Second", plan="growth")
    third = await billing.services.rented.create(member_of(tenant), tenant.public_id, name="Third", plan="growth")
    await billing.services.rented.deactivate(member_of(tenant), second.public_id)
    await pass_days(billing, 7)
    await billing.services.rented.deactivate(member_of(tenant), third.public_id)  # asleep already, now by its owner
    assert await statuses(billing, tenant) == ["delinquent", "inactive", "inactive"]
    await billing.pay_all(tenant)
    assert await statuses(billing, tenant) == ["active", "inactive", "inactive"]


async def test_an_open_invoice_is_looked_at_when_something_is_due(billing, tenant):
    """R84, R89: thousands of them cost nothing between two reminders."""
    look = billing.services.ledger.tenants_to_bill
    for days in (3, 3, 1):
        await billing.services.catch_up()
        assert await look() == []
        billing.time.pass_(days * DAY - 1)
        assert await look() == []
        billing.time.pass_(1)
        assert await look() == [tenant.id]
    await billing.services.catch_up()
    assert await statuses(billing, tenant) == ["delinquent"]
    assert await look() == []


async def test_nothing_is_woken_by_hand_while_invoices_are_overdue(billing, tenant):
    await pass_days(billing, 8)
    shelf = await billing.shelf(tenant)
    with pytest.raises(Conflict, match="pay them first"):
        await billing.services.rented.reactivate(member_of(tenant), shelf.public_id)


async def test_at_day_30_the_tenant_churns_and_invoices_are_voided(billing, tenant):
    await pass_days(billing, 30)
    statement = await billing.statement(tenant)
    assert statement.tenant.churned_at == billing.time()
    assert statement.totals.open == 0
    assert (await billing.invoices(tenant))[0].status == "voided"
    count = len(statement.lines)
    for _ in range(3):
        await pass_days(billing, 31)
    assert len((await billing.statement(tenant)).lines) == count
    assert await statuses(billing, tenant) == ["delinquent"]


async def test_a_churned_tenant_returns_by_waking_a_shelf(billing, tenant):
    await pass_days(billing, 30)
    await pass_days(billing, 60)
    left = await billing.statement(tenant)
    assert left.tenant.churned_at == billing.time() - 60 * DAY
    before = left.totals.charged
    shelf = await billing.shelf(tenant)
    await billing.services.rented.reactivate(member_of(tenant), shelf.public_id)
    statement = await billing.statement(tenant)
    assert statement.tenant.churned_at is None
    assert statement.totals.charged > before
    assert "tenant.returned" in await billing.activities(tenant)


async def test_voiding_what_is_overdue_wakes_as_paying_does(billing, tenant):
    await pass_days(billing, 7)
    for invoice in await billing.open_invoices(tenant):
        await billing.services.books.void(OPERATOR, invoice.public_id, a_request(tenant_id=tenant.id))
    assert await statuses(billing, tenant) == ["active"]
