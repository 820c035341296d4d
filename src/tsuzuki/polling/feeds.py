"""One poll of a feed: fetch, compare with what is stored, save."""

from collections.abc import Sequence

from tsuzuki.connectors.feed.fetch import FeedOutcome, visit
from tsuzuki.db import Database
from tsuzuki.ingest.housekeeping import TOUCHED
from tsuzuki.ingest.items import ItemBatch
from tsuzuki.model.errors import ShapeChanged, SourceError
from tsuzuki.model.harvest import FeedHarvest, FoundItem
from tsuzuki.model.requests import SourceIdentity, Validators
from tsuzuki.model.secrets import Unreadable
from tsuzuki.model.structs import copied
from tsuzuki.model.times import Millis
from tsuzuki.net.headers import freshness, retry_after
from tsuzuki.polling.driver import Driver, run_visit
from tsuzuki.polling.known_items import FeedListing, ItemComparison, KnownItems
from tsuzuki.polling.moved_feeds import merge_moved_tx
from tsuzuki.polling.outcomes import (
    NO_CHANGES,
    EndedPoll,
    FeedChanges,
    FeedDigests,
    FeedMetadata,
    Outcomes,
    PollAnswer,
    ingest_tasks,
    poll_name,
    refuse_unended,
)
from tsuzuki.polling.policy import (
    COMPARED_EVERY,
    DueFeed,
    MovedTo,
    PollAnswered,
    WatchState,
    is_believed,
    mask_of,
    moved_again,
    next_poll,
    numbers_of,
    wants_comparison,
    wants_full_fetch,
    with_wishes,
)

NOT_MODIFIED = 304


