"""Settlement of invoices: by hand, by Stripe's events, by Lightning."""

from typing import Literal

import msgspec
import structlog

from tsuzuki.accounts.activity import Activity, CreditSnapshot, insert_tenant_activity_tx, lock_account_tx
from tsuzuki.accounts.audit import AuditEvent, record_tx
from tsuzuki.accounts.deps import AccountDeps
from tsuzuki.accounts.types import SYSTEM
from tsuzuki.billing.books import BillingScope, IdempotentRequest, once_tx, own_invoice_tx
from tsuzuki.billing.dunning import disputed
from tsuzuki.billing.ledger import ask_again_tx, standing_paid_tx
from tsuzuki.billing.settlement.stripe import (
    StripeDispute,
    StripePayment,
    StripeRefund,
    check_signature,
    event_id,
    read_event,
)
from tsuzuki.billing.store import (
    find_intent_tx,
    find_invoice_tx,
    get_invoice_tx,
    insert_credit_tx,
    insert_intent_tx,
    mark_invoice_paid_tx,
)
from tsuzuki.billing.types import (
    Answer,
    Bolt11,
    ChargeAttempt,
    ChargeDeclined,
    ChargeSucceeded,
    ChargeUnknown,
    GivenBack,
    Intent,
    Invoice,
    InvoiceId,
    NewBolt11,
    Payment,
    PaymentProvider,
    Receipt,
    Refund,
)
from tsuzuki.coord.wakeup import AfterCommit
from tsuzuki.db import Tx, load_queries
from tsuzuki.db.errors import UniqueViolation
from tsuzuki.delivery.outages import operator_recipients_tx
from tsuzuki.model.errors import Conflict, Invalid, NotFound, Unavailable
from tsuzuki.model.ids import PublicId, show_id
from tsuzuki.model.times import MINUTE, Millis
from tsuzuki.notifications.announcer import notify_tx
from tsuzuki.notifications.tasks import SENDS

q = load_queries("tsuzuki.billing")


async def receive_payment_tx(tx: Tx, invoice_id: InvoiceId, payment: Payment, now: Millis) -> Receipt:
    """Pay the invoice with it; what is too much, too late or too little becomes credit (R87, REL-43, REL-44).

    Whoever calls this has claimed the payment in the same transaction.
    """
    if payment.amount_cents <= 0:
        raise Invalid("A payment must be above 0.")
    await lock_account_tx(tx, (await get_invoice_tx(tx, invoice_id)).tenant_id)
    invoice = await get_invoice_tx(tx, invoice_id)
    if payment.currency.upper() != invoice.currency:
        return Receipt("refused", invoice)
    if payment.amount_cents < invoice.amount_cents or not await mark_invoice_paid_tx(
        tx, invoice.id, payment.method, reference=payment.reference, now=now
    ):
        logged = await _credit_tx(tx, invoice, payment.amount_cents, _why(invoice, payment), now=now)
        return Receipt("credited", invoice, payment.amount_cents, (logged,))
    paid = await get_invoice_tx(tx, invoice.id)
    activities = [await insert_tenant_activity_tx(tx, paid.tenant_id, "invoice.paid", paid.snapshot(), now=now)]
    surplus = payment.amount_cents - invoice.amount_cents
    if surplus:
        activities.append(await _credit_tx(tx, invoice, surplus, f"overpayment of invoice {invoice.number}", now=now))
    return Receipt("paid", paid, surplus, tuple(activities))


async def _credit_tx(tx: Tx, invoice: Invoice, cents: int, reason: str, *, now: Millis) -> Activity:
    await insert_credit_tx(tx, invoice.tenant_id, cents, "payment", reason=reason, invoice_id=invoice.id, now=now)
    snapshot = CreditSnapshot(cents, invoice.currency, reason)
    return await insert_tenant_activity_tx(tx, invoice.tenant_id, "credit.granted", snapshot, now=now)


def _why(invoice: Invoice, payment: Payment) -> str:
    by = f"{payment.method} {payment.reference}" if payment.reference else payment.method
    if invoice.status == "paid":
        return f"second payment of invoice {invoice.number} ({by})"
    if invoice.status == "voided":
        return f"payment of the voided invoice {invoice.number} ({by})"
    return f"partial payment of invoice {invoice.number} ({by})"


