"""Writes what polls found that end in the same moment: docs/decisions/0067-answers-are-saved-together.md."""

import asyncio
from collections.abc import Sequence

import structlog

from tsuzuki.db import Database, Tx
from tsuzuki.ingest.tasks import ITEMS
from tsuzuki.model.times import Millis
from tsuzuki.polling.store import Ended, Leased, News, describe_feeds_tx, save_answers_tx
from tsuzuki.queue.store import enqueue_many_tx

_log = structlog.stdlib.get_logger("tsuzuki.polling")


class Saver:
    """Answers go together that come while others are written. One per process, used from one event loop."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._waiting: list[_Waiting] = []
        self._writing: asyncio.Task[None] | None = None

    async def save(self, poll: Ended) -> bool:
        """True when it is written, and safe. False when it is not, for whatever reason: to be written alone."""
        waiting = _Waiting(poll)
        self._waiting.append(waiting)
        if self._writing is None:
            self._begin()
        return await waiting.is_written

    def _begin(self) -> None:
        self._writing = asyncio.create_task(self._write_all())
        self._writing.add_done_callback(self._end)

    def _end(self, writing: asyncio.Task[None]) -> None:
        self._writing = None
        if writing.cancelled():
            waiting, self._waiting = self._waiting, []
            _tell(waiting, frozenset())
        elif self._waiting:
            self._begin()

    async def _write_all(self) -> None:
        while self._waiting:
            together, self._waiting = self._waiting, []
            if wanted := [each for each in together if not each.is_written.done()]:
                await self._write(wanted)

    async def _write(self, together: "list[_Waiting]") -> None:
        """One that cannot be written keeps no other from being: each is then written alone."""
        written: frozenset[Leased] = frozenset()
        try:
            polls = [each.poll for each in together]
            written = await self._db.with_tx(lambda tx: save_together_tx(tx, polls))
        except Exception as error:  # noqa: BLE001  whose fault it is shows when each is written alone
            _log.warning("answers_not_saved_together", answers=len(together), reason=str(error))
        finally:
            _tell(together, written)


async def save_together_tx(tx: Tx, polls: Sequence[Ended]) -> frozenset[Leased]:
    """Write answers and what they bring; whose were written. What comes without its answer is not handed on (I4)."""
    written = await save_answers_tx(tx, polls)
    bring = [(poll.news, poll.now) for poll in polls if poll.news is not None and poll.lease in written]
    if bring:
        await save_news_tx(tx, [news for news, _ in bring], now=max(now for _, now in bring))
    return written


async def save_news_tx(tx: Tx, news: Sequence[News], *, now: Millis) -> None:
    """What feeds say of themselves, and the tasks of what is new in them."""
    await describe_feeds_tx(tx, [each.portrait for each in news])
    await enqueue_many_tx(tx, ITEMS, [task for each in news for task in each.tasks], now=now)


class _Waiting:
    """An answer that is to be written, and where it is told whether it was."""

    __slots__ = ("is_written", "poll")

    def __init__(self, poll: Ended) -> None:
        self.poll = poll
        self.is_written: asyncio.Future[bool] = asyncio.get_running_loop().create_future()


def _tell(waiting: "list[_Waiting]", written: frozenset[Leased]) -> None:
    for each in waiting:
        if not each.is_written.done():
            each.is_written.set_result(each.poll.lease in written)
