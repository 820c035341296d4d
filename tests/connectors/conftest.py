"""The real client, and what a connector asks for done by it and by a parser process."""

from collections.abc import AsyncIterator

import pytest

from tests.net.builders import a_client
from tsuzuki.net.client import Client
from tsuzuki.net.options import Deadlines
from tsuzuki.parsing.pool import ParsePool, PoolOptions
from tsuzuki.polling.driver import Driver


@pytest.fixture
async def client() -> AsyncIterator[Client]:
    async with a_client(deadlines=Deadlines()) as client:
        yield client


@pytest.fixture
async def driver(client: Client) -> AsyncIterator[Driver]:
    pool = ParsePool(PoolOptions(processes=1))
    yield Driver(client, pool)
    await pool.close()
