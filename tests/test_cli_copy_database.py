"""`tsuzuki copy-database`, as an operator types it."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path

import asyncpg
import pytest

from tests.databases import empty
from tests.db.copy_builders import NOW, filled
from tests.scale import scaled

pytestmark = pytest.mark.soak
ITEMS = scaled(3_000, 100_000)


@pytest.fixture
async def target(postgres_url) -> AsyncIterator[str]:
    async with empty(postgres_url) as url:
        yield url


def started(data: Path, target: str) -> subprocess.Popen[str]:
    environ = {name: value for name, value in os.environ.items() if not name.startswith("TSUZUKI_")}
    return subprocess.Popen(
        [sys.executable, "-m", "tsuzuki", "copy-database", target],
        env=environ | {"TSUZUKI_DATA_DIR": str(data), "COLUMNS": "100"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


async def count(target: str, table: str, where: str = "true") -> int:
    connection = await asyncpg.connect(target)
    try:
        if await connection.fetchval("select to_regclass($1)", table) is None:
            return 0
        return await connection.fetchval(f"select count(*) from {table} where {where}") or 0
    finally:
        await connection.close()


async def test_a_killed_copy_is_resumed_with_a_complete_index(tmp_path, target):
    await filled(tmp_path / "tsuzuki.db", ITEMS, NOW)
    killed = started(tmp_path, target)
    deadline = time.monotonic() + 60
    while await count(target, "item") == 0 and time.monotonic() < deadline:
        assert killed.poll() is None, killed.communicate()
    killed.send_signal(signal.SIGKILL)
    killed.communicate()
    done = started(tmp_path, target)
    said, progress = done.communicate(timeout=900)
    assert done.returncode == 0, progress
    assert "were copied and compared: both databases are identical" in said
    assert "copy item" in progress
    assert await count(target, "item") == ITEMS
    assert await count(target, "item_search", "document @@ 'title'::tsquery") == ITEMS
    assert await count(target, "database_copy") == 0


async def test_what_is_no_database_ends_with_one_line(tmp_path):
    bad = started(tmp_path, "mysql://x")
    _, said = bad.communicate(timeout=60)
    assert bad.returncode == 2
    assert said.startswith("Error: TARGET is 'mysql://x', but must be ")
    assert len(said.strip().splitlines()) == 1
    none = started(tmp_path, "postgresql://127.0.0.1:1/x")
    _, said = none.communicate(timeout=60)
    assert none.returncode == 1
    assert "There is no database at" in said
