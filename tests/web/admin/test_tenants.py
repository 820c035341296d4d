"""Tenants and the ledger at the desk, while billing is on."""

import re
from collections.abc import AsyncIterator

import pytest

from tests.api.people import Town, a_town
from tests.web.guests import a_guest, error_of
from tsuzuki.accounts.types import Slice
from tsuzuki.billing.books import OPERATOR
from tsuzuki.billing.types import Invoice
from tsuzuki.model.ids import show_id


@pytest.fixture
async def town(tmp_path) -> AsyncIterator[Town]:
    async with a_town(tmp_path, billing="on") as town:
        yield town


async def an_invoice(town: Town) -> Invoice:
    await town.billing.rented.create(OPERATOR, town.other_tenant, name="Another", plan="basic")
    found, _ = await town.billing.books.invoices(OPERATOR, town.other_tenant, Slice(most=1))
    return found[0]


def path_of(town: Town) -> str:
    return f"/admin/tenants/{show_id(town.other_tenant)}"


async def test_there_are_no_tenants_to_look_at_while_billing_is_off(tmp_path):
    async with a_town(tmp_path) as town:
        operator = await a_guest(town, await town.admin())
        for path in ("/admin/tenants", path_of(town)):
            assert (await operator.see(path)).status == 404
        assert (await operator.send("/admin/tenants/add", {"name": "x"})).status == 404
        assert "/admin/tenants" not in (await operator.see("/admin/users")).text


async def test_tenants_are_listed_added_and_renamed(town, operator):
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


async def test_an_invoice_is_marked_paid_once_with_its_reference(town, operator):
    invoice = await an_invoice(town)
    assert invoice.number in (await operator.see(path_of(town))).text
    page = f"/admin/invoices/{show_id(invoice.public_id)}"
    assert error_of(await operator.send(page, {"act": "pay", "reference": ""}), "reference")
    said = {"act": "pay", "reference": "transfer 17", "key": "k1"}
    assert (await operator.send(page, said)).headers["location"] == f"{path_of(town)}?done=invoice_paid"
    assert (await operator.send(page, said)).status == 303  # REL-47: the same form again
    assert (await operator.send(page, said | {"key": "k2"})).status == 409
    assert "there is nothing to do" in (await operator.see(page)).text
    assert "transfer 17" in (await operator.see(f"/invoices/{show_id(invoice.public_id)}")).text


async def test_an_invoice_is_written_off(town, operator):
    invoice = await an_invoice(town)
    page = f"/admin/invoices/{show_id(invoice.public_id)}"
    assert "This cannot be undone" in (await operator.see(page)).text
    await operator.send(page, {"act": "void", "key": "k"})
    shown = await operator.see(path_of(town))
    assert "written off" in shown.text
    assert "invoice.void" in (await operator.see("/admin/audit?action=invoice")).text


async def test_an_amount_that_is_none_is_refused_and_kept(town, operator):
    for amount in ("", "0", "-1", "1.234", "x", "NaN", "Infinity", "1e30"):
        answer = await operator.send(f"{path_of(town)}/credit", {"amount": amount, "reason": "sorry"})
        assert answer.status == 400, amount
        assert error_of(answer, "amount"), amount
        assert 'value="sorry"' in answer.text


async def test_credit_is_granted_once_per_form(town, operator):
    [key] = re.findall(r'name="key" value="(\w+)"', (await operator.see(path_of(town))).text)
    said = {"amount": "12,50", "reason": "a slow week", "key": key}
    for _ in range(2):
        assert (await operator.send(f"{path_of(town)}/credit", said)).status == 303
    statement = await town.billing.books.statement(OPERATOR, town.other_tenant)
    assert [line.amount_cents for line in statement.lines if line.kind == "credit"] == [-1250]
