"""Subscriptions, remembered."""

from collections.abc import Sequence

import msgspec

from tsuzuki.db import Tx, load_queries
from tsuzuki.model.ids import FeedId, GroupId, PublicId, ShelfId
from tsuzuki.model.times import Millis
from tsuzuki.shelves.subscriptions.nouns import FeedName, FormerSubscription, NewRow, Refreshing, Subscription

q = load_queries("tsuzuki.shelves.subscriptions")

MOST_MISSED = 50
"""R8: as many as anybody gets who comes later."""


async def list_subscriptions_tx(tx: Tx, shelf_id: ShelfId, group_id: GroupId | None = None) -> list[Subscription]:
    """The shelf's subscriptions, the oldest first; those of one group, if one is given."""
    return await tx.many(Subscription, q.list_subscriptions, shelf_id=shelf_id, group_id=group_id)


async def find_subscription_tx(tx: Tx, shelf_id: ShelfId, public_id: PublicId) -> Subscription | None:
    """The shelf's subscription with this id; None for another shelf's."""
    return await tx.maybe(Subscription, q.find_subscription, shelf_id=shelf_id, public_id=public_id)


async def refreshing_tx(tx: Tx, shelf_id: ShelfId, now: Millis) -> Refreshing:
    """How far a refresh of the shelf's feeds has come."""
    return await tx.one(Refreshing, q.refreshing, shelf_id=shelf_id, now=now)


async def feed_names_tx(tx: Tx, shelf_id: ShelfId) -> list[FeedName]:
    """What the shelf's feeds are called, the oldest first."""
    return await tx.many(FeedName, q.feed_names, shelf_id=shelf_id)


async def find_subscription_to_tx(tx: Tx, shelf_id: ShelfId, link: str, proxy: str) -> PublicId | None:
    """The shelf's subscription to this address."""
    return await tx.maybe(
        PublicId, q.find_subscription_to, shelf_id=shelf_id, link=link, proxy=tx.vault.seal_proxy(proxy)
    )


async def add_subscription_tx(tx: Tx, new: NewRow, now: Millis) -> None:
    """Store it; UniqueViolation when the shelf has this feed."""
    await tx.run(q.add_subscription, **msgspec.structs.asdict(new), now=now)


async def change_subscription_tx(tx: Tx, wanted: Subscription, *, site_url: str | None, now: Millis) -> None:
    """Store what is the reader's own of `wanted`; a site's address only where one is given."""
    await tx.run(
        q.change_subscription,
        id=wanted.id,
        group_id=wanted.group_id,
        name=wanted.name,
        site_url=site_url,
        suspended_at=wanted.suspended_at,
        notify=wanted.notify,
        full_text=wanted.full_text,
        poll_interval=wanted.poll_interval,
        retention=wanted.retention,
        now=now,
    )


async def let_in_tx(tx: Tx, subscription_id: int, *, until: Millis) -> None:
    """Let a suspended subscription have what arrives until then."""
    await tx.run(q.let_in, id=subscription_id, until=until)


async def point_subscription_tx(tx: Tx, subscription_id: int, feed_id: FeedId, now: Millis) -> None:
    """Let it follow another feed; UniqueViolation when the shelf has that one."""
    await tx.run(q.point_subscription, id=subscription_id, feed_id=feed_id, now=now)


async def carry_states_tx(tx: Tx, shelf_id: ShelfId, old: FeedId, new: FeedId) -> int:
    """Give entries of one feed the state that the same items have in another."""
    return await tx.run(q.carry_states, shelf_id=shelf_id, old_feed_id=old, new_feed_id=new)


async def clear_shelf_tx(tx: Tx, shelf_id: ShelfId, feed_id: FeedId) -> None:
    """Take a feed's entries off the shelf; bookmarks stay as they are."""
    await tx.run(q.detach_bookmarks, shelf_id=shelf_id, feed_id=feed_id)
    await tx.run(q.delete_entries, shelf_id=shelf_id, feed_id=feed_id)


async def delete_subscription_tx(tx: Tx, subscription_id: int) -> None:
    """Forget it."""
    await tx.run(q.delete_subscription, id=subscription_id)


async def keep_former_tx(tx: Tx, shelf_id: ShelfId, gone: Subscription, now: Millis) -> None:
    """Remember it and its entries, before they go."""
    await tx.run(q.drop_former, shelf_id=shelf_id, feed_id=gone.feed_id)
    await tx.run(q.keep_former, id=gone.id, now=now)
    await tx.run(q.keep_former_entries, shelf_id=shelf_id, feed_id=gone.feed_id)


async def take_former_tx(
    tx: Tx, shelf_id: ShelfId, *, since: Millis, public_id: PublicId | None = None, feed_id: FeedId | None = None
) -> FormerSubscription | None:
    """What the shelf had and left since then, by its id or its feed; None when there is no such."""
    return await tx.maybe(
        FormerSubscription, q.take_former, shelf_id=shelf_id, public_id=public_id, feed_id=feed_id, since=since
    )


async def former_name_tx(tx: Tx, shelf_id: ShelfId, public_id: PublicId) -> str | None:
    """What it was called; None when it cannot be restored."""
    return await tx.maybe(str, q.find_former_name, shelf_id=shelf_id, public_id=public_id)


async def restore_tx(tx: Tx, shelf_id: ShelfId, former: FormerSubscription, now: Millis) -> None:
    """Its entries and what came since then; what was remembered is forgotten."""
    both = {"shelf_id": shelf_id, "feed_id": former.feed_id}
    await tx.run(q.restore_entries, **both)
    await tx.run(q.attach_bookmarks, **both)
    await tx.run(q.add_missed, **both, since=former.left_at, most=MOST_MISSED, now=now)
    await tx.run(q.drop_former, **both)


async def forget_former_tx(tx: Tx, *, before: Millis, most: int) -> Sequence[FeedId]:
    """Forget those that were left before then; whose feeds they were."""
    return await tx.many(FeedId, q.forget_former, before=before, most=most)
