import pytest

from tests.billing.builders import Shop


@pytest.fixture
async def shop(db):
    """Billing, switched on, over an empty database."""
    return await Shop(db).open()


@pytest.fixture
async def tenant(shop):
    return await shop.tenant("basic")


@pytest.fixture
async def invoice(shop, tenant):
    (found,) = await shop.open_invoices(tenant)
    return found
