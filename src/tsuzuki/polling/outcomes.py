"""Saves what a poll did, in one transaction: the outcome on its watch, by its lease, and tasks for what is new.

Answers that come in the same moment share a transaction: docs/decisions/0067-answers-are-saved-together.md.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, Protocol, TypeVar

import msgspec

from tsuzuki.coord.wakeup import AfterCommit
from tsuzuki.db import Database, Tx, load_queries
from tsuzuki.db.batcher import Batcher
from tsuzuki.db.tx import Work
from tsuzuki.delivery.fanout import NOTHING, Delivered
from tsuzuki.delivery.outages import alert_broken_tx, alert_healed_tx
from tsuzuki.ingest.chapters import ReleaseFound
from tsuzuki.ingest.items import ITEMS, ItemBatch
from tsuzuki.ingest.service import LARGEST_BATCH
from tsuzuki.model.errors import Gone, NotOurTurn, SourceError, Unended
from tsuzuki.model.ids import FeedId, WatchId
from tsuzuki.model.requests import Ask, Reply
from tsuzuki.model.times import DAY, HOUR, SECOND, Millis
from tsuzuki.polling.moved_feeds import lock_moving_feed_tx, move_feed_tx
from tsuzuki.polling.policy import (
    ClaimedWatch,
    NextPoll,
    PollFailed,
    PullPace,
    SeriesTarget,
    WatchState,
    is_broken,
    next_poll,
)
from tsuzuki.polling.store import put_off_tx
from tsuzuki.queue.errors import LeaseLost
from tsuzuki.queue.tasks import NewTask, enqueue_many_tx

q = load_queries("tsuzuki.polling")

CONFIRM_GONE_AFTER = DAY
NEARLY = HOUR
"""A confirmation may come a little early: the schedule is not exact."""
SHORTEST_WAIT = SECOND
MOST_UNENDED = 2
"""So many polls in a row may lose their lease; what they read may be what ends whoever reads it."""
MOST_BATCHED = 50
"""Items; a poll that brings more would keep others waiting, and has a transaction of its own."""

Found = TypeVar("Found")
Batch = TypeVar("Batch", bound=msgspec.Struct)


def _nobody(*_: str) -> None:
    return None


class PollContext(msgspec.Struct, frozen=True):
    """What a poll needs besides its watch."""

    pace: PullPace
    clock: Callable[[], Millis]
    jitter: Callable[[], float]
    """In [0, 1)."""
    after_commit: AfterCommit = _nobody


class PollAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """What a successful poll leaves on its watch."""

    next_check_at: Millis
    why: str
    priority: int
    status: int
    etag: str | None = None
    last_modified: str | None = None
    validators_url: str | None = None
    cache_control: str | None = None
    expires_at: Millis | None = None
    ttl: Millis | None = None
    skip_hours: int = 0
    skip_days: int = 0
    retry_after_until: Millis | None = None
    body_hash: bytes | None = None
    last_full_at: Millis | None = None
    """Now, when it was an unconditional request; None keeps the last one."""
    harvested_at: Millis | None = None
    """Now, when something was read; the first such moment is kept."""
    as_of: Millis | None = None
    """When what the poll went by was read; what ingest gives up later is for the next one. None is now."""
    moved_to: str | None = None
    moved_count: int = 0
    moved_since: Millis | None = None
    suspended_at: Millis | None = None
    suspended_reason: str | None = None


class PollFailure(msgspec.Struct, frozen=True, kw_only=True):
    """What a failed poll leaves on its watch."""

    next_check_at: Millis
    why: str
    priority: int
    status: int | None
    error: str
    error_code: str
    retry_after_until: Millis | None = None
    gone_since: Millis | None = None
    suspended_at: Millis | None = None
    suspended_reason: str | None = None


class FeedMetadata(msgspec.Struct, frozen=True, kw_only=True):
    """What a feed says of itself, and what was seen of it."""

    id: FeedId
    now: Millis
    title: str
    site_url: str | None
    description: str | None
    language: str | None
    icon_url: str | None
    hub_url: str | None
    has_unstable_keys: bool


class FeedDigests(msgspec.Struct, frozen=True):
    """Digests of the entries in a feed's document, and when a whole document was last compared with what is stored."""

    feed_id: FeedId
    digests: bytes
    compared_at: Millis


