"""What Stripe sends, from a sender that duplicates, delays, reorders and forges."""

import asyncio

import pytest

from tests.billing.builders import OPERATOR, BillingSetup, a_request
from tests.billing.stripe import a_checkout, a_refund, an_event, send, signed
from tests.builders import a_public_id
from tsuzuki.accounts.audit import AuditFilter, AuditLog
from tsuzuki.accounts.types import Slice
from tsuzuki.billing.settlement.stripe import check_signature, read_event
from tsuzuki.billing.store import find_intent_tx
from tsuzuki.model.errors import Forbidden, Invalid
from tsuzuki.model.ids import show_id
from tsuzuki.model.times import MINUTE, SECOND, Millis


async def test_an_event_pays_its_invoice(billing, tenant, invoice):
    assert await send(billing, an_event(invoice)) == "paid"
    (paid,) = await billing.invoices(tenant)
    assert (paid.status, paid.method, paid.reference) == ("paid", "stripe", "pi_1")


async def test_the_same_payment_repeated_concurrently_settles_once(db, billing, tenant, invoice):
    """REL-42: as events of both kinds, whichever comes first."""
    other = BillingSetup(db)
    bodies = [an_event(invoice) if number % 2 else a_checkout(invoice) for number in range(10)]
    heard = await asyncio.gather(*(send(one, body) for body in bodies for one in (billing, other)))
    billing.time.pass_(MINUTE)
    heard += [await send(billing, body) for body in bodies]
    assert sorted(heard) == ["known"] * 29 + ["paid"]
    totals = (await billing.statement(tenant)).totals
    assert (totals.paid, totals.credit) == (500, 0)
    intent = await db.read(lambda tx: find_intent_tx(tx, "pi_1"))
    assert (intent.invoice_id, intent.outcome) == (invoice.id, "paid")


async def test_a_claim_whose_effect_failed_is_not_kept(billing, tenant, invoice):
    """REL-42: claim and effect are one transaction, so Stripe's next try settles."""
    with pytest.raises(Invalid):
        await send(billing, an_event(invoice, amount_received=-5))
    assert await send(billing, an_event(invoice)) == "paid"


@pytest.mark.parametrize("cents", [10**25, 2**63, -(10**25)])
async def test_an_impossible_amount_is_refused_and_recorded(billing, tenant, invoice, cents):
    """A clean 400 before anything is stored; the payment itself still settles when it is told right."""
    for body in (
        an_event(invoice, amount_received=cents),
        a_checkout(invoice, amount_total=cents),
        a_refund(invoice, cents),
    ):
        with pytest.raises(Invalid):
            await send(billing, body)
    told = await AuditLog(billing.db).list(AuditFilter(), Slice())
    assert [(row.action, row.entity_type) for row in told[0]].count(("stripe.refuse", "stripe_event")) == 3
    assert await send(billing, an_event(invoice)) == "paid"
    assert (await billing.statement(tenant)).totals.credit == 0


async def test_a_second_payment_is_credit(billing, tenant, invoice):
    """R87, REL-44"""
    assert await send(billing, an_event(invoice, intent="pi_1")) == "paid"
    assert await send(billing, an_event(invoice, intent="pi_2")) == "credited"
    assert await send(billing, an_event(invoice, intent="pi_2")) == "known"
    assert (await billing.statement(tenant)).totals.credit == 500


async def test_what_becomes_of_payments_does_not_depend_on_their_order(billing):
    """REL-43: paid after void, two payments, too much: in every order the same sums."""
    seen = set()
    for order in ("vab", "avb", "abv", "bva", "bav", "vba"):
        tenant = await billing.tenant("basic", order)
        (invoice,) = await billing.open_invoices(tenant)
        for step in order:
            if step == "v":
                request = a_request(tenant_id=tenant.id)
                with_invoice = billing.services.books.void(OPERATOR, invoice.public_id, request)
                await asyncio.gather(with_invoice, return_exceptions=True)
            else:
                await send(billing, an_event(invoice, intent=f"pi_{order}_{step}"))
        totals = (await billing.statement(tenant)).totals
        # Paid or voided first, every cent of both payments is there.
        assert totals.paid + totals.written_off == 500
        assert totals.paid + totals.credit == 1000
        seen.add((totals.paid, totals.credit, totals.written_off))
    assert seen == {(500, 500, 0), (0, 1000, 500)}


