"""Every service of billing over one database, switched on, with a clock that a test moves."""

import os
from typing import Any

import msgspec

from tests.accounts.builders import Time
from tests.builders import NOON
from tsuzuki.accounts.deps import AccountDeps
from tsuzuki.accounts.tenants import Tenants
from tsuzuki.accounts.types import SYSTEM, Slice, Tenant
from tsuzuki.billing.books import AccountStatement, BillingScope, IdempotentRequest
from tsuzuki.billing.services import Billing, build_billing, switch_billing
from tsuzuki.billing.types import Invoice, NewBolt11, RentedShelf, Totals
from tsuzuki.db import Database
from tsuzuki.model.ids import TenantId
from tsuzuki.model.times import HOUR, Millis, from_iso

SECRET = "whsec_a-secret-of-the-tests"
EVERYTHING = Slice(most=1_000)
OPERATOR = BillingScope(SYSTEM, None)


def adds_up(totals: Totals) -> bool:
    """I10: every cent is accounted for, counted from either end."""
    return (
        totals.charged == totals.invoiced + totals.applied + totals.unbilled
        and totals.invoiced == totals.paid + totals.settled + totals.written_off + totals.open
        and totals.balance == totals.open + totals.unbilled - totals.credit
    )


class BillingSetup:
    """Billing as a process has it. Listening can be left out: then only `catch_up` does anything."""

    def __init__(self, db: Database, *, now: Millis = NOON, is_on: bool = True) -> None:
        self.db = db
        self.time = Time()
        self.time.now = now
        self.deps = AccountDeps(db, self.time, os.urandom)
        self.tenants = Tenants(self.deps)
        self.services: Billing = build_billing(self.deps, is_on=is_on, stripe_secret=SECRET)

    async def open(self) -> "BillingSetup":
        await self.services.start()
        await self.services.catch_up()
        return self

    async def open_quietly(self) -> "BillingSetup":
        """Switched on, but nobody listens: everything has to be found by markers (R89)."""
        await switch_billing(self.deps, is_on=True)
        return self

    def at(self, moment: str) -> None:
        """It is this moment now."""
        self.time.now = from_iso(moment)

    async def tenant(self, plan: str = "basic", name: str = "Reader & Co") -> Tenant:
        return await self.tenants.add(SYSTEM, name, plan)

    async def shelf(self, tenant: Tenant) -> RentedShelf:
        """The tenant's first."""
        return (await self.shelves(tenant))[0]

    async def shelves(self, tenant: Tenant) -> list[RentedShelf]:
        return await self.services.rented.list(OPERATOR, tenant.public_id)

    async def invoices(self, tenant: Tenant) -> list[Invoice]:
        """Oldest first."""
        found, _ = await self.services.books.invoices(OPERATOR, tenant.public_id, EVERYTHING)
        return found[::-1]

    async def open_invoices(self, tenant: Tenant) -> list[Invoice]:
        return [invoice for invoice in await self.invoices(tenant) if invoice.status == "open"]

    async def statement(self, tenant: Tenant) -> AccountStatement:
        """The tenant's, which adds up (I10)."""
        found = await self.services.books.statement(OPERATOR, tenant.public_id)
        assert adds_up(found.totals), found.totals
        assert (found.lines[-1].balance_cents if found.lines else 0) == found.totals.balance
        return found

    async def activities(self, tenant: Tenant) -> list[str]:
        """Their types, oldest first."""
        found, _ = await self.services.books.activity(OPERATOR, tenant.public_id, EVERYTHING)
        return [activity.activity_type for activity in found][::-1]

    async def pay(self, invoice: Invoice, reference: str = "bank") -> Invoice:
        return await self.services.settlement.mark_paid(OPERATOR, invoice.public_id, reference, a_request())

    async def pay_by_lightning(self, invoice: Invoice, payment_hash: str = "") -> int:
        """A request made now, and settled; the cents it asked for."""
        found = payment_hash or os.urandom(16).hex()
        new = NewBolt11(
            invoice_id=invoice.id,
            request=f"lnbc{found}",
            payment_hash=found,
            amount_msat=1_000,
            expires_at=Millis(self.time() + HOUR),
        )
        asked = await self.services.settlement.insert_bolt11(new)
        assert asked is not None
        assert asked.amount_cents is not None
        assert await self.services.settlement.settle_bolt11(found) is not None
        return asked.amount_cents

    async def pay_all(self, tenant: Tenant) -> None:
        for invoice in await self.open_invoices(tenant):
            await self.pay(invoice)


def a_request(**over: Any) -> IdempotentRequest:
    values: dict[str, Any] = {"tenant_id": TenantId(1), "key": None, "content": None} | over
    return IdempotentRequest(**values)


def member_of(tenant: Tenant) -> BillingScope:
    """Somebody who belongs to this tenant and is no operator."""
    return BillingScope(SYSTEM, tenant.id)


def rows(lines: list[Any]) -> list[tuple[Any, ...]]:
    """Structs as plain rows."""
    return [msgspec.structs.astuple(line) for line in lines]
