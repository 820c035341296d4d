"""The ledger's idioms: claims that are honoured, markers, strict boundaries, and cases without a write."""

import asyncio

import pytest

from tests.billing.builders import EVERYTHING, OPERATOR, BillingSetup, a_request, member_of
from tests.builders import NOON
from tests.waiting import eventually
from tsuzuki.accounts.activity import (
    ActivityId,
    ShelfSnapshot,
    get_latest_shelf_activity_before_tx,
    insert_activity_tx,
    list_billable_activity_tx,
    mark_activity_billed_tx,
)
from tsuzuki.accounts.types import SYSTEM
from tsuzuki.billing.ledger import (
    create_invoice_tx,
    insert_invoice_item_for_activity_tx,
    insert_invoice_items_for_renewal_tx,
)
from tsuzuki.billing.policy import months_after
from tsuzuki.billing.services import started, switch_billing
from tsuzuki.billing.store import insert_item_tx, list_items_for_tenant_tx
from tsuzuki.billing.types import NewInvoiceItem
from tsuzuki.db.errors import UniqueViolation
from tsuzuki.db.queries import parse_queries
from tsuzuki.model.errors import Conflict, NotFound
from tsuzuki.model.ids import ShelfId
from tsuzuki.model.times import DAY, Millis

q = parse_queries(
    "tests",
    """
-- name: forget_plan
update activity set snapshot = '{"resource_type": "shelf", "name": "Main", "plan": "gone", "status": "active"}'
where tenant_id = :tenant_id and resource_type = 'shelf';
""",
)


@pytest.fixture
async def quiet(db):
    """Nobody listens: what is to be done waits for whoever looks (R89)."""
    return await BillingSetup(db).open_quietly()


async def billable(billing, tenant):
    return await billing.db.read(lambda tx: list_billable_activity_tx(tx, tenant.id))


async def items(billing, tenant):
    return await billing.db.read(lambda tx: list_items_for_tenant_tx(tx, tenant.id))


# -- claims


async def test_an_activity_is_claimed_once_and_whoever_loses_charges_nothing(quiet):
    """I10, REL-40"""
    tenant = await quiet.tenant("basic")
    (activity,) = await billable(quiet, tenant)
    claims = await asyncio.gather(
        *(
            quiet.db.with_tx(lambda tx: insert_invoice_item_for_activity_tx(tx, activity, quiet.time()))
            for _ in range(8)
        )
    )
    assert sorted(claims) == [False] * 7 + [True]
    assert [item.amount_cents for item in await items(quiet, tenant)] == [500]
    assert await billable(quiet, tenant) == []


async def test_the_unique_key_stands_behind_the_claim(quiet):
    """I10: whoever ignores a lost claim meets an error, not a second charge."""
    tenant = await quiet.tenant("basic")
    (activity,) = await billable(quiet, tenant)
    await quiet.services.ledger.bill(tenant.id)
    assert not await quiet.db.with_tx(lambda tx: mark_activity_billed_tx(tx, activity.id, quiet.time()))
    again = NewInvoiceItem(
        tenant_id=tenant.id,
        shelf_id=activity.shelf_id,
        activity_id=activity.id,
        description="again",
        amount_cents=1,
        period_start=NOON,
        period_end=NOON,
    )
    with pytest.raises(UniqueViolation):
        await quiet.db.with_tx(lambda tx: insert_item_tx(tx, again, NOON))


async def test_an_activity_of_an_unknown_shelf_leaves_nothing(quiet):
    tenant = await quiet.tenant("basic")
    snapshot = ShelfSnapshot("None", "basic", "active")
    with pytest.raises(NotFound):
        await quiet.db.with_tx(lambda tx: insert_activity_tx(tx, ShelfId(99), "shelf.created", snapshot, now=NOON))
    assert await quiet.activities(tenant) == ["tenant.created", "shelf.created"]


async def test_billable_activities_are_found_by_marker_never_by_time(quiet):
    """R89"""
    tenant = await quiet.tenant("basic")
    shelf = await quiet.shelf(tenant)
    quiet.time.pass_(-DAY)  # a clock that was put back
    await quiet.services.rented.rename(OPERATOR, shelf.public_id, "Other")
    await quiet.services.rented.change_plan(OPERATOR, shelf.public_id, "growth")
    found = await billable(quiet, tenant)
    assert [activity.activity_type for activity in found] == ["shelf.created", "shelf.plan_changed"]
    assert found[0].created_at <= found[1].created_at  # the history stays in order
    await quiet.services.catch_up()
    assert await billable(quiet, tenant) == []
    await quiet.statement(tenant)


