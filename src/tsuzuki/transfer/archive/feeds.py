"""Imports the feeds and items of an archive."""

from functools import partial
from typing import Any, Literal

import msgspec

from tsuzuki.db import Tx, load_queries
from tsuzuki.db.deadlines import with_tx_again
from tsuzuki.db.locks import lock_items_tx, lock_reading_tx, lock_shelf_tx
from tsuzuki.ingest.detached import ImportedItem, import_items_tx
from tsuzuki.model.errors import LimitExceeded, TsuzukiError
from tsuzuki.model.harvest import FoundItem, item_hash
from tsuzuki.model.ids import FeedId
from tsuzuki.model.priorities import WARM
from tsuzuki.model.structs import copied
from tsuzuki.model.times import Millis
from tsuzuki.net.urls import parse
from tsuzuki.shelves.limits import check_shelf_limit_tx
from tsuzuki.shelves.subscriptions import (
    KEPT,
    Subscriptions,
    find_subscription_to_tx,
    restore_tx,
    take_former_subscription_tx,
)
from tsuzuki.shelves.types import NewSubscription
from tsuzuki.sources.feeds import find_feed_tx, follow_feed_tx, suspension_changed_tx
from tsuzuki.sources.watches import ImportedFetchState, NewWatch, add_watch_tx, import_fetch_state_tx
from tsuzuki.transfer.archive.container import NumberedLine
from tsuzuki.transfer.archive.format import FeedLine, ItemLine, RemovedItemLine
from tsuzuki.transfer.archive.import_run import ImportRun, KnownNames, Run
from tsuzuki.transfer.archive.journal import LineCounts
from tsuzuki.transfer.archive.store import add_feed_tx, add_subscription_tx, as_row

q = load_queries("tsuzuki.transfer.archive")

_How = Literal["existing", "joined", "made"]

_MISSED = 50
"""R8: as many as a new subscription gets of what is known."""
_UNFOLLOWED = "belong to a feed that was not imported."


