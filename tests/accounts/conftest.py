import pytest

from tests.accounts.builders import House


@pytest.fixture
def house(db):
    """Every service of accounts over an empty database."""
    return House(db)
