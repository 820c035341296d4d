"""Time that is given back goes where it was charged: to open invoices, to credit, or to what was written off."""

import pytest

from tests.billing.builders import a_request, member_of
from tests.billing.stripe import a_refund, an_event, send
from tests.billing.test_dunning import pass_days, statuses
from tsuzuki.billing.books import OPERATOR
from tsuzuki.billing.policy import Charged, spread
from tsuzuki.billing.store import list_items_for_tenant_tx
from tsuzuki.billing.types import NewBolt11
from tsuzuki.model.times import HOUR, Millis


async def sleep(shop, tenant):
    return await shop.billing.rented.deactivate(member_of(tenant), (await shop.shelf(tenant)).public_id)


async def wake(shop, tenant):
    return await shop.billing.rented.reactivate(member_of(tenant), (await shop.shelf(tenant)).public_id)


async def void(shop, tenant):
    (invoice,) = await shop.open_invoices(tenant)
    await shop.billing.books.void(OPERATOR, invoice.public_id, a_request(tenant_id=tenant.id))


async def balance(shop, tenant):
    return (await shop.statement(tenant)).totals.balance


@pytest.mark.parametrize(
    ("cents", "charged", "unpaid", "expected"),
    [
        (100, [], [], []),
        (100, [Charged(None, "unbilled", 150)], [], []),
        (100, [Charged(1, "paid", 500), Charged(2, "open", 70)], [], [(2, 70), (1, 30)]),
        (100, [Charged(1, "open", 60), Charged(2, "open", 60)], [(1, 60), (2, 60)], [(2, 60), (1, 40)]),
        (100, [Charged(1, "voided", 80), Charged(2, "paid", 30)], [], [(2, 30), (1, 70)]),
        (100, [Charged(1, "open", 40)], [(1, 70), (2, 500)], [(1, 70), (2, 30)]),
        (100, [Charged(1, "paid", -20)], [(3, 60), (4, 10)], [(3, 60), (4, 10)]),
    ],
)
def test_what_is_given_back_goes_first_where_it_was_charged(cents, charged, unpaid, expected):
    assert spread(cents, charged, unpaid) == expected


async def test_who_never_paid_is_asked_whenever_a_shelf_wakes(shop, tenant):
    """What a sleeping shelf gave back was written off once more, and paid for the next month."""
    for _ in range(6):
        await pass_days(shop, 7)
        assert await statuses(shop, tenant) == ["delinquent"]
        await pass_days(shop, 23)
        assert await balance(shop, tenant) == 0
        await wake(shop, tenant)
        (invoice,) = await shop.open_invoices(tenant)
        assert invoice.amount_cents == await balance(shop, tenant) > 0
    totals = (await shop.statement(tenant)).totals
    assert (totals.paid, totals.credit, totals.unbilled) == (0, 0, 0)


async def test_who_was_away_until_the_end_is_written_off_the_same(shop, tenant):
    """A server that was down for a month puts to sleep and gives up in one look."""
    await pass_days(shop, 30)
    assert await statuses(shop, tenant) == ["delinquent"]
    assert await balance(shop, tenant) == 0


async def test_nobody_is_dunned_when_nothing_is_owed(shop):
    """An open invoice meets what is given back of it."""
    tenant = await shop.tenant("growth")
    await shop.billing.rented.change_plan(member_of(tenant), (await shop.shelf(tenant)).public_id, "free")
    assert await balance(shop, tenant) == 0
    assert [(one.status, one.method) for one in await shop.invoices(tenant)] == [("paid", "credit")]
    for _ in range(5):
        await pass_days(shop, 6)
    assert (await shop.activities(tenant)).count("invoice.reminded") == 1
    assert await statuses(shop, tenant) == ["active"]


