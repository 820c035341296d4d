"""What hangs on a feed, hung on another."""

from tsuzuki.db import Tx, load_queries
from tsuzuki.model.ids import FeedId, ShelfId
from tsuzuki.model.times import Millis
from tsuzuki.sources.store import ClaimedWatch, bury_for_readers_tx, detach_items_tx

q = load_queries("tsuzuki.polling.moving")


async def is_leased_tx(tx: Tx, watch: ClaimedWatch) -> bool:
    """Whether the watch is still ours; it stays so to the end of the transaction."""
    return bool(await tx.run(q.is_leased, id=watch.id, lease_token=watch.lease_token))


async def followers_tx(tx: Tx, feed_id: FeedId) -> list[ShelfId]:
    """The shelves that are subscribed to it."""
    return await tx.many(ShelfId, q.followers, feed_id=feed_id)


async def move_items_tx(tx: Tx, feed_id: FeedId, target: FeedId, now: Millis) -> None:
    """Items, tombstones, entries and bookmarks of a feed become another's; what both have becomes one (I2, I9)."""
    both = {"feed_id": feed_id, "target": target}
    await tx.run(q.add_missed, **both, now=now)
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
    await bury_for_readers_tx(tx, feed_id, target, now)


async def move_subscriptions_tx(tx: Tx, feed_id: FeedId, target: FeedId, now: Millis) -> None:
    """Whoever followed the one follows the other, once."""
    await tx.run(q.drop_second_subscriptions, feed_id=feed_id, target=target)
    await tx.run(q.move_subscriptions, feed_id=feed_id, target=target, now=now)
    await tx.run(q.drop_second_former, feed_id=feed_id, target=target)
    await tx.run(q.move_former, feed_id=feed_id, target=target)
