"""One poll of a feed."""

from collections.abc import Mapping, Sequence

import msgspec

from tsuzuki.connectors.feed.visiting import FeedOutcome, visit
from tsuzuki.db import Database, Tx
from tsuzuki.delivery.fanout import Delivered
from tsuzuki.ingest.housekeeping import TOUCHED
from tsuzuki.ingest.tasks import ItemBatch
from tsuzuki.model.errors import ShapeChanged
from tsuzuki.model.fetching import Validators
from tsuzuki.model.harvest import FeedHarvest, FoundItem, item_hash
from tsuzuki.model.secrets import Unreadable
from tsuzuki.model.times import Millis
from tsuzuki.net.headers import freshness, retry_after
from tsuzuki.net.options import SourceIdentity
from tsuzuki.polling.known import KnownItems
from tsuzuki.polling.moving.service import lock_moving_feed_tx, merge_moved_tx, move_alone_tx
from tsuzuki.polling.policy import PollAnswered, Watched, mask_of, next_look, numbers_of, wants_full_fetch
from tsuzuki.polling.poll import Poll
from tsuzuki.polling.recognising import Recognised, recognise, shared_keys
from tsuzuki.polling.rows import DueFeed, Ended, FeedListing, FeedMetadata, News, PollAnswer
from tsuzuki.polling.saver import AnswerBatcher, save_news_tx
from tsuzuki.polling.saving import (
    Conditions,
    Moved,
    is_believed,
    moved_again,
    save_answer_or_lose_tx,
    visited,
)
from tsuzuki.polling.store import rekey_items_tx, said_items_tx, touch_last_listed_tx, touch_tombstones_tx
from tsuzuki.polling.visit import Driver

NOT_MODIFIED = 304
MOST_TOGETHER = 50
"""Items; a poll that brings more keeps others waiting, and has a transaction of its own."""


