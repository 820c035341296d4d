import pytest

from tests.polling.builders import Clock, a_poller, a_publisher


@pytest.fixture
async def publisher():
    async with a_publisher() as publisher:
        yield publisher


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
async def poller(db, clock):
    async with a_poller(db, clock) as poller:
        yield poller
