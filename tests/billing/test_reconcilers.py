"""REL-40: many bill the same activities at the same time, and die in the middle of it."""

import asyncio
import signal
import sys
from fractions import Fraction

import pytest

from tests.billing.builders import EVERYTHING, OPERATOR, BillingSetup
from tests.scale import scaled
from tsuzuki.billing.policy import months_after
from tsuzuki.billing.store import list_items_for_tenant_tx
from tsuzuki.model.times import MINUTE

PROCESSES = 2
PRICES = {"basic": 500, "growth": 1500}


@pytest.mark.soak
@pytest.mark.timeout(600)
async def test_every_activity_is_billed_once_though_reconcilers_die(db, database_url):
    """REL-40, I10: two processes of four reconcilers each; 500 activities and 20 kills in the soak."""
    activities, kills = scaled(40, 500), scaled(2, 20)
    billing, tenant, expected = await a_tenant_with(db, activities)
    died = 0
    for number in range(kills // PROCESSES):
        codes = await run(database_url, tenant.id, claims=number + 6)
        died += codes.count(-signal.SIGKILL)
    assert died == kills
    assert await left(billing, tenant) > 0
    assert await run(database_url, tenant.id, claims=0) == [0] * PROCESSES
    assert await left(billing, tenant) == 0
    items = await db.read(lambda tx: list_items_for_tenant_tx(tx, tenant.id))
    assert sorted(item.amount_cents for item in items) == sorted(expected)
    assert len({item.activity_id for item in items}) == activities
    await billing.statement(tenant)


async def a_tenant_with(db, count):
    """So many activities that nobody has billed, and what each of them costs."""
    billing = await BillingSetup(db).open_quietly()
    tenant = await billing.tenant("growth")
    shelf = await billing.shelf(tenant)
    end = months_after(tenant.created_at, 1)
    length = end - tenant.created_at
    expected = [PRICES["growth"]]
    for number in range(count - 1):
        billing.time.pass_(MINUTE)
        await billing.services.rented.change_plan(OPERATOR, shelf.public_id, "growth" if number % 2 else "basic")
        share = int(Fraction(1000 * (end - billing.time()), length) + Fraction(1, 2))
        expected.append(share if number % 2 else -share)
    return billing, tenant, expected


async def left(billing: BillingSetup, tenant) -> int:
    found, _ = await billing.services.books.activity(OPERATOR, tenant.public_id, EVERYTHING)
    return sum(one.billed_at is None for one in found if one.shelf_id is not None)


async def run(url: str, tenant_id: int, *, claims: int) -> list[int | None]:
    """Let all processes reconcile until they are done or dead; how they ended."""
    command = [sys.executable, "-m", "tests.billing.reconcile_process", url, str(tenant_id), str(claims)]
    running = [await asyncio.create_subprocess_exec(*command) for _ in range(PROCESSES)]
    return list(await asyncio.gather(*(process.wait() for process in running)))
