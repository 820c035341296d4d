"""A small site, and a server that knows it."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.api.people import RunningApp
from tests.catalogue.builders import SMALL, a_browsing_app
from tests.catalogue.sample import Sample, a_sample


@pytest.fixture
async def sample() -> AsyncIterator[Sample]:
    async with a_sample(SMALL) as sample:
        yield sample


@pytest.fixture
async def app(tmp_path: Path, database_url: str, sample: Sample) -> AsyncIterator[RunningApp]:
    async with a_browsing_app(tmp_path, database_url, sample) as app:
        yield app