class FeedPoll(Poll[int]):
    """A feed that is ours to call."""

    def __init__(
        self,
        db: Database,
        driver: Driver,
        watch: DueFeed,
        *,
        known: KnownItems,
        saver: AnswerBatcher,
        conditions: Conditions,
    ) -> None:
        super().__init__(db, driver, watch, conditions=conditions)
        self._known = known
        self._saver = saver
        self._target = target = watch.target
        self._is_unstable = False
        self._rekeyed: dict[str, str] = {}
        self._same: set[str] = set()
        self._untouched: set[str] = set()
        now = conditions.clock()
        self._is_moving = is_believed(moved_again(self._moved_before, target.moved_to, now), now)
        """Whether it takes one answer more to believe where it moved to."""
        is_time = wants_full_fetch(target.last_full_at, now, conditions.dice())
        self._is_full = is_time or target.has_letters or self._is_moving

    async def _poll(self) -> int:
        outcome = await self._visit()
        if await self._is_merged(outcome):
            return 0
        found = await self._new_or_changed(outcome)
        await self._save(outcome, found)
        return len(found)

    async def _visit(self) -> FeedOutcome:
        watch, target = self._watch, self._target
        if isinstance(target.proxy, Unreadable):
            raise ShapeChanged("The password of its proxy cannot be read with this server's secret key. Save it again.")
        known = Validators(watch.etag, watch.last_modified, watch.validators_url)
        validators = Validators() if self._is_full else known
        origin = SourceIdentity(source=f"feed:{target.feed_id}", watch=f"watch:{watch.id}", proxy=target.proxy or None)
        known_body = None if target.has_letters or self._is_moving else watch.body_hash
        visiting = visit(target.link, validators, known_body, tells_all_keys=target.has_unstable_keys)
        outcome = await visited(self._driver, visiting, origin)
        if outcome.harvest is not None and not outcome.harvest.items and target.has_content:
            # R28: it never deletes anything, and it is not believed either.
            raise ShapeChanged("The feed is empty, though it had entries before.", status=outcome.status)
        return outcome

    async def _new_or_changed(self, outcome: FeedOutcome) -> list[FoundItem]:
        if outcome.harvest is None:
            return []
        found = {item.key: item for item in outcome.harvest.items}
        stored = await self._known.of(FeedListing(self._target.feed_id, outcome.harvest.items))
        shared = shared_keys(found, stored)
        said = await self._db.read(lambda tx: said_items_tx(tx, self._target.feed_id, shared)) if shared else {}
        return self._compare(found, recognise(found, stored, said))

    def _compare(self, found: Mapping[str, FoundItem], recognised: Recognised) -> list[FoundItem]:
        self._is_unstable = recognised.is_unstable
        self._rekeyed = recognised.rekeyed
        changed, untouched = [], self._clock() - TOUCHED
        for key, item in found.items():
            row = recognised.known.get(key)
            stays = key if row is None else self._rekeyed.get(row.key, row.key)
            if row is not None and row.pruned_at is not None and row.pruned_at < untouched:
                self._untouched.add(stays)
            if row is not None and item_hash(item) == row.content_hash:
                self._same.add(stays)
            elif row is None or row.pruned_at is None:  # REL-39d: what was removed stays so, whatever it says now
                changed.append(msgspec.structs.replace(item, key=stays, other_keys=()))
        return changed

    async def _is_merged(self, outcome: FeedOutcome) -> bool:
        """REL-32: it moved to where another feed is, which has all of this one's from now on."""
        now = self._clock()
        moved = moved_again(self._moved_before, outcome.moved_to, now)
        if moved.to is None or not is_believed(moved, now):
            return False
        link, feed_id, proxy = moved.to, self._target.feed_id, self._target.proxy
        merged = await self._db.with_tx(lambda tx: merge_moved_tx(tx, self._watch, feed_id, link, proxy=proxy, now=now))
        if merged is not None:
            self._wake(*merged.wakeups)
        return merged is not None

    # -- what is left behind

    async def _save(self, outcome: FeedOutcome, found: Sequence[FoundItem]) -> None:
        now = self._clock()
        moved = moved_again(self._moved_before, outcome.moved_to, now)
        answer = self._answer(outcome, moved, now)
        news = None if outcome.harvest is None else self._news(outcome.harvest, found, now)
        # Only with the new address's document at hand: what it says is what the feed holds from then on.
        new_link = moved.to if outcome.harvest is not None and is_believed(moved, now) else None
        unseen = None if outcome.harvest is None else self._stood_still()
        is_plain = new_link is None and unseen is None
        is_plain &= not (self._rekeyed or self._untouched or self._watch.consecutive_failures)
        if is_plain and len(found) <= MOST_TOGETHER and await self._saver.save(Ended(self._watch, answer, now, news)):
            return

        async def save(tx: Tx) -> Delivered:
            if new_link is not None:
                await lock_moving_feed_tx(tx, self._target.feed_id)
            told = await save_answer_or_lose_tx(tx, self._watch, answer, now)
            if self._rekeyed:
                await rekey_items_tx(tx, self._target.feed_id, self._rekeyed)
            if unseen is not None:
                await touch_last_listed_tx(tx, self._target.feed_id, since=unseen[0], until=unseen[1])
            if self._untouched:
                await touch_tombstones_tx(tx, self._target.feed_id, self._untouched, now)
            if new_link is not None:
                await move_alone_tx(tx, self._target.feed_id, new_link, same=self._same, now=now)
            if news is not None:
                await save_news_tx(tx, [news], now=now)
            return told

        await self._write(save)

    def _stood_still(self) -> tuple[Millis, Millis] | None:
        """From when until when the last document stayed as it was; None where tombstones need not know."""
        read_at, same_at = self._target.harvested_at, self._target.last_success_at
        if read_at is None or same_at is None or same_at - read_at <= TOUCHED:
            return None
        return Millis(read_at - TOUCHED), same_at

    def _news(self, harvest: FeedHarvest, found: Sequence[FoundItem], now: Millis) -> News:
        portrait = FeedMetadata(
            id=self._target.feed_id,
            now=now,
            title=harvest.title,
            site_url=harvest.site_url,
            description=harvest.description,
            language=harvest.language,
            icon_url=harvest.icon_url,
            hub_url=harvest.hub_url,
            has_unstable_keys=harvest.unstable_keys or self._is_unstable or self._target.has_unstable_keys,
        )
        # Oldest first, so that ids grow with time, as the search by newest expects.
        return News(portrait, tuple(self._tasks(found[::-1], self._batch)))

    def _answer(self, outcome: FeedOutcome, moved: Moved, now: Millis) -> PollAnswer:
        cache_control, expires_at = self._freshness(outcome, now)
        wait = retry_after(outcome.retry_after, now, ceiling=self._pace.ceiling)
        fresh_for = None if expires_at is None else Millis(max(0, expires_at - now))
        watched = self._watched if outcome.harvest is None else wishing(self._watched, outcome.harvest)
        look = next_look(watched, PollAnswered(wait, fresh_for), self._pace, now, dice=self._dice())
        assert look.at is not None
        return PollAnswer(
            next_check_at=look.at,
            why=look.why,
            priority=look.priority,
            status=outcome.status,
            etag=outcome.validators.etag,
            last_modified=outcome.validators.last_modified,
            validators_url=outcome.validators.url,
            cache_control=cache_control,
            expires_at=expires_at,
            ttl=watched.ttl,
            skip_hours=mask_of(watched.skip_hours),
            skip_days=mask_of(watched.skip_days),
            retry_after_until=None if wait is None else Millis(now + wait),
            body_hash=outcome.body_hash,
            last_full_at=now if self._is_full else None,
            harvested_at=now if outcome.harvest is not None else None,
            as_of=self._target.seen_at,
            moved_to=moved.to,
            moved_count=moved.count,
            moved_since=moved.since,
        )

    def _freshness(self, outcome: FeedOutcome, now: Millis) -> tuple[str | None, Millis | None]:
        """R26, R94: a 304 keeps what it does not tell: what was good for an hour is so for another."""
        told = freshness(outcome.headers, now)
        if told is None and outcome.status == NOT_MODIFIED and "cache-control" not in outcome.headers:
            kept = self._target.cache_control
            again = freshness({"cache-control": kept}, now) if kept is not None else None
            return kept, self._target.expires_at if again is None else Millis(now + again)
        return outcome.headers.get("cache-control"), None if told is None else Millis(now + told)

    def _batch(self, items: tuple[FoundItem, ...]) -> ItemBatch:
        return ItemBatch(
            watch_id=self._watch.id,
            feed_id=self._target.feed_id,
            items=items,
            is_first_harvest=self._target.first_harvest_at is None,
            harvest=self._harvest,
        )

    @property
    def _gone_since(self) -> Millis | None:
        return self._target.gone_since

    @property
    def _watched(self) -> Watched:
        target = self._target
        return Watched(
            kind="feed",
            last_release_at=target.last_release_at,
            followers=target.followers,
            poll_floor=target.poll_floor,
            wished_interval=target.wished_interval,
            has_usual=target.has_usual,
            ttl=target.ttl,
            skip_hours=numbers_of(target.skip_hours),
            skip_days=numbers_of(target.skip_days),
        )

    @property
    def _moved_before(self) -> Moved:
        return Moved(self._target.moved_to, self._target.moved_count, self._target.moved_since)


def wishing(watched: Watched, harvest: FeedHarvest) -> Watched:
    """With what the publisher wishes now."""
    return msgspec.structs.replace(watched, ttl=harvest.ttl, skip_hours=harvest.skip_hours, skip_days=harvest.skip_days)
