"""An account as anybody would keep it who knows the prices and sees the shelves: no items, no invoices, no credit rows.

A tenant owes the price of the time that its shelves were awake, each period paid in advance and the rest of it given
back, each change rounded to the cent (R82); less what it paid and was granted; less what it owed whenever it was given
up.
"""

from contextlib import suppress
from fractions import Fraction
from typing import Any

from hypothesis import strategies as st

from tests.billing.builders import OPERATOR, BillingSetup, a_request, member_of
from tests.billing.stripe import a_refund, an_event, send
from tests.billing.test_histories import PRICE, next_start, settle, starts
from tsuzuki.accounts.types import Tenant
from tsuzuki.model.errors import TsuzukiError
from tsuzuki.model.times import DAY, HOUR, Millis

LEAPS = [1, HOUR, DAY, 3 * DAY, 7 * DAY, 8 * DAY, 23 * DAY, 31 * DAY, 62 * DAY]
SHELF, PLAN = st.integers(0, 2), st.sampled_from(["free", "basic", "growth"])


def a_step(kind: str, one: Any = st.none(), two: Any = st.none()) -> st.SearchStrategy[Any]:  # noqa: B008
    return st.tuples(st.just(kind), one, two)


HONEST = [
    a_step("plan", SHELF, PLAN),
    a_step("sleep", SHELF),
    a_step("wake", SHELF),
    a_step("rent", two=st.sampled_from(["basic", "growth"])),
    a_step("pay"),
    a_step("pay twice"),
    a_step("pay a part", st.integers(1, 400)),
    a_step("credit", st.integers(1, 2_000)),
    a_step("time", st.sampled_from(LEAPS)),
    a_step("time", st.sampled_from(LEAPS)),
    a_step("month"),
    a_step("neglect"),
]
GENEROUS = [*HONEST, *[a_step("void"), a_step("sleep", SHELF), a_step("refund", st.integers(1, 2_000))] * 3]
"""With an operator who writes invoices off and gives payments back."""
PENNILESS = [a_step("plan", SHELF, PLAN), *[a_step("void all"), a_step("sleep", SHELF), a_step("wake", SHELF)] * 2]
PENNILESS += [a_step("rent", two=st.sampled_from(["basic", "growth"])), a_step("month"), a_step("neglect")]
PENNILESS += [a_step("time", st.sampled_from(LEAPS))]
"""Nothing is ever paid, and much is written off."""


def half_up(cents: Fraction) -> int:
    """On the absolute value, so that a change and its reversal are nothing."""
    return int(abs(cents) + Fraction(1, 2)) * (1 if cents >= 0 else -1)


