"""Renting and paying over HTTP: a tenant's people, the operator, Stripe, and a server without billing."""

import asyncio
import re

import pytest

from tests.api.people import API, Visitor, a_running_app
from tests.billing.builders import OPERATOR, SECRET
from tests.billing.stripe import a_dispute, a_refund, an_event, signed
from tests.web.guests import a_guest
from tsuzuki.accounts.types import SYSTEM, Slice
from tsuzuki.model.ids import show_id
from tsuzuki.model.times import MINUTE, Millis
from tsuzuki.settings.loader import BadSetting


@pytest.fixture
async def app(tmp_path):
    settings = {"stripe": "on", "stripe_webhook_secret": SECRET, "allow_private_networks": "127.0.0.0/8"}
    async with a_running_app(tmp_path, billing="on", **settings) as app:
        yield app


class Renter:
    """A tenant of its own on the free plan, and its only member."""

    def __init__(self, app, tenant, user, visitor: Visitor) -> None:
        self.app, self.tenant, self.user, self.visitor = app, tenant, user, visitor
        self.path = f"/tenants/{show_id(tenant.public_id)}"

    async def get(self, path=""):
        answer = await self.visitor.get(self.path + path)
        assert answer.status == 200, answer.text
        return answer.json()["data"]


@pytest.fixture
async def renter(app):
    tenant = await app.accounts.tenants.add(SYSTEM, "Reader & Co")
    user = await app.add(tenant_id=tenant.public_id)
    return Renter(app, tenant, user, await app.signed_in(user))


@pytest.fixture
async def operator(app):
    return await app.signed_in(await app.admin())


async def put_on(renter, plan):
    (shelf, *_) = await renter.get("/shelves")
    return await renter.visitor.ask("PUT", f"/shelves/{shelf['id']}/plan", {"plan": plan})


async def test_a_tenant_rents_pays_and_sees_a_correct_statement(renter, operator):
    plans = (await renter.visitor.get("/plans")).json()["data"]
    assert [(plan["id"], plan["price_cents"], plan["currency"]) for plan in plans][:2] == [
        ("free", 0, "USD"),
        ("basic", 500, "USD"),
    ]
    assert (await renter.get())["totals"]["balance_cents"] == 0
    answer = await put_on(renter, "basic")
    assert (answer.json()["data"]["plan"], answer.json()["data"]["is_synced"]) == ("basic", True)
    made = await renter.visitor.post(f"{renter.path}/shelves", {"name": "Comics", "plan": "growth"})
    assert made.status == 201
    invoices = await renter.get("/invoices")
    assert sorted(invoice["amount_cents"] for invoice in invoices) == [500, 1500]
    assert {invoice["status"] for invoice in invoices} == {"open"}
    for invoice in invoices:
        paid = await operator.post(f"/admin/invoices/{invoice['id']}/pay", {"reference": "bank"})
        assert (paid.status, paid.json()["data"]["status"]) == (200, "paid")
    full = (await renter.visitor.get(f"/invoices/{invoices[0]['id']}")).json()["data"]
    assert full["tenant"] == "Reader & Co"
    assert sum(item["amount_cents"] for item in full["items"]) == full["invoice"]["amount_cents"]
    statement = await renter.get("/statement")
    assert sum(line["amount_cents"] for line in statement["lines"]) == statement["totals"]["balance_cents"] == 0
    kinds = [activity["activity_type"] for activity in await renter.get("/activity")]
    assert kinds[-3:] == ["shelf.plan_changed", "shelf.created", "tenant.created"]
    assert (await renter.get("/activity"))[-1]["snapshot"]["resource_type"] == "tenant"


async def test_a_shelf_is_renamed_put_to_sleep_and_woken(renter):
    (shelf,) = await renter.get("/shelves")
    path = f"/shelves/{shelf['id']}"
    assert (await renter.visitor.ask("PATCH", path, {"name": "Mine"})).json()["data"]["name"] == "Mine"
    assert (await renter.visitor.post(f"{path}/deactivate")).json()["data"]["status"] == "inactive"
    refused = await renter.visitor.post("/feeds", {"link": "http://93.184.216.34/feed"})
    assert (refused.status, refused.json()["code"]) == (422, "LIMIT_EXCEEDED")
    assert (await renter.visitor.get("/items")).status == 200  # what is there can be read
    assert (await renter.visitor.post(f"{path}/reactivate")).json()["data"]["status"] == "active"