async def test_credit_from_another_shelf_pays_an_open_invoice(shop, tenant):
    await shop.pay_all(tenant)
    await shop.billing.rented.create(member_of(tenant), tenant.public_id, name="Second", plan="basic")
    assert [invoice.amount_cents for invoice in await shop.open_invoices(tenant)] == [500]
    await sleep(shop, tenant)
    assert await shop.open_invoices(tenant) == []
    assert await balance(shop, tenant) == 0


async def test_a_line_is_split_over_the_invoices_it_gives_back(shop, tenant):
    """Of Growth: first what the change to it asked, which is open, then the month of Basic, which was paid."""
    await shop.pay_all(tenant)
    shelf = await shop.shelf(tenant)
    await shop.billing.rented.change_plan(member_of(tenant), shelf.public_id, "growth")
    await sleep(shop, tenant)
    items = await shop.db.read(lambda tx: list_items_for_tenant_tx(tx, tenant.id))
    first, second = await shop.invoices(tenant)
    assert [(item.invoice_id, item.amount_cents) for item in items] == [
        (first.id, 500),
        (second.id, 1000),
        (second.id, -1000),
        (first.id, -500),
    ]
    assert items[3].part_of == items[2].id
    assert (await shop.statement(tenant)).totals.credit == 500


async def test_time_that_was_written_off_is_not_given_back(shop, tenant):
    """R86: whoever had an invoice forgiven did not pay for it."""
    await void(shop, tenant)
    await sleep(shop, tenant)
    assert await balance(shop, tenant) == 0
    await wake(shop, tenant)
    assert [invoice.amount_cents for invoice in await shop.open_invoices(tenant)] == [500]


async def test_a_refund_and_time_given_back_are_not_both_had(shop, tenant, invoice):
    """In either order."""
    other = await shop.tenant("basic", "Other")
    (second,) = await shop.open_invoices(other)
    await send(shop, an_event(invoice, intent="pi_1"))
    await send(shop, an_event(second, intent="pi_2"))
    await sleep(shop, tenant)
    await send(shop, a_refund(invoice, 500, intent="pi_1"))
    await send(shop, a_refund(second, 500, intent="pi_2"))
    await sleep(shop, other)
    assert [await balance(shop, tenant), await balance(shop, other)] == [0, 0]


async def test_who_paid_a_part_and_left_has_only_the_rest_written_off(shop, tenant, invoice):
    await send(shop, an_event(invoice, amount_received=100))
    await pass_days(shop, 7)
    await pass_days(shop, 23)
    totals = (await shop.statement(tenant)).totals
    assert (totals.balance, totals.written_off, totals.credit) == (0, totals.charged - 100, 0)


async def test_a_payment_request_counts_what_it_asked_for(shop, tenant, invoice):
    """The invoice asks for less by the time that it is settled: the rest is credit."""
    new = NewBolt11(
        invoice_id=invoice.id, request="lnbc1", payment_hash="h", amount_msat=1, expires_at=Millis(shop.time() + HOUR)
    )
    await shop.billing.settlement.insert_bolt11(new)
    await pass_days(shop, 7)
    (asked,) = await shop.open_invoices(tenant)
    assert asked.amount_cents < 500
    await shop.billing.settlement.settle_bolt11("h")
    totals = (await shop.statement(tenant)).totals
    assert (totals.paid + totals.credited, totals.balance) == (500, totals.charged - 500)


async def test_a_tenant_that_left_comes_back_with_one_shelf_alone(shop, tenant):
    """The others are neither woken nor charged, also not when the invoice is paid."""
    for name in ("Second", "Third"):
        await shop.billing.rented.create(member_of(tenant), tenant.public_id, name=name, plan="growth")
    await pass_days(shop, 7)
    await pass_days(shop, 23)
    await wake(shop, tenant)
    assert await statuses(shop, tenant) == ["active", "inactive", "inactive"]
    (invoice,) = await shop.open_invoices(tenant)
    assert invoice.amount_cents <= 500
    await shop.pay(invoice)
    await shop.billing.look_after()
    assert await statuses(shop, tenant) == ["active", "inactive", "inactive"]
