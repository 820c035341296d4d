"""Whatever happens to a tenant, in whatever order, its ledger is right to the cent."""

import calendar
from collections import Counter
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from tests.billing.builders import EVERYTHING, OPERATOR, BillingSetup, a_request, member_of
from tests.scale import examples
from tsuzuki.accounts.activity import BILLABLE, Activity, ShelfSnapshot
from tsuzuki.accounts.types import Tenant
from tsuzuki.billing.store import list_items_for_tenant_tx
from tsuzuki.model.errors import TsuzukiError
from tsuzuki.model.times import DAY, HOUR, SECOND, Millis, from_iso

PRICE = {"free": 0, "basic": 500, "growth": 1500, "self-hosted": 0}
STARTS = (
    "2027-01-31T23:59:59.999Z",  # clamped in every shorter month
    "2028-02-29T00:00:00Z",  # a leap day
    "2027-03-28T01:30:00Z",  # clocks are put forward in Europe
    "2027-10-31T00:59:59Z",  # and back
    "2027-12-31T12:00:00Z",
    "2027-06-15T08:00:00Z",
)

steps = st.one_of(
    st.tuples(st.just("plan"), st.integers(0, 1), st.sampled_from(["free", "basic", "growth"])),
    st.tuples(st.just("sleep"), st.integers(0, 1), st.none()),
    st.tuples(st.just("wake"), st.integers(0, 1), st.none()),
    st.tuples(st.just("rent"), st.none(), st.sampled_from(["basic", "growth"])),
    st.tuples(st.just("pay"), st.none(), st.none()),
    st.tuples(st.just("pay twice"), st.none(), st.none()),
    st.tuples(st.just("void"), st.none(), st.none()),
    st.tuples(st.just("credit"), st.integers(1, 2_000), st.none()),
    st.tuples(
        st.just("time"), st.sampled_from([1, HOUR, DAY, 3 * DAY, 7 * DAY, 27 * DAY, 31 * DAY, 62 * DAY]), st.none()
    ),
    st.tuples(st.just("month"), st.none(), st.none()),
    st.tuples(st.just("look"), st.none(), st.none()),
)
histories = st.lists(steps, min_size=1, max_size=25)


PAID_BY_WHAT_IT_GIVES_BACK = [
    ("credit", 125, None),
    ("plan", 0, "basic"),
    ("look", None, None),
    ("time", 7 * DAY, None),
]
"""After a quarter of a month of four weeks the rest of the price is what is still owed."""


@examples(400, share=20)
@given(start=st.sampled_from(STARTS), history=histories, is_heard=st.booleans())
@example(start=STARTS[0], history=PAID_BY_WHAT_IT_GIVES_BACK, is_heard=False)
async def test_every_activity_is_billed_once_and_every_cent_counted(db, start, history, is_heard):
    """I10, R82, R83, R85, R86: against a calculation of its own from the log alone."""
    billing = BillingSetup(db, now=from_iso(start))
    if is_heard:  # else everything is found by markers (R89)
        billing.deps.publisher.listen(billing.services.on_activity)
    await billing.open_quietly()
    tenant = await billing.tenant("free")
    for step in history:
        await take(billing, tenant, step)
    for _ in range(2):  # what a shelf gives back when it goes to sleep may pay what was owed: the next look wakes it
        await settle(billing, tenant)

    expected = charges(await log_of(billing, tenant), anchor=from_iso(start), now=billing.time())
    assert sorted(await items_of(billing, tenant)) == sorted(expected)
    statement = await billing.statement(tenant)
    assert statement.totals.charged == sum(expected)
    for invoice in await billing.invoices(tenant):
        full = await billing.services.books.invoice(OPERATOR, invoice.public_id)
        assert sum(item.amount_cents for item in full.items) == invoice.amount_cents + full.credit_cents

    for _ in range(3):  # replaying bills nothing twice
        await settle(billing, tenant)
    assert await billing.statement(tenant) == statement


async def test_a_shelf_whose_unused_time_pays_its_debt_wakes_again(db):
    billing = BillingSetup(db, now=from_iso(STARTS[0]))
    await billing.open_quietly()
    tenant = await billing.tenant("free")
    for step in PAID_BY_WHAT_IT_GIVES_BACK:
        await take(billing, tenant, step)
    seen = []
    for _ in range(3):
        await settle(billing, tenant)
        [shelf] = await billing.shelves(tenant)
        seen.append((shelf.status, [invoice.amount_cents for invoice in await billing.open_invoices(tenant)]))
    assert seen == [("delinquent", []), ("active", [375]), ("active", [375])]


