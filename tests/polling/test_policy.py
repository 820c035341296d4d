"""When a watch is looked at again, and why."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import NOON
from tsuzuki.model.priorities import COLD, HOT, WARM
from tsuzuki.model.times import DAY, HOUR, MINUTE, SECOND, Millis
from tsuzuki.polling.policy import (
    SPREAD,
    PollAnswered,
    PollFailed,
    PullPace,
    WatchState,
    mask_of,
    next_poll,
    numbers_of,
    wants_full_fetch,
)

PACE = PullPace(Millis(30 * MINUTE), Millis(48 * HOUR))
FEED = WatchState(kind="feed", last_release_at=NOON)
SERIES = WatchState(kind="series", last_release_at=NOON)


def ago(span):
    return Millis(NOON - span)


def wait(watched, outcome, pace=PACE):
    look = next_poll(watched, outcome, pace, NOON)
    assert look.at is not None
    return look.at - NOON


@pytest.mark.parametrize(
    ("answered", "delay", "why"),
    [
        (PollAnswered(), 30 * MINUTE, "the pull interval"),
        (PollAnswered(retry_after=Millis(10 * MINUTE)), 30 * MINUTE, "the pull interval"),
        (PollAnswered(retry_after=Millis(2 * HOUR)), 2 * HOUR, "the source asked us to wait"),
        (PollAnswered(fresh_for=Millis(3 * HOUR)), 3 * HOUR, "its answer is fresh until then"),
        (
            PollAnswered(retry_after=Millis(5 * HOUR), fresh_for=Millis(3 * HOUR)),
            5 * HOUR,
            "the source asked us to wait",
        ),
        (PollAnswered(fresh_for=Millis(365 * DAY)), DAY, "its answer is fresh until then"),
    ],
)
def test_the_longest_of_interval_retry_after_and_freshness_counts(answered, delay, why):
    look = next_poll(FEED, answered, PACE, NOON)
    assert (look.at, look.why) == (NOON + delay, why)


WEEKDAY = (NOON // DAY + 3) % 7


def wishing(**wishes):
    return WatchState(kind="feed", last_release_at=NOON, **wishes)


@pytest.mark.parametrize(
    ("watched", "answered", "delay", "why"),
    [
        (wishing(ttl=Millis(2 * HOUR)), PollAnswered(), 2 * HOUR, "the publisher asks for this pause"),
        (wishing(ttl=Millis(10 * MINUTE)), PollAnswered(), 30 * MINUTE, "the pull interval"),
        (wishing(ttl=Millis(30 * DAY)), PollAnswered(), DAY, "the publisher asks for this pause"),
        (wishing(skip_hours=(12,)), PollAnswered(), HOUR, "the publisher asks for no request before"),
        (wishing(skip_hours=(12, 13, 14)), PollAnswered(), 3 * HOUR, "the publisher asks for no request before"),
        (wishing(skip_hours=tuple(range(24))), PollAnswered(), 30 * MINUTE, "the pull interval"),
        (wishing(skip_days=(WEEKDAY,)), PollAnswered(), 12 * HOUR, "the publisher asks for no request before"),
        (
            wishing(skip_days=(WEEKDAY, (WEEKDAY + 1) % 7)),
            PollAnswered(),
            36 * HOUR,
            "the publisher asks for no request before",
        ),
        (wishing(skip_days=tuple(range(7))), PollAnswered(), 30 * MINUTE, "the pull interval"),
        (
            wishing(skip_days=(WEEKDAY,), skip_hours=(0, 1)),
            PollAnswered(),
            14 * HOUR,
            "the publisher asks for no request before",
        ),
        (
            wishing(ttl=Millis(2 * HOUR), skip_hours=(12,), wished_interval=Millis(5 * MINUTE)),
            PollAnswered(fresh_for=Millis(HOUR)),
            5 * MINUTE,
            "a reader asked for this interval",
        ),
        (
            wishing(ttl=Millis(2 * HOUR), wished_interval=Millis(5 * MINUTE)),
            PollAnswered(retry_after=Millis(3 * HOUR)),
            3 * HOUR,
            "the source asked us to wait",
        ),
        (
            wishing(wished_interval=Millis(7 * DAY), has_usual=True, ttl=Millis(HOUR)),
            PollAnswered(),
            HOUR,
            "the publisher asks for this pause",
        ),
        (
            wishing(wished_interval=Millis(HOUR), has_usual=True, ttl=Millis(5 * HOUR)),
            PollAnswered(),
            HOUR,
            "a reader asked for this interval",
        ),
    ],
)
def test_r94_a_publishers_wishes_count_and_a_readers_interval_wins(watched, answered, delay, why):
    look = next_poll(watched, answered, PACE, NOON)
    assert (look.at, look.why) == (NOON + delay, why)


@given(
    hours=st.sets(st.integers(0, 23), max_size=23),
    days=st.sets(st.integers(0, 6), max_size=6),
    ttl=st.none() | st.integers(0, 10 * DAY),
    now=st.integers(NOON, NOON + 14 * DAY),
    jitter=st.floats(0, 0.999),
)
def test_r94_no_call_ever_comes_in_a_skipped_hour_or_day(hours, days, ttl, now, jitter):
    watched = wishing(skip_hours=tuple(hours), skip_days=tuple(days), ttl=ttl)
    for outcome in (PollAnswered(), PollFailed(3)):
        at = next_poll(watched, outcome, PACE, Millis(now), jitter=jitter).at
        assert at is not None
        assert at // HOUR % 24 not in hours
        assert (at // DAY + 3) % 7 not in days
        assert at - now <= 48 * HOUR + 7 * DAY


def test_hours_and_days_are_kept_as_bits():
    assert numbers_of(mask_of((0, 5, 23, 5))) == (0, 5, 23)
    assert numbers_of(0) == ()


@pytest.mark.parametrize(
    ("failures", "minutes"), [(1, 54), (2, 97.2), (3, 174.96), (4, 314.928), (8, 48 * 60), (100_000, 48 * 60)]
)
def test_failures_back_off_by_powers_of_1_8(failures, minutes):
    assert wait(FEED, PollFailed(failures)) == int(minutes * MINUTE)


def test_r21_retry_after_overrides_the_capped_back_off():
    assert wait(FEED, PollFailed(1, retry_after=Millis(6 * HOUR))) == 6 * HOUR
    assert wait(FEED, PollFailed(1, retry_after=Millis(10**15))) == 48 * HOUR
    assert next_poll(FEED, PollFailed(1, Millis(6 * HOUR)), PACE, NOON).why == "the source asked us to wait"


@given(
    kind=st.sampled_from(["feed", "series"]),
    failures=st.integers(1, 100_000),
    retry_after=st.none() | st.integers(-5, 10**18).map(Millis),
    interval=st.integers(1000, 10 * DAY).map(Millis),
    ceiling=st.integers(1000, 100 * DAY).map(Millis),
)
def test_rel_22_no_count_of_failures_leaves_the_bounds(kind, failures, retry_after, interval, ceiling):
    watched = WatchState(kind=kind, last_release_at=NOON, wished_interval=interval)
    delay = wait(watched, PollFailed(failures, retry_after), PullPace(interval, ceiling))
    assert min(interval, ceiling) <= delay <= ceiling


@pytest.mark.parametrize(
    ("quiet_for", "followers", "failures", "priority"),
    [
        (0, 1, 0, HOT),
        (7 * DAY - 1, 1, 0, HOT),
        (7 * DAY, 1, 0, WARM),
        (30 * DAY - 1, 1, 0, WARM),
        (30 * DAY, 1, 0, COLD),
        (300 * DAY, 100, 0, COLD),
        (300 * DAY, 101, 0, HOT),
        (0, 1, 1, WARM),
        (8 * DAY, 1, 1, COLD),
        (300 * DAY, 1, 9, COLD),
        (300 * DAY, 101, 9, WARM),
    ],
)
def test_r24_a_release_makes_hot_and_silence_or_failures_demote(quiet_for, followers, failures, priority):
    watched = WatchState(kind="series", last_release_at=ago(quiet_for), followers=followers)
    outcome = PollFailed(failures) if failures else PollAnswered()
    assert next_poll(watched, outcome, PACE, NOON).priority == priority


@pytest.mark.parametrize(
    ("quiet_for", "delay", "why"),
    [
        (0, 15 * MINUTE, "the series is hot"),
        (8 * DAY, 4 * HOUR, "the series is warm"),
        (31 * DAY, 24 * HOUR, "the series is cold"),
    ],
)
def test_r24_a_series_is_looked_at_by_its_class(quiet_for, delay, why):
    look = next_poll(WatchState(kind="series", last_release_at=ago(quiet_for)), PollAnswered(), PACE, NOON)
    assert (look.at, look.why) == (NOON + delay, why)


def test_r23_rel_20_after_five_failures_a_series_rests_a_day():
    assert wait(SERIES, PollFailed(4)) < DAY
    for failures in (5, 6):
        assert wait(SERIES, PollFailed(failures)) >= DAY
    assert "is a test" in next_poll(SERIES, PollFailed(5), PACE, NOON).why
    assert wait(SERIES, PollAnswered()) == 15 * MINUTE
    assert "is a test" not in next_poll(FEED, PollFailed(50), PACE, NOON).why


def test_r23_the_rest_obeys_a_lower_ceiling():
    assert wait(SERIES, PollFailed(5), PullPace(Millis(MINUTE), Millis(2 * HOUR))) == 2 * HOUR


def test_r24_a_one_time_watch_is_repeated_only_after_failure():
    once = WatchState(kind="series", last_release_at=NOON, fetch_once=True)
    assert next_poll(once, PollAnswered(), PACE, NOON).at is None
    assert wait(once, PollFailed(1)) > 0


def test_a_plan_slows_and_a_wish_speeds():
    wish = Millis(5 * MINUTE)
    assert wait(WatchState(kind="feed", last_release_at=None, wished_interval=wish), PollAnswered()) == wish
    slow = WatchState(kind="feed", last_release_at=None, wished_interval=wish, poll_floor=Millis(HOUR))
    assert wait(slow, PollAnswered()) == HOUR
    assert "plan" in next_poll(slow, PollAnswered(), PACE, NOON).why


@given(
    outcome=st.sampled_from(
        [PollAnswered(), PollAnswered(fresh_for=Millis(47 * HOUR)), PollFailed(1), PollFailed(3), PollFailed(100)]
    ),
    jitter=st.floats(0, 1, exclude_max=True),
)
def test_jitter_spreads_polls_later_within_the_ceiling(outcome, jitter):
    plain, spread = (next_poll(FEED, outcome, PACE, NOON, jitter=each) for each in (0.0, jitter))
    assert plain.at is not None
    assert spread.at is not None
    assert plain.at <= spread.at <= min(plain.at + (plain.at - NOON) * SPREAD, NOON + PACE.ceiling)
    assert (plain.why, plain.priority) == (spread.why, spread.priority)


@pytest.mark.parametrize(
    ("last_full", "jitter", "wanted"),
    [
        (None, 0.5, True),
        (ago(7 * DAY - SECOND), 0.0, False),
        (ago(7 * DAY), 0.0, True),
        (ago(7 * DAY), 0.5, False),
        (ago(8 * DAY), 0.99, True),
    ],
)
def test_rel_23_every_seven_days_or_so_validators_are_left_out(last_full, jitter, wanted):
    assert wants_full_fetch(last_full, NOON, jitter) is wanted
