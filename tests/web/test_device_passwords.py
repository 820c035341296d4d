"""Passwords for apps and e-readers: made, shown once, listed with their last use, asked about and revoked."""

import hashlib
import re
from html import unescape
from urllib.parse import urlsplit

import pytest
import segno
from playwright.async_api import Browser, Page, expect

from tests.api.people import RunningApp, a_running_app
from tests.app import in_settings
from tests.web.browser import PHONE, WIDER, browsing
from tests.web.guests import a_guest, error_of, focus_of, value_of
from tests.web.looks.axe import wrongs_everywhere
from tsuzuki.accounts.devices import AppRequest
from tsuzuki.accounts.sharing import shelf_user
from tsuzuki.accounts.types import User
from tsuzuki.model.errors import Unauthorized
from tsuzuki.model.ids import show_id
from tsuzuki.protocols.build import PROTOCOLS
from tsuzuki.protocols.fever import digest
from tsuzuki.web.apps import spoken_apps
from tsuzuki.web.device_passwords import client_name, qr_code

PATH = "/account/device-passwords"
WANTED = {"name": "Kitchen <b>", "protocols": "fever", "kinds": "item", "life": "never"}
REEDER = AppRequest("fever", "192.0.2.1", "Reeder/5040.17 CFNetwork/1410.0.3 Darwin/22.6.0")


async def test_one_is_made_used_listed_and_revoked_after_a_question(empty_database_url, tmp_path):
    async with a_running_app(tmp_path, database_url=in_settings(empty_database_url)) as app:
        user = await app.add()
        guest, stranger = await a_guest(app, user), await a_guest(app, await app.add())
        assert "No device passwords." in (await guest.see(PATH)).text
        assert PATH in (await guest.see("/settings")).text
        made = await guest.send(PATH, WANTED)
        [key] = set(re.findall(r"tsz_[a-z2-7]+", made.text))
        assert (made.status, made.headers["cache-control"]) == (200, "no-store")
        page = await guest.see(PATH)
        assert key not in page.text
        assert all(
            text in page.text
            for text in ("Kitchen &lt;b&gt;", ">Fever<", "Articles only", "never used", "never expires")
        )
        assert "Kitchen" not in (await guest.see("/account")).text  # tokens are another list
        assert "Kitchen" not in (await stranger.see(PATH)).text
        sign_in, sent = app.accounts.devices.sign_in, digest(user.username, key)
        signed_in = await sign_in(REEDER, None, sent)
        assert (signed_in.caller.user_id, signed_in.kind) == (user.id, "item")
        assert re.search("last used .+ by Reeder<", (await guest.see(PATH)).text)
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
            await sign_in(REEDER, None, sent)


@pytest.mark.parametrize(
    ("public_url", "expected"), [("https://read.example/", "https://read.example"), (None, "http://")]
)
async def test_a_new_device_password_shows_all_an_app_needs(tmp_path, public_url, expected):
    settings = {} if public_url is None else {"public_url": public_url}
    async with a_running_app(tmp_path, **settings) as app:
        user = await app.add()
        guest = await a_guest(app, user)
        fields = [("name", "All"), ("kinds", "both"), ("life", "30"), *(("protocols", one.name) for one in PROTOCOLS)]
        made = unescape((await guest.send(PATH, fields)).text)
        shown = dict(re.findall(r'<output class="secret" id="([\w-]+)">([^<]*)</output>', made))
        assert re.findall(r'data-copy="([\w-]+)"', made) == list(shown)
        assert shown["username"] == user.username
        here = expected if public_url else app.client.base
        assert {one.name: shown[f"address-{one.name}"] for one in PROTOCOLS} == {
            one.name: f"{here}{one.path}" for one in PROTOCOLS
        }
        assert str(qr_code(shown["secret"])) in made


async def test_each_apps_steps_are_one_link_away(tmp_path):
    async with a_running_app(tmp_path) as app:
        guest = await a_guest(app, await app.add())
        made = (await guest.send(PATH, WANTED | {"protocols": "miniflux"})).text
        linked = re.findall(r'<a href="/apps#([^"]+)">', made)
        assert linked == [one.anchor for one in spoken_apps({"miniflux"})]
        assert "reactflux" in linked
        assert "netnewswire" not in linked
        there = (await guest.see("/apps")).text
        assert all(f'id="{anchor}"' in there for anchor in linked)