async def settle(billing: BillingSetup, tenant: Tenant) -> None:
    """What a minute's look does, for this tenant alone."""
    await billing.services.ledger.reconcile(tenant.id)
    await billing.services.dunning.run(tenant.id)
    await billing.services.ledger.reconcile(tenant.id)


async def take(billing: BillingSetup, tenant: Tenant, step: tuple[str, Any, Any]) -> None:
    """One step; what is refused is refused."""
    kind, one, two = step
    who, rented = member_of(tenant), billing.services.rented
    shelves = await billing.shelves(tenant)
    try:
        if kind == "plan":
            await rented.change_plan(who, shelves[one % len(shelves)].public_id, two)
        elif kind == "sleep":
            await rented.deactivate(who, shelves[one % len(shelves)].public_id)
        elif kind == "wake":
            await rented.reactivate(who, shelves[one % len(shelves)].public_id)
        elif kind == "rent":
            await rented.create(who, tenant.public_id, name=f"Shelf {len(shelves)}", plan=two)
        elif kind == "credit":
            request = a_request(tenant_id=tenant.id)
            await billing.services.books.grant_credit(OPERATOR, tenant.public_id, one, reason="sorry", request=request)
        elif kind in {"pay", "pay twice", "void"}:
            await on_invoices(billing, tenant, kind)
        elif kind == "time":
            billing.time.pass_(one)
        elif kind == "month":  # to the very millisecond
            billing.time.now = next_start(tenant.created_at, billing.time())
        else:
            await settle(billing, tenant)
    except TsuzukiError:
        pass


async def on_invoices(billing: BillingSetup, tenant: Tenant, kind: str) -> None:
    for invoice in await billing.open_invoices(tenant):
        if kind == "void":
            await billing.services.books.void(OPERATOR, invoice.public_id, a_request(tenant_id=tenant.id))
            continue
        await billing.pay(invoice)
        if kind == "pay twice":
            await billing.pay_by_lightning(invoice)


# -- the calculation


def charges(log: list[Activity], *, anchor: Millis, now: Millis) -> list[int]:
    """Every charge that follows from the log: for each change the rest of its month, for each month its shelves."""
    found = []
    for activity in log:
        if activity.activity_type in BILLABLE:
            earlier = [one for one in log if one.shelf_id == activity.shelf_id and one.id < activity.id]
            difference = price(activity) - (price(earlier[-1]) if earlier else 0)
            end = next_start(anchor, activity.created_at)
            start = max(moment for moment in starts(anchor, activity.created_at) if moment <= activity.created_at)
            share = Fraction(abs(difference) * (end - activity.created_at), end - start)
            found.append(int(share + Fraction(1, 2)) * (1 if difference >= 0 else -1))
    for start in starts(anchor, now)[1:]:
        for shelf in {activity.shelf_id for activity in log}:
            before = [one for one in log if one.shelf_id == shelf and one.created_at < start]
            found.append(price(before[-1]) if before else 0)
    return [cents for cents in found if cents]


def price(activity: Activity) -> int:
    assert isinstance(activity.snapshot, ShelfSnapshot)
    return PRICE[activity.snapshot.plan] if activity.snapshot.status == "active" else 0


def starts(anchor: Millis, until: Millis) -> list[Millis]:
    """The beginnings of all periods that have begun by then."""
    found, count = [], 0
    while (start := begins(anchor, count)) <= until:
        found.append(start)
        count += 1
    return found


def next_start(anchor: Millis, moment: Millis) -> Millis:
    return begins(anchor, len(starts(anchor, moment)))


def begins(anchor: Millis, count: int) -> Millis:
    first = datetime.fromtimestamp(anchor // SECOND, UTC)
    months = first.month - 1 + count
    year, month = first.year + months // 12, months % 12 + 1
    day = min(first.day, calendar.monthrange(year, month)[1])
    moment = datetime(year, month, day, first.hour, first.minute, first.second, tzinfo=UTC)
    return Millis(int(moment.timestamp()) * SECOND + anchor % SECOND)


async def log_of(billing: BillingSetup, tenant: Tenant) -> list[Activity]:
    found, _ = await billing.services.books.activity(OPERATOR, tenant.public_id, EVERYTHING)
    return [activity for activity in found[::-1] if activity.shelf_id is not None]


async def items_of(billing: BillingSetup, tenant: Tenant) -> list[int]:
    """What each line says in all, however many invoices it was split over."""
    whole: Counter[int] = Counter()
    for item in await billing.db.read(lambda tx: list_items_for_tenant_tx(tx, tenant.id)):
        whole[item.part_of or item.id] += item.amount_cents
    return list(whole.values())
