from collections.abc import AsyncIterator

import pytest

from tests.api.people import Town, Visitor
from tests.crawler.builders import Site, a_crawling_town, a_site, the_admin


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    async with a_site() as site:
        yield site


@pytest.fixture
async def town(tmp_path, database_url, site) -> AsyncIterator[Town]:
    """Nobody works here but the test."""
    async with a_crawling_town(tmp_path / "data", database_url, site) as town:
        yield town


@pytest.fixture
async def admin(town: Town) -> Visitor:
    return await the_admin(town)