class FeedPoll:
    """A feed that is ours to call, once."""

    def __init__(
        self,
        db: Database,
        driver: Driver,
        watch: DueFeed,
        *,
        known: KnownItems,
        outcomes: Outcomes,
    ) -> None:
        self._db = db
        self._driver = driver
        self._watch = watch
        self._target = target = watch.target
        self._known = known
        self._outcomes = outcomes
        self._context = context = outcomes.context
        self._clock = context.clock
        now = context.clock()
        self._is_moving = is_believed(moved_again(self._moved_before, target.moved_to, now), now)
        """Whether it takes one answer more to believe where it moved to."""
        is_time = wants_full_fetch(target.last_full_at, now, context.jitter())
        self._is_full = is_time or target.has_letters or self._is_moving
        is_compared = self._is_full or target.has_unstable_keys or wants_comparison(target.compared_at, now)
        self._known_digests = b"" if is_compared else target.digests or b""

    async def run(self) -> int:
        """How many items were handed to ingest. A SourceError has been written down when it comes out."""
        try:
            refuse_unended(self._watch)
            fetched = await self._fetch()
            if await self._is_merged(fetched):
                return 0
            comparison = await self._compare(fetched)
            await self._save(fetched, comparison)
        except SourceError as error:
            await self._outcomes.fail(self._watch, error, watched=self._watched, gone_since=self._target.gone_since)
            raise
        return len(comparison.changed)

    async def _fetch(self) -> FeedOutcome:
        watch, target = self._watch, self._target
        if isinstance(target.proxy, Unreadable):
            raise ShapeChanged("The password of its proxy cannot be read with this server's secret key. Save it again.")
        known = Validators(watch.etag, watch.last_modified, watch.validators_url)
        validators = Validators() if self._is_full else known
        origin = SourceIdentity(source=f"feed:{target.feed_id}", watch=f"watch:{watch.id}", proxy=target.proxy or None)
        known_body = None if target.has_letters or self._is_moving else watch.body_hash
        visiting = visit(
            target.link, validators, known_body, with_all_keys=target.has_unstable_keys, known=self._known_digests
        )
        fetched = await run_visit(self._driver, visiting, origin)
        harvest = fetched.harvest
        if harvest is not None and not harvest.items and not harvest.digests and target.has_content:
            # R28: it never deletes anything, and it is not believed either.
            raise ShapeChanged("The feed is empty, though it had entries before.", status=fetched.status)
        return fetched

    async def _is_merged(self, fetched: FeedOutcome) -> bool:
        """REL-32: it moved to where another feed is, which has all of this one's from now on."""
        now = self._clock()
        moved = moved_again(self._moved_before, fetched.moved_to, now)
        if moved.to is None or not is_believed(moved, now):
            return False
        link, feed_id, proxy = moved.to, self._target.feed_id, self._target.proxy
        merged = await self._db.with_tx(lambda tx: merge_moved_tx(tx, self._watch, feed_id, link, proxy=proxy, now=now))
        if merged is not None:
            self._context.after_commit(*merged.wakeups)
        return merged is not None

    async def _compare(self, fetched: FeedOutcome) -> ItemComparison:
        """What of it is new or changed; nothing where the feed says, or its entries show, that it is as it was."""
        harvest = fetched.harvest
        if harvest is None or not harvest.items:
            return ItemComparison()
        listing = FeedListing(self._target.feed_id, harvest.items, harvest.left_out)
        return await self._known.compare(listing, self._clock())

    async def _save(self, fetched: FeedOutcome, comparison: ItemComparison) -> None:
        now = self._clock()
        moved = moved_again(self._moved_before, fetched.moved_to, now)
        answer = self._answer(fetched, moved, now)
        if fetched.harvest is None:
            await self._outcomes.save(EndedPoll(self._watch, answer, now))
            return
        metadata = self._metadata(fetched.harvest, comparison, now)
        # Oldest first, so that ids grow with time, as the search by newest expects.
        tasks = ingest_tasks(self._watch, comparison.changed[::-1], self._batch)
        changes = self._changes(comparison, moved, now)
        digests = self._digests(fetched.harvest, now)
        await self._outcomes.save(EndedPoll(self._watch, answer, now, metadata, tasks, changes, digests))

    # -- what is saved

    def _changes(self, comparison: ItemComparison, moved: MovedTo, now: Millis) -> FeedChanges:
        changes = FeedChanges(
            rekeyed=comparison.rekeyed,
            relisted=comparison.relisted,
            unread_span=self._unread_span(),
            # Only with the new address's document at hand: what it says is what the feed holds from then on.
            link=moved.to if is_believed(moved, now) else None,
            same=comparison.same,
        )
        return changes or NO_CHANGES

    def _digests(self, harvest: FeedHarvest, now: Millis) -> FeedDigests | None:
        """What its entries are known by from now on; None for what is stored already."""
        target, known = self._target, self._known_digests
        is_stored = harvest.digests == known if known else not harvest.digests and not target.digests
        if is_stored:
            return None
        compared_at = target.compared_at if known and target.compared_at is not None else now
        return FeedDigests(target.feed_id, harvest.digests, compared_at)

    def _unread_span(self) -> tuple[Millis, Millis] | None:
        """From when until when the last document stayed as it was; None where tombstones need not know."""
        read_at, same_at = self._target.harvested_at, self._target.last_success_at
        if read_at is None or same_at is None or same_at - read_at <= TOUCHED:
            return None
        return Millis(read_at - TOUCHED - COMPARED_EVERY), same_at

    def _metadata(self, harvest: FeedHarvest, comparison: ItemComparison, now: Millis) -> FeedMetadata:
        return copied(
            FeedMetadata,
            harvest,
            id=self._target.feed_id,
            now=now,
            has_unstable_keys=harvest.unstable_keys or comparison.is_unstable or self._target.has_unstable_keys,
        )

    def _batch(self, items: Sequence[FoundItem]) -> ItemBatch:
        return ItemBatch(
            watch_id=self._watch.id,
            feed_id=self._target.feed_id,
            items=tuple(items),
            is_first_harvest=self._target.first_harvest_at is None,
            harvest=poll_name(self._watch),
        )

    def _answer(self, fetched: FeedOutcome, moved: MovedTo, now: Millis) -> PollAnswer:
        pace = self._context.pace
        cache_control, expires_at = self._freshness(fetched, now)
        wait = retry_after(fetched.retry_after, now, ceiling=pace.ceiling)
        fresh_for = None if expires_at is None else Millis(max(0, expires_at - now))
        watched = self._watched if fetched.harvest is None else with_wishes(self._watched, fetched.harvest)
        look = next_poll(watched, PollAnswered(wait, fresh_for), pace, now, jitter=self._context.jitter())
        assert look.at is not None
        return PollAnswer(
            next_check_at=look.at,
            why=look.why,
            priority=look.priority,
            status=fetched.status,
            etag=fetched.validators.etag,
            last_modified=fetched.validators.last_modified,
            validators_url=fetched.validators.url,
            cache_control=cache_control,
            expires_at=expires_at,
            ttl=watched.ttl,
            skip_hours=mask_of(watched.skip_hours),
            skip_days=mask_of(watched.skip_days),
            retry_after_until=None if wait is None else Millis(now + wait),
            body_hash=fetched.body_hash,
            last_full_at=now if self._is_full else None,
            harvested_at=now if fetched.harvest is not None else None,
            as_of=self._target.seen_at,
            moved_to=moved.to,
            moved_count=moved.count,
            moved_since=moved.since,
        )

    def _freshness(self, fetched: FeedOutcome, now: Millis) -> tuple[str | None, Millis | None]:
        """R26, R94: a 304 keeps what it does not repeat: what was fresh for an hour is so for another."""
        fresh_for = freshness(fetched.headers, now)
        if fresh_for is None and fetched.status == NOT_MODIFIED and "cache-control" not in fetched.headers:
            kept = self._target.cache_control
            again = freshness({"cache-control": kept}, now) if kept is not None else None
            return kept, self._target.expires_at if again is None else Millis(now + again)
        return fetched.headers.get("cache-control"), None if fresh_for is None else Millis(now + fresh_for)

    @property
    def _watched(self) -> WatchState:
        target = self._target
        return copied(
            WatchState,
            target,
            kind="feed",
            skip_hours=numbers_of(target.skip_hours),
            skip_days=numbers_of(target.skip_days),
        )

    @property
    def _moved_before(self) -> MovedTo:
        return MovedTo(self._target.moved_to, self._target.moved_count, self._target.moved_since)