class FeedChanges(msgspec.Struct, frozen=True, kw_only=True):
    """What a document changes of what is stored of its feed already; most change nothing."""

    rekeyed: Mapping[str, str] = {}
    """R93: from the key that an item is stored under to the one that it has now."""
    relisted: Collection[str] = ()
    """REL-39d: keys of what retention removed long ago and the feed still lists."""
    unread_span: tuple[Millis, Millis] | None = None
    """From when until when the last document stayed as it was, and so was not read; None where that does not matter."""
    link: str | None = None
    """R29: where the feed is from now on."""
    same: Collection[str] = ()
    """Keys of what the document at that link shows unchanged."""

    def __bool__(self) -> bool:
        return bool(self.rekeyed or self.relisted or self.unread_span or self.link)


NO_CHANGES = FeedChanges()


class WatchLease(msgspec.Struct, frozen=True):
    """Which watch, and by which lease."""

    id: WatchId
    lease_token: int


class EndedPoll(msgspec.Struct, frozen=True):
    """A poll that went well: of which watch, what came of it, and when."""

    watch: ClaimedWatch
    answer: PollAnswer
    now: Millis
    metadata: FeedMetadata | None = None
    tasks: tuple[NewTask[ItemBatch], ...] = ()
    changes: FeedChanges = NO_CHANGES
    digests: FeedDigests | None = None
    """None where they stay as they were."""

    @property
    def lease(self) -> WatchLease:
        """The lease under which the outcome is saved."""
        return WatchLease(self.watch.id, self.watch.lease_token)

    @property
    def is_small(self) -> bool:
        """Whether it may share a transaction: it holds no other locks than its rows, and not for long."""
        items = sum(len(task.payload.items) for task in self.tasks)
        return items <= MOST_BATCHED and not self.changes and not self.watch.consecutive_failures


class PollRecord(Protocol):
    """A record of one poll for another area, written in the transaction of its outcome, before the rest."""

    def on_call(self, ask: Ask, outcome: Reply | SourceError, seconds: float, /) -> None:
        """A call that the poll made."""
        ...

    async def answered_tx(self, tx: Tx, found: Sequence[ReleaseFound], now: Millis) -> None:
        """The poll succeeded; `found` is what is new or changed."""
        ...

    async def failed_tx(self, tx: Tx, error: str, now: Millis) -> None:
        """The poll failed."""
        ...

    async def settle(self) -> None:
        """After the commit, or after nothing was committed."""
        ...


class Recorder(Protocol):
    """Begins records. Passed in, because polling knows nothing of crawl jobs."""

    def begin(self, target: SeriesTarget) -> PollRecord:
        """The record of a poll that begins now."""
        ...


