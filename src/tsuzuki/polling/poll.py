"""What every poll does, whatever it calls: visit, save, and write its failure down."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

import msgspec

from tsuzuki.db import Database, Tx
from tsuzuki.db.tx import Work
from tsuzuki.delivery.fanout import Delivered
from tsuzuki.ingest.tasks import LARGEST_BATCH
from tsuzuki.model.errors import NotOurTurn, SourceError, Unended
from tsuzuki.model.times import SECOND, Millis
from tsuzuki.polling.policy import Watched
from tsuzuki.polling.rows import PollFailure
from tsuzuki.polling.saving import Conditions, after_failure, save_failure_or_lose_tx
from tsuzuki.polling.store import put_off_tx
from tsuzuki.polling.visit import Driver
from tsuzuki.queue.tasks import NewTask
from tsuzuki.sources.store import ClaimedWatch

SHORTEST_WAIT = SECOND
MOST_UNENDED = 2
"""So many polls in a row may lose their lease; what they read may be what ends whoever reads it."""

Outcome = TypeVar("Outcome")
Found = TypeVar("Found")
Batch = TypeVar("Batch", bound=msgspec.Struct)


class Poll(ABC, Generic[Outcome]):
    """A watch that is ours to poll, once."""

    def __init__(self, db: Database, driver: Driver, watch: ClaimedWatch, *, conditions: Conditions) -> None:
        self._db = db
        self._driver = driver
        self._watch = watch
        self._conditions = conditions
        self._pace = conditions.pace
        self._dice = conditions.dice
        self._clock = conditions.clock
        self._wake = conditions.wake

    async def run(self) -> Outcome:
        """What was handed to ingest. A SourceError has been written down when it comes out."""
        try:
            if self._watch.unended >= MOST_UNENDED:
                raise Unended("The last two polls of it did not end, so it is left alone for a while.")
            return await self._poll()
        except NotOurTurn as error:
            await self._put_off(error)
            raise
        except SourceError as error:
            now = self._clock()
            gone_since = self._gone_since
            failure = after_failure(
                self._watched, self._watch, error, gone_since=gone_since, conditions=self._conditions, now=now
            )
            await self._write(lambda tx: self._save_failure_tx(tx, failure, now))
            raise

    @abstractmethod
    async def _poll(self) -> Outcome:
        """Visit, compare with what is stored, and save the outcome with what is new."""

    @property
    @abstractmethod
    def _watched(self) -> Watched:
        """What the policy may know."""

    @property
    @abstractmethod
    def _gone_since(self) -> Millis | None:
        """When the source first said that it is gone, if it does."""

    async def _save_failure_tx(self, tx: Tx, failure: PollFailure, now: Millis) -> Delivered:
        """Write the failure down; LeaseLost when the watch is not ours."""
        return await save_failure_or_lose_tx(tx, self._watch, failure, now)

    async def _put_off(self, error: NotOurTurn) -> None:
        """R23: nothing was asked, so nothing failed; look again when it is our turn."""
        wait = min(error.retry_after or 0, self._pace.ceiling)
        until = Millis(self._clock() + max(wait, SHORTEST_WAIT))
        why = "it is not our turn at this host yet"
        await self._db.with_tx(lambda tx: put_off_tx(tx, self._watch, until=until, why=why, keeps_place=True))

    async def _write(self, save: Work[Delivered]) -> None:
        """One transaction, then whoever waits for what it delivered is woken."""
        told = await self._db.with_tx(save)
        self._wake(*told.wakeups)

    @property
    def _harvest(self) -> str:
        """Names this poll."""
        return f"{self._watch.id}-{self._watch.lease_token}"

    def _tasks(self, found: Sequence[Found], batch: Callable[[tuple[Found, ...]], Batch]) -> list[NewTask[Batch]]:
        """Tasks for ingest, none of them too large for one transaction."""
        return [
            NewTask(
                f"ingest-{self._harvest}-{start}",
                batch(tuple(found[start : start + LARGEST_BATCH])),
                self._watch.priority,
            )
            for start in range(0, len(found), LARGEST_BATCH)
        ]
