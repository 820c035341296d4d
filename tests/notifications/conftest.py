"""A receiver of notices and an office that sends them."""

from collections.abc import AsyncIterator

import pytest

from tests.notifications.receivers import Office, Receiver, a_receiver, an_office
from tsuzuki.db import Database


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    async with a_receiver() as running:
        yield running


@pytest.fixture
async def office(db: Database) -> AsyncIterator[Office]:
    async with an_office(db) as opened:
        yield opened