async def refund_payment_tx(tx: Tx, intent: Intent, total_cents: int, now: Millis) -> Activity | None:
    """So much of a payment was given back in all; None when that was known, or when the payment never counted.

    Totals only grow, so events that come twice or in another order change nothing. Nobody is asked again for what was
    given back: its items were billed, and are never billed a second time (R86).
    """
    invoice = await get_invoice_tx(tx, intent.invoice_id)
    await lock_account_tx(tx, invoice.tenant_id)
    before, standing = await tx.one(GivenBack, q.given_back, intent_id=intent.id), await standing_paid_tx(tx, invoice)
    refund = _refund(intent, invoice, before, min(total_cents, intent.amount_cents), standing=standing, now=now)
    if refund is None:
        return None
    await tx.run(q.insert_refund, **msgspec.structs.asdict(refund))
    if refund.credit_cents:
        reason = f"given back (stripe {intent.id})"
        cents = -refund.credit_cents
        await insert_credit_tx(tx, invoice.tenant_id, cents, "refunded", reason=reason, invoice_id=invoice.id, now=now)
        await ask_again_tx(tx, invoice.tenant_id, now)
    snapshot = (await get_invoice_tx(tx, invoice.id)).snapshot()
    return await insert_tenant_activity_tx(tx, invoice.tenant_id, "invoice.refunded", snapshot, now=now)


def _refund(
    intent: Intent, invoice: Invoice, before: GivenBack, total: int, *, standing: int, now: Millis
) -> Refund | None:
    """Credit first: what was paid beyond what was owed, or was given back meanwhile for time that was not used."""
    if intent.outcome == "refused" or total <= before.total_cents:
        return None
    amount = total - before.total_cents
    beyond = intent.amount_cents - (invoice.amount_cents if intent.outcome == "paid" else 0)
    paid = amount - min(amount, max(0, beyond - before.credit_cents))
    return Refund(
        intent_id=intent.id,
        invoice_id=invoice.id,
        total_cents=total,
        amount_cents=amount,
        credit_cents=amount - min(paid, max(0, standing)),
        created_at=now,
    )


_log = structlog.stdlib.get_logger("tsuzuki.billing")


async def note_dispute_tx(tx: Tx, dispute: StripeDispute, intent: Intent, now: Millis) -> Activity | None:
    """Store the state of a dispute and notify the operators; None when that state is known already."""
    invoice = await get_invoice_tx(tx, intent.invoice_id)
    await lock_account_tx(tx, invoice.tenant_id)
    if not await tx.run(q.put_dispute, **msgspec.structs.asdict(dispute), invoice_id=invoice.id, now=now):
        return None
    after = {"dispute": dispute.dispute_id, "cents": dispute.amount_cents, "status": dispute.status}
    of_invoice = show_id(invoice.public_id)
    audit_event = AuditEvent("invoice.dispute", "invoice", of_invoice, after=after, reason=dispute.reason)
    await record_tx(tx, SYSTEM, audit_event, now=now)
    message = disputed(invoice, dispute.amount_cents, f"{dispute.reason}, {dispute.status}", now)
    about = f"dispute-{dispute.dispute_id}-{dispute.status}"
    await notify_tx(tx, await operator_recipients_tx(tx, invoice.number), about, lambda _: message, now=now)
    _log.error("payment_disputed", invoice=invoice.number, dispute=dispute.dispute_id, status=dispute.status)
    return await insert_tenant_activity_tx(tx, invoice.tenant_id, "invoice.disputed", invoice.snapshot(), now=now)


CALL_TIME = Millis(2 * MINUTE)
"""No call to a provider takes longer; before that, nobody else asks what became of it."""

_STATUS = {ChargeSucceeded: "paid", ChargeDeclined: "failed", ChargeUnknown: "unknown"}


