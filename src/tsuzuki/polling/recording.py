"""Somebody above who keeps a record of scheduled polls: passed in, because polling knows nothing of crawl jobs."""

from collections.abc import Sequence
from typing import Protocol

from tsuzuki.db import Tx
from tsuzuki.ingest.tasks import ReleaseFound
from tsuzuki.model.errors import SourceError
from tsuzuki.model.fetching import Ask, Reply
from tsuzuki.model.times import Millis
from tsuzuki.polling.rows import SeriesTarget


class PollRecord(Protocol):
    """The record of one poll, written in the transaction of its outcome and before anything else of it."""

    def overhear(self, ask: Ask, outcome: Reply | SourceError, seconds: float, /) -> None:
        """A call that the poll made."""
        ...

    async def answered_tx(self, tx: Tx, found: Sequence[ReleaseFound], now: Millis) -> None:
        """It went well; `found` is what is new or changed."""
        ...

    async def failed_tx(self, tx: Tx, error: str, now: Millis) -> None:
        """It did not."""
        ...

    async def settle(self) -> None:
        """After the commit, or after nothing was committed."""
        ...


class Recorder(Protocol):
    """Begins records."""

    def begin(self, target: SeriesTarget) -> PollRecord:
        """The record of a poll that begins now."""
        ...