class Outcomes:
    """Saves how polls ended. One per process."""

    def __init__(self, db: Database, context: PollContext) -> None:
        self._db = db
        self.context = context
        self._batcher = Batcher("saving answers", self._save_batch)

    async def save(self, poll: EndedPoll) -> None:
        """Save an answer, a small one together with others; LeaseLost when the watch is not ours."""
        if not poll.is_small or not await self.save_batched(poll):
            await self.write(lambda tx: save_alone_tx(tx, poll))

    async def save_batched(self, poll: EndedPoll) -> bool:
        """True when it is written, and safe. False when it is not, for whatever reason: to be written alone."""
        return await self._batcher.ask(poll) or False

    async def _save_batch(self, polls: Sequence[EndedPoll]) -> list[bool | None]:
        written, _ = await self._db.with_tx(lambda tx: save_polls_tx(tx, polls, waits=False))
        return [poll.lease in written for poll in polls]

    async def fail(
        self,
        watch: ClaimedWatch,
        error: SourceError,
        *,
        watched: WatchState,
        gone_since: Millis | None,
        record: PollRecord | None = None,
    ) -> None:
        """Write a failure down. R23: when it was not our turn nothing was asked and nothing failed: it is put off."""
        now = self.context.clock()
        if isinstance(error, NotOurTurn):
            until = Millis(now + max(min(error.retry_after or 0, self.context.pace.ceiling), SHORTEST_WAIT))
            why = "the rate limit of this host"
            await self._db.with_tx(lambda tx: put_off_tx(tx, watch, until=until, why=why, keeps_place=True))
            return
        failure = after_failure(watched, watch, error, gone_since=gone_since, context=self.context, now=now)

        async def save(tx: Tx) -> Delivered:
            if record is not None:
                await record.failed_tx(tx, failure.error, now)
            return await save_failure_or_lose_tx(tx, watch, failure, now)

        await self.write(save)

    async def write(self, save: Work[Delivered]) -> None:
        """One transaction, then wake whoever waits for what it delivered."""
        delivered = await self._db.with_tx(save)
        self.context.after_commit(*delivered.wakeups)


def refuse_unended(watch: ClaimedWatch) -> None:
    """Raise an Unended for a watch whose last polls ended the process, or never ended."""
    if watch.unended >= MOST_UNENDED:
        raise Unended("The last two polls did not finish, so polling is paused for a while.")


def poll_name(watch: ClaimedWatch) -> str:
    """Names this poll: all that it found came at once."""
    return f"{watch.id}-{watch.lease_token}"


def ingest_tasks(
    watch: ClaimedWatch, found: Sequence[Found], batch: Callable[[tuple[Found, ...]], Batch]
) -> tuple[NewTask[Batch], ...]:
    """Tasks for ingest, none of them too large for one transaction."""
    return tuple(
        NewTask(
            f"ingest-{poll_name(watch)}-{start}", batch(tuple(found[start : start + LARGEST_BATCH])), watch.priority
        )
        for start in range(0, len(found), LARGEST_BATCH)
    )


# -- answers


async def save_polls_tx(tx: Tx, polls: Sequence[EndedPoll], *, waits: bool) -> tuple[frozenset[WatchLease], Delivered]:
    """Write answers and what they bring; whose were written. What comes without its answer is not handed on (I4)."""
    for poll in polls:
        if poll.changes.link is not None and poll.metadata is not None:
            await lock_moving_feed_tx(tx, poll.metadata.id)
    written = await save_answers_tx(tx, polls, waits=waits)
    ours = [poll for poll in polls if poll.lease in written]
    delivered = NOTHING
    for poll in ours:
        if poll.watch.consecutive_failures:  # one that never failed cannot be broken, and most never do
            delivered += await alert_healed_tx(tx, poll.watch.id, now=poll.now)
        if poll.changes and poll.metadata is not None:
            await save_changes_tx(tx, poll.metadata.id, poll.changes, poll.now)
    described = [poll.metadata for poll in ours if poll.metadata is not None]
    if described:
        await describe_feeds_tx(tx, described)
        tasks = [task for poll in ours for task in poll.tasks]
        await enqueue_many_tx(tx, ITEMS, tasks, now=max(poll.now for poll in ours))
    digests = [poll.digests for poll in ours if poll.digests is not None]
    if digests:
        await save_digests_tx(tx, digests)
    return written, delivered


async def save_alone_tx(tx: Tx, poll: EndedPoll) -> Delivered:
    """`save_polls_tx` for one; LeaseLost when the watch is not ours."""
    written, delivered = await save_polls_tx(tx, [poll], waits=True)
    if not written:
        raise LeaseLost([poll.watch.id])
    return delivered


async def save_answers_tx(tx: Tx, polls: Iterable[EndedPoll], *, waits: bool) -> frozenset[WatchLease]:
    """Write the outcomes; whose were written. The others lost their lease, or somebody has them locked just now, unless
    one `waits` for that.
    """
    rows = [_row(poll) for poll in polls]
    return frozenset(await tx.bulk(WatchLease, q.save_answer if waits else q.save_answers, rows))


