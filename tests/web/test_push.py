"""Messages to a browser: it adds itself, shows what its push service brings, and leaves with its owner.

Chromium has no push service here, so one that keeps its subscription in the page's storage stands for it. The message
is handed to the real service worker by the browser's own debugger.
"""

import asyncio
import json
import shutil
from typing import Any

import pytest
from playwright.async_api import Browser, CDPSession, Page, expect

from tests.api.people import RunningApp, a_running_app
from tests.waiting import eventually
from tests.web.browser import browsing, settled
from tests.web.conftest import ARGUMENTS
from tests.web.guests import a_guest
from tests.web.sample_shelf import fill_shelf
from tsuzuki.accounts.types import User

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

KEYS = {
    "p256dh": "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4",
    "auth": "BTBZMqHH6r4Tts7J_aSIgg",
}
ENDPOINT = "https://93.184.216.34/push/1"
PUSH_SERVICE = """
const subscription = () => localStorage.getItem("subscribed") && {
  toJSON: () => (DESCRIBED),
  unsubscribe: async () => { localStorage.removeItem("subscribed"); return true; },
};
PushManager.prototype.getSubscription = async () => subscription() || null;
PushManager.prototype.subscribe = async ({ applicationServerKey }) => {
  localStorage.setItem("subscribed", applicationServerKey);
  return subscription();
};
""".replace("DESCRIBED", json.dumps({"endpoint": ENDPOINT, "keys": KEYS}))
# A page calls a worker ready that is still activating: a message that came then was not shown, once in many runs.
ACTIVATED = """async () => {
  const { active } = await navigator.serviceWorker.ready;
  while (active.state !== "activated") await new Promise((change) => { active.onstatechange = change; });
}"""
SHOWN = "self.registration.getNotifications().then((all) => all.map((one) => `${one.title}: ${one.body}`))"
# A window opens for a person's own click alone: what would be opened is asked for instead.
CLICKED = """async () => {
  const [notification] = await self.registration.getNotifications();
  const opened = new Promise((tell) => { self.clients.openWindow = tell; });
  self.dispatchEvent(new NotificationEvent("notificationclick", { notification }));
  return await opened;
}"""


async def allowed(page: Page, app: RunningApp) -> None:
    """The page of notifications, in a browser that allows them."""
    await page.context.grant_permissions(["notifications"], origin=app.client.base)
    await page.add_init_script(PUSH_SERVICE)
    await settled(page, f"{app.client.base}/notifications")


class Registration:
    """The service worker's, as the browser's debugger knows it."""

    def __init__(self, debugger: CDPSession, number: str) -> None:
        self.debugger = debugger
        self.number = number


async def registration_of(debugger: CDPSession) -> Registration:
    known: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    def learn(said: dict[str, Any]) -> None:
        for one in said["registrations"]:
            if not known.done():
                known.set_result(one["registrationId"])

    debugger.on("ServiceWorker.workerRegistrationUpdated", learn)
    await debugger.send("ServiceWorker.enable")
    return Registration(debugger, await known)


async def channel_names(app: RunningApp, user: User) -> list[str]:
    shelf = await app.accounts.current_user.shelf_of(user)
    return [channel.name for channel in await app.channels.list(shelf.id, user.id)]


async def test_a_browser_subscribes_and_is_removed_by_clicks(browser: Browser, tmp_path):
    async with a_running_app(tmp_path) as app:
        user = await app.add()
        await fill_shelf(app, user, articles=1)
        async with browsing(browser, app, user, service_workers="allow") as page:
            await allowed(page, app)
            await page.get_by_label("Show titles, also on a locked screen").check()
            await page.get_by_role("button", name="Notify me in this browser").click()
            await expect(page.get_by_role("button", name="Stop notifying this browser")).to_be_visible()
            await expect(page.locator(".channel").get_by_text("Browser", exact=True)).to_be_visible()
            assert await page.evaluate("localStorage.getItem('subscribed')") == await app.channels.push_key()
            [name] = await channel_names(app, user)
            assert name.endswith("on Linux")
            await page.get_by_role("button", name="Stop notifying this browser").click()
            await expect(page.get_by_role("button", name="Notify me in this browser")).to_be_visible()
            assert await channel_names(app, user) == []


