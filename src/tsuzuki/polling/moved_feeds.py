"""Feeds that moved. R29: one gets another link. REL-32: where another feed has that link, the two are merged.

Nobody's entries or bookmarks are lost (I9).
"""

from collections.abc import Iterable

from tsuzuki.db import Tx, load_queries
from tsuzuki.db.locks import lock_feed_tx, lock_items_tx
from tsuzuki.delivery.fanout import Delivered
from tsuzuki.delivery.portions import finish_deliveries_tx
from tsuzuki.model.ids import FeedId, ShelfId
from tsuzuki.model.times import Millis
from tsuzuki.polling.policy import ClaimedWatch
from tsuzuki.polling.store import ask_refresh_tx
from tsuzuki.queue.errors import LeaseLost
from tsuzuki.shelves.events import EVENTS_WAKEUP, counts_changed_tx
from tsuzuki.sources.feeds import (
    add_tombstones_for_readers_tx,
    detach_items_tx,
    drop_feed_tx,
    find_feed_tx,
    leave_address_tx,
    suspension_changed_tx,
)
from tsuzuki.sources.watches import find_feed_watch_tx

q = load_queries("tsuzuki.polling")


async def lock_moving_feed_tx(tx: Tx, feed_id: FeedId) -> None:
    """Lock a feed and its items, as ingest and those who subscribe do, before any row is written."""
    await lock_items_tx(tx, feed_id)
    await lock_feed_tx(tx, feed_id)


async def move_feed_tx(tx: Tx, feed_id: FeedId, link: str, *, same: Iterable[str], now: Millis) -> None:
    """R29: the feed has this link from now on, unless another feed has it, and holds what the document there says.

    To be called with the feed locked. `same` are the keys of what it holds and the document shows unchanged. The rest
    stays with the shelves that have it: whoever owns an address can lead it anywhere, and what it showed before would
    be read under the name of the new one.
    """
    if await tx.run(q.move_feed, feed_id=feed_id, link=link, now=now):
        await finish_deliveries_tx(tx, "item", feed_id, now)
        await leave_address_tx(tx, feed_id, same=same, now=now)


async def merge_moved_tx(
    tx: Tx, watch: ClaimedWatch, feed_id: FeedId, link: str, *, proxy: str, now: Millis
) -> Delivered | None:
    """The watch's feed becomes part of the feed at this link, which is polled now; None when no other feed has it.

    LeaseLost when the watch is not ours.
    """
    target = await find_feed_tx(tx, link, proxy)
    if target is None or target == feed_id:
        return None
    pair = sorted((feed_id, target))
    # In the order in which ingest and those who subscribe take them, and by id.
    for each in pair:
        await lock_items_tx(tx, each)
    if not all([await lock_feed_tx(tx, each) for each in pair]):
        return None  # somebody left it in this very moment
    if not await tx.run(q.is_leased, id=watch.id, lease_token=watch.lease_token):
        raise LeaseLost([watch.id])
    shelves = await tx.many(ShelfId, q.followers, feed_id=feed_id)
    for each in pair:
        await finish_deliveries_tx(tx, "item", each, now)
    await move_items_tx(tx, feed_id, target, now)
    await move_subscriptions_tx(tx, feed_id, target, now)
    await drop_feed_tx(tx, feed_id)
    await suspension_changed_tx(tx, target, by_person=False, now=now)
    await ask_refresh_tx(tx, await find_feed_watch_tx(tx, target), now)
    await counts_changed_tx(tx, shelves, now)
    return Delivered(0, (EVENTS_WAKEUP,) if shelves else ())


async def move_items_tx(tx: Tx, feed_id: FeedId, target: FeedId, now: Millis) -> None:
    """What a feed has and shelves have of it becomes another's; what both have becomes one (I2, I9)."""
    both = {"feed_id": feed_id, "target": target}
    await tx.run(q.add_missed, **both, now=now)
    await tx.run(q.join_tags, **both)
    await tx.run(q.join_entries, **both)
    await tx.run(q.move_twin_entries, **both)
    await tx.run(q.drop_twin_entries, **both)
    await tx.run(q.move_twin_bookmarks, **both)
    await tx.run(q.move_twin_former, **both)
    await tx.run(q.drop_twins, **both)
    await detach_items_tx(tx, feed_id)
    await tx.run(q.move_entries, **both)
    await tx.run(q.move_bookmarks, **both)
    await tx.run(q.move_tombstones, **both)
    await add_tombstones_for_readers_tx(tx, feed_id, target, now)


async def move_subscriptions_tx(tx: Tx, feed_id: FeedId, target: FeedId, now: Millis) -> None:
    """Move subscriptions from one feed to the other, each shelf once."""
    await tx.run(q.drop_second_subscriptions, feed_id=feed_id, target=target)
    await tx.run(q.move_subscriptions, feed_id=feed_id, target=target, now=now)
    await tx.run(q.drop_second_former, feed_id=feed_id, target=target)
    await tx.run(q.move_former, feed_id=feed_id, target=target)
