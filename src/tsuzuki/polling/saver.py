"""Writes what polls found that end in the same moment: docs/decisions/0067-answers-are-saved-together.md."""

from collections.abc import Sequence

from tsuzuki.db import Database, Tx
from tsuzuki.ingest.tasks import ITEMS
from tsuzuki.model.times import Millis
from tsuzuki.polling.batcher import Batcher
from tsuzuki.polling.rows import Ended, News, WatchLease
from tsuzuki.polling.store import describe_feeds_tx, save_answers_tx
from tsuzuki.queue.store import enqueue_many_tx


class AnswerBatcher:
    """Answers go together that come while others are written. One per process."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._together = Batcher("saving answers", self._write)

    async def save(self, poll: Ended) -> bool:
        """True when it is written, and safe. False when it is not, for whatever reason: to be written alone."""
        return await self._together.ask(poll) or False

    async def _write(self, polls: Sequence[Ended]) -> list[bool | None]:
        written = await self._db.with_tx(lambda tx: save_together_tx(tx, polls))
        return [poll.lease in written for poll in polls]


async def save_together_tx(tx: Tx, polls: Sequence[Ended]) -> frozenset[WatchLease]:
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
