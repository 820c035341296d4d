from collections.abc import AsyncIterator

import pytest

from tests.api.people import Town, a_town
from tests.web.guests import Guest, a_guest


@pytest.fixture
async def town(tmp_path) -> AsyncIterator[Town]:
    async with a_town(tmp_path) as town:
        yield town


@pytest.fixture
async def operator(town) -> Guest:
    return await a_guest(town, await town.admin())
