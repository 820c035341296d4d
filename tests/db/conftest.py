import pytest

from tests.db.disks import watched
from tests.db.small_store import store


@pytest.fixture
async def watched_db(tmp_path):
    """A store, and the disk below it."""
    with watched() as (disk, vfs):
        async with store(tmp_path, vfs) as db:
            yield db, disk
            disk.refuse = lambda _: None
