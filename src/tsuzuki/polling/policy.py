"""When to poll a watch again, and why. Pure: the clock and the jitter are arguments.

A learned rhythm may replace `next_poll` one day; it gets the same values and owes the same answer.
"""

from collections.abc import Iterable
from typing import Annotated, Any, Literal

import msgspec

from tsuzuki.model.harvest import FeedHarvest
from tsuzuki.model.ids import FeedId, SeriesId, SeriesSourceId, ShelfId, SourceId, WatchId
from tsuzuki.model.priorities import CLASS_INTERVAL, COLD, HOT, WARM, Priority, why_class
from tsuzuki.model.secrets import PROXY, SOURCE, Sealed
from tsuzuki.model.times import DAY, HOUR, MINUTE, Millis

WARM_AFTER = Millis(7 * DAY)
COLD_AFTER = Millis(30 * DAY)
MANY_READERS = 100
BREAKER_AT = 5
BREAKER_REST = DAY
BACKOFF_BASE = 1.8
LARGEST_EXPONENT = 40
FULL_FETCH_EVERY = Millis(7 * DAY)
COMPARED_EVERY = Millis(7 * DAY)
"""So often all entries of a document are compared with what is stored, though they are known by their digests."""
BELIEVE_MOVE_AFTER = Millis(2 * DAY)
BELIEVE_MOVE_COUNT = 5
LONGEST_WISH = DAY
"""R94: no wish of a publisher counts for more, skipped days aside."""
HOURS_A_DAY, DAYS_A_WEEK = 24, 7
EPOCH_WEEKDAY = 3
"""1 January 1970 was a Thursday."""
SPREAD_AFTER_SKIPPED = Millis(5 * MINUTE)
LONGEST_SKIP = Millis((DAYS_A_WEEK - 1) * DAY + DAY)
"""Six days, and the hours before the next one begins."""
SPREAD = 0.05
"""A delay is lengthened by up to this share, so that what was polled together is not polled together for ever."""


SKIPPED = "the publisher asks for no request before"
COMPLETE = "the source says that this is complete"
"""R24: why a series is not polled again."""
AS_USUAL = "the pull interval"
"""Why a feed is looked at then, where nothing else says when."""


class PullPace(msgspec.Struct, frozen=True):
    """The operator's bounds: how often a feed is called, and the longest that anything is left alone."""

    interval: Millis
    ceiling: Millis


class WatchState(msgspec.Struct, frozen=True, kw_only=True):
    """What the policy knows of a watch."""

    kind: Literal["feed", "series"]
    last_release_at: Millis | None
    """When something new was last found; None before the first harvest."""
    followers: int = 1
    poll_floor: Millis | None = None
    """The fastest that any follower's plan allows; None is unlimited."""
    wished_interval: Millis | None = None
    """The shortest interval that a follower asked for."""
    has_usual: bool = False
    """Whether some follower asked for none, though another did."""
    ttl: Millis | None = None
    """R94: the pause between two calls that the publisher asks for."""
    skip_hours: tuple[int, ...] = ()
    """R94: in UTC; the publisher asks for no call in these."""
    skip_days: tuple[int, ...] = ()
    """R94: in UTC, Monday is 0; the publisher asks for no call on these."""
    fetch_once: bool = False
    """R24: not polled again after a complete harvest."""


def with_wishes(watched: WatchState, harvest: FeedHarvest) -> WatchState:
    """With what the publisher asks for now: ttl, and hours and days to skip."""
    return msgspec.structs.replace(watched, ttl=harvest.ttl, skip_hours=harvest.skip_hours, skip_days=harvest.skip_days)


class PollAnswered(msgspec.Struct, frozen=True):
    """The source answered, changed or not. What it said of waiting is None where it said nothing."""

    retry_after: Millis | None = None
    fresh_for: Millis | None = None


class PollFailed(msgspec.Struct, frozen=True):
    """The poll failed; `failures` counts this one too."""

    failures: int
    retry_after: Millis | None = None


