from collections.abc import AsyncIterator

import pytest

from tests.api.people import Town, a_town


@pytest.fixture
async def town(tmp_path) -> AsyncIterator[Town]:
    """A server on which everything is switched on."""
    async with a_town(tmp_path, billing="on") as town:
        yield town