async def test_r112_whoever_signs_out_is_told_nothing_more_there(browser: Browser, tmp_path):
    async with a_running_app(tmp_path) as app:
        user = await app.add()
        await fill_shelf(app, user, articles=1)
        async with browsing(browser, app, user, service_workers="allow") as page:
            await allowed(page, app)
            await page.get_by_role("button", name="Notify me in this browser").click()
            await expect(page.get_by_role("button", name="Stop notifying this browser")).to_be_visible()
            await page.get_by_role("button", name="Sign out").click()
            await page.wait_for_url("**/sign-in*")
            assert await page.evaluate("localStorage.getItem('subscribed')") is None
        assert await channel_names(app, user) == []


async def test_a_message_is_shown_and_opens_its_page(browser: Browser, tmp_path):
    """In a profile of its own: a context without one may show no notifications."""
    async with a_running_app(tmp_path) as app:
        user = await app.add()
        await fill_shelf(app, user, articles=1)
        profile = await browser.browser_type.launch_persistent_context(
            tmp_path / "profile",
            executable_path=shutil.which("chromium"),
            args=ARGUMENTS,
            permissions=["notifications"],
        )
        session = {"name": "tsuzuki", "value": await app.session(user), "url": app.client.base}
        await profile.add_cookies([session])  # type: ignore[list-item]  # a TypedDict, told by a variable
        [page] = profile.pages
        await settled(page, f"{app.client.base}/notifications")
        await page.evaluate(ACTIVATED)
        registration = await registration_of(await profile.new_cdp_session(page))
        message = {"id": "msg_1", "title": "The Harbour", "body": "Chapter 5", "path": "/feeds"}
        wanted = {"origin": app.client.base, "registrationId": registration.number, "data": json.dumps(message)}
        await registration.debugger.send("ServiceWorker.deliverPushMessage", wanted)
        [worker] = profile.service_workers
        assert await eventually(lambda: worker.evaluate(SHOWN)) == ["The Harbour: Chapter 5"]
        assert await worker.evaluate(CLICKED) == f"{app.client.base}/feeds"
        await profile.close()


async def test_i8_nobody_removes_the_browser_of_somebody_else(tmp_path):
    async with a_running_app(tmp_path) as app:
        one, other = await app.add(), await app.add()
        subscription = {"url": ENDPOINT, **KEYS}
        mine, theirs = await a_guest(app, one), await a_guest(app, other)
        assert (await mine.send("/notifications/push", subscription)).status == 200
        assert (await theirs.send("/notifications/push/remove", {"url": ENDPOINT})).status == 200
        assert len(await channel_names(app, one)) == 1
        assert (await mine.send("/notifications/push/remove", {"url": ENDPOINT})).status == 200
        assert await channel_names(app, one) == []


async def test_a_browser_with_another_address_keeps_what_was_chosen(tmp_path):
    async with a_running_app(tmp_path) as app:
        user = await app.add()
        guest = await a_guest(app, user)
        await guest.send("/notifications/push", {"url": ENDPOINT, **KEYS, "titles": "on"})
        moved = {"url": "https://93.184.216.34/push/2", **KEYS, "was": ENDPOINT}
        assert (await guest.send("/notifications/push", moved)).status == 200
        shelf = await app.accounts.current_user.shelf_of(user)
        [channel] = await app.channels.list(shelf.id, user.id)
        assert channel.config["titles"] is True


async def test_what_is_no_subscription_is_refused_in_a_sentence(tmp_path):
    async with a_running_app(tmp_path) as app:
        user = await app.add()
        guest = await a_guest(app, user)
        for wrong in (
            {},
            {"url": ENDPOINT},
            {"url": "http://93.184.216.34/x", **KEYS},
            {"url": ENDPOINT, **KEYS, "auth": "x"},
        ):
            assert (await guest.send("/notifications/push", wrong)).status == 400
        assert await channel_names(app, user) == []