async def test_a_limit_names_the_usage_and_the_larger_plan(renter):
    for number in range(10):
        assert (await renter.visitor.post("/feeds", {"link": f"http://93.184.216.34/{number}"})).status == 201
    refused = await renter.visitor.post("/feeds", {"link": "http://93.184.216.34/more"})
    assert refused.status == 422
    assert refused.json() == {
        "error": "The plan Free allows 10 feeds and series, and 10 are used; Basic allows 200.",
        "code": "LIMIT_EXCEEDED",
        "details": [{"field": "follows", "message": "10 of 10 used"}],
    }
    await put_on(renter, "basic")
    assert (await renter.visitor.post("/feeds", {"link": "http://93.184.216.34/more"})).status == 201
    assert [shelf["used"] for shelf in await renter.get("/shelves")] == [{"follows": 11, "kept_chapters": 0}]
    lowered = await put_on(renter, "free")
    assert (lowered.status, [one["field"] for one in lowered.json()["details"]]) == (422, ["follows"])


async def test_what_is_not_offered_is_refused_to_tenants(renter):
    assert (await put_on(renter, "self-hosted")).status == 403


# -- the operator


async def test_voiding_and_granting_are_idempotent_for_one_key(renter, operator):
    """REL-47"""
    await put_on(renter, "basic")
    (invoice,) = await renter.get("/invoices")
    path, body = f"/admin/tenants/{renter.path.rpartition('/')[2]}/credit", {"amount_cents": 200, "reason": "sorry"}
    answers = await asyncio.gather(*(operator.post(path, body, idempotency_key="k1") for _ in range(4)))
    assert {(answer.status, answer.text) for answer in answers} == {(201, answers[0].text)}
    other = await operator.post(path, body | {"amount_cents": 201}, idempotency_key="k1")
    assert (other.status, other.json()["code"]) == (422, "VALIDATION_ERROR")
    assert (await operator.post(path, body, idempotency_key="x" * 256)).status == 400
    void = f"/admin/invoices/{invoice['id']}/void"
    assert (await operator.post(void)).json()["data"]["status"] == "voided"
    assert (await operator.post(void)).status == 409
    totals = (await renter.get())["totals"]
    assert (totals["credit_cents"], totals["written_off_cents"]) == (200, 300)  # the credit had been used, and is back


async def test_the_operator_sees_every_tenants_account(renter, operator):
    assert (await operator.get(renter.path)).status == 200
    assert "Reader & Co" in [one["name"] for one in (await operator.get("/admin/tenants")).json()["data"]]


async def test_a_tenant_is_added_on_a_plan(operator):
    made = await operator.post("/admin/tenants", {"name": "New", "plan": "growth"})
    (shelf,) = (await operator.get(f"/tenants/{made.json()['data']['id']}/shelves")).json()["data"]
    assert shelf["plan"] == "growth"


# -- Stripe


async def test_signed_stripe_events_settle_once_and_unsigned_are_refused(app, renter):
    """REL-42, R90: over HTTP, from a sender that duplicates, delays and forges."""
    await put_on(renter, "basic")
    found, _ = await app.billing.books.invoices(OPERATOR, renter.tenant.public_id, Slice())
    body = an_event(found[0])

    async def send(at=None, secret=SECRET, **headers):
        said = {"content-type": "application/json", "stripe-signature": signed(body, at or app.time(), secret)}
        return await app.client.ask("POST", f"{API}/webhooks/stripe", headers=said | headers, data=body)

    assert (await send(secret="guessed")).status == 403
    assert (await send(at=Millis(app.time() - 6 * MINUTE))).status == 403
    assert (await send(**{"stripe-signature": ""})).status == 403
    heard = [answer.json()["data"]["outcome"] for answer in await asyncio.gather(*(send() for _ in range(10)))]
    assert sorted(heard) == ["known"] * 9 + ["paid"]
    (invoice,) = await renter.get("/invoices")
    assert (invoice["status"], invoice["method"], invoice["reference"]) == ("paid", "stripe", "pi_1")


async def test_what_stripe_gave_back_stands_on_the_invoice(app, renter):
    await put_on(renter, "basic")
    found, _ = await app.billing.books.invoices(OPERATOR, renter.tenant.public_id, Slice())

    async def heard(body):
        said = {"content-type": "application/json", "stripe-signature": signed(body, app.time())}
        return await app.client.ask("POST", f"{API}/webhooks/stripe", headers=said, data=body)

    assert (await heard(a_refund(found[0], 120))).status == 503  # before its payment: Stripe sends it again
    for body, outcome in ((an_event(found[0]), "paid"), (a_refund(found[0], 120), "refunded")):
        assert (await heard(body)).json()["data"]["outcome"] == outcome
    assert (await heard(a_refund(found[0], 120))).json()["data"]["outcome"] == "known"
    path = f"/invoices/{show_id(found[0].public_id)}"
    (refund,) = (await renter.visitor.get(path)).json()["data"]["refunds"]
    assert (refund["amount_cents"], refund["written_off_cents"], refund["reference"]) == (120, 120, "pi_1")
    assert "USD 1.20 was refunded on" in (await (await a_guest(app, renter.user)).see(path)).text
    lines = (await renter.get("/statement"))["lines"]
    assert [line["kind"] for line in lines][-2:] == ["refund", "written_off"]


