"""Two apps and two browsers of one person, all of them marking: what each shows in the end is the same."""

import asyncio
import random
import time
from contextlib import suppress

import pytest
from playwright.async_api import Browser, Page

from tests.api.people import a_running_app
from tests.app import in_settings
from tests.protocols.people import AppReader, an_app_reader
from tests.scale import scaled
from tests.waiting import eventually
from tests.web.browser import PHONE, browsing, settled

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

ENTRIES = 15
SECONDS = scaled(3, 60)
GREADER = "/api/greader.php"
STATE = "user/-/state/com.google"

Shown = tuple[set[int], set[int]]
"""What is unread, and what is saved."""


class FeverApp:
    """Marks one entry at a time."""

    def __init__(self, reader: AppReader) -> None:
        self._reader = reader

    async def mark(self, number: int, state: str) -> None:
        await self._reader.fever("api", mark="item", **{"as": state}, id=str(number))

    async def shown(self) -> Shown:
        found = await self._reader.fever("api&unread_item_ids&saved_item_ids")
        unread, saved = (found[name].split(",") for name in ("unread_item_ids", "saved_item_ids"))
        return {int(number) for number in unread if number}, {int(number) for number in saved if number}


class GoogleReaderApp:
    """Signs in once, and sets labels."""

    _EDITS = {  # noqa: RUF012  never changed
        "read": ("a", "read"),
        "unread": ("r", "read"),
        "saved": ("a", "starred"),
        "unsaved": ("r", "starred"),
    }

    def __init__(self, reader: AppReader) -> None:
        self._client = reader.app.client
        self._reader = reader
        self._headers: dict[str, str] = {}

    async def sign_in(self) -> None:
        said = {"Email": self._reader.user.username, "Passwd": self._reader.key}
        answer = await self._client.ask("POST", f"{GREADER}/accounts/ClientLogin", data=said)
        token = answer.text.strip().splitlines()[-1].removeprefix("Auth=")
        self._headers = {"authorization": f"GoogleLogin auth={token}"}

    async def mark(self, number: int, state: str) -> None:
        verb, label = self._EDITS[state]
        form = {"i": str(number), verb: f"{STATE}/{label}"}
        answer = await self._client.ask("POST", f"{GREADER}/reader/api/0/edit-tag", data=form, headers=self._headers)
        assert answer.text == "OK"

    async def shown(self) -> Shown:
        return (
            await self._ids(f"s={STATE}/reading-list&xt={STATE}/read"),
            await self._ids(f"s={STATE}/starred"),
        )

    async def _ids(self, query: str) -> set[int]:
        path = f"{GREADER}/reader/api/0/stream/items/ids?{query}&n=1000&output=json"
        found = (await self._client.ask("GET", path, headers=self._headers)).json()
        return {int(ref["id"]) for ref in found["itemRefs"]}


class OpenPage:
    """The inbox in a browser: its buttons toggle."""

    def __init__(self, page: Page) -> None:
        self._page = page

    async def mark(self, number: int, state: str) -> None:
        names = ("read", "unread") if state in {"read", "unread"} else ("save", "unsave")
        await self._page.locator(", ".join(f"#e{number} [name={name}]" for name in names)).click()

    async def shown(self) -> Shown:
        unread, saved = [
            await self._page.eval_on_selector_all(
                f"article.entry.{name}", "rows => rows.map(row => Number(row.id.slice(1)))"
            )
            for name in ("unread", "saved")
        ]
        return set(unread), set(saved)


Marker = FeverApp | GoogleReaderApp | OpenPage


async def keep_marking(who: Marker, numbers: list[int], *, seed: int) -> None:
    rng, ends_at = random.Random(seed), time.monotonic() + SECONDS
    while time.monotonic() < ends_at:
        await who.mark(rng.choice(numbers), rng.choice(["read", "unread", "saved", "unsaved"]))
        await asyncio.sleep(rng.random() * 0.05)


@pytest.mark.soak
async def test_apps_and_browsers_show_the_same_in_the_end(browser: Browser, empty_database_url, tmp_path):
    async with a_running_app(tmp_path, database_url=in_settings(empty_database_url)) as app:
        ann = await an_app_reader(app, "fever", "greader")
        await ann.add_feed("The Gull Letters", items=ENTRIES - 3)
        await ann.add_series("The Lighthouse Cat")
        async with (
            browsing(browser, app, ann.user) as desk,
            browsing(browser, app, ann.user, viewport=PHONE, color_scheme="dark") as phone,
        ):
            for page in (desk, phone):
                await settled(page, f"{app.client.base}/?show=all")
            fever, greader = FeverApp(ann), GoogleReaderApp(ann)
            await greader.sign_in()
            everyone: list[Marker] = [fever, greader, OpenPage(desk), OpenPage(phone)]
            numbers = sorted((await fever.shown())[0])
            assert len(numbers) == ENTRIES
            await asyncio.gather(*(keep_marking(who, numbers, seed=place) for place, who in enumerate(everyone)))
            shown: list[Shown] = []

            async def is_equal() -> bool:
                shown[:] = [await who.shown() for who in everyone]
                return all(each == shown[0] for each in shown)

            with suppress(AssertionError):  # a page hears of marks a moment after they are made
                await eventually(is_equal, within=30)
            assert shown == [shown[0]] * len(shown)