class Charging:
    """Writes an attempt down, makes the call, and writes what became of it down with its effect."""

    def __init__(self, deps: AccountDeps) -> None:
        self._deps = deps

    async def collect(self, invoice_id: InvoiceId, provider: PaymentProvider) -> Answer:
        """Take an open invoice's amount; Conflict while another attempt is under way, or it is not open.

        What an earlier attempt left unknown is looked up first, and a second call is made only when that says that
        nothing was taken.
        """
        earlier = await self._deps.db.read(lambda tx: tx.maybe(ChargeAttempt, q.open_attempt, invoice_id=invoice_id))
        if earlier is not None:
            answer = await self._look_up(earlier, provider)
            if isinstance(answer, (ChargeSucceeded, ChargeUnknown)):
                return answer
        attempt, invoice = await self._begin(invoice_id, provider)
        try:
            answer = await provider.charge(attempt.key, invoice)
        except Exception as error:  # noqa: BLE001  whatever it was, the money may be gone
            _log.warning("payment_unknown", invoice=invoice.number, reason=repr(error))
            answer = ChargeUnknown(repr(error))
        return await self._finish(attempt, answer)

    async def _look_up(self, attempt: ChargeAttempt, provider: PaymentProvider) -> Answer:
        if attempt.status == "begun" and self._deps.clock() < attempt.updated_at + CALL_TIME:
            raise Conflict("This invoice is being paid right now; wait for the result.")
        try:
            answer = await provider.look_up(attempt.key)
        except Exception as error:  # noqa: BLE001  then it is still unknown
            answer = ChargeUnknown(repr(error))
        return await self._finish(attempt, answer)

    async def _begin(self, invoice_id: InvoiceId, provider: PaymentProvider) -> tuple[ChargeAttempt, Invoice]:
        async def begin(tx: Tx) -> tuple[ChargeAttempt, Invoice]:
            now = self._deps.clock()
            invoice = await get_invoice_tx(tx, invoice_id)
            if invoice.status != "open":
                raise Conflict(f"Invoice {invoice.number} is already {invoice.status}.")
            key = show_id(self._deps.new_id(now))
            try:
                # Begun; UniqueViolation while another one is open.
                return (
                    await tx.one(
                        ChargeAttempt, q.insert_attempt, invoice_id=invoice_id, provider=provider.name, key=key, now=now
                    )
                ), invoice
            except UniqueViolation as error:
                raise Conflict("This invoice is being paid right now; wait for the result.") from error

        return await self._deps.db.with_tx(begin)

    async def _finish(self, attempt: ChargeAttempt, answer: Answer) -> Answer:
        async def finish(tx: Tx) -> Receipt | None:
            now = self._deps.clock()
            detail = "" if isinstance(answer, ChargeSucceeded) else answer.reason
            status = _STATUS[type(answer)]
            if not await tx.run(q.finish_attempt, id=attempt.id, status=status, detail=detail, now=now):
                return None
            if not isinstance(answer, ChargeSucceeded):
                return None
            return await receive_payment_tx(tx, attempt.invoice_id, answer.payment, now)

        receipt = await self._deps.db.with_tx(finish)
        if receipt is not None:
            await self._deps.publisher.publish(*receipt.activities)
        return answer


StripeOutcome = Literal["paid", "credited", "refused", "refunded", "disputed", "known", "ignored"]
"""What became of an event: `known` was settled or given back before, `ignored` is not about our invoices."""


