from collections.abc import AsyncIterator

import pytest

from tests.api.library import Library, Reader, a_library


@pytest.fixture
async def library(database_url, tmp_path) -> AsyncIterator[Library]:
    async with a_library(tmp_path, database_url) as library:
        yield library


@pytest.fixture
async def me(library: Library) -> Reader:
    return await library.reader()
