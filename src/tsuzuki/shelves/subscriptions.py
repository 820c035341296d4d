"""Subscriptions: the feeds of a shelf. The feed behind one is shared by all who follow it (R70)."""

import asyncio
from collections.abc import Iterable, Sequence

import msgspec
from msgspec import UNSET, UnsetType

from tsuzuki.connectors.page_feeds import web_address
from tsuzuki.coord.wakeup import POLL_WAKEUP
from tsuzuki.db import Tx, load_queries
from tsuzuki.db.deadlines import with_tx_again
from tsuzuki.db.errors import UniqueViolation
from tsuzuki.db.locks import lock_feed_tx
from tsuzuki.model.errors import Conflict, NotFound, TsuzukiError
from tsuzuki.model.harvest import FeedChange
from tsuzuki.model.ids import FeedId, GroupId, PublicId, ShelfId, show_id
from tsuzuki.model.text import natural
from tsuzuki.model.times import DAY, MINUTE, Millis
from tsuzuki.net.urls import canonical
from tsuzuki.shelves.backfill import ALWAYS, deliver_known_items_tx
from tsuzuki.shelves.deps import RefreshOutcome, ShelfDeps
from tsuzuki.shelves.events import EVENTS_WAKEUP, NewEvent, SubscriptionChanged, add_events_tx, counts_changed_tx
from tsuzuki.shelves.groups import default_group_tx, own_group_tx
from tsuzuki.shelves.limits import allow_waking_tx, check_shelf_limit_tx, free_room_tx
from tsuzuki.shelves.policy import as_before, changed
from tsuzuki.shelves.types import (
    FeedName,
    FeedStatus,
    FormerSubscription,
    NewSubscription,
    NewSubscriptionRow,
    Refreshing,
    Subscription,
    SubscriptionChange,
    SubscriptionResult,
    new_or,
)
from tsuzuki.sources.feeds import (
    follow_feed_tx,
    leave_feed_tx,
    lock_known_feeds_tx,
    relink_alone_tx,
    suspension_changed_tx,
)
from tsuzuki.sources.watches import fetch_whole_tx

q = load_queries("tsuzuki.shelves.subscriptions")

MOST_MISSED = 50
"""R8: as many as anybody gets who comes later."""


async def list_subscriptions_tx(tx: Tx, shelf_id: ShelfId, group_id: GroupId | None = None) -> list[Subscription]:
    """The shelf's subscriptions, the oldest first; those of one group, if one is given."""
    return await tx.many(Subscription, q.list_subscriptions, shelf_id=shelf_id, group_id=group_id)


async def feed_names_tx(tx: Tx, shelf_id: ShelfId, part: str) -> list[FeedName]:
    """The shelf's feeds with this part of a word, in lower case, in their names or addresses; the oldest first.

    Those that are not all ASCII come along: how their letters are folded, the engines do not know.
    """
    return await tx.many(FeedName, q.feed_names, shelf_id=shelf_id, part=part)


async def find_subscriptions_tx(tx: Tx, shelf_id: ShelfId, ids: Sequence[PublicId]) -> list[Subscription]:
    """The shelf's subscriptions with these ids, in this order, without those that are gone (I8)."""
    rows = [{"id": public_id} for public_id in ids]
    found = await tx.bulk(Subscription, q.find_subscriptions, rows, shelf_id=shelf_id) if ids else []
    places = {public_id: place for place, public_id in enumerate(ids)}
    return sorted(found, key=lambda one: places[one.public_id])


async def find_subscription_to_tx(tx: Tx, shelf_id: ShelfId, link: str, proxy: str) -> PublicId | None:
    """The shelf's subscription to this address."""
    return await tx.maybe(
        PublicId, q.find_subscription_to, shelf_id=shelf_id, link=link, proxy=tx.vault.seal_proxy(proxy)
    )


async def add_subscription_tx(tx: Tx, new: NewSubscriptionRow, now: Millis) -> None:
    """Store it; UniqueViolation when the shelf has this feed."""
    await tx.run(q.add_subscription, **msgspec.structs.asdict(new), now=now)


async def clear_shelf_tx(tx: Tx, shelf_id: ShelfId, feed_id: FeedId) -> None:
    """Take a feed's entries off the shelf; bookmarks stay as they are."""
    await tx.run(q.detach_bookmarks, shelf_id=shelf_id, feed_id=feed_id)
    await tx.run(q.delete_entries, shelf_id=shelf_id, feed_id=feed_id)


