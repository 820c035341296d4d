"""A tenant's account: invoices, statement, credit; and who may see and change it."""

import hashlib
from collections.abc import Awaitable, Callable
from typing import Any, Literal, TypeVar

import msgspec

from tsuzuki.accounts.activity import (
    Activity,
    CreditSnapshot,
    insert_tenant_activity_tx,
    list_activity_tx,
    lock_account_tx,
)
from tsuzuki.accounts.audit import AuditEvent, record_tx
from tsuzuki.accounts.caller import Caller
from tsuzuki.accounts.deps import AccountDeps
from tsuzuki.accounts.people import find_tenant_tx, get_tenant_tx
from tsuzuki.accounts.types import Actor, Slice, Tenant
from tsuzuki.billing.ledger import write_off_tx
from tsuzuki.billing.policy import DELINQUENT_AFTER, tenant_standing
from tsuzuki.billing.store import (
    AnsweredRequest,
    credit_applied_tx,
    find_invoice_tx,
    get_invoice_tx,
    insert_credit_tx,
    list_invoices_for_tenant_tx,
    list_items_for_tenant_tx,
    list_open_invoices_tx,
    list_refunds_of_tx,
    totals_tx,
)
from tsuzuki.billing.types import Credit, Dispute, Invoice, InvoiceItem, OpenBalance, Refund, Totals, invoice_number
from tsuzuki.db import Tx, load_queries
from tsuzuki.model.errors import Conflict, KeyReused, NotFound
from tsuzuki.model.ids import PublicId, TenantId, UserId, show_id
from tsuzuki.model.plans import CURRENCY
from tsuzuki.model.times import DAY, Millis

q = load_queries("tsuzuki.billing")


class BillingScope(msgspec.Struct, frozen=True):
    """Whose billing a caller may see: their own tenant's, or everybody's for the operator."""

    actor: Actor
    tenant_id: TenantId | None
    user_id: UserId | None = None
    """Who of the tenant; None is the tenant as a whole."""

    @property
    def is_operator(self) -> bool:
        return self.tenant_id is None

    @property
    def has_all_shelves(self) -> bool:
        """The operator sees what every shelf costs, a person what theirs do (R91)."""
        return self.is_operator or self.user_id is None

    def may_see(self, tenant_id: TenantId) -> bool:
        """I8."""
        return self.tenant_id is None or self.tenant_id == tenant_id


def scope_of(caller: Caller) -> BillingScope:
    """The billing scope of this caller: an administrator with that scope is the operator."""
    return BillingScope(caller.actor, None if caller.may("admin") else caller.tenant_id, caller.user_id)


async def own_tenant_tx(tx: Tx, who: BillingScope, public_id: PublicId) -> Tenant:
    """The tenant; another's is as unknown as one that is not there (I8)."""
    tenant = await find_tenant_tx(tx, public_id)
    if tenant is None or not who.may_see(tenant.id):
        raise NotFound("There is no such tenant.")
    return tenant


T = TypeVar("T")

KEPT = Millis(DAY)
"""How long a key is remembered."""


class IdempotentRequest(msgspec.Struct, frozen=True):
    """A request with an idempotency key of the caller's tenant; without a key it is never a repeat."""

    tenant_id: TenantId
    key: str | None
    content: Any
    """Whatever makes another request of it."""

    @property
    def hash(self) -> bytes:
        return hashlib.sha256(msgspec.json.encode(self.content)).digest()


async def once_tx(
    tx: Tx, request: IdempotentRequest, answer: type[T], work: Callable[[], Awaitable[T]], *, now: Millis
) -> T:
    """The answer of `work`, or the stored one of the first request with this key; KeyReused for another request.

    The claim, the work and the answer are one transaction: a failure leaves the key free.
    """
    if request.key is None:
        return await work()
    if await tx.run(q.add_answer, tenant_id=request.tenant_id, key=request.key, request_hash=request.hash, now=now) > 0:
        done = await work()
        await tx.run(
            q.set_answer, tenant_id=request.tenant_id, key=request.key, answer=msgspec.json.encode(done).decode()
        )
        return done
    known = await tx.maybe(AnsweredRequest, q.find_answer, tenant_id=request.tenant_id, key=request.key)
    if known is None:
        raise Conflict("A request with this idempotency key is still being processed; try again.")
    if known.request_hash != request.hash:
        raise KeyReused("This idempotency key was already used for another request; use a new one.")
    return msgspec.json.decode(known.answer, type=answer)


