"""Passwords for apps and e-readers: made, shown once, listed with their last use, asked about and revoked."""

import re
from urllib.parse import urlsplit

import pytest
from playwright.async_api import Browser, expect

from tests.api.people import a_running_app
from tests.app import in_settings
from tests.web.browser import PHONE, WIDER, browsing
from tests.web.guests import a_guest, error_of, focus_of, value_of
from tsuzuki.model.errors import Unauthorized

PATH = "/account/device-passwords"
WANTED = [("name", "Kitchen <b>"), ("protocols", "opds"), ("protocols", "greader"), ("life", "never")]


async def test_one_is_made_used_listed_and_revoked_after_a_question(empty_database_url, tmp_path):
    async with a_running_app(tmp_path, database_url=in_settings(empty_database_url)) as app:
        user = await app.add()
        guest, stranger = await a_guest(app, user), await a_guest(app, await app.add())
        assert "No device passwords." in (await guest.see(PATH)).text
        assert PATH in (await guest.see("/settings")).text
        assert "does not support any of these protocols yet" in (await guest.see(PATH)).text  # nobody is promised more
        made = await guest.send(PATH, WANTED)
        [key] = re.findall(r"tsz_[a-z2-7]+", made.text)
        assert (made.status, made.headers["cache-control"]) == (200, "no-store")
        assert user.username in made.text
        page = await guest.see(PATH)
        assert key not in page.text
        assert all(
            text in page.text for text in ("Kitchen &lt;b&gt;", "OPDS", "Google Reader", "never used", "never expires")
        )
        assert "Kitchen" not in (await guest.see("/account")).text  # tokens are another list
        assert "Kitchen" not in (await stranger.see(PATH)).text
        sign_in = app.accounts.sign_in.sign_in_device
        assert (await sign_in(user.username, key, "opds", address="192.0.2.1")).user_id == user.id
        assert "last used" in (await guest.see(PATH)).text
        found = re.search(r'href="(/account/tokens/[0-9a-f-]{36}/revoke)"', page.text)
        assert found is not None
        asked = await guest.see(found[1])
        assert "Revoke Kitchen &lt;b&gt;?" in asked.text
        assert f'href="{PATH}"' in asked.text
        assert [(await stranger.see(found[1])).status, (await stranger.send(found[1])).status] == [404, 404]
        revoked = await guest.send(found[1])
        assert urlsplit(revoked.headers["location"]).path == PATH
        page = await guest.see(revoked.headers["location"])
        assert "Device password revoked." in page.text
        assert found[1] not in page.text
        with pytest.raises(Unauthorized):
            await sign_in(user.username, key, "opds", address="192.0.2.1")


WRONG = (
    ({"name": ""}, "name"),
    ({"name": "x" * 101}, "name"),
    ({"protocols": ""}, "protocols"),
    ({"protocols": "gopher"}, "protocols"),
    ({"protocols": "fever"}, "protocols"),
    ({"protocols": "koreader"}, "protocols"),
    ({"life": "always"}, "life"),
)


async def test_what_is_wrong_stands_beside_its_field_and_nothing_typed_is_lost(tmp_path):
    async with a_running_app(tmp_path) as app:
        guest = await a_guest(app, await app.add())
        for over, field in WRONG:
            told = await guest.send(PATH, {"name": "Reader", "protocols": "opds", "life": "30"} | over)
            assert (told.status, focus_of(told)) == (400, [field]), over
            assert error_of(told, field) is not None, over
            assert field == "name" or value_of(told, "name") == "Reader", over
            assert "No device passwords." in told.text, over
            assert not re.search(r'value="(fever|koreader)"', told.text)


@pytest.mark.browser
@pytest.mark.asyncio(loop_scope="session")
@pytest.mark.parametrize(("scheme", "has_clipboard"), [("light", True), ("dark", False)])
async def test_it_is_made_by_keyboard_and_copied_on_a_phone(browser: Browser, tmp_path, scheme, has_clipboard):
    """By the clipboard, or selected to be copied by hand: an address without https has none."""
    async with a_running_app(tmp_path) as app:
        options = {"viewport": PHONE, "color_scheme": scheme, "permissions": ["clipboard-read", "clipboard-write"]}
        async with browsing(browser, app, await app.add(), **options) as page:
            if not has_clipboard:
                await page.add_init_script("Object.defineProperty(navigator, 'clipboard', { value: undefined })")
            await page.goto(f"{app.client.base}/settings")
            await page.get_by_role("link", name="Device passwords").click()
            await page.get_by_label("Device or app").focus()
            await page.keyboard.type("Tablet")
            await page.keyboard.press("Tab")
            await page.keyboard.press("Space")
            await page.keyboard.press("Enter")
            key = await page.get_by_label("Password for Tablet").inner_text()
            assert await page.evaluate(WIDER) == 0
            await page.wait_for_selector("html.scripted")
            await page.keyboard.press("c")
            told = "Copied." if has_clipboard else "The text is selected: press Ctrl+C."
            await expect(page.get_by_text(told)).to_be_visible()
            found = "navigator.clipboard.readText()" if has_clipboard else "String(getSelection())"
            assert (await page.evaluate(found)).strip() == key
            await page.get_by_role("link", name="Done").click()
            await expect(page.get_by_role("link", name="Revoke Tablet")).to_be_visible()
            assert await page.evaluate(WIDER) == 0
