"""Delivery to many shelves, some of them in each transaction (docs/decisions/0091-delivery-in-portions.md)."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

import msgspec

from tsuzuki.coord.wakeup import AfterCommit
from tsuzuki.db import Database, Tx, load_queries
from tsuzuki.db.deadlines import with_tx_again
from tsuzuki.db.locks import lock_feeds_shared_tx, lock_series_merges_shared_tx, lock_series_tx
from tsuzuki.db.queries import Engine
from tsuzuki.delivery.fanout import (
    NOTHING,
    ArrivingItems,
    Delivered,
    NewBatch,
    Placed,
    Reader,
    add_arrivals_tx,
    add_catalogues_tx,
    add_chapter_entries_tx,
    add_item_entries_tx,
    arrivals_of,
    feed_readers_tx,
    series_readers_tx,
)
from tsuzuki.delivery.tasks import DELIVERIES, NO_LIMIT, PORTION, Delivery, Reach, prefix_of
from tsuzuki.model.harvest import Kind
from tsuzuki.model.ids import ChapterId, FeedId, ItemId, SeriesId, ShelfId
from tsuzuki.model.times import Millis
from tsuzuki.notifications.tasks import NOTICES
from tsuzuki.queue.tasks import Task, advance_tx, enqueue_many_tx, enqueue_tx, finish_tx, open_payloads_tx, withdraw_tx
from tsuzuki.shelves.events import EVENTS_WAKEUP

q = load_queries("tsuzuki.delivery")


SLICE: Final[Mapping[Engine, int]] = {"sqlite": 250, "postgres": 1_000}
"""Entries between two looks at whether somebody waits. On SQLite that is everybody who writes; on PostgreSQL whoever
commits also waits until all that was logged before is on disk.
"""
LARGEST: Final = 2_000
"""Entries in one transaction while nobody waits: whoever comes then waits for its commit."""


class Deliverer:
    """Handles `delivery`: a portion, and the task of the next. Where others wait it commits, and stores what is left in
    its task, in the transaction of what was delivered (I4).
    """

    def __init__(
        self,
        db: Database,
        clock: Callable[[], Millis],
        *,
        after_commit: AfterCommit,
        most: int = PORTION,
    ) -> None:
        self._db = db
        self._clock = clock
        self._after_commit = after_commit
        self._most = most

    async def handle(self, task: Task[Delivery]) -> None:
        """See `Handler`."""
        rest = self._most
        while not task.is_finished:
            rest = await self._deliver(task, rest)

    async def _deliver(self, task: Task[Delivery], most: int) -> int:
        """Up to so many entries in one transaction; how many of them are left for the next."""

        async def deliver(tx: Tx) -> tuple[Delivered, Delivery | None, int]:
            task.is_finished = False  # by an attempt that was undone
            now, rest, delivered = self._clock(), most, NOTHING
            left: Delivery | None = task.payload
            while left is not None and rest:
                some = min(rest, SLICE[tx.engine])
                new, left = await deliver_portion_tx(tx, left, most=some, now=now)
                rest, delivered = rest - some, delivered + new
                if tx.is_awaited() or most - rest >= LARGEST:
                    break
            if left is not None and rest:
                await advance_tx(tx, task, left)
                return delivered, left, rest
            await finish_tx(tx, task, now=now)
            if left is not None:
                await enqueue_tx(tx, DELIVERIES, task.key, left, now=now, priority=task.priority)
                delivered += Delivered(0, (DELIVERIES.name,))
            return delivered, left, rest

        delivered, left, rest = await with_tx_again(self._db, deliver)
        self._after_commit(*delivered.wakeups)
        if left is not None:
            task.payload, task.attempt = left, 1
        return rest


async def deliver_portion_tx(
    tx: Tx, delivery: Delivery, *, most: int, now: Millis
) -> tuple[Delivered, Delivery | None]:
    """The next shelves get theirs; what is left then, None when all have it."""
    await _lock_tx(tx, delivery)
    where = {"id": delivery.of_id, "after": delivery.after, "others": delivery.places(most) - 1}
    is_items = delivery.kind == "item"
    end = await tx.maybe(ShelfId, q.end_of_feed_portion if is_items else q.end_of_series_portion, **where)
    reach = Reach(delivery.after, NO_LIMIT if end is None else end, delivery.newest)
    delivered, is_notified = await _deliver_to_tx(tx, delivery, reach, now)
    left = msgspec.structs.replace(
        delivery, after=end or delivery.after, is_notified=delivery.is_notified or is_notified
    )
    if end is not None:
        return delivered, left
    if left.is_notified and left.notices:
        await enqueue_many_tx(tx, NOTICES, [notice.task() for notice in left.notices], now=now)
        delivered += Delivered(0, (NOTICES.name,))
    return delivered, None


async def finish_deliveries_tx(tx: Tx, kind: Kind, of_id: int, now: Millis) -> None:
    """Deliver all that is on its way from a feed or series, which is about to become something else."""
    left: Delivery | None
    for left in await open_payloads_tx(tx, DELIVERIES, prefix_of(kind, of_id)):
        while left is not None:
            _, left = await deliver_portion_tx(tx, left, most=PORTION, now=now)
    await withdraw_tx(tx, DELIVERIES.name, prefix_of(kind, of_id), now)


async def deliver_before_leaving_tx(tx: Tx, kind: Kind, of_id: int, shelf_id: ShelfId) -> None:
    """Entries that are on their way to a shelf which is about to leave: it can have all back that it had."""
    for delivery in await open_payloads_tx(tx, DELIVERIES, prefix_of(kind, of_id)):
        if delivery.after < shelf_id and not delivery.is_catalogue:
            await _add_entries_tx(tx, delivery, Reach(shelf_id - 1, shelf_id, delivery.newest), delivery.at)


async def _lock_tx(tx: Tx, delivery: Delivery) -> None:
    """As those who store and deliver at once: nobody comes or goes meanwhile."""
    if delivery.kind == "item":
        await lock_feeds_shared_tx(tx, [FeedId(delivery.of_id)])
    else:
        await lock_series_merges_shared_tx(tx)
        await lock_series_tx(tx, SeriesId(delivery.of_id))


async def _deliver_to_tx(tx: Tx, delivery: Delivery, reach: Reach, now: Millis) -> tuple[Delivered, bool]:
    """What these shelves get, and whether one of them wants to be notified."""
    if delivery.is_catalogue:
        readers = await _readers_tx(tx, delivery, reach)
        await add_catalogues_tx(tx, readers, delivery.available, now=now)
        return Delivered(0, (EVENTS_WAKEUP,)), False
    placed = await _add_entries_tx(tx, delivery, reach, now)
    if not placed:
        return NOTHING, False
    batch = NewBatch(delivery.kind, delivery.of_id, delivery.installments, delivery.is_quiet)
    arrivals = arrivals_of([batch], placed, await _readers_tx(tx, delivery, reach))
    await add_arrivals_tx(tx, arrivals, now)
    is_notified = any(arrival.is_notified for arrival in arrivals)
    return Delivered(sum(entry.count for entry in placed), (EVENTS_WAKEUP,)), is_notified


async def _add_entries_tx(tx: Tx, delivery: Delivery, reach: Reach, now: Millis) -> Sequence[Placed]:
    if delivery.kind == "chapter":
        chapters = map(ChapterId, delivery.installments)
        return await add_chapter_entries_tx(
            tx, SeriesId(delivery.of_id), chapters, delivery.at, appeared_at=now, reach=reach
        )
    items = [ItemId(each) for each in delivery.installments]
    arriving = ArrivingItems(FeedId(delivery.of_id), items, delivery.arrived_at)
    return await add_item_entries_tx(tx, [arriving], delivery.at, appeared_at=now, reach=reach)


async def _readers_tx(tx: Tx, delivery: Delivery, reach: Reach) -> Sequence[Reader]:
    if delivery.kind == "chapter":
        return await series_readers_tx(tx, SeriesId(delivery.of_id), delivery.at, reach)
    return await feed_readers_tx(tx, [FeedId(delivery.of_id)], delivery.at, reach)