async def test_what_nobody_heard_of_is_found_at_the_next_look(db):
    """R89: a process that died between commit and telling."""
    dead = await BillingSetup(db).open_quietly()
    tenant = await dead.tenant("basic")
    assert await dead.invoices(tenant) == []
    other = BillingSetup(db)
    await other.services.catch_up()
    assert [invoice.amount_cents for invoice in await other.invoices(tenant)] == [500]
    assert (await other.shelf(tenant)).synced


async def test_one_broken_ledger_does_not_block_other_tenants(quiet):
    broken, fine = await quiet.tenant("basic", "Broken"), await quiet.tenant("basic", "Fine")
    await quiet.db.with_tx(lambda tx: tx.run(q.forget_plan, tenant_id=broken.id))
    await quiet.services.catch_up()
    assert await quiet.invoices(broken) == []
    assert [invoice.amount_cents for invoice in await quiet.invoices(fine)] == [500]


async def test_a_start_does_what_an_earlier_process_left(db):
    """R89"""
    dead = await BillingSetup(db).open_quietly()
    tenant = await dead.tenant("basic")
    started = await BillingSetup(db).open()
    assert [invoice.notices for invoice in await started.open_invoices(tenant)] == [1]


async def test_a_start_waits_for_no_look_at_the_accounts(db, quiet):
    """With 5,000 open invoices a look takes most of a minute: it is done beside everything else."""
    tenants = [await quiet.tenant("basic", f"Tenant {number}") for number in range(40)]
    other = BillingSetup(db)
    async with started(other.services):
        assert await other.invoices(tenants[-1]) == []
        await eventually(lambda: other.invoices(tenants[-1]), within=60)


# -- boundaries


async def test_history_is_strictly_before_and_ids_break_ties(quiet):
    """R85, REL-46"""
    tenant = await quiet.tenant("free")
    shelf = await quiet.shelf(tenant)
    await quiet.services.rented.change_plan(OPERATOR, shelf.public_id, "basic")
    await quiet.services.rented.change_plan(OPERATOR, shelf.public_id, "growth")
    first, second, third = await billable(quiet, tenant)
    assert first.created_at == second.created_at == third.created_at == NOON

    async def before(moment, last=0):
        found = await quiet.db.read(
            lambda tx: get_latest_shelf_activity_before_tx(tx, shelf.id, Millis(moment), ActivityId(last))
        )
        return None if found is None else found.id

    assert await before(NOON) is None
    assert await before(NOON, third.id) == second.id
    assert await before(NOON, first.id) is None
    assert await before(NOON + 1) == third.id


@pytest.mark.parametrize("early", [0, 1])
async def test_an_activity_on_the_boundary_is_charged_once(quiet, early):
    """REL-46: at the very start of a period its own charge covers it; a millisecond before, the renewal does."""
    tenant = await quiet.tenant("free")
    shelf = await quiet.shelf(tenant)
    start = months_after(tenant.created_at, 1)
    quiet.time.now = Millis(start - early)
    await quiet.services.rented.change_plan(OPERATOR, shelf.public_id, "basic")
    quiet.time.now = start
    await quiet.services.catch_up()
    assert [item.amount_cents for item in await items(quiet, tenant)] == [500]


async def test_five_renewals_at_once_are_one(quiet):
    """REL-46"""
    tenant = await quiet.tenant("basic")
    quiet.time.now = months_after(tenant.created_at, 1)
    done = await asyncio.gather(*(quiet.services.ledger.renew(tenant.id) for _ in range(5)))
    assert sum(done) == 1
    assert [item.activity_id for item in await items(quiet, tenant)] == [None]


async def test_a_change_concurrent_with_a_renewal_is_not_lost(quiet):
    """R85: its moment is taken into the period that is not charged yet."""
    tenant = await quiet.tenant("free")
    shelf = await quiet.shelf(tenant)
    start = months_after(tenant.created_at, 1)
    quiet.time.now = start
    await quiet.services.catch_up()
    quiet.time.now = Millis(start - 5)  # a process whose clock is a little behind
    await quiet.services.rented.change_plan(OPERATOR, shelf.public_id, "basic")
    quiet.time.now = start
    await quiet.services.catch_up()
    assert [item.amount_cents for item in await items(quiet, tenant)] == [500]


# -- nothing to write


async def test_a_negative_balance_carries_forward_without_an_invoice(billing):
    tenant = await billing.tenant("growth")
    shelf = await billing.shelf(tenant)
    await billing.pay_all(tenant)
    await billing.services.rented.change_plan(member_of(tenant), shelf.public_id, "basic")
    assert (
        await billing.db.with_tx(lambda tx: create_invoice_tx(tx, billing.deps, tenant.id, now=billing.time())) is None
    )
    assert await billing.open_invoices(tenant) == []
    totals = (await billing.statement(tenant)).totals
    assert (totals.unbilled, totals.credit) == (0, 1000)
    billing.time.now = months_after(tenant.created_at, 1)
    await billing.services.catch_up()  # 500 for the month, of 1,000 that are there
    assert await billing.open_invoices(tenant) == []