async def test_an_empty_secret_refuses_to_start(tmp_path):
    """R90"""
    with pytest.raises(BadSetting, match="TSUZUKI_STRIPE_WEBHOOK_SECRET is not set"):
        async with a_running_app(tmp_path, billing="on", stripe="on"):
            pass


async def test_without_stripe_there_is_no_webhook(tmp_path):
    async with a_running_app(tmp_path, billing="on") as app:
        assert (await app.anyone.post("/webhooks/stripe", {})).status == 404


# -- the page


async def test_an_invoice_is_printable_for_its_tenant_only(app, renter):
    await put_on(renter, "basic")
    (invoice,) = await renter.get("/invoices")
    path = f"/invoices/{invoice['id']}"
    shown = await (await a_guest(app, renter.user)).see(path)
    assert shown.status == 200
    assert f"Invoice {invoice['number']}" in shown.text
    assert "Reader &amp; Co" in shown.text
    assert "USD 5.00" in shown.text
    assert "Due now" in shown.text
    assert (await (await a_guest(app, await app.add())).see(path)).status == 404
    assert (await (await a_guest(app, await app.admin())).see(path)).status == 200


# -- off


async def test_without_billing_there_are_no_invoices_and_no_limits(tmp_path):
    async with a_running_app(tmp_path) as app:
        me = await app.signed_in(await app.admin())
        tenant = (await me.get("/me")).json()["data"]["tenant"]["id"]
        for path in ("/plans", f"/tenants/{tenant}", f"/tenants/{tenant}/statement", f"/invoices/{tenant}"):
            answer = await me.get(path)
            assert (answer.status, "Billing is off" in answer.text) == (404, True), path
        assert (await app.anyone.post("/webhooks/stripe", {})).status == 404
        for number in range(11):
            assert (await me.post("/feeds", {"link": f"http://93.184.216.34/{number}"})).status == 201
        assert (await app.billing.catch_up()) >= 1  # shelves are synced all the same


async def test_a_dispute_leaves_a_trace_and_tells_the_operator_once(app, renter, operator):
    """Nothing moves in the ledger; each state is told once, and what was decided stays so."""
    hook = {"kind": "webhook", "name": "Mine", "config": {"url": "http://127.0.0.1:9/key"}}
    assert (await operator.post("/channels", hook)).status == 201
    await put_on(renter, "basic")
    found, _ = await app.billing.books.invoices(OPERATOR, renter.tenant.public_id, Slice())

    async def heard(body):
        said = {"content-type": "application/json", "stripe-signature": signed(body, app.time())}
        answer = await app.client.ask("POST", f"{API}/webhooks/stripe", headers=said, data=body)
        return answer.json()["data"]["outcome"]

    assert await heard(a_dispute(found[0], "needs_response")) == "ignored"  # a payment that we never heard of
    assert await heard(an_event(found[0])) == "paid"
    before = (await renter.get("/statement"))["totals"]
    told = [await heard(a_dispute(found[0], status)) for status in ("needs_response", "needs_response", "lost", "won")]
    assert told == ["disputed", "known", "disputed", "known"]
    for who in (renter.user, await app.admin()):
        shown = (await (await a_guest(app, who)).see(f"/invoices/{show_id(found[0].public_id)}")).text
        assert re.search(r"Disputed on [^<]+: USD 5\.00\. The bank reversed it\.", shown)
    at_the_desk = await a_guest(app, await app.admin())
    assert "Disputed on " in (await at_the_desk.see(f"/admin/invoices/{show_id(found[0].public_id)}")).text
    assert (await renter.get("/statement"))["totals"] == before
    rows = (await operator.get("/admin/auditlog?entitytype=invoice")).json()["data"]
    assert [(row["action"], row["after"]["status"]) for row in rows] == [
        ("invoice.dispute", "lost"),
        ("invoice.dispute", "needs_response"),
    ]
    kinds = [one["activity_type"] for one in await renter.get("/activity")]
    assert kinds.count("invoice.disputed") == 2
    waiting = [stats for stats in await app.pipeline.tasks.stats() if stats.queue == "channel-sends"]
    assert [stats.depth for stats in waiting] == [2]
