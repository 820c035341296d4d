"""Counts what outdates kept answers, in the database: every process sees it, wake-ups or not (R53)."""

from tsuzuki.crawler.store import add_write_tx, count_writes_tx
from tsuzuki.db import Database


class CrawlerWrites:
    """Writes of any process to what the crawler's answers show."""

    def __init__(self, db: Database) -> None:
        self._db = db

    async def count(self) -> int:
        """Until now."""
        return await self._db.read(count_writes_tx)

    async def add(self) -> None:
        """Once more; after the commit of what was written."""
        await self._db.with_tx(add_write_tx)
