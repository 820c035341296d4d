import pytest

from tests.billing.builders import Shop


@pytest.fixture
async def shop(db):
    """Billing, switched on, over an empty database."""
    return await Shop(db).open()