async def save_changes_tx(tx: Tx, feed_id: FeedId, changes: FeedChanges, now: Millis) -> None:
    """Store what a feed's document changed about the feed."""
    for old, key in changes.rekeyed.items():
        await tx.run(q.rekey_item, feed_id=feed_id, old=old, key=key)
        await tx.run(q.rekey_tombstone, feed_id=feed_id, old=old, key=key)
    if changes.unread_span is not None:
        since, until = changes.unread_span
        await tx.run(q.touch_last_listed, feed_id=feed_id, since=since, until=until)
    if changes.relisted:
        await tx.run(q.touch_tombstones, rows=[[key] for key in changes.relisted], feed_id=feed_id, now=now)
    if changes.link is not None:
        await move_feed_tx(tx, feed_id, changes.link, same=changes.same, now=now)


async def describe_feeds_tx(tx: Tx, described: Iterable[FeedMetadata]) -> int:
    """Store what feeds say of themselves."""
    return await tx.run(q.describe_feeds, rows=list(described))


async def save_digests_tx(tx: Tx, digests: Sequence[FeedDigests]) -> None:
    """Store by what the entries of documents are known again. What they stand for is handed on with them (I4)."""
    await tx.bulk(FeedId, q.save_digests, [(each.feed_id, each.digests, each.compared_at) for each in digests])


def _row(poll: EndedPoll) -> dict[str, Any]:
    values = msgspec.structs.asdict(poll.answer)
    return {"id": poll.watch.id, "lease_token": poll.watch.lease_token, "now": poll.now, **values}


# -- failures


def after_failure(
    watched: WatchState,
    watch: ClaimedWatch,
    error: SourceError,
    *,
    gone_since: Millis | None,
    context: PollContext,
    now: Millis,
) -> PollFailure:
    """What to write after a failed poll. REL-33: a 410 suspends once a second one a day later confirms it."""
    pace = context.pace
    wait = None if error.retry_after is None else Millis(min(error.retry_after, pace.ceiling))
    look = next_poll(watched, PollFailed(watch.consecutive_failures + 1, wait), pace, now, jitter=context.jitter())
    gone = isinstance(error, Gone)
    confirmed = gone and gone_since is not None and now - gone_since >= CONFIRM_GONE_AFTER - NEARLY
    if gone and not confirmed:
        look = NextPoll(
            Millis(now + min(CONFIRM_GONE_AFTER, pace.ceiling)), look.priority, "to confirm that it is gone"
        )
    assert look.at is not None
    return PollFailure(
        next_check_at=look.at,
        why=look.why,
        priority=look.priority,
        status=error.status,
        error=str(error),
        error_code=error.code,
        retry_after_until=None if wait is None else Millis(now + wait),
        gone_since=(gone_since or now) if gone else None,
        suspended_at=now if confirmed else None,
        suspended_reason="the source says that it is gone for good (410)" if confirmed else None,
    )


async def save_failure_or_lose_tx(tx: Tx, watch: ClaimedWatch, failure: PollFailure, now: Millis) -> Delivered:
    """Write the outcome, and notify followers if it counts as broken now; LeaseLost when it is not ours."""
    failures = await save_failure_tx(tx, watch, failure, now)
    if failures is None:
        raise LeaseLost([watch.id])
    if not is_broken(failures, is_suspended=failure.suspended_at is not None):
        return NOTHING
    return await alert_broken_tx(tx, watch.id, reason=failure.error, now=now)


async def save_failure_tx(tx: Tx, watch: ClaimedWatch, failure: PollFailure, now: Millis) -> int | None:
    """Write the outcome; how many failures in a row that makes, or None when the lease was lost."""
    values = msgspec.structs.asdict(failure)
    return await tx.maybe(int, q.save_failure, id=watch.id, lease_token=watch.lease_token, now=now, **values)
