"""The conformance suite runs on every way a queue can be set up."""

import asyncio
import shutil
from collections.abc import AsyncIterator, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests import databases
from tests.queue.builders import QueueHarness, a_harness, forget_everything
from tsuzuki.db import Database


@pytest.fixture(params=["sqlite", "postgres", "postgres_redis"])
def engine(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture(scope="session")
def queue_postgres_url(postgres_url: str) -> Iterator[str]:
    """One database for all tests of queues: making one takes longer than most of them."""
    name: str = _aside(databases.make(postgres_url))
    yield databases.named(postgres_url, name)
    _aside(databases.drop(postgres_url, name))


def _aside(work: Coroutine[Any, Any, Any]) -> Any:
    with ThreadPoolExecutor(1) as thread:  # the test that asks first has a running loop on this thread
        return thread.submit(lambda: asyncio.run(work)).result()


@pytest.fixture
def database_url(engine: str, request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if engine != "sqlite":
        url: str = request.getfixturevalue("queue_postgres_url")
        return url
    path = tmp_path / "tsuzuki.db"
    shutil.copy(request.getfixturevalue("sqlite_template"), path)
    return f"sqlite://{path}"


@pytest.fixture
def wakeup_url(engine: str, database_url: str, request: pytest.FixtureRequest) -> str:
    """What carries wake-ups between processes: Redis, PostgreSQL, or nothing."""
    if engine == "postgres_redis":
        url: str = request.getfixturevalue("redis_url")
        return url
    return database_url if engine == "postgres" else ""


@pytest.fixture
async def harness(db: Database, database_url: str, wakeup_url: str) -> AsyncIterator[QueueHarness]:
    """A database, wake-ups between processes where there can be any, and the services on them."""
    async with a_harness(db, database_url, wakeup_url) as made:
        yield made


@pytest.fixture(autouse=True)
async def _clean(request: pytest.FixtureRequest) -> None:
    if "database_url" in request.fixturenames:
        await forget_everything(request.getfixturevalue("database_url"))
