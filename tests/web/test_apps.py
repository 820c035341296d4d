"""`/apps`: which reader apps work here, and what to enter in each."""

from html import unescape
from pathlib import Path

import pytest
from playwright.async_api import Browser, expect

from tests.api.people import a_running_app
from tests.authorisation.policy import app_resources
from tests.web.browser import DESK, PHONE, WIDER, browsing
from tests.web.guests import a_guest
from tsuzuki.protocols.build import PROTOCOLS
from tsuzuki.web.apps import ABILITIES, READER_APPS, spoken_apps

SPOKEN = {one.name for one in PROTOCOLS}


async def test_the_page_shows_this_servers_address_per_app(tmp_path):
    async with a_running_app(tmp_path, public_url="https://read.example") as app:
        user = await app.add()
        text = unescape((await (await a_guest(app, user)).see("/apps")).text)
        assert spoken_apps(SPOKEN)
        for reader_app in spoken_apps(SPOKEN):
            assert f'id="{reader_app.anchor}"' in text
            for way in reader_app.ways:
                assert f"<code>https://read.example{way.path}</code>" in text
                assert " › ".join(way.menu) in text
                assert all(f"{label}:" in text for label in way.labels if label)
        assert f"Your username is {user.username}." in text


def test_apps_are_shown_only_for_protocols_that_are_answered():
    shown = spoken_apps({"fever"})
    assert {way.protocol for app in shown for way in app.ways} == {"fever"}
    assert "NetNewsWire" not in {app.name for app in shown}
    assert "NewsFlash" in {app.name for app in shown}
    assert spoken_apps(set()) == []


def test_every_protocol_says_what_apps_can_do_with_it():
    named = {way.protocol for app in READER_APPS for way in app.ways}
    assert named <= ABILITIES.keys()
    assert ABILITIES.keys() >= SPOKEN, "say in web/apps.py what apps can do with these"
    commands = (Path(__file__).parents[2] / "docs" / "accounts.md").read_text("utf-8")
    assert [name for name in sorted(SPOKEN) if f"`{name}`" not in commands] == []


async def test_every_address_is_one_that_apps_may_call(tmp_path):
    async with a_running_app(tmp_path) as app:
        answered = [resource.path for resource in app_resources(app.app)]
    for path in {way.path.rstrip("/") for one in spoken_apps(SPOKEN) for way in one.ways}:
        assert [known for known in answered if known == path or known.startswith(f"{path}/")], path


@pytest.mark.browser
@pytest.mark.asyncio(loop_scope="session")
@pytest.mark.parametrize("viewport", [PHONE, DESK])
async def test_the_page_fits_and_is_found_from_device_passwords(browser: Browser, tmp_path, viewport):
    async with (
        a_running_app(tmp_path) as app,
        browsing(browser, app, await app.add(), viewport=viewport) as page,
    ):
        await page.goto(f"{app.client.base}/account/device-passwords")
        await page.get_by_role("link", name="Apps that work with this server").click()
        await expect(page.get_by_role("heading", name="Reader apps")).to_be_visible()
        await expect(page.get_by_role("region", name="NewsFlash")).to_be_visible()
        assert await page.evaluate(WIDER) == 0
