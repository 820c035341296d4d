"""Every page in both themes and two widths, with contact sheets, into screenshots/ (which is not committed).

A word on the command line picks pages whose address has it: `tools/screenshots.py /admin`.
"""

import asyncio
import logging
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Literal, TypeVar

import structlog
from PIL import Image
from playwright.async_api import Browser, Page, ViewportSize, async_playwright

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from tests.api.people import RunningApp, a_running_app  # noqa: E402  the tests' stage is this script's too
from tests.web.looks.pages import NEWCOMER, REFUSED, SETUP, STOPS  # noqa: E402
from tests.web.looks.sample_server import a_sample_server  # noqa: E402
from tsuzuki.accounts.types import User  # noqa: E402

T = TypeVar("T")

FOLDER = ROOT / "screenshots"
WIDTHS: dict[str, ViewportSize] = {"desk": {"width": 1280, "height": 900}, "phone": {"width": 390, "height": 844}}
THEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
THUMB = 420
PER_ROW = 8
ROWS = 9


async def main(wanted: str) -> None:
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir()
    async with async_playwright() as playwright:
        arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
        browser = await playwright.chromium.launch(executable_path=shutil.which("chromium"), args=arguments)
        with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
            await of_everything(browser, Path(one), wanted)
            await of_nothing(browser, Path(other), wanted)
        await browser.close()
    taken = sorted(FOLDER.glob("*.png"))
    contact_sheets(taken)
    print(f"{len(taken)} pictures and their contact sheets in {FOLDER}")


async def of_everything(browser: Browser, folder: Path, wanted: str) -> None:
    async with a_sample_server(folder, articles=40) as server:
        for who, stops in STOPS.items():
            paths = {stop: server.path(who, stop) for stop in stops if wanted in stop}
            await take_all(browser, server.app, server.people[who], who=who, paths=paths)
        for who in ("reader", "visitor"):
            refused = {stop: stop for one, stop in REFUSED if one == who and wanted in stop}
            await take_all(browser, server.app, server.people[who], who=f"{who}-refused", paths=refused)


async def of_nothing(browser: Browser, folder: Path, wanted: str) -> None:
    async with a_running_app(folder, password="", billing="on") as app:
        await take_all(browser, app, None, who="newcomer", paths={SETUP: SETUP} if wanted in SETUP else {})
        stops = {stop: stop for stop in NEWCOMER if wanted in stop}
        await take_all(browser, app, await app.add(role="admin"), who="newcomer", paths=stops)


async def take_all(browser: Browser, app: RunningApp, user: User | None, *, who: str, paths: dict[str, str]) -> None:
    for width, viewport in WIDTHS.items():
        for theme in THEMES:
            context = await browser.new_context(viewport=viewport, color_scheme=theme)
            if user is not None:
                key = await app.session(user)
                await context.add_cookies([{"name": "tsuzuki", "value": key, "url": app.client.base}])
            page = await context.new_page()
            for number, (stop, path) in enumerate(paths.items()):
                await take(page, app.client.base + path, f"{who}-{number:02}-{name_of(stop)}-{width}-{theme}")
            await context.close()


def name_of(stop: str) -> str:
    """What a file may be called: `/feeds/{feed_id}/delete` is `feeds-feed_id-delete`."""
    return re.sub(r"[^\w]+", "-", stop).strip("-")[:60] or "home"


async def take(page: Page, url: str, name: str) -> None:
    await page.goto(url)
    await page.wait_for_timeout(250)
    await page.screenshot(path=FOLDER / f"{name}.png")


def contact_sheets(taken: list[Path]) -> None:
    """All of them side by side, each theme and width of a page beside the others; a sheet for each few rows."""
    rows = list(_in_parts([_thumb(path) for path in taken], PER_ROW))
    for number, part in enumerate(_in_parts(rows, ROWS), 1):
        sheet = Image.new("RGB", (max(sum(one.width for one in row) for row in part), THUMB * len(part)))
        for line, row in enumerate(part):
            left = 0
            for one in row:
                sheet.paste(one, (left, line * THUMB))
                left += one.width
        sheet.save(FOLDER / f"contact-sheet-{number}.png")


def _thumb(path: Path) -> Image.Image:
    with Image.open(path) as picture:
        return picture.convert("RGB").resize((int(picture.width * THUMB / picture.height), THUMB))


def _in_parts(things: list[T], length: int) -> Iterable[list[T]]:
    return (things[start : start + length] for start in range(0, len(things), length))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1] if len(sys.argv) > 1 else ""))
