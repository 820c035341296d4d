"""The tenant's pages in a real browser, in both themes, on a phone and on a desk."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from tests.api.people import a_town
from tests.web.browsing import DESK, PHONE, WIDER, browsing
from tests.web.payers import HOME, Payer, a_payer
from tests.web.test_looks import AXE, RUN_AXE
from tsuzuki.billing.access import OPERATOR
from tsuzuki.model.ids import show_id
from tsuzuki.shelves.subscriptions.service import Wish

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="module")]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def payer(tmp_path_factory) -> AsyncIterator[Payer]:
    """With an open invoice, a full shelf, and one that sleeps."""
    async with a_town(tmp_path_factory.mktemp("billing"), billing="on") as town:
        payer = await a_payer(town)
        (shelf,) = await payer.shelves()
        await town.billing.rented.create(OPERATOR, payer.tenant.public_id, name="A" * 60, plan="free")
        for number in range(11):
            await town.reading.subscriptions.add(shelf.id, Wish(link=f"https://example.org/{number}"))
        await town.billing.rented.deactivate(OPERATOR, (await payer.shelves())[1].public_id)
        yield payer


@pytest.mark.parametrize(("scheme", "viewport"), [("light", PHONE), ("dark", DESK)])
async def test_i7_its_pages_are_accessible_and_whole_while_something_is_due(browser, payer, scheme, viewport):
    town = payer.town
    pages = [HOME, f"{HOME}/statement", f"{HOME}/new", f"/invoices/{show_id((await payer.invoices())[0].public_id)}"]
    pages += [await payer.path(verb=verb) for verb in ("", "/plan?plan=growth", "/plan?plan=free", "/deactivate")]
    pages += [
        await payer.path(1, "/reactivate"),
        f"{HOME}?done=shelf_asleep&slept={show_id((await payer.shelves())[1].public_id)}",
    ]
    wrong = {}
    options = {"color_scheme": scheme, "viewport": viewport, "reduced_motion": "reduce"}
    async with browsing(browser, town, payer.user, **options) as page:
        for path in pages:
            await page.goto(town.client.base + path, wait_until="load")
            assert await page.locator("h1").first.is_visible(), path
            if wider := await page.evaluate(WIDER):
                wrong[f"{path} is wider than the screen"] = wider
            await page.evaluate(AXE.read_text("utf-8"))
            if found := await page.evaluate(RUN_AXE):
                wrong[path] = found
    assert not wrong, wrong
