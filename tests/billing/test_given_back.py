"""Time that is given back goes where it was charged: to open invoices, to credit, or to what was written off."""

import pytest

from tests.billing.builders import OPERATOR, a_request, member_of
from tests.billing.stripe import a_refund, an_event, send
from tests.billing.test_dunning import pass_days, statuses
from tsuzuki.billing.policy import ChargedPeriod, spread_credit
from tsuzuki.billing.store import list_items_for_tenant_tx
from tsuzuki.billing.types import NewBolt11
from tsuzuki.model.times import HOUR, Millis


async def sleep(billing, tenant):
    return await billing.services.rented.deactivate(member_of(tenant), (await billing.shelf(tenant)).public_id)


async def wake(billing, tenant):
    return await billing.services.rented.reactivate(member_of(tenant), (await billing.shelf(tenant)).public_id)


async def void(billing, tenant):
    (invoice,) = await billing.open_invoices(tenant)
    await billing.services.books.void(OPERATOR, invoice.public_id, a_request(tenant_id=tenant.id))


async def balance(billing, tenant):
    return (await billing.statement(tenant)).totals.balance


@pytest.mark.parametrize(
    ("cents", "charged", "unpaid", "expected"),
    [
        (100, [], [], []),
        (100, [ChargedPeriod(None, "unbilled", 150)], [], []),
        (100, [ChargedPeriod(1, "paid", 500), ChargedPeriod(2, "open", 70)], [], [(2, 70), (1, 30)]),
        (100, [ChargedPeriod(1, "open", 60), ChargedPeriod(2, "open", 60)], [(1, 60), (2, 60)], [(2, 60), (1, 40)]),
        (100, [ChargedPeriod(1, "voided", 80), ChargedPeriod(2, "paid", 30)], [], [(2, 30), (1, 70)]),
        (100, [ChargedPeriod(1, "open", 40)], [(1, 70), (2, 500)], [(1, 70), (2, 30)]),
        (100, [ChargedPeriod(1, "paid", -20)], [(3, 60), (4, 10)], [(3, 60), (4, 10)]),
    ],
)
def test_what_is_given_back_goes_first_where_it_was_charged(cents, charged, unpaid, expected):
    assert spread_credit(cents, charged, unpaid) == expected


async def test_who_never_paid_is_asked_whenever_a_shelf_wakes(billing, tenant):
    """What a sleeping shelf gave back was written off once more, and paid for the next month."""
    for _ in range(6):
        await pass_days(billing, 7)
        assert await statuses(billing, tenant) == ["delinquent"]
        await pass_days(billing, 23)
        assert await balance(billing, tenant) == 0
        await wake(billing, tenant)
        (invoice,) = await billing.open_invoices(tenant)
        assert invoice.amount_cents == await balance(billing, tenant) > 0
    totals = (await billing.statement(tenant)).totals
    assert (totals.paid, totals.credit, totals.unbilled) == (0, 0, 0)


async def test_a_long_absence_is_written_off_the_same(billing, tenant):
    """A server that was down for a month puts to sleep and gives up in one look."""
    await pass_days(billing, 30)
    assert await statuses(billing, tenant) == ["delinquent"]
    assert await balance(billing, tenant) == 0


async def test_nobody_is_dunned_when_nothing_is_owed(billing):
    """An open invoice meets what is given back of it."""
    tenant = await billing.tenant("growth")
    await billing.services.rented.change_plan(member_of(tenant), (await billing.shelf(tenant)).public_id, "free")
    assert await balance(billing, tenant) == 0
    assert [(one.status, one.method) for one in await billing.invoices(tenant)] == [("paid", "credit")]
    for _ in range(5):
        await pass_days(billing, 6)
    assert (await billing.activities(tenant)).count("invoice.reminded") == 1
    assert await statuses(billing, tenant) == ["active"]