EVERYTHING = Slice(most=2**31 - 1)


class FullInvoice(msgspec.Struct, frozen=True):
    """An invoice with its lines, the credit it used, refunds and disputes."""

    invoice: Invoice
    tenant: Tenant
    items: list[InvoiceItem]
    credit_cents: int
    """What was used of the tenant's credit: the items' sum less this is the amount."""
    refunds: list[Refund]
    disputes: list[Dispute]


class StatementLine(msgspec.Struct, frozen=True):
    """One movement; `balance_cents` is what the tenant owes after it."""

    at: Millis
    kind: Literal["charge", "payment", "credit", "written_off", "refund"]
    description: str
    amount_cents: int
    balance_cents: int = 0


class AccountStatement(msgspec.Struct, frozen=True):
    """All movements of an account, oldest first, and their sums."""

    tenant: Tenant
    currency: str
    lines: list[StatementLine]
    totals: Totals


class Books:
    """Reads invoices and statements; voids invoices and grants credit."""

    def __init__(self, deps: AccountDeps) -> None:
        self._deps = deps

    # -- looking

    async def tenant(self, scope: BillingScope, tenant_id: PublicId) -> tuple[Tenant, Totals]:
        """A tenant and where it stands; NotFound for one that is not the caller's (I8)."""

        async def read(tx: Tx) -> tuple[Tenant, Totals]:
            tenant = await own_tenant_tx(tx, scope, tenant_id)
            return tenant, await totals_tx(tx, tenant.id)

        return await self._deps.db.read(read)

    async def activity(self, scope: BillingScope, tenant_id: PublicId, part: Slice) -> tuple[list[Activity], int]:
        """What happened to the tenant and its shelves, newest first, and how much in all."""

        async def read(tx: Tx) -> tuple[list[Activity], int]:
            return await list_activity_tx(tx, (await own_tenant_tx(tx, scope, tenant_id)).id, part)

        return await self._deps.db.read(read)

    async def invoices(self, scope: BillingScope, tenant_id: PublicId, part: Slice) -> tuple[list[Invoice], int]:
        """The tenant's, newest first, and how many in all."""

        async def read(tx: Tx) -> tuple[list[Invoice], int]:
            return await list_invoices_for_tenant_tx(tx, (await own_tenant_tx(tx, scope, tenant_id)).id, part)

        return await self._deps.db.read(read)

    async def invoice(self, scope: BillingScope, invoice_id: PublicId) -> FullInvoice:
        """One, with its lines; NotFound for another tenant's (I8)."""

        async def read(tx: Tx) -> FullInvoice:
            found = await own_invoice_tx(tx, scope, invoice_id)
            return FullInvoice(
                invoice=found,
                tenant=await get_tenant_tx(tx, found.tenant_id),
                items=await tx.many(InvoiceItem, q.list_items_of, invoice_id=found.id),
                credit_cents=await credit_applied_tx(tx, found.id),
                refunds=await list_refunds_of_tx(tx, found.id),
                disputes=await tx.many(Dispute, q.list_disputes_of, invoice_id=found.id),
            )

        return await self._deps.db.read(read)

    async def statement(self, scope: BillingScope, tenant_id: PublicId) -> AccountStatement:
        """The tenant's whole account; its last balance is the sum of it all (I10)."""

        async def read(tx: Tx) -> AccountStatement:
            tenant = await own_tenant_tx(tx, scope, tenant_id)
            return AccountStatement(tenant, CURRENCY, await lines_tx(tx, tenant.id), await totals_tx(tx, tenant.id))

        return await self._deps.db.with_tx(read)  # the lines and the sums are of the same moment

    async def dues(self, tenant_id: TenantId) -> OpenBalance | None:
        """What the tenant's people are to be reminded of, wherever they are; None when nothing is open."""
        unpaid = await self._deps.db.read(lambda tx: list_open_invoices_tx(tx, tenant_id))
        if not unpaid:
            return None
        oldest, now = unpaid[0], self._deps.clock()
        return OpenBalance(
            invoices=len(unpaid),
            cents=sum(invoice.amount_cents for invoice in unpaid),
            currency=oldest.currency,
            sleeps_at=Millis(oldest.created_at + DELINQUENT_AFTER),
            is_late=tenant_standing(oldest.created_at, now) != "good",
        )

    # -- the operator's hand

    async def void(self, scope: BillingScope, invoice_id: PublicId, request: IdempotentRequest) -> Invoice:
        """Write it off; Conflict when it is paid or voided. `request` names the idempotency key, if there is one."""

        async def void(tx: Tx) -> tuple[Invoice, Activity | None]:
            now = self._deps.clock()
            logged: list[Activity] = []

            async def work() -> Invoice:
                found = await own_invoice_tx(tx, scope, invoice_id)
                await lock_account_tx(tx, found.tenant_id)
                written = await write_off_tx(tx, found, now)
                if not written:
                    raise Conflict(f"Invoice {found.number} is no longer open.")
                logged.extend(written)
                audit_event = AuditEvent(
                    "invoice.void", "invoice", show_id(found.public_id), after={"cents": found.amount_cents}
                )
                await record_tx(tx, scope.actor, audit_event, now=now)
                return await get_invoice_tx(tx, found.id)

            return await once_tx(tx, request, Invoice, work, now=now), next(iter(logged), None)

        voided, activity = await self._deps.db.with_tx(void)
        await self._deps.publisher.publish(activity)
        return voided

    async def grant_credit(
        self, scope: BillingScope, tenant_id: PublicId, cents: int, *, reason: str, request: IdempotentRequest
    ) -> Credit:
        """Money for the next invoices."""

        async def grant(tx: Tx) -> tuple[Credit, Activity | None]:
            now = self._deps.clock()
            logged: list[Activity] = []

            async def work() -> Credit:
                tenant = await own_tenant_tx(tx, scope, tenant_id)
                await lock_account_tx(tx, tenant.id)
                credit = await insert_credit_tx(
                    tx, tenant.id, cents, "granted", reason=reason, invoice_id=None, now=now
                )
                snapshot = CreditSnapshot(cents, CURRENCY, reason)
                logged.append(await insert_tenant_activity_tx(tx, tenant.id, "credit.granted", snapshot, now=now))
                audit_event = AuditEvent(
                    "credit.grant", "tenant", show_id(tenant.public_id), after={"cents": cents}, reason=reason
                )
                await record_tx(tx, scope.actor, audit_event, now=now)
                return credit

            return await once_tx(tx, request, Credit, work, now=now), next(iter(logged), None)

        credit, activity = await self._deps.db.with_tx(grant)
        await self._deps.publisher.publish(activity)
        return credit


