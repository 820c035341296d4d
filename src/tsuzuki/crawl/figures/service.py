"""Takes figures of every minute, and shows them to the operator."""

from collections.abc import Callable, Mapping

from tsuzuki.crawl.figures.rows import Figure, Polls, Pulse
from tsuzuki.crawl.figures.store import (
    add_figure_tx,
    forget_figures_tx,
    list_amounts_tx,
    list_figures_tx,
    list_pulses_tx,
    look_at_minute_tx,
    look_at_polls_tx,
)
from tsuzuki.db import Database, Tx
from tsuzuki.model.times import DAY, HOUR, MINUTE, Millis
from tsuzuki.queue.service import Tasks

KEPT = Millis(7 * DAY)


class Figures:
    """How this server fares, and fared."""

    def __init__(self, db: Database, tasks: Tasks, clock: Callable[[], Millis]) -> None:
        self._db = db
        self._tasks = tasks
        self._clock = clock

    async def take(self) -> int:
        """Write down the last minute and forget what is older than a week; how many rows that touched."""
        now = self._clock()
        queues = await self._tasks.stats()
        minute = await self._db.read(lambda tx: look_at_minute_tx(tx, Millis(now - MINUTE)))
        figure = Figure(
            at=Millis(now // MINUTE * MINUTE),
            depth=sum(queue.depth for queue in queues),
            oldest_ms=max((queue.oldest_age(now) for queue in queues), default=0),
            finished=sum(queue.finished_last_minute for queue in queues),
            failed=minute.failed,
            dead_letters=sum(queue.dead_letters for queue in queues),
            polls=minute.polls,
            failing=minute.failing,
        )

        async def write(tx: Tx) -> int:
            return await add_figure_tx(tx, figure) + await forget_figures_tx(tx, Millis(now - KEPT))

        return await self._db.with_tx(write)

    async def polls(self) -> Polls:
        """How far calling is behind."""
        now = self._clock()
        return await self._db.read(lambda tx: look_at_polls_tx(tx, now))

    async def figures(self, length: Millis, width: Millis) -> list[Figure]:
        """So long back, in steps of this width; the oldest first."""
        since = Millis(self._clock() - length)
        return await self._db.read(lambda tx: list_figures_tx(tx, since, width))

    async def pulses(self, length: Millis) -> Mapping[int, list[Pulse]]:
        """By source: its hours so long back in which something came to its end."""
        since = Millis((self._clock() - length) // HOUR * HOUR)
        found: dict[int, list[Pulse]] = {}
        for pulse in await self._db.read(lambda tx: list_pulses_tx(tx, since)):
            found.setdefault(pulse.source_id, []).append(pulse)
        return found

    async def amounts(self) -> dict[str, int]:
        """Bytes of `database` and `images`, and rows of what there is most of."""
        return {amount.name: amount.amount for amount in await self._db.read(list_amounts_tx)}