@pytest.mark.parametrize("late", [-5 * MINUTE, 0, 5 * MINUTE])
async def test_an_event_may_be_five_minutes_old_or_ahead(billing, tenant, invoice, late):
    """R90"""
    assert await send(billing, an_event(invoice), at=Millis(billing.time() - late)) == "paid"


@pytest.mark.parametrize("late", [-5 * MINUTE - SECOND, 5 * MINUTE + SECOND])
async def test_older_and_younger_ones_are_refused(billing, tenant, invoice, late):
    """R90"""
    with pytest.raises(Forbidden):
        await send(billing, an_event(invoice), at=Millis(billing.time() - late))
    assert (await billing.invoices(tenant))[0].status == "open"


async def test_what_is_forged_is_refused_and_changes_nothing(billing, tenant, invoice):
    """R90"""
    body, now = an_event(invoice), billing.time()
    good = signed(body, now)
    digest = good.partition("v1=")[2]
    forged = [
        (None, body),
        ("", body),
        ("t=,v1=", body),
        (f"v1={digest}", body),
        (good.partition(",")[0], body),
        (good.replace("v1=", "v0="), body),
        (good.replace(f"t={now // SECOND}", f"t={now // SECOND + 1}"), body),
        (signed(body, now, "another secret"), body),
        (signed(body, now, ""), body),
        (good, body.replace(b"500", b"501")),
        (good, body + b" "),
        (good.upper(), body),
        (f"t={now // SECOND},v1={'0' * 64}", body),
        (f"t={'9' * 400},v1={digest}", body),
        (f"t={now // SECOND},v1=\u00e9{digest}", body),
    ]
    for header, sent in forged:
        with pytest.raises(Forbidden):
            await billing.services.settlement.receive_stripe_event(header, sent)
    assert (await billing.invoices(tenant))[0].status == "open"
    rotated = f"t={now // SECOND},v1={'0' * 64},v1={digest}"
    assert await billing.services.settlement.receive_stripe_event(rotated, body) == "paid"


def test_an_empty_secret_believes_nothing():
    """R90, SEC-50"""
    with pytest.raises(Forbidden):
        check_signature("", signed(b"{}", Millis(0), ""), b"{}", now=Millis(0))


@pytest.mark.parametrize(
    "body",
    [
        b'{"type": "charge.expired", "data": {"object": {"id": 3}}}',
        b'{"type": "customer.created"}',
        b'{"type": "payment_intent.succeeded", "id": "e", "data": {"object": {"id": "pi", "metadata": {}}}}',
        b'{"type": "payment_intent.succeeded", "id": "", "data": {"object": {"id": "", "metadata": {"invoice": ""}}}}',
    ],
)
async def test_what_is_not_about_our_invoices_is_answered_and_ignored(billing, body):
    assert await send(billing, body) == "ignored"


async def test_unknown_invoices_are_ignored_and_unpaid_sessions_wait(billing, tenant, invoice):
    unknown = an_event(invoice, metadata={"invoice": show_id(a_public_id())})
    assert await send(billing, unknown) == "ignored"
    assert await send(billing, a_checkout(invoice, payment_status="unpaid")) == "ignored"
    assert await send(billing, a_checkout(invoice)) == "paid"


@pytest.mark.parametrize("body", [b"", b"[]", b"{", b'{"type": 1}', b'{"type": "payment_intent.succeeded"}'])
def test_what_is_no_event_is_named_as_that(body):
    with pytest.raises(Invalid):
        read_event(body)


async def test_another_currency_is_kept_for_the_operator_to_look_at(db, billing, tenant, invoice):
    assert await send(billing, an_event(invoice, currency="eur")) == "refused"
    intent = await db.read(lambda tx: find_intent_tx(tx, "pi_1"))
    assert (intent.currency, intent.outcome) == ("EUR", "refused")
    assert (await billing.invoices(tenant))[0].status == "open"
