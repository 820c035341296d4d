"""How much a browser has to fetch: all scripts there are, and each page at the first visit, packed."""

import gzip
import re
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from tests.api.people import Town, a_town
from tests.web.guests import Guest, a_guest
from tests.web.stage import furnish
from tests.web.test_rules import pages
from tsuzuki.web.rendering import Pages

MOST_SCRIPTS = 80_000
MOST_PAGE = 150_000
FETCHED = re.compile(r'(?:href|src)="(/static/[^"#]+\.(?:css|js|svg))')


@pytest_asyncio.fixture
async def town(tmp_path) -> AsyncIterator[Town]:
    async with a_town(tmp_path, billing="on") as town:
        await furnish(town, await town.admin(), articles=60)
        yield town


def test_all_scripts_together_are_under_80_kilobytes():
    """Those that only some pages load as well, and what we bring from others."""
    assets = Pages("0").assets
    sizes = {name: len(gzip.compress(assets.get(name).content, 9)) for name in assets.names() if name.endswith(".js")}
    assert "vendor/htmx/htmx.js" in sizes
    assert sum(sizes.values()) < MOST_SCRIPTS, sizes


async def test_every_page_is_under_150_kilobytes_at_the_first_visit(town):
    """With everything that its head names, and without pictures; nothing in it is of another server."""
    guest = await a_guest(town, await town.admin())
    known: dict[str, int] = {}
    sizes = {path: await _weight(guest, path, known) for path in pages(town, "GET")}
    assert max(sizes.values()) < MOST_PAGE, sizes
    assert sizes["/"] > 20_000  # the scripts and the style sheets are counted


async def _weight(guest: Guest, path: str, known: dict[str, int]) -> int:
    answer = await guest.see(path)
    assert not re.search(r'<(?:script|link|img|source|iframe)[^>]*(?:src|href)="(?:https?:)?//', answer.text), path
    for name in set(FETCHED.findall(answer.text)) - set(known):
        known[name] = len(gzip.compress((await guest.see(name)).body, 9))
    return len(gzip.compress(answer.body, 1)) + sum(known[name] for name in set(FETCHED.findall(answer.text)))


@pytest.mark.parametrize("path", ["/", "/feeds", "/library"])
async def test_a_page_is_packed_on_its_way(town, path):
    answer = await (await a_guest(town, await town.admin())).see(path, accept_encoding="gzip")
    assert answer.headers["content-encoding"] == "gzip"
    assert int(answer.headers["content-length"]) < len(answer.body) / 3
