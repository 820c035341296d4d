"""Settling invoices: by hand, by what Stripe tells, by Lightning."""

from typing import Literal

import structlog

from tsuzuki.accounts.activity.nouns import Activity
from tsuzuki.accounts.activity.store import lock_account_tx
from tsuzuki.accounts.audit.recording import AuditEvent, record_tx
from tsuzuki.accounts.deps import AccountDeps
from tsuzuki.accounts.nouns import SYSTEM
from tsuzuki.billing.access import BillingScope
from tsuzuki.billing.books import own_invoice_tx
from tsuzuki.billing.nouns import Invoice
from tsuzuki.billing.once import IdempotentRequest, once_tx
from tsuzuki.billing.settlement.disputes import note_dispute_tx
from tsuzuki.billing.settlement.nouns import Bolt11, NewBolt11, Payment, Receipt
from tsuzuki.billing.settlement.receiving import receive_payment_tx
from tsuzuki.billing.settlement.refunding import give_back_tx
from tsuzuki.billing.settlement.store import (
    find_bolt11_tx,
    find_intent_tx,
    insert_bolt11_tx,
    insert_intent_tx,
    mark_bolt11_settled_tx,
    set_intent_outcome_tx,
)
from tsuzuki.billing.settlement.stripe import (
    StripeDispute,
    StripePayment,
    StripeRefund,
    check_signature,
    event_id,
    read_event,
)
from tsuzuki.billing.store import find_invoice_tx, get_invoice_tx
from tsuzuki.coord.wakeup import AfterCommit
from tsuzuki.db import Tx
from tsuzuki.delivery.notices.tasks import SENDS
from tsuzuki.model.errors import Conflict, Invalid, NotFound, Unavailable
from tsuzuki.model.ids import PublicId, show_id

Told = Literal["paid", "credited", "refused", "refunded", "disputed", "known", "ignored"]
"""What became of an event: `known` was settled or given back before, `ignored` is not about our invoices."""

_log = structlog.stdlib.get_logger("tsuzuki.billing")


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
        """Whether Stripe's webhook is set up."""
        return bool(self._stripe_secret)

    async def mark_paid(
        self, whose: BillingScope, invoice_id: PublicId, reference: str, request: IdempotentRequest
    ) -> Invoice:
        """The operator has seen the money; Conflict when the invoice is paid or voided, lest a slip becomes credit."""

        async def mark(tx: Tx) -> tuple[Invoice, Receipt | None]:
            now = self._deps.clock()
            receipts: list[Receipt] = []

            async def work() -> Invoice:
                found = await own_invoice_tx(tx, whose, invoice_id)
                await lock_account_tx(tx, found.tenant_id)
                found = await get_invoice_tx(tx, found.id)
                if found.status != "open":
                    raise Conflict(f"Invoice {found.number} is {found.status} already.")
                payment = Payment("manual", reference, found.amount_cents, found.currency)
                receipts.append(await receive_payment_tx(tx, found.id, payment, now))
                audit_event = AuditEvent(
                    "invoice.pay", "invoice", show_id(found.public_id), after={"reference": reference}
                )
                await record_tx(tx, whose.actor, audit_event, now=now)
                return receipts[0].invoice

            return await once_tx(tx, request, Invoice, work, now=now), next(iter(receipts), None)

        invoice, receipt = await self._deps.db.with_tx(mark)
        await self._publish(receipt)
        return invoice

    # -- Stripe

    async def hear_stripe(self, header: str | None, body: bytes) -> Told:
        """An event, if its signature is right (R90); Forbidden otherwise. A repeat is answered and does nothing.

        Invalid for one that makes no sense: the operator finds it in the audit log, and Stripe sends it again.
        """
        check_signature(self._stripe_secret, header, body, now=self._deps.clock())
        try:
            told = read_event(body)
            if told is None:
                return "ignored"
            if isinstance(told, StripeDispute):
                return await self._note_dispute(told)
            return await self._refund(told) if isinstance(told, StripeRefund) else await self._settle(told)
        except Invalid as error:
            await self._record_refusal(event_id(body), str(error))
            raise

    async def _record_refusal(self, event: str, reason: str) -> None:
        _log.error("stripe_event_refused", event_id=event, reason=reason)
        audit_event = AuditEvent("stripe.refuse", "stripe_event", event or "unknown", reason=reason)
        await self._deps.db.with_tx(lambda tx: record_tx(tx, SYSTEM, audit_event, now=self._deps.clock()))

    async def _settle(self, told: StripePayment) -> Told:
        async def settle(tx: Tx) -> Receipt | Told:
            invoice = await find_invoice_tx(tx, told.invoice_id)
            if invoice is None:
                return "ignored"
            now = self._deps.clock()
            await lock_account_tx(tx, invoice.tenant_id)
            if not await insert_intent_tx(tx, told.intent_id, invoice.id, told.payment, now=now):
                return "known"
            receipt = await receive_payment_tx(tx, invoice.id, told.payment, now)
            await set_intent_outcome_tx(tx, told.intent_id, receipt.outcome)
            return receipt

        settled = await self._deps.db.with_tx(settle)
        if not isinstance(settled, Receipt):
            return settled
        if settled.outcome != "paid":
            _log.warning("payment_not_as_expected", intent=told.intent_id, outcome=settled.outcome)
        await self._publish(settled)
        return settled.outcome

    async def _refund(self, told: StripeRefund) -> Told:
        async def refund(tx: Tx) -> Activity | Told:
            intent = await find_intent_tx(tx, told.intent_id)
            if intent is None:
                if told.invoice_id is not None and await find_invoice_tx(tx, told.invoice_id) is not None:
                    raise Unavailable("The payment that this gives back is not known here yet. Send it again later.")
                return "ignored"
            if intent.currency != told.currency:
                raise Invalid(f"The payment was in {intent.currency}, not in {told.currency}.")
            return await give_back_tx(tx, intent, told.total_cents, self._deps.clock()) or "known"

        done = await self._deps.db.with_tx(refund)
        if not isinstance(done, Activity):
            return done
        _log.info("payment_given_back", intent=told.intent_id, cents=told.total_cents)
        await self._deps.publisher.publish(done)
        return "refunded"

    async def _note_dispute(self, told: StripeDispute) -> Told:
        async def note(tx: Tx) -> Activity | Told:
            intent = await find_intent_tx(tx, told.intent_id)
            return (
                "ignored" if intent is None else await note_dispute_tx(tx, told, intent, self._deps.clock()) or "known"
            )

        done = await self._deps.db.with_tx(note)
        if not isinstance(done, Activity):
            return done
        self._after_commit(SENDS.name)
        await self._deps.publisher.publish(done)
        return "disputed"

    # -- Lightning

    async def insert_bolt11(self, new: NewBolt11) -> Bolt11 | None:
        """Remember a payment request; None when it is known. An invoice may have several."""
        return await self._deps.db.with_tx(lambda tx: insert_bolt11_tx(tx, new, self._deps.clock()))

    async def settle_bolt11(self, payment_hash: str) -> Receipt | None:
        """The node has the money; None when that was known. It counts after its expiry too (REL-45)."""

        async def settle(tx: Tx) -> Receipt | None:
            now = self._deps.clock()
            found = await find_bolt11_tx(tx, payment_hash)
            if found is None:
                raise NotFound("There is no such payment request.")
            invoice = await get_invoice_tx(tx, found.invoice_id)
            await lock_account_tx(tx, invoice.tenant_id)
            if not await mark_bolt11_settled_tx(tx, found.id, now):
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