def test_the_code_is_the_password_and_nothing_else():
    drawn = str(qr_code("tsz_abc"))
    rows = segno.make_qr("tsz_abc", error="m").matrix
    size = len(rows) + 8  # with the white edge that cameras look for
    assert f'viewBox="0 0 {size} {size}"' in drawn
    dark = sum(int(length) for length in re.findall(r"h(\d+)", drawn.rpartition('stroke="#000"')[2]))
    assert dark == sum(map(sum, rows))
    assert drawn != str(qr_code("tsz_abd"))
    assert "tsz_abc" not in drawn
    assert "style" not in drawn  # the policy of pages allows none


async def test_a_password_is_for_one_of_several_shelves(tmp_path):
    async with a_running_app(tmp_path) as app:
        user = await app.add()
        guest = await a_guest(app, user)
        assert 'name="shelf" id' not in (await guest.see(PATH)).text
        other = await app.accounts.sharing.make(shelf_user(user), "Comics & more")
        page = (await guest.see(PATH)).text
        assert "Comics &amp; more" in page
        fields = WANTED | {"shelf": show_id(other.public_id)}
        [key] = set(re.findall(r"tsz_[a-z2-7]+", (await guest.send(PATH, fields)).text))
        held = await app.accounts.devices.sign_in(REEDER, None, digest(user.username, key))
        assert held.shelf.name == "Comics & more"
        assert "shelf Comics &amp; more" in (await guest.see(PATH)).text
        strange = await app.accounts.current_user.shelf_of(await app.add())
        told = await guest.send(PATH, fields | {"shelf": show_id(strange.public_id), "life": "90"})
        assert (told.status, error_of(told, "shelf")) == (400, "There is no such shelf.")
        assert re.search(r'value="90" selected', told.text)


WRONG = (
    ({"name": ""}, "name"),
    ({"name": "x" * 101}, "name"),
    ({"protocols": ""}, "protocols"),
    ({"protocols": "gopher"}, "protocols"),
    ({"protocols": "gopher"}, "protocols"),
    ({"kinds": ""}, "kinds"),
    ({"kinds": "comics"}, "kinds"),
    ({"shelf": "none"}, "shelf"),
    ({"life": "always"}, "life"),
)


async def test_problems_are_shown_beside_fields_keeping_inputs(tmp_path):
    async with a_running_app(tmp_path) as app:
        user = await app.add()
        await app.accounts.sharing.make(shelf_user(user), "Another")
        guest = await a_guest(app, user)
        for over, field in WRONG:
            told = await guest.send(PATH, WANTED | {"name": "Reader"} | over)
            assert (told.status, focus_of(told)) == (400, [field]), over
            assert error_of(told, field) is not None, over
            assert field == "name" or value_of(told, "name") == "Reader", over
            assert field == "kinds" or 'value="item" selected' in told.text, over
            assert "No device passwords." in told.text, over


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("Reeder/5040.17 CFNetwork/1410.0.3 Darwin/22.6.0", "Reeder"),
        ("Fiery%20Feeds/2.1 CFNetwork/1", "Fiery Feeds"),
        ("NetNewsWire (RSS Reader; https://netnewswire.com/)", "NetNewsWire"),
        (
            "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537 (KHTML, like Gecko) fluent-reader/1.1 Chrome/9",
            "fluent-reader",
        ),
        ("Mozilla/5.0 (X11; Linux x86_64; rv:109.0) Gecko/20100101 Firefox/115.0", "Firefox on Linux"),
        ("okhttp/4.12.0", "an app (okhttp)"),
        ("x" * 100, "x" * 40),
        ("/", "an app without a name"),
    ],
)
def test_an_app_is_called_what_it_calls_itself(said, shown):
    assert client_name(said) == shown


async def fever(app: RunningApp, user: User, key: str) -> dict[str, object]:
    """What Fever answers an app that has this password."""
    sent = hashlib.md5(f"{user.username}:{key}".encode()).hexdigest()
    headers = {"user-agent": "Reeder/5040.17 CFNetwork/1410.0.3 Darwin/22.6.0"}
    answer = await app.client.ask("POST", "/fever/?api", data={"api_key": sent}, headers=headers)
    found: dict[str, object] = answer.json()
    return found


