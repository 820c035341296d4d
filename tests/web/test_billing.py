"""The tenant's pages: what is rented, what it costs before it is confirmed, invoices, a statement that adds up."""

import re

import pytest

from tests.api.people import a_running_app
from tests.billing.builders import OPERATOR, a_request, adds_up
from tests.web.guests import a_guest, error_of, value_of
from tests.web.payers import HOME, a_payer
from tsuzuki.model.ids import show_id
from tsuzuki.model.times import DAY
from tsuzuki.shelves.types import NewSubscription


@pytest.fixture
async def app(tmp_path):
    async with a_running_app(tmp_path, billing="on") as app:
        yield app


@pytest.fixture
async def payer(app):
    return await a_payer(app)


async def test_without_billing_no_page_mentions_it(tmp_path):
    async with a_running_app(tmp_path) as app:
        guest = await a_guest(app, await app.admin())
        assert HOME not in (await guest.see("/account")).text
        for path in (HOME, f"{HOME}/statement", f"{HOME}/new"):
            assert (await guest.see(path)).status == 404


async def test_the_account_leads_to_what_is_rented_and_used(app, payer):
    assert f'href="{HOME}"' in (await payer.guest.see("/account")).text
    (shelf,) = await payer.shelves()
    await app.reading.subscriptions.add(shelf.id, NewSubscription(link="https://example.org/feed"))
    shown = await payer.text()
    assert "Main" in shown
    assert "USD 5.00 per month" in shown
    assert "1 of 200" in shown
    assert "1 of 3" in shown  # members
    assert "Sources are checked at most every 30 minutes." in shown
    assert "Read articles are kept for 365 days." in shown


async def test_a_plan_shows_its_price_and_charges_exactly_that(app, payer):
    plan_options = await app.billing.offers.for_shelf(OPERATOR, (await payer.shelves())[0].public_id)
    assert 900 < plan_options.of("growth").cents <= 1_000
    path = await payer.path(verb="/plan")
    shown = await payer.text(f"{path}?plan=growth")
    assert "Change Main from Basic to Growth?" in shown
    (amount,) = re.findall(r"USD (\d+\.\d\d) is charged now", shown)
    answer = await payer.guest.send(path, {"plan": "growth"})
    assert answer.headers["location"] == f"{HOME}?done=plan_changed"
    newest = (await payer.invoices())[0]
    assert abs(newest.amount_cents - round(float(amount) * 100)) <= 1  # time passes between the two
    assert (await payer.shelves())[0].plan == "growth"
    assert "Plan changed." in await payer.text(answer.headers["location"])


async def test_a_plan_below_the_usage_lists_the_excess(app, payer):
    (shelf,) = await payer.shelves()
    for number in range(12):
        await app.reading.subscriptions.add(shelf.id, NewSubscription(link=f"https://example.org/{number}"))
    await app.add(tenant_id=payer.tenant.public_id)
    path = await payer.path(verb="/plan")
    shown = await payer.text(f"{path}?plan=free")
    assert "12 feeds and series are used and Free allows 10; remove 2." in shown
    assert "2 members are used and Free allows 1; remove 1." in shown
    assert "Change to Free" not in shown
    assert "remove 2" in await payer.text(await payer.path())
    answer = await payer.guest.send(path, {"plan": "free"})
    assert answer.status == 422
    assert "remove 2" in answer.text
    assert (await payer.shelves())[0].plan == "basic"


async def test_a_smaller_plan_says_what_is_given_back(payer):
    shown = await payer.text(f"{await payer.path(verb='/plan')}?plan=free")
    assert re.search(r"You get USD \d\.\d\d credit", shown)


async def test_what_is_not_offered_is_neither_shown_nor_given(payer):
    assert "Self-hosted" not in await payer.text(await payer.path())
    path = await payer.path(verb="/plan")
    assert (await payer.guest.see(f"{path}?plan=self-hosted")).status == 404
    assert (await payer.guest.send(path, {"plan": "self-hosted"})).status == 403


async def test_a_shelf_is_put_to_sleep_and_woken(payer):
    path = await payer.path(verb="/deactivate")
    assert re.search(r"USD \d\.\d\d credit", await payer.text(path))
    answer = await payer.guest.send(path)
    assert (await payer.shelves())[0].status == "inactive"
    shown = await payer.guest.see(answer.headers["location"])
    assert "Shelf deactivated." in shown.text
    assert f'action="{await payer.path(verb="/reactivate")}"' in shown.text  # undo
    assert re.search(r"USD \d\.\d\d is charged now", await payer.text(await payer.path(verb="/reactivate")))
    await payer.guest.send(await payer.path(verb="/reactivate"))
    assert (await payer.shelves())[0].status == "active"


