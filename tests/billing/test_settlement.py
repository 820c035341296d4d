"""Money comes in: twice, late, too much, too little, by two ways, and by nobody can say."""

import asyncio
import os

import pytest

from tests.billing.builders import OPERATOR, a_request
from tsuzuki.billing.settlement.service import CALL_TIME, receive_payment_tx
from tsuzuki.billing.types import Answer, ChargeDeclined, ChargeSucceeded, ChargeUnknown, Invoice, NewBolt11, Payment
from tsuzuki.db.queries import parse_queries
from tsuzuki.model.errors import Conflict, Invalid, KeyReused, NotFound
from tsuzuki.model.ids import TenantId
from tsuzuki.model.times import DAY, HOUR, Millis

q = parse_queries("tests", "-- name: attempts\nselect status from payment_attempt order by id;")


async def receive(billing, invoice, cents, method="manual", currency="USD"):
    payment = Payment(method, "reference", cents, currency)
    return await billing.db.with_tx(lambda tx: receive_payment_tx(tx, invoice.id, payment, billing.time()))


# -- by hand


async def test_the_operator_marks_an_invoice_paid_once(billing, tenant, invoice):
    paid = await billing.pay(invoice, "transfer 17")
    assert (paid.status, paid.method, paid.reference) == ("paid", "manual", "transfer 17")
    with pytest.raises(Conflict, match="already paid"):
        await billing.pay(invoice)
    assert (await billing.statement(tenant)).totals.balance == 0


async def test_method_is_unknown_until_it_is_paid(billing, tenant, invoice):
    assert (invoice.method, invoice.status) == (None, "open")
    paid = await billing.pay(invoice)
    assert (paid.method, paid.status) == ("manual", "paid")
    (other,) = await billing.open_invoices(await billing.tenant("basic", "Other"))
    await billing.services.books.void(OPERATOR, other.public_id, a_request())
    voided = (await billing.services.books.invoice(OPERATOR, other.public_id)).invoice
    assert (voided.method, voided.status) == (None, "voided")


# -- more than one payment


async def test_two_payments_at_once_are_one_paid_and_one_credit(billing, tenant, invoice):
    """R87, REL-44: by two providers."""
    receipts = await asyncio.gather(
        receive(billing, invoice, 500, "stripe"), receive(billing, invoice, 500, "lightning")
    )
    assert sorted(receipt.outcome for receipt in receipts) == ["credited", "paid"]
    totals = (await billing.statement(tenant)).totals
    assert (totals.paid, totals.credit, totals.balance) == (500, 500, -500)


@pytest.mark.parametrize(
    ("cents", "outcome", "credit", "status"),
    [(500, "paid", 0, "paid"), (700, "paid", 200, "paid"), (499, "credited", 499, "open"), (1, "credited", 1, "open")],
)
async def test_amounts_that_differ_are_credit(billing, tenant, invoice, cents, outcome, credit, status):
    """REL-43"""
    assert (await receive(billing, invoice, cents)).outcome == outcome
    assert (await billing.statement(tenant)).totals.credit == credit
    assert (await billing.invoices(tenant))[0].status == status


async def test_part_payments_that_cover_an_invoice_pay_it(billing, tenant, invoice):
    """REL-43: the first lowers what it asks for, the second covers the rest; what is over pays for waking."""
    billing.time.pass_(8 * DAY)
    await billing.services.catch_up()
    assert (await billing.shelf(tenant)).status == "delinquent"
    asked = [(await billing.invoices(tenant))[0].amount_cents]
    for cents, status in ((100, "open"), (60, "paid")):
        receipt = await receive(billing, invoice, cents)
        await billing.deps.publisher.publish(*receipt.activities)
        first = (await billing.invoices(tenant))[0]
        asked.append(first.amount_cents)
        assert (first.status, (await billing.statement(tenant)).totals.credit) == (status, 0)
    assert asked == [asked[0], asked[0] - 100, asked[0] - 100]
    assert (await billing.shelf(tenant)).status == "active"


