"""The pages in a real browser: under the policy, light and dark, narrow as a phone, by keyboard, without scripts."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import product
from typing import Any

import pytest
from playwright.async_api import Browser, Page, expect
from structlog.testing import capture_logs

from tests.accounts.provider import strict_provider
from tests.accounts.redirect_targets import EVIL, KEPT
from tests.api.people import PASSWORD, RunningApp, a_running_app
from tests.app import running_app, settings_for
from tests.web.browser import DESK, PHONE, WIDER
from tests.web.end_to_end.screens import PAPER
from tests.web.guests import a_guest, oidc_settings
from tsuzuki.accounts.policy import local_path

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

# WCAG's contrast of each text with what is behind it; the texts that have less than 4.5.
PALE = """() => {
    const numbers = text => text.match(/[\\d.]+/g).map(Number);
    const light = rgb => rgb.slice(0, 3).map(v => v / 255)
        .map(v => v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4)
        .reduce((sum, v, at) => sum + v * [.2126, .7152, .0722][at], 0);
    const behind = node => {
        for (; node; node = node.parentElement) {
            const rgb = numbers(getComputedStyle(node).backgroundColor);
            if (rgb.length < 4 || rgb[3] === 1) return rgb;
        }
    };
    const words = [...document.querySelectorAll("body *")].filter(node =>
        node.checkVisibility() && [...node.childNodes].some(one => one.nodeType === 3 && one.data.trim()));
    return words.filter(node => {
        const [a, b] = [light(numbers(getComputedStyle(node).color)), light(behind(node))].sort((x, y) => y - x);
        return (a + .05) / (b + .05) < 4.5;
    }).map(node => node.className + ": " + node.textContent.trim());
}"""

NOW_FOCUSED = """() => {
    const node = document.activeElement;
    const style = getComputedStyle(node);
    return [node.name || node.textContent.trim() || node.id, style.outlineStyle, parseFloat(style.outlineWidth)];
}"""


@asynccontextmanager
async def a_page(browser: Browser, **options: Any) -> AsyncIterator[Page]:
    """A page of a browser that nobody has used; scripts are off, and nothing may complain in the console."""
    wanted: dict[str, Any] = {"java_script_enabled": False, "viewport": DESK} | options
    context = await browser.new_context(**wanted)
    said: list[str] = []
    page = await context.new_page()
    page.on("console", lambda message: said.append(message.text))
    yield page
    await context.close()
    assert [text for text in said if "Failed to load resource" not in text] == []


async def sign_in(page: Page, base: str, password: str = PASSWORD) -> None:
    await page.goto(f"{base}/sign-in")
    await page.get_by_label("Username").fill("admin")
    await page.get_by_label("Password").fill(password)
    await press(page, "Sign in")


async def press(page: Page, name: str) -> None:
    """This button, and the page that it leads to."""
    async with page.expect_navigation():
        await page.get_by_role("button", name=name, exact=True).click()


async def new_password(page: Page, password: str = PASSWORD) -> None:
    await page.get_by_label("Password", exact=True).fill(password)
    await page.get_by_label("Repeat password").fill(password)


# -- from the first visit on


async def test_the_first_run_survives_one_wrong_code(browser, tmp_path):
    with capture_logs() as lines:
        async with running_app(settings_for(tmp_path)) as client, a_page(browser) as page:
            [code] = [line["setup_code"] for line in lines if line["event"] == "nobody_can_sign_in_yet"]
            await page.goto(client.base)
            await page.get_by_role("link", name="Set up this server").click()
            await expect(page.get_by_label("Setup code")).to_be_focused()
            await page.get_by_label("Setup code").fill("wrong")
            await page.get_by_label("Username").fill("mayu")
            await new_password(page)
            await press(page, "Create account")
            await expect(page.get_by_text("This code is wrong")).to_be_visible()
            await expect(page.get_by_label("Setup code")).to_be_focused()
            await expect(page.get_by_label("Username")).to_have_value("mayu")
            await expect(page.get_by_label("Password", exact=True)).to_have_value("")
            await page.get_by_label("Setup code").fill(code)
            await new_password(page)
            await press(page, "Create account")
            assert page.url == f"{client.base}/"
            await expect(page.get_by_role("link", name="mayu")).to_be_visible()
            await page.goto(f"{client.base}/setup")
            assert page.url == f"{client.base}/"


async def test_a_wrong_password_is_reported_then_delayed(browser, tmp_path):
    async with a_running_app(tmp_path, login_limit=2) as app, a_page(browser) as page:
        for _ in range(2):
            await sign_in(page, app.client.base, "guess")
            await expect(page.get_by_text("Wrong username or password")).to_be_visible()
            await expect(page.get_by_label("Password")).to_be_focused()
        await sign_in(page, app.client.base)
        await expect(page.get_by_role("alert")).to_have_text("Too many attempts. Try again in 5 minutes.")
        await expect(page.get_by_role("alert")).to_be_focused()


async def test_somebody_who_is_invited_comes_in_by_the_link(browser, tmp_path):
    async with a_running_app(tmp_path) as app, a_page(browser) as page:
        admin = await a_guest(app, await app.admin())
        made = await admin.client.post(
            "/api/v1/admin/invites", {"role": "reader"}, headers={"cookie": f"tsuzuki={admin.cookies['tsuzuki']}"}
        )
        await page.goto(f"{app.client.base}/invite?code={made.json()['data']['code']}")
        await page.get_by_label("Username").fill("rin")
        await new_password(page)
        await press(page, "Create account")
        await expect(page.get_by_role("link", name="rin")).to_be_visible()


async def test_signing_out_everywhere_ends_the_other_browser_too(browser, tmp_path):
    async with a_running_app(tmp_path) as app, a_page(browser) as page, a_page(browser) as other:
        for one in (page, other):
            await sign_in(one, app.client.base)
        await page.locator("a.who").click()
        await expect(page.get_by_text("Chrome on Linux")).to_have_count(2)
        await press(page, "Sign out everywhere")
        await expect(page.get_by_role("status")).to_have_text("You are signed out everywhere.")
        await page.go_back()
        await other.goto(f"{app.client.base}/account")
        for one in (page, other):
            assert "/sign-in?next=" in one.url, "no cache may show the page of somebody who is gone"


async def test_a_token_is_made_and_gone_from_the_page_after(browser, tmp_path):
    async with a_running_app(tmp_path) as app, a_page(browser) as page:
        await sign_in(page, app.client.base)
        await page.goto(f"{app.client.base}/account")
        await page.get_by_label("Token name").fill("backup")
        await press(page, "Create token")
        key = await page.get_by_label("Token backup", exact=True).inner_text()
        assert key.startswith("tsz_")
        await page.get_by_role("link", name="Done").click()
        await expect(page.get_by_role("link", name="Revoke backup")).to_be_visible()
        assert key not in await page.content()
        await page.get_by_role("link", name="Revoke backup").click()
        await press(page, "Revoke")
        await expect(page.get_by_role("main").get_by_role("status")).to_have_text("Token revoked.")


async def test_the_provider_is_reachable_under_the_policy_without_scripts(browser, tmp_path):
    async with (
        strict_provider() as provider,
        a_running_app(tmp_path, **oidc_settings(provider.base)) as app,
        a_page(browser) as page,
    ):
        await page.goto(f"{app.client.base}/sign-in")
        await page.get_by_role("button", name="Sign in with 127.0.0.1").click()
        await page.wait_for_url(f"{provider.base}/authorize?**", wait_until="commit")


# -- by keyboard


async def test_the_keyboard_suffices_and_focus_is_always_visible(browser, tmp_path):
    async with a_running_app(tmp_path) as app, a_page(browser) as page:
        await page.goto(f"{app.client.base}/sign-in?next=/account")
        await page.wait_for_selector("input:focus")  # the cursor is there a moment after the page
        await page.keyboard.type("admin")
        await page.keyboard.press("Tab")
        await page.keyboard.type(PASSWORD)
        await page.keyboard.press("Enter")
        await page.wait_for_url(f"{app.client.base}/account")
        stops = await _stops(page)
        hidden = [name for name, style, width in stops if style == "none" or width < 2]
        assert hidden == []
        names = [name for name, _, _ in stops]
        assert names[:2] == ["Skip to content", "Tsuzuki"]
        assert {"current_password", "new_password", "repeat", "name", "scopes", "life", "Create token"} <= set(names)
        assert {"Sign out", "Sign out everywhere", "Change password"} <= set(names)


async def _stops(page: Page) -> list[tuple[str, str, float]]:
    """Where the tabulator leads, until it has left the page."""
    stops: list[tuple[str, str, float]] = []
    for _ in range(60):
        await page.keyboard.press("Tab")
        if await page.evaluate("document.activeElement === document.body"):
            break
        stops.append(tuple(await page.evaluate(NOW_FOCUSED)))
    return stops


# -- how it looks


async def states(page: Page, app: RunningApp) -> AsyncIterator[str]:
    """Every page, with its errors, one after the other; the page stands at the state that is named."""
    base = app.client.base
    for path in ("/", "/api/v1/docs", "/nope", "/sign-in?reason=oidc_not_linked", "/invite?code=" + "x" * 200):
        await page.goto(base + path)
        yield path
    await page.goto(base + "/invite")
    await page.get_by_label("Invitation code").fill("x" * 200)
    await page.get_by_label("Username").fill("a" * 64)
    await new_password(page, "short")
    await press(page, "Create account")
    yield "a wrong invitation"
    await sign_in(page, base, "guess")
    yield "a wrong password"
    await sign_in(page, base)
    yield "home, signed in"
    await page.goto(base + "/account")
    yield "account"
    await page.get_by_label("Token name").fill("w" * 100)
    await press(page, "Create token")
    yield "token"
    await page.goto(base + "/account?done=device")
    await page.get_by_label("Token name").fill("x")
    await page.get_by_label("read", exact=True).uncheck()
    await press(page, "Create token")
    yield "account with an error"


@pytest.mark.timeout(300)
async def test_i7_every_page_is_readable_under_the_strict_policy(browser, tmp_path):
    """Each page in both themes, on a phone and at a desk."""
    async with a_running_app(tmp_path, **oidc_settings("https://id.example.org")) as app, a_page(browser) as page:
        seen = 0
        async for state in states(page, app):
            seen += 1
            await page.locator("h1").wait_for()
            for (scheme, paper), viewport in product(PAPER.items(), (PHONE, DESK)):
                await page.emulate_media(color_scheme=scheme)
                await page.set_viewport_size(viewport)
                where = f"{state} ({scheme}, {viewport['width']})"
                assert await page.evaluate(WIDER) == 0, where
                assert await page.evaluate("getComputedStyle(document.body).backgroundColor") == paper, where
                assert await page.evaluate(PALE) == [], where
        assert seen == 11


async def test_the_setup_page_fits_on_a_phone(browser, tmp_path):
    async with running_app(settings_for(tmp_path)) as client, a_page(browser, viewport=PHONE) as page:
        await page.goto(f"{client.base}/setup")
        assert await page.evaluate(WIDER) == 0
        assert await page.evaluate(PALE) == []


# -- where to


async def test_sec_41_a_browser_reads_every_answer_as_same_origin(browser):
    """The table is about what browsers make of a Location; this asks one."""
    async with a_page(browser) as page:
        answers = [local_path(path) for path in (*EVIL, *KEPT)]
        origins = await page.evaluate(
            "paths => paths.map(path => new URL(path, 'https://reader.example.org/sign-in').origin)", answers
        )
        assert set(origins) == {"https://reader.example.org"}
        led_astray = await page.evaluate(
            "paths => paths.filter(path => URL.canParse(path, 'https://reader.example.org/sign-in')"
            " && new URL(path, 'https://reader.example.org/sign-in').origin !== 'https://reader.example.org')",
            list(EVIL),
        )
        assert len(led_astray) >= 15, "the table is of things that do lead astray"
