"""Invoices and credit for the operator, and Stripe's webhook. A repeated `Idempotency-Key` does nothing."""

from typing import Annotated, Any

import msgspec
from msgspec import Meta
from starlette.requests import Request

from tsuzuki.accounts.caller import Caller
from tsuzuki.api.billing import CreditView, InvoiceView, credit_view, invoice_view
from tsuzuki.api.endpoints import Access, Body, declaring
from tsuzuki.api.ids import InvoicePath, TenantPath
from tsuzuki.billing.books import IdempotentRequest, scope_of
from tsuzuki.billing.services import Billing
from tsuzuki.billing.settlement.service import StripeOutcome
from tsuzuki.billing.settlement.stripe import SIGNATURE
from tsuzuki.http.body import read_body
from tsuzuki.http.errors import BodyTooLarge
from tsuzuki.model.errors import Conflict, Forbidden, Invalid, KeyReused, NotFound

KEY = "idempotency-key"
LONGEST_KEY = 255
MOST_CENTS = 100_000_000
_EVENT_BYTES = 256 * 1024


class PaidBody(Body, frozen=True, kw_only=True):
    """A reference to the payment: a transfer, a receipt."""

    reference: Annotated[str, Meta(min_length=1, max_length=200)]


class CreditBody(Body, frozen=True, kw_only=True):
    """Credit for the next invoices."""

    amount_cents: Annotated[int, Meta(ge=1, le=MOST_CENTS)]
    reason: Annotated[str, Meta(min_length=1, max_length=500)]


class HeardView(msgspec.Struct, frozen=True):
    """The result of an event; a repeated event is `known`, one that is not about our invoices `ignored`."""

    outcome: StripeOutcome


async def void_invoice(invoice_id: InvoicePath, request: Request, caller: Caller, billing: Billing) -> InvoiceView:
    """Voids an invoice with its lines; credit that it used is returned. A paid invoice cannot be voided."""
    books, once = billing.opened().books, _once(request, caller, None)
    return invoice_view(await books.void(scope_of(caller), invoice_id, once))


async def pay_invoice(
    *, invoice_id: InvoicePath, request: Request, caller: Caller, body: PaidBody, billing: Billing
) -> InvoiceView:
    """Records that the operator received the money."""
    settlement, once = billing.opened().settlement, _once(request, caller, body)
    return invoice_view(await settlement.mark_paid(scope_of(caller), invoice_id, body.reference, once))


async def grant_credit(
    *, tenant_id: TenantPath, request: Request, caller: Caller, body: CreditBody, billing: Billing
) -> CreditView:
    """Credit that is used for the tenant's next invoices."""
    books, once = billing.opened().books, _once(request, caller, body)
    cents, reason = body.amount_cents, body.reason
    return credit_view(await books.grant_credit(scope_of(caller), tenant_id, cents, reason=reason, request=once))


async def hear_stripe(request: Request, billing: Billing) -> HeardView:
    """The webhook for Stripe. Only events signed with its secret within the last five minutes are accepted."""
    settlement = billing.opened().settlement
    if not settlement.takes_stripe:
        raise NotFound("Stripe is not set up on this server.")
    body = await read_body(request.scope, request.receive, _EVENT_BYTES)
    return HeardView(await settlement.receive_stripe_event(request.headers.get(SIGNATURE), body))


def _once(request: Request, caller: Caller, body: Any) -> IdempotentRequest:
    """The key is the caller's tenant's: another's is another one (REL-47)."""
    key = request.headers.get(KEY)
    if key is not None and not 0 < len(key) <= LONGEST_KEY:
        raise Invalid(f"Idempotency-Key must have 1 to {LONGEST_KEY} characters.")
    return IdempotentRequest(caller.tenant_id, key, [request.method, request.url.path, body])


_admin = declaring("billing", Access.ADMIN)
_public = declaring("billing", Access.PUBLIC)
_ERRORS = (NotFound, Conflict, KeyReused)
_UNHEARD = (NotFound, Forbidden, Invalid, BodyTooLarge)

ENDPOINTS = (
    _admin("POST", "/admin/invoices/{invoice_id}/void", void_invoice, "Void an invoice", errors=_ERRORS),
    _admin("POST", "/admin/invoices/{invoice_id}/pay", pay_invoice, "Mark an invoice paid", errors=_ERRORS),
    _admin(
        "POST",
        "/admin/tenants/{tenant_id}/credit",
        grant_credit,
        "Grant credit to a tenant",
        status=201,
        errors=_ERRORS,
    ),
    _public(
        "POST",
        "/webhooks/stripe",
        hear_stripe,
        "Receive Stripe events",
        errors=_UNHEARD,
        consumes=("application/json",),
    ),
)