async def test_an_empty_renewal_renews_without_an_item(quiet):
    tenant = await quiet.tenant("free")

    async def renew():
        return await quiet.db.with_tx(lambda tx: insert_invoice_items_for_renewal_tx(tx, tenant.id, quiet.time()))

    assert await renew() is None
    quiet.time.now = months_after(tenant.created_at, 1)
    assert await renew() == []
    assert await renew() is None


async def test_a_tenant_without_charges_has_an_empty_statement(billing):
    tenant = await billing.tenant("free")
    assert await billing.services.ledger.create_invoice(tenant.id) is None
    assert (await billing.statement(tenant)).lines == []


# -- credit and write-offs


async def test_credit_pays_the_next_invoice_and_returns_when_voided(billing):
    """R86"""
    tenant = await billing.tenant("free")
    request = a_request(tenant_id=tenant.id)
    await billing.services.books.grant_credit(OPERATOR, tenant.public_id, 200, reason="sorry", request=request)
    await billing.services.rented.change_plan(OPERATOR, (await billing.shelf(tenant)).public_id, "basic")
    (invoice,) = await billing.open_invoices(tenant)
    assert invoice.amount_cents == 300
    assert (await billing.statement(tenant)).totals.credit == 0
    await billing.services.books.void(OPERATOR, invoice.public_id, a_request(tenant_id=tenant.id))
    totals = (await billing.statement(tenant)).totals
    assert (totals.credit, totals.written_off, totals.unbilled) == (200, 300, 0)
    await billing.services.catch_up()
    assert await billing.open_invoices(tenant) == []  # its items are never billed again


async def test_an_invoice_is_voided_once_and_only_unpaid(billing):
    tenant = await billing.tenant("basic")
    (invoice,) = await billing.open_invoices(tenant)
    await billing.pay(invoice)
    with pytest.raises(Conflict):
        await billing.services.books.void(OPERATOR, invoice.public_id, a_request(tenant_id=tenant.id))
    (other,) = await billing.open_invoices(await billing.tenant("basic", "Other"))
    await billing.services.books.void(OPERATOR, other.public_id, a_request())
    with pytest.raises(Conflict):
        await billing.services.books.void(OPERATOR, other.public_id, a_request())
    with pytest.raises(Conflict):
        await billing.pay(other)


async def test_only_whoever_may_see_a_tenant_sees_its_books(billing):
    """I8"""
    tenant, other = await billing.tenant("basic"), await billing.tenant("basic", "Other")
    (invoice,) = await billing.open_invoices(tenant)
    books = billing.services.books
    assert (await books.invoice(member_of(tenant), invoice.public_id)).invoice == invoice
    for refused in (
        books.invoice(member_of(other), invoice.public_id),
        books.statement(member_of(other), tenant.public_id),
        books.invoices(member_of(other), tenant.public_id, EVERYTHING),
        books.activity(member_of(other), tenant.public_id, EVERYTHING),
        books.tenant(member_of(other), tenant.public_id),
    ):
        with pytest.raises(NotFound):
            await refused


# -- the switch


async def test_shelves_from_before_billing_are_adopted_without_back_charges(db):
    billing = BillingSetup(db, is_on=False)
    await billing.services.start()
    tenant = await billing.tenant("basic")
    assert await billing.activities(tenant) == []
    billing.time.pass_(100 * DAY)
    later = BillingSetup(db, now=billing.time.now)
    await later.open()
    assert await later.activities(tenant) == ["shelf.adopted", "invoice.created", "invoice.reminded"]
    (invoice,) = await later.open_invoices(tenant)
    assert 0 < invoice.amount_cents < 500
    assert not await switch_billing(later.deps, is_on=True)
    await later.services.catch_up()
    assert await later.open_invoices(tenant) == [invoice]
    later.time.pass_(400 * DAY)
    assert await switch_billing(later.deps, is_on=False)
    assert await switch_billing(later.deps, is_on=True)
    await later.services.ledger.reconcile(tenant.id)
    assert len(await later.invoices(tenant)) == 1


async def test_a_listener_that_fails_undoes_nothing(quiet):
    async def fail(_):
        raise RuntimeError("deaf")

    heard = []

    async def hear(activity):
        heard.append(activity.activity_type)

    quiet.deps.publisher.listen(fail)
    quiet.deps.publisher.listen(hear)
    await quiet.tenant("basic")
    assert heard == ["tenant.created", "shelf.created"]


async def test_only_a_tenant_without_charges_can_be_deleted(billing):
    await billing.tenants.delete(SYSTEM, (await billing.tenant("free")).public_id)
    with pytest.raises(Conflict, match="billing records"):
        await billing.tenants.delete(SYSTEM, (await billing.tenant("basic")).public_id)