class FeedImport:
    """Follows feeds that are not followed yet, and puts their items into the inbox. Nothing of this is news (R8)."""

    def __init__(
        self, import_run: ImportRun, known: KnownNames, subscriptions: Subscriptions, *, may_keep: bool
    ) -> None:
        """`may_keep` is for those who may say how long the shelf keeps what was read."""
        self._may_keep = may_keep
        self._import_run = import_run
        self._known = known
        self._subscriptions = subscriptions
        self._deps = import_run.deps
        self._shelf_id = import_run.shelf_id
        self._joined: list[FeedId] = []
        self._harvested: list[FeedId] = []

    async def import_feeds(self) -> None:
        """The feeds; each address is checked as if somebody had typed it."""
        async for chunk in self._import_run.chunks("feeds.jsonl"):
            asked = [NewSubscription(link=each.line.link, proxy=each.line.proxy) for each in chunk]
            for each, vetted in zip(chunk, await self._subscriptions.vet_all(asked), strict=True):
                if isinstance(vetted, TsuzukiError):
                    self._import_run.journal.leave_out(each, f"{each.line.link}: {vetted}")
                else:
                    await self._import_feed(each, vetted.link)

    async def _import_feed(self, numbered: NumberedLine, link: str) -> None:
        feed: FeedLine = numbered.line
        wanted = msgspec.structs.replace(feed, link=link, retention=feed.retention if self._may_keep else None)
        if feed.lacks_password:
            asleep = feed.suspended_at or self._deps.clock()
            wanted = msgspec.structs.replace(wanted, suspended_at=asleep)
        try:
            feed_id, how = await with_tx_again(self._deps.db, partial(self._follow_tx, feed=wanted))
        except LimitExceeded as error:
            self._import_run.journal.leave_out(numbered, f"{link}: {error}")
            return
        self._known.feeds[feed.feed_key] = feed_id
        if feed.is_harvested:
            self._harvested.append(feed_id)
        if how == "joined":
            self._joined.append(feed_id)
        if how != "existing" and feed.lacks_password:
            self._import_run.journal.note(numbered, f"{link} is suspended: its proxy's password is not in the archive.")
        self._import_run.journal.one("feeds.jsonl", "existing" if how == "existing" else "created")

    async def _follow_tx(self, tx: Tx, *, feed: FeedLine) -> tuple[FeedId, _How]:
        """The feed, and whether the shelf follows it only now: one that others know, or one that is new here."""
        now = self._deps.clock()
        known = await self._followed_tx(tx, feed)
        if known is None:
            await lock_shelf_tx(tx, self._shelf_id)  # another import may follow the same at once
            known = await self._followed_tx(tx, feed)
        if known is not None:
            return known, "existing"
        await check_shelf_limit_tx(tx, self._shelf_id, "follows")
        how: _How = "made"
        feed_id = await add_feed_tx(tx, feed, now)
        if feed_id is None:
            feed_id, how = await follow_feed_tx(tx, feed.link, proxy=feed.proxy, now=now), "joined"
        else:
            host = parse(feed.link).host
            watch = NewWatch(feed_id=feed_id, host=host, priority=WARM, next_check_at=self._import_run.due())
            await add_watch_tx(tx, watch, now)
        former = await take_former_subscription_tx(tx, self._shelf_id, since=Millis(now - KEPT), feed_id=feed_id)
        group_id = self._known.group(feed.group)
        public_id = self._deps.new_id()
        subscription_id = await add_subscription_tx(
            tx, self._shelf_id, feed_id, feed, group_id=group_id, public_id=public_id, now=now
        )
        await self._import_run.undo_log.note_made_tx(tx, "subscription", subscription_id)
        if how == "made":
            planned = None if feed.next_check_at is None else Millis(feed.next_check_at)
            state = ImportedFetchState(feed.etag, feed.last_modified, planned)
            await import_fetch_state_tx(tx, self._shelf_id, feed_id, brought=state, now=now)
        await suspension_changed_tx(tx, feed_id, by_person=False, now=now)
        if former is not None:
            await restore_tx(tx, self._shelf_id, former, now)
        return feed_id, how

    async def _followed_tx(self, tx: Tx, feed: FeedLine) -> FeedId | None:
        if await find_subscription_to_tx(tx, self._shelf_id, feed.link, feed.proxy) is None:
            return None
        return await find_feed_tx(tx, feed.link, feed.proxy)

    async def import_items(self) -> None:
        """The items with their entries, and what is known not to be news."""
        await self._import_run.store("items.jsonl", self._items_tx, lambda item: item.feed)
        await self._import_run.store("gone.jsonl", self._gone_tx, lambda gone: gone.feed)

    async def _items_tx(self, tx: Tx, run: Run) -> LineCounts:
        items: list[ItemLine] = [each.line for each in run]
        feed_id = self._known.feeds.get(items[0].feed)
        if feed_id is None:
            return LineCounts(left_out=len(run), why=_UNFOLLOWED)
        await lock_reading_tx(tx, self._shelf_id)
        await lock_items_tx(tx, feed_id)
        brought = [
            ImportedItem(item.key, _item_row(item), as_row(item.entry), each.words)
            for each, item in zip(run, items, strict=True)
        ]
        keys = [item.key for item in items]
        async with self._import_run.undo_log.item_entries_tx(tx, self._shelf_id, feed_id, keys=keys):
            counts = await import_items_tx(tx, self._shelf_id, feed_id, brought, now=self._deps.clock())
        texts = [
            as_row(item.full_text, item_id=counts.new[item.key])
            for item in items
            if item.full_text is not None and item.key in counts.new
        ]
        if texts:
            await tx.run(q.add_full_texts, rows=texts)
        lost = len(items) - counts.created - counts.existing
        return LineCounts(counts.created, counts.existing, lost, _UNFOLLOWED)

    async def _gone_tx(self, tx: Tx, run: Run) -> LineCounts:
        lines: list[RemovedItemLine] = [each.line for each in run]
        feed_id = self._known.feeds.get(lines[0].feed)
        if feed_id is None:
            return LineCounts(left_out=len(run))
        keys = [line.key for line in lines]
        added = await tx.run(
            q.add_gone, shelf_id=self._shelf_id, feed_id=feed_id, rows=[[key] for key in keys], now=self._deps.clock()
        )
        return LineCounts(created=added, existing=len(lines) - added)

    async def settle(self) -> None:
        """At the end: what these feeds bring from now on is news, and what came since the export is here."""
        since = self._import_run.archive.exported_at

        async def settle(tx: Tx) -> None:
            now = self._deps.clock()
            await lock_items_tx(tx, *self._joined)  # what is on its way is stored, and delivered, before or after this
            for feed_id in self._harvested:
                await tx.run(q.feed_is_harvested, shelf_id=self._shelf_id, feed_id=feed_id, now=now)
            for feed_id in self._joined:
                await tx.run(q.add_missed, shelf_id=self._shelf_id, feed_id=feed_id, since=since, most=_MISSED, now=now)

        await self._deps.db.with_tx(settle)


def _item_row(item: ItemLine) -> dict[str, Any]:
    """The columns of the item, with the hash of its content."""
    found = copied(FoundItem, item)
    row = as_row(item, content_hash=item_hash(found).hex())
    return {name: value for name, value in row.items() if name not in {"feed", "entry", "full_text"}}