async def test_credit_from_another_shelf_pays_an_open_invoice(billing, tenant):
    await billing.pay_all(tenant)
    await billing.services.rented.create(member_of(tenant), tenant.public_id, name="Second", plan="basic")
    assert [invoice.amount_cents for invoice in await billing.open_invoices(tenant)] == [500]
    await sleep(billing, tenant)
    assert await billing.open_invoices(tenant) == []
    assert await balance(billing, tenant) == 0


async def test_a_line_is_split_over_the_invoices_it_gives_back(billing, tenant):
    """Of Growth: first what the change to it asked, which is open, then the month of Basic, which was paid."""
    await billing.pay_all(tenant)
    shelf = await billing.shelf(tenant)
    await billing.services.rented.change_plan(member_of(tenant), shelf.public_id, "growth")
    await sleep(billing, tenant)
    items = await billing.db.read(lambda tx: list_items_for_tenant_tx(tx, tenant.id))
    first, second = await billing.invoices(tenant)
    assert [(item.invoice_id, item.amount_cents) for item in items] == [
        (first.id, 500),
        (second.id, 1000),
        (second.id, -1000),
        (first.id, -500),
    ]
    assert items[3].part_of == items[2].id
    assert (await billing.statement(tenant)).totals.credit == 500


async def test_time_that_was_written_off_is_not_given_back(billing, tenant):
    """R86: whoever had an invoice forgiven did not pay for it."""
    await void(billing, tenant)
    await sleep(billing, tenant)
    assert await balance(billing, tenant) == 0
    await wake(billing, tenant)
    assert [invoice.amount_cents for invoice in await billing.open_invoices(tenant)] == [500]


async def test_a_refund_and_time_given_back_are_not_both_had(billing, tenant, invoice):
    """In either order."""
    other = await billing.tenant("basic", "Other")
    (second,) = await billing.open_invoices(other)
    await send(billing, an_event(invoice, intent="pi_1"))
    await send(billing, an_event(second, intent="pi_2"))
    await sleep(billing, tenant)
    await send(billing, a_refund(invoice, 500, intent="pi_1"))
    await send(billing, a_refund(second, 500, intent="pi_2"))
    await sleep(billing, other)
    assert [await balance(billing, tenant), await balance(billing, other)] == [0, 0]


async def test_after_a_part_payment_only_the_rest_is_written_off(billing, tenant, invoice):
    await send(billing, an_event(invoice, amount_received=100))
    await pass_days(billing, 7)
    await pass_days(billing, 23)
    totals = (await billing.statement(tenant)).totals
    assert (totals.balance, totals.written_off, totals.credit) == (0, totals.charged - 100, 0)


async def test_a_payment_request_counts_what_it_asked_for(billing, tenant, invoice):
    """The invoice asks for less by the time that it is settled: the rest is credit."""
    new = NewBolt11(
        invoice_id=invoice.id,
        request="lnbc1",
        payment_hash="h",
        amount_msat=1,
        expires_at=Millis(billing.time() + HOUR),
    )
    await billing.services.settlement.insert_bolt11(new)
    await pass_days(billing, 7)
    (asked,) = await billing.open_invoices(tenant)
    assert asked.amount_cents < 500
    await billing.services.settlement.settle_bolt11("h")
    totals = (await billing.statement(tenant)).totals
    assert (totals.paid + totals.credited, totals.balance) == (500, totals.charged - 500)


async def test_a_tenant_that_left_comes_back_with_one_shelf_alone(billing, tenant):
    """The others are neither woken nor charged, also not when the invoice is paid."""
    for name in ("Second", "Third"):
        await billing.services.rented.create(member_of(tenant), tenant.public_id, name=name, plan="growth")
    await pass_days(billing, 7)
    await pass_days(billing, 23)
    await wake(billing, tenant)
    assert await statuses(billing, tenant) == ["active", "inactive", "inactive"]
    (invoice,) = await billing.open_invoices(tenant)
    assert invoice.amount_cents <= 500
    await billing.pay(invoice)
    await billing.services.catch_up()
    assert await statuses(billing, tenant) == ["active", "inactive", "inactive"]