async def test_a_payment_for_a_voided_invoice_becomes_credit(billing, tenant, invoice):
    """REL-43"""
    await billing.services.books.void(OPERATOR, invoice.public_id, a_request(tenant_id=tenant.id))
    assert (await receive(billing, invoice, 500)).outcome == "credited"
    assert (await billing.invoices(tenant))[0].status == "voided"
    assert (await billing.statement(tenant)).totals.credit == 500


async def test_another_currency_pays_nothing_and_is_nobodys_credit(billing, tenant, invoice):
    assert (await receive(billing, invoice, 500, currency="EUR")).outcome == "refused"
    assert (await billing.statement(tenant)).totals.credit == 0
    with pytest.raises(Invalid):
        await receive(billing, invoice, 0)


# -- Lightning


def a_bolt11(billing, invoice, payment_hash=None):
    found = payment_hash or os.urandom(8).hex()
    return NewBolt11(
        invoice_id=invoice.id,
        request=f"lnbc{found}",
        payment_hash=found,
        amount_msat=1_000,
        expires_at=Millis(billing.time() + HOUR),
    )


async def test_a_payment_request_is_stored_once(billing, invoice):
    new = a_bolt11(billing, invoice)
    assert await billing.services.settlement.insert_bolt11(new) is not None
    assert await billing.services.settlement.insert_bolt11(new) is None


async def test_a_node_that_settles_again_and_again_settles_once(billing, tenant, invoice):
    """REL-45"""
    new = a_bolt11(billing, invoice)
    await billing.services.settlement.insert_bolt11(new)
    settled = await asyncio.gather(*(billing.services.settlement.settle_bolt11(new.payment_hash) for _ in range(8)))
    assert [receipt.outcome for receipt in settled if receipt] == ["paid"]
    assert (await billing.statement(tenant)).totals.credit == 0


async def test_settled_after_its_expiry_is_settled(billing, tenant, invoice):
    """REL-45: the money is here, whatever the clock says."""
    new = a_bolt11(billing, invoice)
    await billing.services.settlement.insert_bolt11(new)
    billing.time.pass_(2 * HOUR)
    receipt = await billing.services.settlement.settle_bolt11(new.payment_hash)
    assert receipt is not None
    assert receipt.invoice.method == "lightning"


async def test_two_live_requests_give_one_payment_and_one_credit(billing, tenant, invoice):
    """R87"""
    for _ in range(2):
        await billing.pay_by_lightning(invoice)
    totals = (await billing.statement(tenant)).totals
    assert (totals.paid, totals.credit) == (500, 500)


async def test_a_request_that_nobody_made_is_unknown(billing):
    with pytest.raises(NotFound):
        await billing.services.settlement.settle_bolt11("none")


# -- a provider that is called


NEVER_SEEN = ChargeDeclined("no such payment")


class Card:
    """A provider that does what a test says, and remembers what it was asked."""

    name = "card"

    def __init__(self, *answers: Answer | Exception, found: Answer | Exception = NEVER_SEEN) -> None:
        self.answers = list(answers)
        self.found = found
        self.charged: list[str] = []
        self.looked_up: list[str] = []

    async def charge(self, key: str, invoice: Invoice) -> Answer:
        assert invoice.status == "open"
        self.charged.append(key)
        return self._say(self.answers.pop(0))

    async def look_up(self, key: str) -> Answer:
        self.looked_up.append(key)
        return self._say(self.found)

    @staticmethod
    def _say(answer: Answer | Exception) -> Answer:
        if isinstance(answer, Exception):
            raise answer
        return answer


TOOK = ChargeSucceeded(Payment("stripe", "pi_1", 500, "USD"))


async def attempts(billing):
    return await billing.db.read(lambda tx: tx.many(str, q.attempts))


async def test_money_that_was_taken_pays_the_invoice(billing, tenant, invoice):
    card = Card(TOOK)
    assert await billing.services.charging.collect(invoice.id, card) == TOOK
    assert (await billing.invoices(tenant))[0].status == "paid"
    with pytest.raises(Conflict):
        await billing.services.charging.collect(invoice.id, card)
    assert len(card.charged) == 1


