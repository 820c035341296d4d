import os
import shutil
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from playwright.async_api import Browser, async_playwright

from tests.web.reader_setup import ReaderSetup, a_reader_setup

ARGUMENTS = ["--in-process-gpu", *(["--no-sandbox"] if os.geteuid() == 0 else [])]


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def browser() -> AsyncIterator[Browser]:
    """Debian's Chromium, one for a worker; each test opens pages of its own."""
    names = ("chromium-headless-shell", "chromium", "chromium-browser")  # the shell opens a page in a fifth of the time
    found = next((path for name in names if (path := shutil.which(name))), None)
    assert found is not None, "there is no Chromium; `make test` installs one"
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=found, args=ARGUMENTS)
        yield browser
        await browser.close()


@pytest.fixture
async def reader(tmp_path) -> AsyncIterator[ReaderSetup]:
    async with a_reader_setup(tmp_path) as reader:
        yield reader
