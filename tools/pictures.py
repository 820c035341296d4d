"""The README's pictures, taken of `tsuzuki demo` in Chromium, into docs/pictures/ (which is committed)."""

import asyncio
import os
import shutil
import tempfile
from pathlib import Path
from typing import Literal

from PIL import Image
from playwright.async_api import Page, ViewportSize, async_playwright

from tsuzuki.app.server import Server, listen, url_of
from tsuzuki.demo import server as demo_server
from tsuzuki.demo.server import open_demo

FOLDER = Path(__file__).parent.parent / "docs" / "pictures"
DESK: ViewportSize = {"width": 1200, "height": 760}
PHONE: ViewportSize = {"width": 390, "height": 760}
LOOKS: dict[Literal["light", "dark"], ViewportSize] = {"light": DESK, "dark": PHONE}
QUALITY = 82


async def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    demo_server.EVERY_S = 1.5
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder, listen("127.0.0.1", 0) as bound:
        async with open_demo({"TSUZUKI_LOG_LEVEL": "error"}, Path(folder)) as demo:
            server = Server(demo.app, grace_s=1, on_stopping=demo.opened.end_streams)
            serving = asyncio.ensure_future(server.serve(sockets=[bound]))
            await asyncio.sleep(12)  # until something of everything has come out
            await take_all(url_of(bound))
            server.stop()
            await serving


async def take_all(base: str) -> None:
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=shutil.which("chromium"), args=arguments)
        for theme, viewport in LOOKS.items():
            context = await browser.new_context(viewport=viewport, color_scheme=theme)
            page = await context.new_page()
            await page.goto(f"{base}/")
            await show(page, f"inbox-{theme}")
            await page.goto(f"{base}/library")
            await show(page, f"library-{theme}")
            await page.locator("main a[href^='/series/']:not([href*='/chapters/'])").last.click()
            await show(page, f"series-{theme}")
            await page.goto(f"{base}/?kind=chapter")
            await page.locator("main a[href*='/chapters/']").first.click()
            await show(page, f"reader-{theme}")
            await context.close()
        await browser.close()


async def show(page: Page, name: str) -> None:
    await page.wait_for_timeout(1500)
    shot = FOLDER / f"{name}.png"
    await page.screenshot(path=shot)
    with Image.open(shot) as image:
        image.convert("RGB").save(FOLDER / f"{name}.webp", quality=QUALITY, method=6)
    shot.unlink()


if __name__ == "__main__":
    asyncio.run(main())
