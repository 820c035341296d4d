"""Draws the app's icons in their sizes from static/icon.svg, with the browser that the tests use."""

import asyncio
import shutil
from pathlib import Path

from playwright.async_api import async_playwright

STATIC = Path(__file__).parent.parent / "src/tsuzuki/web/static"
SIZES = {"icon-180.png": 180, "icon-192.png": 192, "icon-512.png": 512, "icon-mask.png": 512}


async def main() -> None:
    svg = (STATIC / "icon.svg").read_text("utf-8")
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for name, size in SIZES.items():
            # A mask may cut a circle out of the picture: ours fills it, and what matters stays in the middle.
            inner, back = (size * 7 // 10, "#b5402f") if "mask" in name else (size, "transparent")
            page = await browser.new_page(viewport={"width": size, "height": size})
            drawn = svg.replace("<svg ", f'<svg width="{inner}" height="{inner}" ')
            style = f"margin:0;display:grid;place-items:center;height:100vh;background:{back}"
            await page.set_content(f'<body style="{style}">{drawn}</body>')
            await page.screenshot(path=STATIC / name, omit_background=True)
            await page.close()
        await browser.close()


if __name__ == "__main__":
    asyncio.run(main())
