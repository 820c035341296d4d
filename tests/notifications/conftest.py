"""A receiver of notices, and a notifier that sends them."""

from collections.abc import AsyncIterator

import pytest

from tests.notifications.receivers import Notifier, Receiver, a_notifier, a_receiver
from tsuzuki.db import Database


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    async with a_receiver() as running:
        yield running


@pytest.fixture
async def notifier(db: Database) -> AsyncIterator[Notifier]:
    async with a_notifier(db) as opened:
        yield opened
