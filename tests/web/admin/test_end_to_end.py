"""A day of the operator in a browser: a source breaks, is found, tried and repaired, and what it lost is done again."""

import asyncio

import pytest
from playwright.async_api import Browser, Page, expect

from tests.api.people import PASSWORD
from tests.crawler.builders import a_lost_chapter
from tests.waiting import eventually
from tests.web.admin.builders import AdminSite, an_admin_site
from tests.web.browser import DESK, PHONE, WIDER, browsing
from tsuzuki.db.queries import parse_queries

_q = parse_queries("tests", "-- name: count_releases\nselect count(*) from release where url = :url;")

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]


async def click(page: Page, role: str, name: str) -> None:
    await page.get_by_role(role, name=name, exact=True).first.click()  # type: ignore[arg-type]  # one of its literals


async def crawled(admin_site: AdminSite, page: Page) -> None:
    """Have the source's comics discovered, and see the job through to its end."""
    await page.goto(f"{admin_site.app.client.base}{admin_site.source}")
    await click(page, "button", "Discover comics")
    await page.wait_for_url("**/admin/jobs/**")


async def test_the_operator_repairs_a_source_and_replays_its_letters(browser: Browser, tmp_path):
    async with (
        an_admin_site(tmp_path) as admin_site,
        browsing(browser, admin_site.app, await admin_site.app.admin()) as page,
    ):
        base = admin_site.app.client.base
        admin_site.app.worker_loops.start()
        await crawled(admin_site, page)
        await expect(page.locator("[data-job=status]")).to_have_text("done", timeout=20_000)

        # The publisher breaks; the desk says so.
        admin_site.site.is_down = True
        await crawled(admin_site, page)
        await expect(page.locator("[data-job=status]")).to_have_text("failed", timeout=20_000)
        lost = f"{admin_site.site.url}/s/one"
        letter = await a_lost_chapter(admin_site.app.db, lost, admin_site.app.time())
        await page.goto(f"{base}/admin")
        failing = page.get_by_role("region", name="Failing sources")
        await failing.get_by_role("link", name="Site").click()
        await expect(page.get_by_text("Last error")).to_be_visible()

        # Tried, it says what was asked and what came back.
        await click(page, "button", "Test")
        await expect(page.get_by_text("It does not work yet")).to_be_visible()
        await expect(page.get_by_role("cell", name=f"GET {admin_site.site.url}/list-1.html")).to_be_visible()

        # The publisher is back, and wants to be called less often.
        admin_site.site.is_down = False
        await click(page, "link", "Edit")
        await page.get_by_label("ratelimit").fill("fast")
        await click(page, "button", "Test")
        await expect(page.get_by_text("Enter a number.")).to_be_visible()
        await page.get_by_label("ratelimit").fill("20")
        await click(page, "button", "Test")
        await expect(page.get_by_text("Nothing is saved yet.")).to_be_visible()
        await expect(page.get_by_label("ratelimit")).to_have_value("20")
        await click(page, "button", "Save")
        await expect(page.get_by_text("Source saved.")).to_be_visible()
        await click(page, "button", "Test")
        await expect(page.get_by_text("It works")).to_be_visible()

        # What was given up is done again.
        await page.goto(f"{base}/admin/dead-letters")
        await page.get_by_role("link", name="now").first.click()
        await page.wait_for_url(f"**/admin/dead-letters/{letter}")
        await click(page, "button", "Replay")
        await expect(page.get_by_text("Task queued again.")).to_be_visible()
        await stored(admin_site, f"{lost}/99")

        await watch_the_log(admin_site, page)
        await admin_site.app.worker_loops.stop()


async def stored(admin_site: AdminSite, url: str) -> None:
    """Return once the chapter that was lost is there."""

    async def is_there() -> bool:
        return bool(await admin_site.app.db.read(lambda tx: tx.one(int, _q.count_releases, url=url)))

    await eventually(is_there)


async def watch_the_log(admin_site: AdminSite, page: Page) -> None:
    """The source answers slowly: lines appear while the job runs, without a reload, then its end."""
    gate = admin_site.site.gates["/list-2.html"] = asyncio.Event()
    admin_site.site.series |= {"two": [1], "three": [1]}
    await crawled(admin_site, page)
    first = page.locator("#lines").get_by_text("/list-1.html")
    await expect(first).to_be_visible(timeout=20_000)
    await page.evaluate("window.isTheSame = true")
    await expect(page.locator("[data-job=status]")).not_to_have_text("done")
    admin_site.site.series |= {"four": [1], "five": [1]}
    third = page.locator("#lines").get_by_text("/list-3.html")
    await expect(third).to_have_count(0)
    last = admin_site.site.gates["/list-3.html"] = asyncio.Event()
    gate.set()
    await expect(page.locator("#lines").get_by_text("/list-2.html")).to_be_visible()
    assert await page.evaluate("window.isTheSame")
    last.set()
    await expect(page.locator("[data-job=status]")).to_have_text("done", timeout=20_000)


@pytest.mark.parametrize(("viewport", "theme"), [(DESK, "light"), (PHONE, "dark")])
async def test_the_operator_adds_somebody_and_finds_that_in_the_log(browser: Browser, tmp_path, viewport, theme):
    looks = {"viewport": viewport, "color_scheme": theme}
    async with (
        an_admin_site(tmp_path) as admin_site,
        browsing(browser, admin_site.app, await admin_site.app.admin(), **looks) as page,
    ):
        await page.goto(f"{admin_site.app.client.base}/admin/users")
        await click(page, "link", "Add user")
        await page.get_by_label("Username").fill("newcomer")
        await page.get_by_label("Password", exact=True).fill(PASSWORD)
        await page.get_by_label("Repeat password").fill(PASSWORD)
        await click(page, "button", "Add user")
        await expect(page.get_by_role("heading", name="newcomer")).to_be_visible()
        await click(page, "link", "Changes to this user")
        row = page.get_by_role("listitem").filter(has_text="user.create")
        await expect(row).to_contain_text("by admin")
        await row.get_by_text("Changes").click()
        await expect(row).to_contain_text('"username": "newcomer"')
        assert not await page.evaluate(WIDER)


async def test_the_operator_pauses_everything_and_says_why(browser: Browser, tmp_path):
    async with (
        an_admin_site(tmp_path) as admin_site,
        browsing(browser, admin_site.app, await admin_site.app.admin(), viewport=PHONE) as page,
    ):
        await page.goto(f"{admin_site.app.client.base}/admin")
        await page.get_by_text("Pause all sources").click()
        await page.get_by_label("Reason").fill("The line is down")
        assert not await page.evaluate(WIDER)
        await click(page, "button", "Pause sources")
        await expect(page.get_by_text("“The line is down”")).to_be_visible()
        await click(page, "button", "Resume all sources")
        await expect(page.get_by_text("All sources are resumed.")).to_be_visible()


async def test_a_job_is_watched_and_cancelled_without_scripts(browser: Browser, tmp_path):
    admin_options = {"java_script_enabled": False}
    async with (
        an_admin_site(tmp_path) as admin_site,
        browsing(browser, admin_site.app, await admin_site.app.admin(), **admin_options) as page,
    ):
        await crawled(admin_site, page)
        await expect(page.locator("[data-job=status]")).to_have_text("queued")
        await click(page, "link", "Reload")
        await click(page, "button", "Cancel job")
        await expect(page.locator("[data-job=status]")).to_have_text("cancelled")
        await expect(page.locator("#lines")).to_contain_text("Job cancelled")
