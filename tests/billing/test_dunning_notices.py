"""R84: what becomes of unpaid invoices is told on the channels of all the tenant's shelves, each time once."""

import asyncio
import contextlib
import re

import pytest

from tests.billing.builders import OPERATOR, a_request
from tests.delivery.builders import task_keys
from tests.notifications.receivers import a_notifier, a_receiver
from tsuzuki.billing.dunning import apply_dunning_tx
from tsuzuki.model.times import DAY
from tsuzuki.notifications.sender import Sender
from tsuzuki.notifications.tasks import SENDS


@pytest.fixture
async def notifier(db):
    async with a_notifier(db) as notifier:
        yield notifier


@pytest.fixture
async def receiver():
    async with a_receiver() as receiver:
        yield receiver


@pytest.fixture
async def tenant(billing):
    """On the unlimited plan, so that nothing is due before a test says so."""
    return await billing.tenant("self-hosted")


async def to_pay(billing, tenant):
    await billing.services.rented.change_plan(OPERATOR, (await billing.shelf(tenant)).public_id, "basic")


async def pass_days(billing, notifier, days):
    """Time passes for billing and for the office alike, and whatever is due is sent."""
    billing.time.pass_(int(days * DAY))
    await billing.services.catch_up()
    notifier.later(int(days * DAY))
    await notifier.until_quiet()


def told(receiver):
    return [(got.document["type"], got.document["data"]["count"]) for got in receiver.got]


async def test_reminders_sleep_and_the_end_reach_a_webhook_each_once(billing, tenant, notifier, receiver):
    shelf = await billing.shelf(tenant)
    await notifier.webhook(shelf.id, receiver.url)
    async with notifier.open():
        await to_pay(billing, tenant)
        for days in (0, 1, 2, 3, 1, 1, 22):
            await pass_days(billing, notifier, days)
    assert told(receiver) == [
        ("invoice.due", 1),
        ("invoice.due", 2),
        ("invoice.due", 3),
        ("account.asleep", 1),
        ("account.closed", 1),
    ]
    assert len({got.id for got in receiver.got}) == 5
    texts = [got.document["data"]["text"] for got in receiver.got]
    assert texts[0] == "USD 5.00 is due now."
    assert "is not paid yet" in texts[1]
    assert "Main" in texts[3]
    assert receiver.got[0].document["data"]["title"] == "Invoice 000001"


async def test_a_reminder_links_to_its_invoice(billing, tenant, notifier, receiver):
    shelf = await billing.shelf(tenant)
    await notifier.webhook(shelf.id, receiver.url)
    notifier.sender = Sender(
        notifier.db, notifier.client, notifier.clock, jitter=lambda: 0.0, public_url="https://reader.example.org"
    )
    async with notifier.open():
        await to_pay(billing, tenant)
        await pass_days(billing, notifier, 0)
    [page] = [got.document["data"]["page"] for got in receiver.got]
    assert re.fullmatch(r"https://reader\.example\.org/invoices/[0-9a-f-]{36}", page)


async def test_a_failed_channel_is_retried_under_the_same_id(billing, tenant, notifier, receiver):
    """At least once outward, once inward."""
    await notifier.webhook((await billing.shelf(tenant)).id, receiver.url)
    receiver.answers = [503, 503]
    async with notifier.open():
        await to_pay(billing, tenant)
        notifier.later(0)
        while len(receiver.got) < 3:
            notifier.later(60_000)
            await asyncio.sleep(0.02)
        await notifier.until_idle()
    assert len(receiver.got) == 3
    assert len({got.id for got in receiver.got}) == 1
    assert len(await task_keys(billing.db, SENDS.name)) == 1


async def test_every_shelf_of_the_tenant_is_notified_and_no_other(billing, tenant, notifier, receiver):
    """I8; ntfy and webhooks alike, and a channel that is off is left out."""
    second = await billing.services.rented.create(OPERATOR, tenant.public_id, name="Second", plan="free")
    other = await billing.shelf(await billing.tenant("self-hosted", "Other"))
    await notifier.webhook((await billing.shelf(tenant)).id, f"{receiver.url}/mine")
    await notifier.ntfy(second.id, f"{receiver.url}/phone")
    await notifier.webhook(other.id, f"{receiver.url}/others")
    async with notifier.open():
        await to_pay(billing, tenant)
        notifier.later(0)
        await notifier.until_idle()
    assert sorted(got.path for got in receiver.got) == ["/mine", "/phone"]


async def test_a_reminder_is_recorded_only_together_with_what_tells_it(billing, tenant, notifier, receiver):
    """Undone together: whoever dies before the commit has neither recorded nor enqueued it."""
    await notifier.webhook((await billing.shelf(tenant)).id, receiver.url)
    await to_pay(billing, tenant)
    billing.time.pass_(3 * DAY)

    async def die(tx):
        assert len(await apply_dunning_tx(tx, tenant.id, billing.time())) == 1
        raise KeyError("power")

    with contextlib.suppress(KeyError):
        await billing.db.with_tx(die)
    assert [invoice.notices for invoice in await billing.open_invoices(tenant)] == [1]
    assert len(await task_keys(billing.db, SENDS.name)) == 1
    await asyncio.gather(*(billing.services.dunning.run(tenant.id) for _ in range(4)))
    assert [invoice.notices for invoice in await billing.open_invoices(tenant)] == [2]
    assert len(await task_keys(billing.db, SENDS.name)) == 2


async def test_after_a_long_absence_only_the_end_is_announced(billing, tenant, notifier, receiver):
    await notifier.webhook((await billing.shelf(tenant)).id, receiver.url)
    async with notifier.open():
        await to_pay(billing, tenant)
        await pass_days(billing, notifier, 0)
        await pass_days(billing, notifier, 31)
    assert told(receiver) == [("invoice.due", 1), ("account.closed", 1)]


async def test_nobody_is_reminded_of_what_is_paid_or_voided(billing, tenant, notifier, receiver):
    await notifier.webhook((await billing.shelf(tenant)).id, receiver.url)
    await to_pay(billing, tenant)
    for invoice in await billing.open_invoices(tenant):
        await billing.services.books.void(OPERATOR, invoice.public_id, a_request(tenant_id=tenant.id))
    before = await task_keys(billing.db, SENDS.name)
    billing.time.pass_(6 * DAY)
    await billing.services.catch_up()
    assert await task_keys(billing.db, SENDS.name) == before