async def test_a_timed_out_call_is_looked_up_before_a_retry(billing, tenant, invoice):
    """R88, REL-45, SEC-52: the money had been taken."""
    card = Card(TimeoutError(), found=TOOK)
    assert isinstance(await billing.services.charging.collect(invoice.id, card), ChargeUnknown)
    assert await attempts(billing) == ["unknown"]
    assert (await billing.invoices(tenant))[0].status == "open"
    assert await billing.services.charging.collect(invoice.id, card) == TOOK
    assert (len(card.charged), card.looked_up) == (1, card.charged)
    assert await attempts(billing) == ["paid"]
    assert (await billing.statement(tenant)).totals.balance == 0


async def test_while_it_stays_unknown_nothing_is_tried_again(billing, invoice):
    """R88"""
    card = Card(TimeoutError(), found=ConnectionError())
    for _ in range(3):
        assert isinstance(await billing.services.charging.collect(invoice.id, card), ChargeUnknown)
    assert (len(card.charged), len(card.looked_up)) == (1, 2)


async def test_what_was_not_taken_is_tried_again_under_another_key(billing, tenant, invoice):
    """R88"""
    card = Card(TimeoutError(), TOOK)
    await billing.services.charging.collect(invoice.id, card)
    assert await billing.services.charging.collect(invoice.id, card) == TOOK
    assert len(set(card.charged)) == 2
    assert await attempts(billing) == ["failed", "paid"]


async def test_a_call_under_way_blocks_others_until_it_expires(billing, tenant, invoice):
    """R88: a process that died in the middle of a call leaves its attempt behind."""
    begun, release = asyncio.Event(), asyncio.Event()

    class Slow(Card):
        async def charge(self, key: str, invoice: Invoice) -> Answer:
            begun.set()
            await release.wait()
            return await super().charge(key, invoice)

    calling = asyncio.create_task(billing.services.charging.collect(invoice.id, Slow(TOOK)))
    await begun.wait()
    with pytest.raises(Conflict):
        await billing.services.charging.collect(invoice.id, Card())
    billing.time.pass_(CALL_TIME)
    assert await billing.services.charging.collect(invoice.id, Card(found=TOOK)) == TOOK
    release.set()
    await calling  # it comes back after all, and finds that its attempt is settled
    totals = (await billing.statement(tenant)).totals
    assert (totals.paid, totals.credit) == (500, 0)


# -- idempotency keys


async def test_one_key_gets_one_answer_and_one_effect(billing, tenant):
    """REL-47"""

    async def grant(cents=100, **over):
        request = a_request(**{"tenant_id": tenant.id, "key": "k", "content": cents} | over)
        return await billing.services.books.grant_credit(
            OPERATOR, tenant.public_id, cents, reason="sorry", request=request
        )

    answers = await asyncio.gather(*(grant() for _ in range(8)))
    assert all(answer == answers[0] for answer in answers)
    billing.time.pass_(HOUR)
    assert await grant() == answers[0]
    with pytest.raises(KeyReused):
        await grant(101)
    assert (await billing.statement(tenant)).totals.credited == 100
    other = await billing.tenant("free", "Other")
    assert (await grant(tenant_id=other.id)).id != answers[0].id


async def test_a_request_that_failed_leaves_its_key_free(billing, tenant, invoice):
    """REL-47"""
    request = a_request(tenant_id=tenant.id, key="k")
    await billing.pay(invoice)
    for _ in range(2):
        with pytest.raises(Conflict):
            await billing.services.settlement.mark_paid(OPERATOR, invoice.public_id, "x", request)


async def test_keys_are_forgotten_after_a_day(billing, tenant):
    request = a_request(tenant_id=TenantId(tenant.id), key="k")
    for passed in (0, 25 * HOUR):
        billing.time.pass_(passed)
        await billing.services.tidy()
        await billing.services.books.grant_credit(OPERATOR, tenant.public_id, 5, reason="sorry", request=request)
    assert (await billing.statement(tenant)).totals.credited == 10
