"""Every page in both themes and two widths, with a contact sheet, into screenshots/ (which is not committed)."""

import asyncio
import os
import shutil
import sys
import tempfile
from pathlib import Path

from PIL import Image
from playwright.async_api import Browser, Page, ViewportSize, async_playwright

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from tests.api.people import Town, a_town  # noqa: E402  the tests' stage is this script's too
from tests.web.stage import furnish  # noqa: E402
from tests.web.test_looks import PAGES, ids_of  # noqa: E402

FOLDER = ROOT / "screenshots"
WIDTHS: dict[str, ViewportSize] = {"desk": {"width": 1280, "height": 900}, "phone": {"width": 390, "height": 844}}
THUMB = 420
PER_ROW = 8


async def main() -> None:
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir()
    with tempfile.TemporaryDirectory() as folder:
        async with a_town(Path(folder), billing="on", log_level="error") as town, async_playwright() as playwright:
            arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
            browser = await playwright.chromium.launch(executable_path=shutil.which("chromium"), args=arguments)
            taken = await take_all(browser, town)
            await browser.close()
    contact_sheet(taken)
    print(f"{len(taken)} pictures and contact-sheet.png in {FOLDER}")


async def take_all(browser: Browser, town: Town) -> list[Path]:
    admin = await town.admin()
    ids = await ids_of(town, await furnish(town, admin))
    key = await town.session(admin)
    taken = []
    for width, viewport in WIDTHS.items():
        for theme in ("light", "dark"):
            context = await browser.new_context(viewport=viewport, color_scheme=theme)  # type: ignore[arg-type]  # a name
            await context.add_cookies([{"name": "tsuzuki", "value": key, "url": town.client.base}])
            page = await context.new_page()
            for number, path in enumerate(PAGES):
                taken.append(await take(page, town.client.base + path.format(**ids), f"{number:02}-{width}-{theme}"))
            await context.close()
    return sorted(taken)


async def take(page: Page, url: str, name: str) -> Path:
    path = FOLDER / f"{name}.png"
    await page.goto(url)
    await page.wait_for_timeout(250)
    await page.screenshot(path=path)
    return path


def contact_sheet(taken: list[Path]) -> None:
    """All of them side by side, each theme and width of a page beside the others."""
    thumbs = []
    for path in taken:
        with Image.open(path) as picture:
            thumbs.append(picture.convert("RGB").resize((int(picture.width * THUMB / picture.height), THUMB)))
    rows = [thumbs[start : start + PER_ROW] for start in range(0, len(thumbs), PER_ROW)]
    sheet = Image.new("RGB", (max(sum(one.width for one in row) for row in rows), THUMB * len(rows)))
    for line, row in enumerate(rows):
        left = 0
        for one in row:
            sheet.paste(one, (left, line * THUMB))
            left += one.width
    sheet.save(FOLDER / "contact-sheet.png")


if __name__ == "__main__":
    asyncio.run(main())