class NextInterval(msgspec.Struct, frozen=True):
    """An interval, why it is that, and whether a reader chose it."""

    interval: Millis
    why: str
    is_own: bool = False


class NextPoll(msgspec.Struct, frozen=True):
    """When to poll again, with which priority, and why. `at` is None for never."""

    at: Millis | None
    priority: Priority
    why: str


def next_poll(
    watched: WatchState, outcome: PollAnswered | PollFailed, pace: PullPace, now: Millis, *, jitter: float = 0.0
) -> NextPoll:
    """When this watch is due again; `jitter` in [0, 1) spreads it."""
    resting = base_priority(watched, now)
    plans = plans_of(watched, resting, pace)
    if isinstance(outcome, PollFailed):
        plan = min(plans, key=lambda plan: plan.interval)
        bounds = PullPace(plan.interval, pace.ceiling)
        delay, why = failure_delay(watched.kind, outcome, bounds)
        look = NextPoll(Millis(now + add_jitter(delay, bounds, jitter)), demoted(resting), why)
        return look if plan.is_own else outside_skipped(look, watched, jitter=jitter)
    if watched.fetch_once:
        return NextPoll(None, resting, COMPLETE)
    looks = [_after_answer(plan, watched, outcome, pace=pace, now=now, jitter=jitter) for plan in plans]
    at, why = min(looks)
    return NextPoll(at, resting, why)


def _after_answer(
    plan: "NextInterval", watched: WatchState, answered: PollAnswered, *, pace: PullPace, now: Millis, jitter: float
) -> tuple[Millis, str]:
    """R94: a reader's own interval wins over what the publisher wishes, but never over Retry-After."""
    bounds = PullPace(plan.interval, pace.ceiling)
    wishes = PollAnswered(answered.retry_after) if plan.is_own else answered
    wait, why = success_delay(wishes, bounds, ttl=None if plan.is_own else watched.ttl)
    look = NextPoll(Millis(now + add_jitter(wait, bounds, jitter)), HOT, why or plan.why)
    if not plan.is_own:
        look = outside_skipped(look, watched, jitter=jitter)
    assert look.at is not None
    return look.at, look.why


def outside_skipped(look: NextPoll, watched: WatchState, *, jitter: float) -> NextPoll:
    """R94: then, or when what the publisher skips is over."""
    if look.at is None:
        return look
    at = end_of_skipped(look.at, watched.skip_hours, watched.skip_days, jitter=jitter)
    return look if at == look.at else NextPoll(at, look.priority, SKIPPED)


