from collections.abc import AsyncIterator

import pytest

from tests.api.people import RunningApp, a_running_app


@pytest.fixture
async def app(tmp_path) -> AsyncIterator[RunningApp]:
    """A server on which everything is switched on."""
    async with a_running_app(tmp_path, billing="on") as app:
        yield app
