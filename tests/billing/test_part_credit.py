"""Credit that covers a part of an open invoice lowers what it asks for: nobody is dunned for what we hold."""

import pytest

from tests.billing.builders import OPERATOR, BillingSetup, a_request, member_of
from tests.billing.stripe import a_refund, an_event, send


@pytest.fixture
async def larger(billing, tenant):
    """An invoice of 1500 that is open; time worth 500 is given back of one that was paid by Stripe."""
    (first,) = await billing.open_invoices(tenant)
    await send(billing, an_event(first, intent="pi_first"))
    shelf = await billing.shelf(tenant)
    await billing.services.rented.create(member_of(tenant), tenant.public_id, name="Second", plan="growth")
    (found,) = await billing.open_invoices(tenant)
    assert found.amount_cents == 1500
    await billing.services.rented.deactivate(member_of(tenant), shelf.public_id)
    return found


async def sums(billing, tenant):
    totals = (await billing.statement(tenant)).totals
    return totals.open, totals.credit, totals.balance


async def test_time_given_back_lowers_another_open_invoice(billing, tenant, larger):
    assert await sums(billing, tenant) == (1000, 0, 1000)
    dues = await billing.services.books.dues(tenant.id)
    assert dues is not None
    assert (dues.invoices, dues.cents) == (1, 1000)
    full = await billing.services.books.invoice(OPERATOR, larger.public_id)
    assert (full.invoice.amount_cents, full.credit_cents) == (1000, 500)


async def test_part_credit_is_found_by_its_marker_and_used_once(db):
    """R89: nobody listens."""
    billing = await BillingSetup(db).open_quietly()
    tenant = await billing.tenant("basic")
    await billing.services.catch_up()
    request = a_request(tenant_id=tenant.id)
    await billing.services.books.grant_credit(OPERATOR, tenant.public_id, 120, reason="sorry", request=request)
    assert await billing.services.ledger.tenants_to_bill() == [tenant.id]
    await billing.services.catch_up()
    assert await sums(billing, tenant) == (380, 0, 380)
    assert await billing.services.ledger.tenants_to_bill() == []


async def test_paying_an_outdated_amount_gives_the_rest_as_credit(billing, tenant, larger):
    assert await send(billing, an_event(larger, intent="pi_2", amount_received=1500)) == "paid"
    assert await sums(billing, tenant) == (0, 500, -500)
    await send(billing, a_refund(larger, 500, intent="pi_2"))
    assert await sums(billing, tenant) == (0, 0, 0)


async def test_voiding_returns_the_part_that_credit_paid(billing, tenant, larger):
    await billing.services.books.void(OPERATOR, larger.public_id, a_request(tenant_id=tenant.id))
    assert await sums(billing, tenant) == (0, 500, -500)


async def test_a_part_payment_that_is_given_back_is_asked_again(billing, tenant, invoice):
    await send(billing, an_event(invoice, amount_received=300))
    assert await sums(billing, tenant) == (200, 0, 200)
    await send(billing, a_refund(invoice, 100))
    assert await sums(billing, tenant) == (300, 0, 300)
    await send(billing, a_refund(invoice, 300))
    assert await sums(billing, tenant) == (500, 0, 500)
    full = await billing.services.books.invoice(OPERATOR, invoice.public_id)
    assert (full.invoice.amount_cents, full.credit_cents) == (500, 0)


async def test_a_refund_asks_again_no_more_than_credit_paid(billing, tenant, larger):
    """The first invoice's payment went back, of which 500 had become credit and was used for the larger one."""
    (first, _) = await billing.invoices(tenant)
    await send(billing, a_refund(first, 500, intent="pi_first"))
    assert await sums(billing, tenant) == (1500, 0, 1500)