async def store_former_tx(tx: Tx, shelf_id: ShelfId, gone: Subscription, now: Millis) -> None:
    """Store the subscription and its entries before they are deleted, to restore them later."""
    await tx.run(q.drop_former, shelf_id=shelf_id, feed_id=gone.feed_id)
    await tx.run(q.store_former, id=gone.id, now=now)
    await tx.run(q.store_former_entries, shelf_id=shelf_id, feed_id=gone.feed_id)


async def take_former_subscription_tx(
    tx: Tx, shelf_id: ShelfId, *, since: Millis, public_id: PublicId | None = None, feed_id: FeedId | None = None
) -> FormerSubscription | None:
    """What the shelf had and left since then, by its id or its feed; None when there is no such."""
    return await tx.maybe(
        FormerSubscription, q.take_former, shelf_id=shelf_id, public_id=public_id, feed_id=feed_id, since=since
    )


async def restore_tx(tx: Tx, shelf_id: ShelfId, former: FormerSubscription, now: Millis) -> None:
    """Restore its entries and add what came since; the stored copy is deleted."""
    both = {"shelf_id": shelf_id, "feed_id": former.feed_id}
    await tx.run(q.restore_entries, **both, now=now)
    await tx.run(q.attach_bookmarks, **both)
    await tx.run(q.add_missed, **both, since=former.left_at, most=MOST_MISSED, now=now)
    await tx.run(q.drop_former, **both)


KEPT = Millis(30 * DAY)
"""For so long, what was left can be had back."""

_LOOKUPS = 50
_FORGOTTEN = 50
"""Feeds at a time: each may take all of its items along."""
_LET_IN = 10 * MINUTE