async def own_invoice_tx(tx: Tx, scope: BillingScope, public_id: PublicId) -> Invoice:
    """The invoice; another tenant's is as unknown as one that is not there (I8)."""
    found = await find_invoice_tx(tx, public_id)
    if found is None or not scope.may_see(found.tenant_id):
        raise NotFound("There is no such invoice.")
    return found


async def lines_tx(tx: Tx, tenant_id: TenantId) -> list[StatementLine]:
    """Every movement of an account with the balance after it."""
    moved = [
        StatementLine(item.created_at, "charge", item.description, item.amount_cents)
        for item in await list_items_for_tenant_tx(tx, tenant_id)
    ]
    moved += [
        StatementLine(credit.created_at, "credit", credit.reason, -credit.amount_cents)
        for credit in await tx.many(Credit, q.list_credits_for_tenant, tenant_id=tenant_id)
        if credit.kind not in {"applied", "settled"}  # those move within the account
    ]
    for invoice in (await list_invoices_for_tenant_tx(tx, tenant_id, EVERYTHING))[0][::-1]:
        if invoice.paid_at is not None and invoice.method != "credit":
            says = f"Invoice {invoice.number} paid ({invoice.method})"
            moved.append(StatementLine(invoice.paid_at, "payment", says, -invoice.amount_cents))
        elif invoice.voided_at is not None:
            says = f"Invoice {invoice.number} written off"
            moved.append(StatementLine(invoice.voided_at, "written_off", says, -invoice.amount_cents))
    for refund in await tx.many(Refund, q.list_refunds_for_tenant, tenant_id=tenant_id):
        moved += _given_back(refund)
    balance, lines = 0, []
    for line in sorted(moved, key=lambda line: line.at):
        balance += line.amount_cents
        lines.append(msgspec.structs.replace(line, balance_cents=balance))
    return lines


def _given_back(refund: Refund) -> list[StatementLine]:
    """What had paid the invoice goes and is written off; what had become credit is a line among the credits."""
    cents, number = refund.written_off_cents, invoice_number(refund.invoice_id)
    if not cents:
        return []
    return [
        StatementLine(refund.created_at, "refund", f"Payment of invoice {number} refunded", cents),
        StatementLine(refund.created_at, "written_off", f"Invoice {number}: refund written off", -cents),
    ]
