"""Tenants and the ledger on the admin pages, while billing is on."""

import re
from collections.abc import AsyncIterator

import pytest

from tests.api.people import RunningApp, a_running_app
from tests.billing.builders import OPERATOR
from tests.web.guests import a_guest, error_of
from tsuzuki.accounts.types import Slice
from tsuzuki.billing.types import Invoice
from tsuzuki.model.ids import show_id


@pytest.fixture
async def app(tmp_path) -> AsyncIterator[RunningApp]:
    async with a_running_app(tmp_path, billing="on") as app:
        yield app


async def an_invoice(app: RunningApp) -> Invoice:
    await app.billing.rented.create(OPERATOR, app.other_tenant, name="Another", plan="basic")
    found, _ = await app.billing.books.invoices(OPERATOR, app.other_tenant, Slice(most=1))
    return found[0]


def path_of(app: RunningApp) -> str:
    return f"/admin/tenants/{show_id(app.other_tenant)}"


async def test_without_billing_there_are_no_tenants(tmp_path):
    async with a_running_app(tmp_path) as app:
        operator = await a_guest(app, await app.admin())
        for path in ("/admin/tenants", path_of(app)):
            assert (await operator.see(path)).status == 404
        assert (await operator.send("/admin/tenants/add", {"name": "x"})).status == 404
        assert "/admin/tenants" not in (await operator.see("/admin/users")).text


async def test_tenants_are_listed_added_and_renamed(app, operator):
    assert 'href="/admin/tenants"' in (await operator.see("/admin/users")).text
    assert ">Other</a>" in (await operator.see("/admin/tenants")).text
    added = await operator.send("/admin/tenants/add", {"name": "Third"})
    path = added.headers["location"].partition("?")[0]
    await operator.send(path, {"name": "The third"})
    assert "The third" in (await operator.see(path)).text
    assert error_of(await operator.send("/admin/tenants/add", {"name": " "}), "name")


async def test_tenants_are_searched_by_a_part_of_their_name(operator):
    found = await operator.see("/admin/tenants?q=OTH")
    assert ">Other</a>" in found.text
    assert 'value="OTH"' in found.text
    none = await operator.see("/admin/tenants?q=100%25")
    assert ">Other</a>" not in none.text
    assert 'href="/admin/tenants"' in none.text


async def test_an_invoice_is_marked_paid_once_with_its_reference(app, operator):
    invoice = await an_invoice(app)
    assert invoice.number in (await operator.see(path_of(app))).text
    page = f"/admin/invoices/{show_id(invoice.public_id)}"
    assert error_of(await operator.send(page, {"act": "pay", "reference": ""}), "reference")
    said = {"act": "pay", "reference": "transfer 17", "key": "k1"}
    assert (await operator.send(page, said)).headers["location"] == f"{path_of(app)}?done=invoice_paid"
    assert (await operator.send(page, said)).status == 303  # REL-47: the same form again
    assert (await operator.send(page, said | {"key": "k2"})).status == 409
    assert "there is nothing to do" in (await operator.see(page)).text
    assert "transfer 17" in (await operator.see(f"/invoices/{show_id(invoice.public_id)}")).text


async def test_an_invoice_is_written_off(app, operator):
    invoice = await an_invoice(app)
    page = f"/admin/invoices/{show_id(invoice.public_id)}"
    assert "This cannot be undone" in (await operator.see(page)).text
    await operator.send(page, {"act": "void", "key": "k"})
    shown = await operator.see(path_of(app))
    assert "written off" in shown.text
    assert "invoice.void" in (await operator.see("/admin/audit?action=invoice")).text


async def test_an_amount_that_is_none_is_refused_and_kept(app, operator):
    for amount in ("", "0", "-1", "1.234", "x", "NaN", "Infinity", "1e30"):
        answer = await operator.send(f"{path_of(app)}/credit", {"amount": amount, "reason": "sorry"})
        assert answer.status == 400, amount
        assert error_of(answer, "amount"), amount
        assert 'value="sorry"' in answer.text


async def test_credit_is_granted_once_per_form(app, operator):
    [key] = re.findall(r'name="key" value="(\w+)"', (await operator.see(path_of(app))).text)
    said = {"amount": "12,50", "reason": "a slow week", "key": key}
    for _ in range(2):
        assert (await operator.send(f"{path_of(app)}/credit", said)).status == 303
    statement = await app.billing.books.statement(OPERATOR, app.other_tenant)
    assert [line.amount_cents for line in statement.lines if line.kind == "credit"] == [-1250]
