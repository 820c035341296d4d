import pytest

from tests.accounts.builders import AccountServices


@pytest.fixture
def accounts(db):
    """Every service of accounts over an empty database."""
    return AccountServices(db)
