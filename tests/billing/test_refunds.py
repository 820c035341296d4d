"""Money that Stripe gave back: booked once, never asked for again, and shown on the invoice."""

import asyncio
import itertools

import pytest

from tests.billing.builders import OPERATOR, BillingSetup
from tests.billing.stripe import a_checkout, a_refund, an_event, send
from tests.builders import a_public_id
from tsuzuki.model.errors import Invalid, Unavailable
from tsuzuki.model.ids import show_id
from tsuzuki.model.times import DAY


async def sums(billing, tenant):
    totals = (await billing.statement(tenant)).totals
    return totals.paid, totals.written_off, totals.credit, totals.balance


async def refunds(billing, invoice):
    return (await billing.services.books.invoice(OPERATOR, invoice.public_id)).refunds


async def test_a_refund_of_an_invoice_is_written_off(billing, tenant, invoice):
    """R86, I10: nobody is asked for it again, and every cent is still accounted for."""
    await send(billing, an_event(invoice))
    assert await send(billing, a_refund(invoice, 200)) == "refunded"
    assert await sums(billing, tenant) == (300, 200, 0, 0)
    assert await send(billing, a_refund(invoice, 500)) == "refunded"
    assert await sums(billing, tenant) == (0, 500, 0, 0)
    shown = [(one.amount_cents, one.total_cents, one.credit_cents) for one in await refunds(billing, invoice)]
    assert shown == [(200, 200, 0), (300, 500, 0)]
    (paid,) = await billing.invoices(tenant)
    assert paid.status == "paid"
    assert (await billing.activities(tenant)).count("invoice.refunded") == 2
    billing.time.pass_(8 * DAY)
    await billing.services.catch_up()
    assert await billing.open_invoices(tenant) == []


async def test_the_statement_says_what_went_back(billing, tenant, invoice):
    await send(billing, an_event(invoice))
    await send(billing, a_refund(invoice, 200))
    lines = (await billing.statement(tenant)).lines[-2:]
    assert [(line.kind, line.amount_cents) for line in lines] == [("refund", 200), ("written_off", -200)]
    assert all(invoice.number in line.description for line in lines)


async def test_what_had_become_credit_is_taken_from_it(billing, tenant, invoice):
    """R87: a second payment, given back."""
    await send(billing, an_event(invoice, intent="pi_1"))
    await send(billing, an_event(invoice, intent="pi_2"))
    assert await send(billing, a_refund(invoice, 500, intent="pi_2")) == "refunded"
    assert await sums(billing, tenant) == (500, 0, 0, 0)
    (one,) = await refunds(billing, invoice)
    assert (one.intent_id, one.credit_cents, one.written_off_cents) == ("pi_2", 500, 0)


async def test_a_refund_of_an_overpayment_takes_credit_first(billing, tenant, invoice):
    await send(billing, an_event(invoice, amount_received=800))
    assert await send(billing, a_refund(invoice, 100)) == "refunded"
    assert await sums(billing, tenant) == (500, 0, 200, -200)
    assert await send(billing, a_refund(invoice, 800)) == "refunded"
    assert await sums(billing, tenant) == (0, 500, 0, 0)


async def test_refunded_credit_that_was_used_is_owed(billing, tenant, invoice):
    """It stands on the next invoice."""
    await send(billing, an_event(invoice, amount_received=800))
    billing.time.pass_(31 * DAY)
    await billing.services.catch_up()
    (second,) = await billing.open_invoices(tenant)
    assert second.amount_cents == 200
    await send(billing, an_event(second, intent="pi_2", amount_received=200))
    await send(billing, a_refund(invoice, 300))
    assert await sums(billing, tenant) == (700, 0, -300, 300)
    billing.time.pass_(31 * DAY)
    await billing.services.catch_up()
    (third,) = await billing.open_invoices(tenant)
    assert third.amount_cents == 800
    assert (await sums(billing, tenant))[2] == 0


async def test_every_order_and_repeat_of_stripe_events_ends_alike(db, billing):
    """Totals only grow: an older event that comes later, and one that comes ten times at once, change nothing."""
    for number, order in enumerate(itertools.permutations((100, 250, 500))):
        tenant = await billing.tenant("basic", f"Payer {number}")
        (invoice,) = await billing.open_invoices(tenant)
        await send(billing, a_checkout(invoice, intent=f"pi_{number}"))
        for total in order:
            body = a_refund(invoice, total, intent=f"pi_{number}")
            heard = await asyncio.gather(*(send(one, body) for one in (billing, BillingSetup(db)) for _ in range(5)))
            assert heard.count("refunded") == (total == max(order[: order.index(total) + 1]))
            assert set(heard) <= {"refunded", "known"}
        assert await sums(billing, tenant) == (0, 500, 0, 0)
        assert sum(one.amount_cents for one in await refunds(billing, invoice)) == 500


async def test_a_refund_that_overtakes_its_payment_is_asked_for_again(billing, tenant, invoice):
    """Stripe sends what is not answered well again; a charge that names no invoice of ours is somebody else's."""
    with pytest.raises(Unavailable):
        await send(billing, a_refund(invoice, 500))
    assert await send(billing, a_refund(invoice, 500, metadata={})) == "ignored"
    assert await send(billing, a_refund(invoice, 500, metadata={"invoice": show_id(a_public_id())})) == "ignored"
    assert await send(billing, a_refund(invoice, 500, payment_intent=None)) == "ignored"
    await send(billing, an_event(invoice))
    assert await send(billing, a_refund(invoice, 500, metadata={})) == "refunded"


async def test_a_payment_that_never_counted_leaves_nothing_to_take_back(billing, tenant, invoice):
    await send(billing, an_event(invoice, currency="eur"))
    assert await send(billing, a_refund(invoice, 500, currency="eur")) == "known"
    assert await refunds(billing, invoice) == []
    assert (await billing.invoices(tenant))[0].status == "open"


@pytest.mark.parametrize(
    "wrong", [{"amount_refunded": 0}, {"amount_refunded": -1}, {"currency": None}, {"currency": "eur"}]
)
async def test_a_senseless_refund_is_refused(billing, tenant, invoice, wrong):
    await send(billing, an_event(invoice))
    with pytest.raises(Invalid):
        await send(billing, a_refund(invoice, 500, **wrong))
    assert await sums(billing, tenant) == (500, 0, 0, 0)


async def test_more_than_was_paid_cannot_be_given_back(billing, tenant, invoice):
    await send(billing, an_event(invoice))
    assert await send(billing, a_refund(invoice, 700)) == "refunded"
    assert await send(billing, a_refund(invoice, 900)) == "known"
    assert await sums(billing, tenant) == (0, 500, 0, 0)