async def test_a_shelf_is_rented_and_renamed_keeping_inputs(payer):
    shown = await payer.text(f"{HOME}/new")
    assert re.search(r"Growth USD 15.00 per month USD \d+\.\d\d now", shown)
    taken = await payer.guest.send(f"{HOME}/shelves", {"name": "Main", "plan": "growth"})
    assert taken.status == 409
    assert error_of(taken, "name") == "A shelf named Main already exists."
    assert value_of(taken, "name") == "Main"
    assert re.search(r'value="growth" required checked', taken.text)
    assert error_of(await payer.guest.send(f"{HOME}/shelves", {"name": " ", "plan": "growth"}), "name")
    assert error_of(await payer.guest.send(f"{HOME}/shelves", {"name": "Comics", "plan": "none"}), "plan")
    await payer.guest.send(f"{HOME}/shelves", {"name": "Comics", "plan": "growth"})
    assert [shelf.name for shelf in await payer.shelves()] == ["Main", "Comics"]
    assert (await payer.guest.send(await payer.path(1), {"name": "Main"})).status == 409
    await payer.guest.send(await payer.path(1), {"name": "Manga"})
    assert [shelf.name for shelf in await payer.shelves()] == ["Main", "Manga"]


async def test_the_second_free_shelf_is_shown_as_refused(app):
    payer = await a_payer(app, "free")
    shown = await payer.text(f"{HOME}/new")
    assert "Only one shelf per user can be on the free plan" in shown
    answer = await payer.guest.send(f"{HOME}/shelves", {"name": "Two", "plan": "free"})
    assert (answer.status, len(await payer.shelves())) == (422, 1)


async def test_invoices_are_listed_and_the_statement_adds_up(app, payer):
    for name in ("Two", "Three"):
        await app.billing.rented.create(OPERATOR, payer.tenant.public_id, name=name, plan="growth")
    opened, paid, voided = await payer.invoices()
    await app.billing.settlement.mark_paid(OPERATOR, paid.public_id, "bank", a_request())
    shown = await payer.text(f"/invoices/{show_id(paid.public_id)}")
    assert re.search(r" Paid USD \d", shown)
    assert "Total due" not in shown
    line = (await payer.guest.see(f"/invoices/{show_id(paid.public_id)}")).text
    assert re.search(r'<tr><td>Two: Growth.+ <span class="invoice-when">[^<]+</span></td><td class="cents">', line)
    await app.billing.books.void(OPERATOR, voided.public_id, a_request())
    await app.billing.books.grant_credit(
        OPERATOR, payer.tenant.public_id, 123, reason="for the trouble", request=a_request()
    )
    answer = await payer.guest.see(HOME)
    for invoice, word in ((opened, "open"), (paid, "paid"), (voided, "written off")):
        row = re.search(rf"<tr><td><a href=\"/invoices/{show_id(invoice.public_id)}\">.*?</tr>", answer.text)
        assert row is not None
        assert f">{word}</span>" in row[0]
    assert re.search(r"Credit used \S{0,4} ?\S?1\.23", await payer.text(f"/invoices/{show_id(opened.public_id)}"))
    shown = await payer.text(f"{HOME}/statement")
    totals = (await app.billing.books.tenant(OPERATOR, payer.tenant.public_id))[1]
    assert adds_up(totals)
    balance = f"USD {totals.balance / 100:,.2f}"
    assert shown.count(f"Total owed {balance}") == 2
    assert "for the trouble" in shown


async def test_invoices_come_in_pages(app, payer):
    for number in range(13):
        await app.billing.rented.create(OPERATOR, payer.tenant.public_id, name=f"S{number}", plan="basic")
    assert "Older" in await payer.text()
    last = await payer.text(f"{HOME}?page=2")
    assert "Newer" in last
    assert "Older" not in last
    assert "No invoices yet." in await payer.text(f"{HOME}?page=999999999999999")


async def test_r84_due_invoices_are_shown_on_every_page_until_paid(app, payer):
    for path in ("/", "/account", HOME):
        assert "USD 5.00 is due. From" in await payer.text(path)
    app.time.pass_(8 * DAY)
    await app.billing.catch_up()
    payer.guest = await a_guest(app, payer.user)
    assert "is overdue. Paid shelves are paused" in await payer.text("/")
    assert "paused: overdue" in await payer.text()
    assert "Invoices are overdue; pay them first." in await payer.text(await payer.path(verb="/reactivate"))
    assert (await payer.guest.send(await payer.path(verb="/reactivate"))).status == 409
    for invoice in await payer.invoices():
        await app.billing.settlement.mark_paid(OPERATOR, invoice.public_id, "bank", a_request())
    shown = await payer.text()
    assert "is overdue" not in shown
    assert re.search(r"\bactive\b", shown)
    other = await a_guest(app, await app.admin())
    assert "is due" not in (await other.see("/")).text


async def test_a_churned_tenant_learns_how_to_return(app, payer):
    app.time.pass_(31 * DAY)
    await app.billing.catch_up()
    payer.guest = await a_guest(app, payer.user)
    assert "This account was closed on" in await payer.text()


async def test_i8_another_tenants_shelf_is_as_unknown_as_none(app, payer):
    stranger = await a_payer(app)
    for verb in ("", "/plan?plan=growth", "/deactivate", "/reactivate"):
        assert (await stranger.guest.see(await payer.path(verb=verb))).status == 404
    for verb in ("", "/plan", "/deactivate", "/reactivate"):
        answer = await stranger.guest.send(await payer.path(verb=verb), {"name": "Mine", "plan": "growth"})
        assert answer.status == 404
    assert [(shelf.name, shelf.plan, shelf.status) for shelf in await payer.shelves()] == [("Main", "basic", "active")]