async def type_the_form(page: Page, name: str) -> None:
    """From the keyboard alone: a name, the first protocol, only chapters; the rest stays as it is."""
    await page.get_by_label("Device or app").focus()
    await page.keyboard.type(name)
    await page.keyboard.press("Tab")
    await page.keyboard.press("Space")
    for _ in PROTOCOLS:
        await page.keyboard.press("Tab")
    await page.keyboard.type("Ch")
    await expect(page.get_by_label("The app shows")).to_have_value("chapter")
    await page.get_by_label("Device or app").press("Enter")


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
            await type_the_form(page, "Tablet")
            key = await page.get_by_label("Password for Tablet", exact=True).inner_text()
            await expect(page.get_by_role("img", name="The password as a QR code")).to_be_visible()
            assert await page.evaluate(WIDER) == 0
            await page.wait_for_selector("html.scripted")
            await page.keyboard.press("c")
            told = "Copied." if has_clipboard else "The text is selected: press Ctrl+C."
            await expect(page.get_by_text(told)).to_be_visible()
            copied = "navigator.clipboard.readText()" if has_clipboard else "String(getSelection())"
            assert (await page.evaluate(copied)).strip() == key
            await page.get_by_role("button", name="Copy: Server address for Fever").click()
            address = f"{app.client.base}/fever/"
            await page.wait_for_function(f"async (text) => String(await {copied}).trim() === text", arg=address)
            await page.get_by_role("link", name="Done").click()
            await expect(page.get_by_role("link", name="Revoke Tablet")).to_be_visible()
            assert await page.evaluate(WIDER) == 0


@pytest.mark.browser
@pytest.mark.asyncio(loop_scope="session")
async def test_an_app_signs_in_until_it_is_revoked(browser: Browser, tmp_path):
    """The way of a password, by keyboard on the pages and by HTTP as an app calls; without scripts as well."""
    async with a_running_app(tmp_path) as app:
        user = await app.add()
        for has_scripts in (True, False):
            async with browsing(browser, app, user, java_script_enabled=has_scripts) as page:
                await page.goto(f"{app.client.base}{PATH}")
                await type_the_form(page, f"Phone {has_scripts}")
                key = await page.get_by_label(f"Password for Phone {has_scripts}", exact=True).inner_text()
                assert (await fever(app, user, key))["auth"] == 1
                await page.get_by_role("link", name="Done").press("Enter")
                row = page.get_by_role("listitem").filter(has_text=f"Phone {has_scripts}")
                await expect(row).to_contain_text("by Reeder")
                await expect(row).to_contain_text("Chapters only")
                await page.get_by_role("link", name=f"Revoke Phone {has_scripts}").press("Enter")
                await page.get_by_role("button", name="Revoke").press("Enter")
                await expect(page.get_by_text("Device password revoked.")).to_be_visible()
                assert await fever(app, user, key) == {"api_version": 3, "auth": 0}


@pytest.mark.browser
@pytest.mark.asyncio(loop_scope="session")
async def test_the_form_and_what_was_made_are_accessible_everywhere(browser: Browser, tmp_path):
    async with a_running_app(tmp_path) as app:
        user = await app.add()
        await app.accounts.sharing.make(shelf_user(user), "A" * 60)
        async with browsing(browser, app, user) as page:
            await page.goto(f"{app.client.base}{PATH}")
            await page.get_by_label("Device or app").fill("M" * 100)
            await page.get_by_role("button", name="Create password").click()
            await expect(page.get_by_role("group", name="Gives access to")).to_contain_text("Choose at least one.")
            await expect(page.get_by_role("checkbox", name="Fever", exact=True)).to_be_focused()
            wrong = await wrongs_everywhere(page, "refused")
            await page.get_by_role("checkbox", name="Fever", exact=True).check()
            await page.get_by_role("button", name="Create password").click()
            await expect(page.get_by_role("button", name="Copy: Server address for Fever")).to_be_visible()
            wrong |= await wrongs_everywhere(page, "made")
            await page.get_by_role("link", name="Done").click()
            wrong |= await wrongs_everywhere(page, "listed")
        assert wrong == {}
