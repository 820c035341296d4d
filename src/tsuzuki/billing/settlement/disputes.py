"""A payment that somebody disputes: nothing moves in the ledger, the operator is told and decides."""

import structlog

from tsuzuki.accounts.activity.nouns import Activity
from tsuzuki.accounts.activity.store import insert_tenant_activity_tx, lock_account_tx
from tsuzuki.accounts.audit.recording import AuditEvent, record_tx
from tsuzuki.accounts.nouns import SYSTEM
from tsuzuki.billing.settlement.nouns import Intent
from tsuzuki.billing.settlement.store import put_dispute_tx
from tsuzuki.billing.settlement.stripe import StripeDispute
from tsuzuki.billing.store import get_invoice_tx
from tsuzuki.billing.telling import disputed
from tsuzuki.db import Tx
from tsuzuki.delivery.notices.telling import tell_tx
from tsuzuki.delivery.outages.store import operator_tellees_tx
from tsuzuki.model.ids import show_id
from tsuzuki.model.times import Millis

_log = structlog.stdlib.get_logger("tsuzuki.billing")


async def note_dispute_tx(tx: Tx, told: StripeDispute, intent: Intent, now: Millis) -> Activity | None:
    """Write down where a dispute stands, and tell those who run this server; None when that is known."""
    invoice = await get_invoice_tx(tx, intent.invoice_id)
    await lock_account_tx(tx, invoice.tenant_id)
    if not await put_dispute_tx(tx, told, invoice.id, now):
        return None
    after = {"dispute": told.dispute_id, "cents": told.amount_cents, "status": told.status}
    audit_event = AuditEvent("invoice.dispute", "invoice", show_id(invoice.public_id), after=after, reason=told.reason)
    await record_tx(tx, SYSTEM, audit_event, now=now)
    message = disputed(invoice, told.amount_cents, f"{told.reason}, {told.status}", now)
    about = f"dispute-{told.dispute_id}-{told.status}"
    await tell_tx(tx, await operator_tellees_tx(tx, invoice.number), about, lambda _: message, now=now)
    _log.error("payment_disputed", invoice=invoice.number, dispute=told.dispute_id, status=told.status)
    return await insert_tenant_activity_tx(tx, invoice.tenant_id, "invoice.disputed", invoice.snapshot(), now=now)