class Settlement:
    """Every claim and its effect are one transaction, so that no event is lost or counted twice."""

    def __init__(
        self, deps: AccountDeps, *, stripe_secret: str = "", after_commit: AfterCommit = lambda *_: None
    ) -> None:
        self._deps = deps
        self._after_commit = after_commit
        self._stripe_secret = stripe_secret

    @property
    def takes_stripe(self) -> bool:
        """Whether the secret of Stripe's webhook is set."""
        return bool(self._stripe_secret)

    async def mark_paid(
        self, scope: BillingScope, invoice_id: PublicId, reference: str, request: IdempotentRequest
    ) -> Invoice:
        """The operator has seen the money; Conflict when the invoice is paid or voided, lest a slip becomes credit."""

        async def mark(tx: Tx) -> tuple[Invoice, Receipt | None]:
            now = self._deps.clock()
            receipts: list[Receipt] = []

            async def work() -> Invoice:
                found = await own_invoice_tx(tx, scope, invoice_id)
                await lock_account_tx(tx, found.tenant_id)
                found = await get_invoice_tx(tx, found.id)
                if found.status != "open":
                    raise Conflict(f"Invoice {found.number} is already {found.status}.")
                payment = Payment("manual", reference, found.amount_cents, found.currency)
                receipts.append(await receive_payment_tx(tx, found.id, payment, now))
                audit_event = AuditEvent(
                    "invoice.pay", "invoice", show_id(found.public_id), after={"reference": reference}
                )
                await record_tx(tx, scope.actor, audit_event, now=now)
                return receipts[0].invoice

            return await once_tx(tx, request, Invoice, work, now=now), next(iter(receipts), None)

        invoice, receipt = await self._deps.db.with_tx(mark)
        await self._publish(receipt)
        return invoice

    # -- Stripe

    async def receive_stripe_event(self, header: str | None, body: bytes) -> StripeOutcome:
        """An event, if its signature is right (R90); Forbidden otherwise. A repeat is answered and does nothing.

        Invalid for one that makes no sense: the operator finds it in the audit log, and Stripe sends it again.
        """
        check_signature(self._stripe_secret, header, body, now=self._deps.clock())
        try:
            event = read_event(body)
            if event is None:
                return "ignored"
            if isinstance(event, StripeDispute):
                return await self._note_dispute(event)
            return await self._refund(event) if isinstance(event, StripeRefund) else await self._settle(event)
        except Invalid as error:
            await self._record_refusal(event_id(body), str(error))
            raise

    async def _record_refusal(self, event: str, reason: str) -> None:
        _log.error("stripe_event_refused", event_id=event, reason=reason)
        audit_event = AuditEvent("stripe.refuse", "stripe_event", event or "unknown", reason=reason)
        await self._deps.db.with_tx(lambda tx: record_tx(tx, SYSTEM, audit_event, now=self._deps.clock()))

    async def _settle(self, paid: StripePayment) -> StripeOutcome:
        async def settle(tx: Tx) -> Receipt | StripeOutcome:
            invoice = await find_invoice_tx(tx, paid.invoice_id)
            if invoice is None:
                return "ignored"
            now = self._deps.clock()
            await lock_account_tx(tx, invoice.tenant_id)
            if not await insert_intent_tx(tx, paid.intent_id, invoice.id, paid.payment, now=now):
                return "known"
            receipt = await receive_payment_tx(tx, invoice.id, paid.payment, now)
            await tx.run(q.set_intent_outcome, id=paid.intent_id, outcome=receipt.outcome)
            return receipt

        settled = await self._deps.db.with_tx(settle)
        if not isinstance(settled, Receipt):
            return settled
        if settled.outcome != "paid":
            _log.warning("payment_mismatch", intent=paid.intent_id, outcome=settled.outcome)
        await self._publish(settled)
        return settled.outcome

    async def _refund(self, refund: StripeRefund) -> StripeOutcome:
        async def take_back(tx: Tx) -> Activity | StripeOutcome:
            intent = await find_intent_tx(tx, refund.intent_id)
            if intent is None:
                if refund.invoice_id is not None and await find_invoice_tx(tx, refund.invoice_id) is not None:
                    raise Unavailable("The payment that this refunds is not known yet. Send it again later.")
                return "ignored"
            if intent.currency != refund.currency:
                raise Invalid(f"The payment was in {intent.currency}, not in {refund.currency}.")
            return await refund_payment_tx(tx, intent, refund.total_cents, self._deps.clock()) or "known"

        done = await self._deps.db.with_tx(take_back)
        if not isinstance(done, Activity):
            return done
        _log.info("payment_refunded", intent=refund.intent_id, cents=refund.total_cents)
        await self._deps.publisher.publish(done)
        return "refunded"

    async def _note_dispute(self, dispute: StripeDispute) -> StripeOutcome:
        async def note(tx: Tx) -> Activity | StripeOutcome:
            intent = await find_intent_tx(tx, dispute.intent_id)
            if intent is None:
                return "ignored"
            return await note_dispute_tx(tx, dispute, intent, self._deps.clock()) or "known"

        done = await self._deps.db.with_tx(note)
        if not isinstance(done, Activity):
            return done
        self._after_commit(SENDS.name)
        await self._deps.publisher.publish(done)
        return "disputed"

    # -- Lightning

    async def insert_bolt11(self, new: NewBolt11) -> Bolt11 | None:
        """Remember a payment request; None when it is known. An invoice may have several."""
        return await self._deps.db.with_tx(
            lambda tx: tx.maybe(Bolt11, q.insert_bolt11, now=self._deps.clock(), **msgspec.structs.asdict(new))
        )

    async def settle_bolt11(self, payment_hash: str) -> Receipt | None:
        """The node has the money; None when that was known. It counts after its expiry too (REL-45)."""

        async def settle(tx: Tx) -> Receipt | None:
            now = self._deps.clock()
            found = await tx.maybe(Bolt11, q.find_bolt11, payment_hash=payment_hash)
            if found is None:
                raise NotFound("There is no such payment request.")
            invoice = await get_invoice_tx(tx, found.invoice_id)
            await lock_account_tx(tx, invoice.tenant_id)
            if not await tx.run(q.mark_bolt11_settled, id=found.id, now=now):
                return None
            cents = found.amount_cents or invoice.amount_cents
            payment = Payment("lightning", payment_hash, cents, invoice.currency)
            return await receive_payment_tx(tx, invoice.id, payment, now)

        receipt = await self._deps.db.with_tx(settle)
        await self._publish(receipt)
        return receipt

    async def _publish(self, receipt: Receipt | None) -> None:
        if receipt is not None:
            await self._deps.publisher.publish(*receipt.activities)
