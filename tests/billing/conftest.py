import pytest

from tests.billing.builders import BillingSetup


@pytest.fixture
async def billing(db):
    """Billing, switched on, over an empty database."""
    return await BillingSetup(db).open()


@pytest.fixture
async def tenant(billing):
    return await billing.tenant("basic")


@pytest.fixture
async def invoice(billing, tenant):
    (found,) = await billing.open_invoices(tenant)
    return found
