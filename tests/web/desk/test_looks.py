"""Every page of the desk in a real browser: axe finds nothing in either theme, and nothing is wider than its screen."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page

from tests.crawl.builders import SITE, a_dead_letter
from tests.scale import scaled
from tests.web.browsing import DESK, PHONE, WIDER, browsing
from tests.web.desk.stage import Desk, a_desk
from tests.web.test_looks import AXE, RUN_AXE
from tsuzuki.accounts.nouns import Slice
from tsuzuki.billing.access import OPERATOR
from tsuzuki.model.ids import show_id
from tsuzuki.model.times import MINUTE

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="module")]

PAGES = (
    "/admin",
    "/admin?span=week&done=crawler_paused",
    "/admin/sources",
    "/admin/sources/add",
    f"/admin/sources/add?connector={SITE}",
    "/admin/sources/{source}?done=source_saved",
    "/admin/sources/{source}/edit",
    "/admin/sources/{source}/delete",
    "/admin/sources/{source}/map",
    "/admin/comics/{comic}/sources/{mapping}/remove",
    "/admin/jobs",
    "/admin/jobs?status=done",
    "/admin/jobs/{job}",
    "/admin/dead-letters",
    "/admin/dead-letters?queue=none",
    "/admin/dead-letters/discard?queue=nobody",
    "/admin/dead-letters/{letter}",
    "/admin/dead-letters/{letter}/discard",
    "/admin/audit",
    "/admin/audit?action=nothing",
    "/admin/users",
    "/admin/users/add",
    "/admin/users/{user}",
    "/admin/users/{user}/delete",
    "/admin/tenants",
    "/admin/tenants/{tenant}",
    "/admin/invoices/{invoice}",
    "/admin/settings",
)


class Office:
    """A desk on which something of everything lies, kept for all tests of this module: they only look."""

    def __init__(self, desk: Desk, ids: dict[str, str]) -> None:
        self.desk = desk
        self.ids = ids

    async def open(self, page: Page, path: str) -> None:
        await page.goto(self.desk.town.client.base + path.format(**self.ids), wait_until="load")
        assert await page.locator("h1").first.is_visible(), path


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def office(tmp_path_factory) -> AsyncIterator[Office]:
    async with a_desk(tmp_path_factory.mktemp("desk"), billing="on") as desk:
        yield Office(desk, await furnish(desk))


async def furnish(desk: Desk) -> dict[str, str]:
    """Something of everything, and the ids that `PAGES` names."""
    town = desk.town
    queued = await desk.operator.send(f"{desk.source}/crawl")
    job = queued.headers["location"].partition("?")[0].rpartition("/")[2]
    letter = await a_dead_letter(town.db, town.time())
    for _ in range(3):
        await town.figures.take()
        town.time.pass_(MINUTE)
    await desk.operator.send("/admin/invites", {"role": "reader"})
    user = await town.add(username="bob", email="bob@b.example")
    await town.billing.rented.create(OPERATOR, town.other_tenant, name="Another", plan="basic")
    [invoice], _ = await town.billing.books.invoices(OPERATOR, town.other_tenant, Slice(most=1))
    [mapped], _ = await town.crawling.comics.of_source(desk.source_id, Slice())
    return {
        "source": str(desk.source_id),
        "comic": desk.comic_id,
        "mapping": str(mapped.id),
        "job": job,
        "letter": str(letter),
        "user": show_id(user.public_id),
        "tenant": show_id(town.other_tenant),
        "invoice": show_id(invoice.public_id),
    }


async def wrongs(page: Page, where: str) -> dict[str, object]:
    """What is wider than the screen, and what axe says."""
    found: dict[str, object] = {}
    if wider := await page.evaluate(WIDER):
        found[f"{where} is wider than the screen"] = wider
    await page.evaluate(AXE.read_text("utf-8"))
    if said := await page.evaluate(RUN_AXE):
        found[where] = said
    return found


WAYS = [(scheme, viewport) for scheme in ("light", "dark") for viewport in (DESK, PHONE)]


@pytest.mark.soak
@pytest.mark.parametrize("number", range(len(WAYS)))
async def test_every_page_of_the_desk_is_accessible_and_whole(browser: Browser, office, number):
    """With `--soak` every page in every theme and width; else each in one, another for the one after."""
    scheme, viewport = WAYS[number]
    wrong: dict[str, object] = {}
    options = {"color_scheme": scheme, "viewport": viewport, "reduced_motion": "reduce"}
    async with browsing(browser, office.desk.town, await office.desk.town.admin(), **options) as page:
        for path in PAGES[scaled(number, 0) :: scaled(len(WAYS), 1)]:
            await office.open(page, path)
            wrong |= await wrongs(page, path)
    assert not wrong, wrong


async def test_what_a_trial_and_an_invitation_answer_is_accessible_too(browser: Browser, office):
    async with browsing(browser, office.desk.town, await office.desk.town.admin(), color_scheme="dark") as page:
        await office.open(page, "/admin/sources/{source}")
        await page.get_by_role("button", name="Try it now").click()
        await page.get_by_text("It works").wait_for()
        assert not await wrongs(page, "tried")
        await office.open(page, "/admin/users")
        await page.get_by_role("button", name="Make an invitation").click()
        await page.get_by_text("it is not shown again").wait_for()
        assert not await wrongs(page, "invited")


async def test_charts_are_drawn_and_say_the_same_in_a_table(browser: Browser, office):
    admin = await office.desk.town.admin()
    async with browsing(browser, office.desk.town, admin) as page:
        await office.open(page, "/admin")
        await page.locator(".u-wrap canvas").nth(1).wait_for()
        await page.get_by_text("As a table").click()
        assert await page.locator(".numbers tbody tr").count() >= 1
    async with browsing(browser, office.desk.town, admin, java_script_enabled=False) as page:
        await office.open(page, "/admin")
        assert not await page.locator("[data-chart]").first.is_visible()
        assert await page.get_by_text("As a table").is_visible()