def end_of_skipped(moment: Millis, hours: Iterable[int], days: Iterable[int], *, jitter: float) -> Millis:
    """The first moment from then on that lies in no skipped hour or day; one who skips all of them skips none."""
    hours = skipped if len(skipped := frozenset(hours)) < HOURS_A_DAY else frozenset()
    days = skipped if len(skipped := frozenset(days)) < DAYS_A_WEEK else frozenset()
    at = moment
    for _ in range(HOURS_A_DAY * DAYS_A_WEEK):
        if (at // DAY + EPOCH_WEEKDAY) % DAYS_A_WEEK in days:
            at = Millis(at // DAY * DAY + DAY)
        elif at // HOUR % HOURS_A_DAY in hours:
            at = Millis(at // HOUR * HOUR + HOUR)
        else:
            break
    return moment if at == moment else Millis(at + int(jitter * SPREAD_AFTER_SKIPPED))


def mask_of(numbers: Iterable[int]) -> int:
    """A bit mask of hours or days."""
    return sum(1 << number for number in set(numbers))


def numbers_of(mask: int) -> tuple[int, ...]:
    """The hours or days whose bits are set."""
    return tuple(number for number in range(mask.bit_length()) if mask >> number & 1)


def add_jitter(delay: Millis, pace: PullPace, jitter: float) -> Millis:
    """Add jitter, within the ceiling: never sooner than was promised."""
    return Millis(max(delay, int(min(delay * (1 + SPREAD * jitter), pace.ceiling))))


def base_priority(watched: WatchState, now: Millis) -> Priority:
    """R24: hot after a release, warm after a quiet week, cold after a quiet month; many readers keep it hot."""
    if watched.followers > MANY_READERS or watched.last_release_at is None:
        return HOT
    quiet_for = now - watched.last_release_at
    if quiet_for < WARM_AFTER:
        return HOT
    return WARM if quiet_for < COLD_AFTER else COLD


def demoted(priority: Priority) -> Priority:
    """R24: one step less urgent while it fails; the back-off still counts from the interval of its own class."""
    return WARM if priority == HOT else COLD


def plans_of(watched: WatchState, priority: Priority, pace: PullPace) -> list[NextInterval]:
    """The ordinary time between two looks, as each of its readers wants it, and why it is that."""
    plans = []
    if watched.wished_interval is not None:
        plans.append(NextInterval(watched.wished_interval, "a reader asked for this interval", is_own=True))
    if watched.wished_interval is None or watched.has_usual:
        if watched.kind == "feed":
            plans.append(NextInterval(pace.interval, AS_USUAL))
        else:
            plans.append(NextInterval(CLASS_INTERVAL[priority], why_class(priority)))
    return [_allowed(plan, watched, pace) for plan in plans]


def _allowed(plan: NextInterval, watched: WatchState, pace: PullPace) -> NextInterval:
    if watched.poll_floor is not None and watched.poll_floor > plan.interval:
        plan = NextInterval(watched.poll_floor, "the fastest plan among its readers", is_own=plan.is_own)
    return NextInterval(Millis(min(plan.interval, pace.ceiling)), plan.why, is_own=plan.is_own)


def success_delay(answered: PollAnswered, pace: PullPace, *, ttl: Millis | None = None) -> tuple[Millis, str | None]:
    """The longest of interval, Retry-After and wishes, within the ceiling; why, unless it is the interval."""
    reasons = {
        "the source asked us to wait": answered.retry_after or 0,
        "its answer is fresh until then": min(answered.fresh_for or 0, LONGEST_WISH),
        "the publisher asks for this pause": min(ttl or 0, LONGEST_WISH),
    }
    why, longest = max(reasons.items(), key=lambda pair: pair[1])
    if longest <= pace.interval:
        return pace.interval, None
    return Millis(min(longest, pace.ceiling)), why


def why_failed(failures: int) -> str:
    """Why a source that failed so often is left alone for longer."""
    return f"failure {failures} in a row"


def failure_delay(kind: str, failed: PollFailed, pace: PullPace) -> tuple[Millis, str]:
    """R22, R23: how long to leave a failing source alone, always within [interval, ceiling]."""
    # 1.8 ** 1208 overflows a float, and any exponent over 40 is beyond every ceiling.
    backoff = pace.interval * BACKOFF_BASE ** min(failed.failures, LARGEST_EXPONENT)
    delay, why = backoff, why_failed(failed.failures)
    if kind == "series" and failed.failures >= BREAKER_AT:
        delay = max(delay, min(BREAKER_REST, pace.ceiling))
        why = f"paused after {failed.failures} failures; the next fetch is a test"
    if failed.retry_after is not None and failed.retry_after > delay:
        delay, why = failed.retry_after, "the source asked us to wait"
    return Millis(int(min(max(delay, pace.interval), pace.ceiling))), why


def is_broken(failures: int, *, is_suspended: bool) -> bool:
    """Whether its followers are notified: after too many failures in a row, or if it is gone for good."""
    return failures >= BREAKER_AT or is_suspended


def wants_full_fetch(last_full_at: Millis | None, now: Millis, jitter: float) -> bool:
    """R26: true when validators should be left out, because they may be frozen. `jitter` in [0, 1) spreads it a day."""
    return last_full_at is None or now - last_full_at >= FULL_FETCH_EVERY + jitter * DAY


def wants_comparison(compared_at: Millis | None, now: Millis) -> bool:
    """True when digests of known entries should be left out."""
    return compared_at is None or not 0 <= now - compared_at < COMPARED_EVERY


class MovedTo(msgspec.Struct, frozen=True):
    """How often and since when a permanent redirect has led to the same place (R29)."""

    to: str | None
    count: int
    since: Millis | None


def moved_again(before: MovedTo, target: str | None, now: Millis) -> MovedTo:
    """One more answer: the same target counts up, another begins anew, none forgets."""
    if target is None:
        return MovedTo(None, 0, None)
    if target == before.to and before.since is not None:
        return MovedTo(target, before.count + 1, before.since)
    return MovedTo(target, 1, now)


def is_believed(moved: MovedTo, now: Millis) -> bool:
    """R29: five same answers over at least two days."""
    return moved.since is not None and moved.count >= BELIEVE_MOVE_COUNT and now - moved.since >= BELIEVE_MOVE_AFTER


class ClaimedWatch(msgspec.Struct, frozen=True):
    """A watch that is ours to poll until its lease runs out."""

    id: WatchId
    lease_token: int
    feed_id: FeedId | None
    series_source_id: SeriesSourceId | None
    host: str
    priority: int
    etag: str | None
    last_modified: str | None
    validators_url: str | None
    """Whose the two are; the address that is asked when None."""
    body_hash: bytes | None
    consecutive_failures: int
    last_checked_at: Millis | None
    waits_since: Millis
    """R97: its place."""
    unended: int
    """Polls before this one that were begun and never ended, in a row."""

    @property
    def shelf_id(self) -> ShelfId | None:
        """Whose alone it is, where that is known."""
        return None


class FeedTarget(msgspec.Struct, frozen=True):
    """A feed to be called."""

    feed_id: FeedId
    seen_at: Millis
    """When this was read."""
    link: str
    proxy: Annotated[str, Sealed(PROXY)]
    last_full_at: Millis | None
    first_harvest_at: Millis | None
    last_release_at: Millis | None
    harvested_at: Millis | None
    """When its document was last read; later answers said that it is the same."""
    last_success_at: Millis | None
    cache_control: str | None
    expires_at: Millis | None
    ttl: Millis | None
    skip_hours: int
    skip_days: int
    """As bits."""
    poll_floor: Millis | None
    moved_to: str | None
    moved_count: int
    moved_since: Millis | None
    gone_since: Millis | None
    followers: int
    """One, or more than many: nothing else matters."""
    wished_interval: Millis | None
    has_usual: bool
    shelf_id: ShelfId | None
    """Whose alone it is: nobody else wants it."""
    has_content: bool
    has_unstable_keys: bool
    """Once it gave several items the same key (R93), or the same item another."""
    has_letters: bool
    """Something of the last poll was given up by ingest."""
    digests: bytes | None
    """Digests of the entries that its document had when it was last read."""
    compared_at: Millis | None
    """When all of a document was last compared with what is stored."""


class DueFeed(ClaimedWatch, frozen=True):
    """A claimed watch of a feed, with what was known of it at that moment."""

    target: FeedTarget

    @property
    def shelf_id(self) -> ShelfId | None:
        """Whose alone it is."""
        return self.target.shelf_id


class SeriesTarget(msgspec.Struct, frozen=True):
    """A series on a source to be called."""

    series_source_id: SeriesSourceId
    series_id: SeriesId
    url: str
    update_strategy: str
    source_id: SourceId
    source_name: str
    source_slug: str
    lang: str
    base_url: str
    connector: str | None
    config: Annotated[dict[str, Any], Sealed(SOURCE)]
    is_enabled: bool
    first_harvest_at: Millis | None
    last_release_at: Millis | None
    poll_floor: Millis | None
    gone_since: Millis | None
    followers: int
    has_content: bool
