"""A small site, and a server that knows it."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.api.people import Town
from tests.catalogue.builders import SMALL, a_browsing_town
from tests.catalogue.sample import Sample, a_sample


@pytest.fixture
async def sample() -> AsyncIterator[Sample]:
    async with a_sample(SMALL) as sample:
        yield sample


@pytest.fixture
async def town(tmp_path: Path, database_url: str, sample: Sample) -> AsyncIterator[Town]:
    async with a_browsing_town(tmp_path, database_url, sample) as town:
        yield town
