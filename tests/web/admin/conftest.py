from collections.abc import AsyncIterator

import pytest

from tests.api.people import RunningApp, a_running_app
from tests.web.guests import Guest, a_guest


@pytest.fixture
async def app(tmp_path) -> AsyncIterator[RunningApp]:
    async with a_running_app(tmp_path) as app:
        yield app


@pytest.fixture
async def operator(app) -> Guest:
    return await a_guest(app, await app.admin())
