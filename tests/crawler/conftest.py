from collections.abc import AsyncIterator

import pytest

from tests.api.people import RunningApp, Visitor
from tests.crawler.builders import Site, a_crawling_app, a_site, the_admin


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    async with a_site() as site:
        yield site


@pytest.fixture
async def app(tmp_path, database_url, site) -> AsyncIterator[RunningApp]:
    """Nobody works here but the test."""
    async with a_crawling_app(tmp_path / "data", database_url, site) as app:
        yield app


@pytest.fixture
async def admin(app: RunningApp) -> Visitor:
    return await the_admin(app)
