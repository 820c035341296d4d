"""Feeds: created with the first subscription, deleted with the last, moved to another address."""

from collections.abc import Iterable, Sequence

from tsuzuki.db import Tx, load_queries
from tsuzuki.db.locks import lock_feed_tx, lock_feeds_tx
from tsuzuki.model.errors import NotFound
from tsuzuki.model.ids import FeedId
from tsuzuki.model.priorities import HOT
from tsuzuki.model.times import Millis
from tsuzuki.net.urls import parse
from tsuzuki.queue.tasks import withdraw_tx
from tsuzuki.sources.pace import feed_readers_changed_tx
from tsuzuki.sources.watches import NewWatch, add_watch_tx, find_feed_watch_tx, suspend_idle_watch_tx

q = load_queries("tsuzuki.sources")

NOBODY_WAITS = "everyone who follows it has suspended it"

ITEM_INGEST = "item-ingest"
"""The queue of what polls of feeds found."""


async def follow_feed_tx(tx: Tx, link: str, *, proxy: str, now: Millis) -> FeedId:
    """The feed behind this canonical link, made and watched from now on where it was unknown (R70).

    It is held to the end of the transaction, so that it cannot be dropped before the subscription is in.
    """
    while True:  # whoever leaves last may drop it between two of these statements; then it is made anew
        made = await new_feed_tx(tx, link, now=now, proxy=proxy)
        if made is not None:
            watch = NewWatch(feed_id=made, host=parse(link).host, priority=HOT, next_check_at=now)
            await add_watch_tx(tx, watch, now)
            return made
        known = await find_feed_tx(tx, link, proxy)
        if known is not None and await lock_feed_tx(tx, known):
            return known


async def leave_feed_tx(tx: Tx, feed_id: FeedId, now: Millis) -> bool:
    """After a subscription was deleted: delete the feed with the last one (True), else let its watch rest."""
    await lock_feed_tx(tx, feed_id)
    if await drop_feed_tx(tx, feed_id):
        return True
    await suspend_idle_watch_tx(tx, feed_id, reason=NOBODY_WAITS, now=now)
    await feed_readers_changed_tx(tx, feed_id)
    return False


async def suspension_changed_tx(tx: Tx, feed_id: FeedId, *, by_person: bool, now: Millis) -> bool:
    """The watch rests while every follower has suspended it, and keeps the others' pace; True when it is due now.

    `by_person` wakes one that rests for any other reason too, such as a 410: a person wants it tried again.
    """
    await feed_readers_changed_tx(tx, feed_id)
    await suspend_idle_watch_tx(tx, feed_id, reason=NOBODY_WAITS, now=now)
    return bool(await tx.run(q.wake_watch, feed_id=feed_id, reason=None if by_person else NOBODY_WAITS, now=now))


async def leave_address_tx(
    tx: Tx, feed_id: FeedId, *, same: Iterable[str] = (), is_trusted: bool = False, now: Millis
) -> None:
    """The feed has another address from now on: nothing that the old one showed is its own, `same` of it aside.

    Nor what was found there and is not stored yet. See `detach_items_tx`.
    """
    await withdraw_tx(tx, ITEM_INGEST, f"ingest-{await find_feed_watch_tx(tx, feed_id)}-", now)
    same = list(same)
    await add_tombstones_for_readers_tx(tx, feed_id, feed_id, now)
    await tx.run(q.drop_item_tombstones, feed_id=feed_id, rows=[[key] for key in same])
    await detach_items_tx(tx, feed_id, but=same, is_trusted=is_trusted)


async def relink_alone_tx(tx: Tx, feed_id: FeedId, link: str, *, proxy: str, now: Millis) -> bool:
    """Give a feed that one shelf follows another address, where no feed has it yet: the shelf keeps what it has.

    False when it is shared or the address is taken: then the shelf has to follow another feed.
    """
    if not await lock_feed_tx(tx, feed_id):
        raise NotFound("There is no such feed.")
    if await tx.one(int, q.count_followers, feed_id=feed_id) != 1 or await find_feed_tx(tx, link, proxy) is not None:
        return False
    await tx.run(q.keep_tombstones, feed_id=feed_id, now=now)  # what a follower does not have stays no news
    await leave_address_tx(tx, feed_id, is_trusted=True, now=now)
    await tx.run(q.relink_feed, id=feed_id, link=link, proxy=tx.vault.seal_proxy(proxy), now=now)
    await tx.run(q.reset_watch, feed_id=feed_id, host=parse(link).host, now=now)
    return True


async def new_feed_tx(tx: Tx, link: str, *, now: Millis, proxy: str = "") -> FeedId | None:
    """A new feed behind this link; None when there is one already."""
    return await tx.maybe(FeedId, q.add_feed, link=link, proxy=tx.vault.seal_proxy(proxy), now=now)


async def find_feed_tx(tx: Tx, link: str, proxy: str = "") -> FeedId | None:
    """The feed behind this link, if it is known."""
    return await tx.maybe(FeedId, q.find_feed, link=link, proxy=tx.vault.seal_proxy(proxy))


async def lock_known_feeds_tx(tx: Tx, wanted: Sequence[tuple[str, str]]) -> None:
    """Lock those of these (link, proxy) that are feeds."""
    rows = [[link, tx.vault.seal_proxy(proxy)] for link, proxy in wanted]
    await lock_feeds_tx(tx, await tx.bulk(FeedId, q.known_feeds, rows))


async def add_tombstones_for_readers_tx(tx: Tx, feed_id: FeedId, target: FeedId, now: Millis) -> None:
    """Keep what retention removed of a feed from being new to its followers at `target` (REL-39d)."""
    await tx.run(q.add_tombstones_for_readers, feed_id=feed_id, target=target, now=now)


async def detach_items_tx(tx: Tx, feed_id: FeedId, *, but: Iterable[str] = (), is_trusted: bool = False) -> None:
    """Take items from a feed, all `but` these keys: a feed has only what came from fetching its address.

    Shelves keep what they have. It becomes the feed's again when the feed brings an item of the same key, and of the
    same page unless it was the reader (`is_trusted`) who said that this is the same feed.
    """
    keys = [[key] for key in but]
    await tx.run(q.detach_items, feed_id=feed_id, rows=keys, is_trusted=is_trusted)
    await tx.run(q.drop_items, feed_id=feed_id, rows=keys)


async def drop_feed_tx(tx: Tx, feed_id: FeedId) -> bool:
    """Delete a feed with its items if nobody follows it."""
    return bool(await tx.run(q.drop_feed, id=feed_id))