class Subscriptions:
    """What a shelf follows of feeds. The first look at a new feed begins at once."""

    def __init__(self, deps: ShelfDeps) -> None:
        self._deps = deps

    @property
    def deps(self) -> ShelfDeps:
        """What it stands on: for an import, which adds more than subscriptions."""
        return self._deps

    # -- looking

    async def list(
        self, shelf_id: ShelfId, *, group: PublicId | None = None, status: FeedStatus | None = None
    ) -> list[Subscription]:
        """All of the shelf's, or those of a group or status, by name; NotFound for a group of another shelf."""

        async def collect(tx: Tx) -> list[Subscription]:
            group_id = None if group is None else (await own_group_tx(tx, shelf_id, group)).id
            return await list_subscriptions_tx(tx, shelf_id, group_id)

        found = await self._deps.db.read(collect)
        wanted = [one for one in found if status is None or one.status == status]
        return sorted(wanted, key=lambda one: natural(one.shown_name))

    async def get(self, shelf_id: ShelfId, public_id: PublicId) -> Subscription:
        """One of the shelf's, or NotFound."""
        return await self._deps.db.read(lambda tx: own_subscription_tx(tx, shelf_id, public_id))

    async def followed(self, shelf_id: ShelfId, links: Iterable[str]) -> dict[str, PublicId]:
        """Which of these addresses the shelf follows already."""

        async def collect(tx: Tx) -> dict[str, PublicId]:
            found = {link: await find_subscription_to_tx(tx, shelf_id, canonical(link), "") for link in links}
            return {link: public_id for link, public_id in found.items() if public_id is not None}

        return await self._deps.db.read(collect)

    # -- coming

    async def add(self, shelf_id: ShelfId, new: NewSubscription) -> Subscription:
        """Follow a feed; Conflict when the shelf does, RefusedAddress for one that may not be called."""
        made = await self._add_vetted(shelf_id, await self._vet(new))
        self._wake()
        return made

    async def add_many(self, shelf_id: ShelfId, many: Iterable[NewSubscription]) -> Sequence[SubscriptionResult]:
        """Follow those that can be followed; each says what became of it."""
        tried = []
        asked = tuple(many)
        for new, vetted in zip(asked, await self.vet_all(asked), strict=True):
            try:
                tried.append(SubscriptionResult(new.link, await self._add_vetted(shelf_id, vetted)))
            except TsuzukiError as error:
                tried.append(SubscriptionResult(new.link, error=error))
        self._wake()
        return tried

    async def vet_all(self, many: Iterable[NewSubscription]) -> Sequence[NewSubscription | TsuzukiError]:
        """Each with its canonical address, or why it is refused; many names are looked up at the same time."""
        places = asyncio.Semaphore(_LOOKUPS)

        async def vet(new: NewSubscription) -> NewSubscription | TsuzukiError:
            async with places:
                try:
                    return await self._vet(new)
                except TsuzukiError as error:
                    return error

        return await asyncio.gather(*map(vet, many))

    async def _vet(self, new: NewSubscription) -> NewSubscription:
        link = await self._deps.vet(web_address(new.link), new.proxy or None)
        return msgspec.structs.replace(new, link=link)

    async def _add_vetted(self, shelf_id: ShelfId, vetted: NewSubscription | TsuzukiError) -> Subscription:
        if isinstance(vetted, TsuzukiError):
            raise vetted
        return await with_tx_again(self._deps.db, lambda tx: self.add_tx(tx, shelf_id, vetted))

    async def add_tx(self, tx: Tx, shelf_id: ShelfId, new: NewSubscription) -> Subscription:
        """`add` within a transaction, for an address that was vetted."""
        now, public_id = self._deps.clock(), self._deps.new_id()
        group_id = await self._group_tx(tx, shelf_id, new.group)
        if await find_subscription_to_tx(tx, shelf_id, new.link, new.proxy) is not None:
            raise _followed(new.link)
        await check_shelf_limit_tx(tx, shelf_id, "follows")
        feed_id = await follow_feed_tx(tx, new.link, proxy=new.proxy, now=now)
        await fetch_whole_tx(tx, feed_id, now)
        row = NewSubscriptionRow(
            public_id=public_id,
            shelf_id=shelf_id,
            feed_id=feed_id,
            group_id=group_id,
            name=new.name,
            site_url=new.site_url,
            suspended_at=now if new.is_suspended else None,
            full_text=new.full_text,
        )
        former = await take_former_subscription_tx(tx, shelf_id, since=Millis(now - KEPT), feed_id=feed_id)
        if former is not None:
            return await self._return_tx(tx, as_before(former, row, keeps_group=new.group is None), former)
        await self._put_tx(tx, row)
        await deliver_known_items_tx(tx, shelf_id, feed_id, now=now)
        return await self._published_tx(tx, shelf_id, public_id, "added")

    async def restore(self, shelf_id: ShelfId, public_id: PublicId) -> Subscription:
        """Undo having left a feed: its settings, its group, and what was read and saved of it are as they were.

        NotFound when it is followed again already, or was left too long ago.
        """
        made = await with_tx_again(self._deps.db, lambda tx: self._restore_tx(tx, shelf_id, public_id))
        self._wake()
        return made

    async def _restore_tx(self, tx: Tx, shelf_id: ShelfId, public_id: PublicId) -> Subscription:
        await check_shelf_limit_tx(tx, shelf_id, "follows")
        since = Millis(self._deps.clock() - KEPT)
        former = await take_former_subscription_tx(tx, shelf_id, since=since, public_id=public_id)
        if former is None:
            raise NotFound("This can no longer be undone: it is followed again, or was unfollowed too long ago.")
        await lock_feed_tx(tx, former.feed_id)
        row = NewSubscriptionRow(
            public_id=public_id,
            shelf_id=shelf_id,
            feed_id=former.feed_id,
            group_id=await self._group_tx(tx, shelf_id, None),
            suspended_at=former.suspended_at,
        )
        return await self._return_tx(tx, as_before(former, row, keeps_group=True), former)

    async def former_name(self, shelf_id: ShelfId, public_id: PublicId) -> str | None:
        """What a feed was called that the shelf left and can have back; None when there is no such."""
        return await self._deps.db.read(
            lambda tx: tx.maybe(str, q.find_former_name, shelf_id=shelf_id, public_id=public_id)
        )

    async def _return_tx(self, tx: Tx, row: NewSubscriptionRow, former: FormerSubscription) -> Subscription:
        now = self._deps.clock()
        await self._put_tx(tx, row)
        await restore_tx(tx, row.shelf_id, former, now)
        await counts_changed_tx(tx, [row.shelf_id], now)
        return await self._published_tx(tx, row.shelf_id, row.public_id, "added")

    async def _put_tx(self, tx: Tx, row: NewSubscriptionRow) -> None:
        now = self._deps.clock()
        try:
            await add_subscription_tx(tx, row, now)
        except UniqueViolation as error:
            raise Conflict("This shelf already follows this feed.") from error
        await suspension_changed_tx(tx, row.feed_id, by_person=row.suspended_at is None, now=now)

    # -- changing

    async def change(self, shelf_id: ShelfId, public_id: PublicId, change: SubscriptionChange) -> Subscription:
        """Change what is the reader's own. Another link or proxy is another feed: its state begins anew."""
        target = await self._target(shelf_id, public_id, change)
        made = await with_tx_again(
            self._deps.db, lambda tx: self._change_tx(tx, shelf_id, public_id, change, target=target)
        )
        self._wake()
        return made

    async def _target(
        self, shelf_id: ShelfId, public_id: PublicId, change: SubscriptionChange
    ) -> tuple[str, str] | None:
        """The address to move to, vetted; None when it stays."""
        if change.link is UNSET and change.proxy is UNSET:
            return None
        before = await self.get(shelf_id, public_id)
        proxy = new_or(change.proxy, before.proxy)
        link = await self._deps.vet(web_address(new_or(change.link, before.link)), proxy or None)
        return None if (link, proxy) == (before.link, before.proxy) else (link, proxy)

    async def _change_tx(
        self,
        tx: Tx,
        shelf_id: ShelfId,
        public_id: PublicId,
        change: SubscriptionChange,
        *,
        target: tuple[str, str] | None,
    ) -> Subscription:
        now = self._deps.clock()
        before = await own_subscription_tx(tx, shelf_id, public_id)
        if target is not None:
            await lock_known_feeds_tx(tx, [(before.link, before.proxy), target])
        elif not isinstance(change.is_suspended, UnsetType):
            await lock_feed_tx(tx, before.feed_id)  # before its watch, as everyone
        if change.is_suspended is False and before.suspended_at is not None:
            await allow_waking_tx(tx, shelf_id, before.id)
        group_id = before.group_id
        if not isinstance(change.group, UnsetType):
            group_id = await self._group_tx(tx, shelf_id, change.group)
        wanted = changed(before, change, group_id=group_id, now=now)
        await tx.run(
            q.change_subscription,
            **q.change_subscription.values_of(wanted, site_url=new_or(change.site_url, None), now=now),
        )
        feed_id = before.feed_id
        if target is not None:
            feed_id = await self._move_tx(tx, shelf_id, before, target)
        if change.is_suspended is not UNSET or target is not None:
            await suspension_changed_tx(tx, feed_id, by_person=change.is_suspended is False, now=now)
        if before.suspended_at is not None and wanted.suspended_at is None:
            since = before.suspended_at if target is None else ALWAYS
            await deliver_known_items_tx(tx, shelf_id, feed_id, since=since, now=now)
        return await self._published_tx(tx, shelf_id, public_id, "changed")

    async def _move_tx(self, tx: Tx, shelf_id: ShelfId, before: Subscription, target: tuple[str, str]) -> FeedId:
        """Follow another address. What only this shelf follows moves as it is; else the same items keep their state."""
        now = self._deps.clock()
        link, proxy = target
        if await find_subscription_to_tx(tx, shelf_id, link, proxy) is not None:
            raise _followed(link)
        await self._deps.deliver_before_leaving_tx(tx, "item", before.feed_id, shelf_id)
        if await relink_alone_tx(tx, before.feed_id, link, proxy=proxy, now=now):
            return before.feed_id
        feed_id = await follow_feed_tx(tx, link, proxy=proxy, now=now)
        try:
            # Let it follow another feed; UniqueViolation when the shelf has that one.
            await tx.run(q.point_subscription, id=before.id, feed_id=feed_id, now=now)
        except UniqueViolation as error:
            raise _followed(link) from error
        await deliver_known_items_tx(tx, shelf_id, feed_id, now=now)
        both = {"shelf_id": shelf_id, "old_feed_id": before.feed_id, "new_feed_id": feed_id}
        await tx.run(q.carry_states, **both)
        await tx.run(q.carry_tags, **both)
        await clear_shelf_tx(tx, shelf_id, before.feed_id)
        await leave_feed_tx(tx, before.feed_id, now)
        return feed_id

    # -- going

    async def delete(self, shelf_id: ShelfId, public_id: PublicId) -> None:
        """Follow it no more. Bookmarks stay. All can be had back for a month; then the content goes, when nobody else
        follows it.
        """

        async def delete(tx: Tx) -> None:
            now = self._deps.clock()
            await free_room_tx(tx, shelf_id)
            gone = await own_subscription_tx(tx, shelf_id, public_id)
            await lock_feed_tx(tx, gone.feed_id)  # first: two who leave it would share it, and each wait for the other
            await self._deps.deliver_before_leaving_tx(tx, "item", gone.feed_id, shelf_id)
            await store_former_tx(tx, shelf_id, gone, now)
            await clear_shelf_tx(tx, shelf_id, gone.feed_id)
            await tx.run(q.delete_subscription, id=gone.id)
            await leave_feed_tx(tx, gone.feed_id, now)
            await counts_changed_tx(tx, [shelf_id], now)
            await _publish_tx(tx, shelf_id, gone, change="left", now=now)

        await with_tx_again(self._deps.db, delete)
        self._deps.after_commit(EVENTS_WAKEUP)

    async def forget_former(self) -> int:
        """A feed that was left a month ago cannot be had back any more; how many those were."""
        count, now = 0, self._deps.clock()
        while done := await with_tx_again(self._deps.db, lambda tx: self._forget_former_tx(tx, now)):
            count += done
        return count

    @staticmethod
    async def _forget_former_tx(tx: Tx, now: Millis) -> int:
        feeds = await tx.many(FeedId, q.forget_former, before=Millis(now - KEPT), most=_FORGOTTEN)
        for feed_id in sorted(set(feeds)):
            await leave_feed_tx(tx, feed_id, now)
        return len(feeds)

    # -- asking

    async def refresh(self, shelf_id: ShelfId, public_id: PublicId) -> RefreshOutcome:
        """Have it polled now, suspended or not; none is queued when that was asked for already, or may not be (R96).

        What a suspended one missed meanwhile, and what this look brings, comes onto the shelf.
        """

        async def open_up(tx: Tx) -> Subscription:
            found = await own_subscription_tx(tx, shelf_id, public_id)
            if found.suspended_at is not None:
                await allow_waking_tx(tx, shelf_id, found.id)
                now = self._deps.clock()
                await tx.run(q.let_in, id=found.id, until=Millis(now + _LET_IN))
                await deliver_known_items_tx(tx, shelf_id, found.feed_id, since=found.suspended_at, now=now)
            return found

        found = await with_tx_again(self._deps.db, open_up)
        asked = await self._deps.ask_refresh(found.watch_id)
        self._wake()
        return asked

    async def refresh_all(self, shelf_id: ShelfId) -> RefreshOutcome:
        """Have all polled now that are not suspended."""
        asked = await self._deps.ask_refresh_all(shelf_id)
        self._deps.after_commit(POLL_WAKEUP)
        return asked

    async def refreshing(self, shelf_id: ShelfId) -> Refreshing:
        """How far that has come: both are 0 when it is over."""
        return await self._deps.db.read(
            lambda tx: tx.one(Refreshing, q.refreshing, shelf_id=shelf_id, now=self._deps.clock())
        )

    # -- the parts

    async def _group_tx(self, tx: Tx, shelf_id: ShelfId, group: PublicId | None) -> GroupId:
        found = await (default_group_tx(tx, shelf_id) if group is None else own_group_tx(tx, shelf_id, group))
        return found.id

    async def _published_tx(self, tx: Tx, shelf_id: ShelfId, public_id: PublicId, change: FeedChange) -> Subscription:
        """The subscription as it is now; open pages get an event."""
        found, now = await own_subscription_tx(tx, shelf_id, public_id), self._deps.clock()
        await _publish_tx(tx, shelf_id, found, change=change, now=now)
        return found

    def _wake(self) -> None:
        self._deps.after_commit(EVENTS_WAKEUP, POLL_WAKEUP)


async def own_subscription_tx(tx: Tx, shelf_id: ShelfId, public_id: PublicId) -> Subscription:
    """The shelf's subscription with this id; NotFound for anything else (I8)."""
    found = await tx.maybe(Subscription, q.find_subscription, shelf_id=shelf_id, public_id=public_id)
    if found is None:
        raise NotFound("There is no such feed.")
    return found


async def _publish_tx(tx: Tx, shelf_id: ShelfId, feed: Subscription, *, change: FeedChange, now: Millis) -> None:
    news = SubscriptionChanged(id=show_id(feed.public_id), name=feed.shown_name, change=change)
    await add_events_tx(tx, [NewEvent(shelf_id, news)], now)


def _followed(link: str) -> Conflict:
    return Conflict(f"This shelf already follows {link}.")
