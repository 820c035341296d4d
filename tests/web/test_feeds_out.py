"""Feeds out: made from any list, copied, replaced and removed after a question; without scripts, and on a phone."""

import re
from html import unescape
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.async_api import Browser, expect

from tests.api.people import a_running_app
from tests.web.browser import PHONE, WIDER, browsing
from tests.web.guests import error_of, value_of
from tests.web.reader_setup import follow_to
from tsuzuki.inbox.sync import SyncFilter
from tsuzuki.model.ids import show_id

PATH = "/account/feeds-out"


def links_in(page: Any) -> list[str]:
    """Where this list can be had as a feed."""
    return [unescape(found) for found in re.findall(rf'href="({PATH}\?[^"]*)"', page.text)]


def addresses_in(page: Any) -> list[str]:
    return [urlsplit(found).path for found in re.findall(r'<output class="secret"[^>]*>([^<]+)<', page.text)]


async def test_a_feed_is_made_of_what_is_looked_at(reader):
    app, guest, shelf = reader.app, reader.guest, reader.sample_shelf.shelf
    group = (await app.reading.groups.list(shelf))[1]
    feeds = {one.shown_name: one for one in await app.reading.subscriptions.list(shelf)}
    waiting = await app.sync.refs(shelf, SyncFilter(search="waiting"), most=1)
    await app.reading.tags.tag_entries(shelf, [one.id for one in waiting], add=["Later"])
    [tag] = await app.reading.tags.list(shelf)
    shown = {"group": show_id(group.public_id), "feed": show_id(feeds["The Paper Lantern"].public_id)}
    shown["tag"] = show_id(tag.public_id)
    places = ["/?show=saved", f"/?group={shown['group']}", f"/feeds/{shown['feed']}", "/search?q=waiting"]
    places.append(f"/?tag={shown['tag']}&show=all")
    for place in places:
        [link] = links_in(await guest.see(place))
        form = await guest.see(link)
        assert form.status == 200, place
        of = next((name for name in shown if shown[name] in link), None)
        assert of is None or f'<input type="hidden" name="{of}" value="{shown[of]}">' in form.text
        sent = {"name": value_of(form, "name"), "show": "saved" if "saved" in link else "all", "kind": "both"}
        sent |= {"search": value_of(form, "search"), **({of: shown[of]} if of else {})}
        made = await follow_to(guest, await guest.send(PATH, sent))
        assert "Feed created. Copy its address into a feed reader." in made.text, place
    page = await guest.see(PATH)
    assert len(addresses_in(page)) == len(places)
    assert "Search: waiting" in page.text
    found = [(await app.client.ask("GET", address)).text for address in addresses_in(page)]  # the newest first
    has = [("The Paper Lantern" in one, "The Lighthouse Keepers: Chapter" in one) for one in found]
    assert has == [(True, False), (True, False), (True, False), (False, True), (False, False)]
    assert found[0].count("<item>") == 1


async def test_an_address_is_replaced_and_removed_after_a_question(reader):
    app, guest = reader.app, reader.guest
    await guest.send(PATH, {"name": "Mine <b>"})
    page = await guest.see(PATH)
    [old] = addresses_in(page)
    assert "Mine &lt;b&gt;" in page.text
    assert "not fetched yet" in page.text
    assert (await app.client.ask("GET", old)).status == 200
    assert "last fetched" in (await guest.see(PATH)).text
    [replace] = set(re.findall(rf'href="({PATH}/[\w-]+/replace)"', page.text))
    assert "Replace the address of Mine &lt;b&gt;?" in (await guest.see(replace)).text
    after = await follow_to(guest, await guest.send(replace))
    [new] = addresses_in(after)
    assert [(await app.client.ask("GET", one)).status for one in (old, new)] == [404, 200]
    remove = replace.replace("/replace", "/remove")
    assert "Its address stops working immediately." in (await guest.see(remove)).text
    assert "No feeds yet." in (await follow_to(guest, await guest.send(remove))).text
    assert (await app.client.ask("GET", new)).status == 404


async def test_group_problems_are_beside_fields_and_missing_ones_reported(reader):
    guest, groups = reader.guest, reader.app.reading.groups
    wrong = await guest.send(PATH, {"name": "", "search": "a b", "summaries": "on"})
    assert (wrong.status, error_of(wrong, "name") is not None, value_of(wrong, "search")) == (400, True, "a b")
    assert 'value="on" checked' in wrong.text
    assert (await guest.send(PATH, {"name": "x", "search": "-only"})).status == 400
    group = await groups.add(reader.sample_shelf.shelf, "For a while")
    shown = show_id(group.public_id)
    await guest.send(PATH, {"name": "Gone soon", "group": shown})
    await groups.delete(reader.sample_shelf.shelf, group.public_id)
    assert "What it showed is no longer on this shelf." in (await guest.see(PATH)).text
    assert (await guest.send(PATH, {"name": "Too late", "group": shown})).status == 400


@pytest.mark.browser
@pytest.mark.asyncio(loop_scope="session")
@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_one_is_made_by_keyboard_and_copied_on_a_phone(browser: Browser, tmp_path, scheme):
    async with a_running_app(tmp_path) as app:
        options = {"viewport": PHONE, "color_scheme": scheme, "permissions": ["clipboard-read", "clipboard-write"]}
        async with browsing(browser, app, await app.add(), **options) as page:
            await page.goto(f"{app.client.base}/settings")
            await page.get_by_role("link", name="Feeds out").click()
            await page.get_by_label("Name").focus()
            await page.keyboard.type("All")
            await page.keyboard.press("Enter")
            await page.wait_for_selector("html.scripted")
            assert await page.evaluate(WIDER) == 0
            await page.get_by_role("button", name="Copy the address of All").press("Enter")
            await expect(page.get_by_text("Copied.")).to_be_visible()
            address = (await page.evaluate("navigator.clipboard.readText()")).strip()
            assert address == (await page.locator("output.secret").inner_text()).strip()
            assert (await app.client.ask("GET", urlsplit(address).path)).status == 200
            assert await page.evaluate(WIDER) == 0