class Model:
    """One tenant's account, and the steps that change it."""

    def __init__(self, billing: BillingSetup, tenant: Tenant) -> None:
        self.billing, self.tenant = billing, tenant
        self.used = self.paid = self.granted = self.forgiven = self.refunded = self.voided = 0
        self.shelves: dict[str, int] = {}
        self.intents: list[tuple[Any, str, int]] = []

    @property
    def balance(self) -> int:
        return self.used - self.paid - self.granted - self.forgiven

    # -- what the time costs

    def pass_to(self, moment: Millis) -> None:
        """Every period that begins charges what is awake."""
        begun = len(starts(self.tenant.created_at, moment)) - len(starts(self.tenant.created_at, self.billing.time()))
        self.used += begun * sum(self.shelves.values())
        self.billing.time.now = moment

    async def observe(self) -> None:
        """What costs more or less than before, from this moment to the end of the period; and who was given up."""
        now, anchor = self.billing.time(), self.tenant.created_at
        start, end = starts(anchor, now)[-1], next_start(anchor, now)
        for shelf in await self.billing.shelves(self.tenant):
            price = PRICE[shelf.plan] if shelf.status == "active" else 0
            self.used += half_up(Fraction((price - self.shelves.get(shelf.name, 0)) * (end - now), end - start))
            self.shelves[shelf.name] = price
        voided = sum(invoice.status == "voided" for invoice in await self.billing.invoices(self.tenant))
        if voided > self.voided:
            self.forgiven += max(0, self.balance)
        self.voided = voided

    # -- what the ledger says of it

    async def check(self, *, is_exact: bool) -> None:
        """The balance is the model's; who owes is asked for that and never for more; nothing is for nothing."""
        statement = await self.billing.statement(self.tenant)
        totals, rounding = statement.totals, Fraction(sum(line.kind == "charge" for line in statement.lines), 2)
        if is_exact:
            assert totals.balance == self.balance, totals
            assert totals.open == max(0, totals.balance), f"asked for {totals.open}, but {totals.balance} is owed"
        assert totals.open <= max(0, totals.balance), f"dunned for {totals.open} at {totals.balance}"
        assert totals.open == 0 or totals.credit <= 0, f"{totals.credit} of credit, and {totals.open} is open"
        money = self.paid - self.refunded + self.granted
        assert -totals.balance <= money + rounding, f"{-totals.balance} of credit, but {money} ever came in"

    # -- steps

    async def take(self, step: tuple[str, Any, Any]) -> None:
        """One step; what is refused is refused."""
        kind, one, two = step
        with suppress(TsuzukiError):
            await getattr(self, kind.replace(" ", "_"))(one, two)
        await self.observe()

    async def look(self) -> None:
        """What a minute's look does; at whom it does not look, there is nothing to do (R89)."""
        is_due = self.tenant.id in await self.billing.services.ledger.tenants_to_bill()
        before = None if is_due else await self._seen()
        await settle(self.billing, self.tenant)
        assert before is None or before == await self._seen()
        await self.observe()

    async def _seen(self) -> Any:
        shelves = [(one.plan, one.status) for one in await self.billing.shelves(self.tenant)]
        return shelves, await self.billing.invoices(self.tenant), await self.billing.activities(self.tenant)

    async def _shelf(self, number: int) -> Any:
        shelves = await self.billing.shelves(self.tenant)
        return shelves[number % len(shelves)]

    async def plan(self, number: int, plan: str) -> None:
        shelf = await self._shelf(number)
        await self.billing.services.rented.change_plan(member_of(self.tenant), shelf.public_id, plan)

    async def sleep(self, number: int, _: Any) -> None:
        await self.billing.services.rented.deactivate(member_of(self.tenant), (await self._shelf(number)).public_id)

    async def wake(self, number: int, _: Any) -> None:
        """Whoever left comes back with this shelf alone."""
        shelf, before = await self._shelf(number), await self.billing.shelves(self.tenant)
        had_left = (await self.billing.tenants.get(self.tenant.public_id)).churned_at is not None
        await self.billing.services.rented.reactivate(member_of(self.tenant), shelf.public_id)
        await settle(self.billing, self.tenant)
        after = await self.billing.shelves(self.tenant)
        woken = [new.id for old, new in zip(before, after, strict=True) if old.status != new.status == "active"]
        assert not had_left or woken in ([shelf.id], []), f"{len(woken)} shelves woke"

    async def rent(self, _: Any, plan: str) -> None:
        name = f"Shelf {len(self.shelves)}"
        await self.billing.services.rented.create(member_of(self.tenant), self.tenant.public_id, name=name, plan=plan)

    async def pay(self, _: Any, __: Any) -> None:
        for invoice in await self.billing.open_invoices(self.tenant):
            await self._pay(invoice, invoice.amount_cents)

    async def pay_twice(self, _: Any, __: Any) -> None:
        for invoice in await self.billing.open_invoices(self.tenant):
            await self._pay(invoice, invoice.amount_cents)
            self.paid += await self.billing.pay_by_lightning(invoice)  # it may ask for less than a moment ago

    async def pay_a_part(self, cents: int, _: Any) -> None:
        for invoice in (await self.billing.open_invoices(self.tenant))[:1]:
            await self._pay(invoice, cents)

    async def _pay(self, invoice: Any, cents: int) -> None:
        intent = f"pi_{self.tenant.id}_{len(self.intents)}"
        if await send(self.billing, an_event(invoice, intent=intent, amount_received=cents)) in ("paid", "credited"):
            self.paid += cents
            self.intents.append((invoice, intent, cents))

    async def credit(self, cents: int, _: Any) -> None:
        books, request = self.billing.services.books, a_request(tenant_id=self.tenant.id)
        await books.grant_credit(OPERATOR, self.tenant.public_id, cents, reason="sorry", request=request)
        self.granted += cents

    async def void(self, _: Any, __: Any, most: int = 1) -> None:
        for invoice in (await self.billing.open_invoices(self.tenant))[-most:]:
            await self.billing.services.books.void(OPERATOR, invoice.public_id, a_request(tenant_id=self.tenant.id))

    async def void_all(self, _: Any, __: Any) -> None:
        await self.void(_, __, most=99)

    async def refund(self, cents: int, _: Any) -> None:
        """Of the newest payment, at most all of it, and once."""
        if self.intents:
            invoice, intent, paid = self.intents.pop()
            back = min(cents, paid)
            assert await send(self.billing, a_refund(invoice, back, intent=intent)) == "refunded"
            self.refunded += back

    async def time(self, span: int, _: Any) -> None:
        self.pass_to(Millis(self.billing.time() + span))

    async def neglect(self, _: Any, __: Any) -> None:
        """Nothing is paid until the tenant is given up."""
        for days in (7, 23):
            self.pass_to(Millis(self.billing.time() + days * DAY))
            await self.look()

    async def month(self, _: Any, __: Any) -> None:
        """To the very millisecond."""
        self.pass_to(next_start(self.tenant.created_at, self.billing.time()))
