"""When to try again, when to give up, and whose lease has run out."""

import pytest

from tests.builders import NOON
from tsuzuki.model.errors import (
    Conflict,
    Forbidden,
    Gone,
    HttpStatus,
    Invalid,
    NotFound,
    RateLimited,
    TimedOut,
    Unauthorized,
    Unavailable,
)
from tsuzuki.model.times import DAY, HOUR, SECOND, Millis
from tsuzuki.queue.errors import Fatal, LeaseLost, NotRetryable, Postponed, Retryable, Undecodable
from tsuzuki.queue.policy import (
    CRAWL,
    INGEST,
    LONGEST_TEXT,
    NOTIFICATIONS,
    LeasedTask,
    QueueSettings,
    is_lost,
    judge,
    observe_leases,
    retry_delay,
    storable,
)

OOPS = ValueError("oops")


@pytest.mark.parametrize(("settings", "delays"), [(INGEST, [5, 10, 20]), (NOTIFICATIONS, [5, 10, 20, 40])])
def test_r56_the_schedules(settings, delays):
    verdicts = [judge(OOPS, attempt, settings) for attempt in range(1, settings.attempts + 1)]
    assert verdicts == ["retry"] * len(delays) + ["give up"]
    assert [retry_delay(settings, attempt, OOPS, 0.0) // SECOND for attempt in range(1, settings.attempts)] == delays


def test_jitter_only_lengthens_a_delay_within_its_share():
    assert [retry_delay(INGEST, 1, OOPS, jitter) for jitter in (0.0, 0.5, 1.0)] == [5000, 5250, 5500]


def test_delays_double_up_to_an_hour():
    assert retry_delay(INGEST, 5, OOPS, 0.0) == 80 * SECOND
    assert retry_delay(INGEST, 10**6, OOPS, 0.0) == HOUR


def test_the_other_sides_wish_lengthens_a_delay_within_a_day():
    assert retry_delay(INGEST, 1, Retryable("later", after=Millis(60 * SECOND)), 0.0) == 60 * SECOND
    assert retry_delay(INGEST, 1, Retryable("sooner", after=Millis(1)), 0.0) == 5 * SECOND
    assert retry_delay(INGEST, 1, RateLimited("slow down", retry_after=10**12), 0.0) == DAY


def test_a_queue_without_delays_tries_again_at_once():
    assert retry_delay(QueueSettings(delays=()), 1, OOPS, 0.0) == 0


@pytest.mark.parametrize(
    "error",
    [
        NotRetryable("no"),
        Undecodable("no"),
        NotFound("no"),
        Invalid("no"),
        Unauthorized("no"),
        Forbidden("no"),
        Gone("no", status=410),
        HttpStatus("no", status=404),
        HttpStatus("no", status=401),
    ],
)
def test_r56_what_will_never_work_is_given_up_at_once(error):
    assert judge(error, 1, INGEST) == "give up"


@pytest.mark.parametrize(
    "error", [OOPS, TimedOut("no"), HttpStatus("no", status=500), Conflict("a race"), Retryable("no")]
)
def test_what_may_work_later_is_tried_again(error):
    assert judge(error, 1, INGEST) == "retry"


def test_an_unreachable_database_costs_a_task_no_attempt():
    assert judge(Unavailable("gone"), 99, INGEST) == "postpone"
    assert judge(Postponed("paused"), 99, INGEST) == "postpone"


def test_a_fatal_error_stops_and_a_lost_lease_does_not():
    assert judge(Fatal("no"), 1, INGEST) == "stop"
    assert judge(LeaseLost([1]), 1, INGEST) == "drop"


def test_an_error_text_is_cut_and_cleaned_for_both_engines():
    assert storable("a\0b\udc80") == "a\N{REPLACEMENT CHARACTER}b?"
    assert len(storable("x" * 10**6)) == LONGEST_TEXT


def test_the_defaults_are_those_of_the_design():
    assert (INGEST.lease, INGEST.heartbeat, INGEST.most_losses) == (30 * SECOND, 10 * SECOND, 3)
    assert (INGEST.concurrency, NOTIFICATIONS.concurrency, CRAWL.concurrency) == (10, 10, 5)


# -- leases


def a_lease(until: int = NOON, token: int = 1) -> LeasedTask:
    return LeasedTask(1, token, Millis(until))


def lost_after(seconds: float, *, until: int, now: int = NOON) -> bool:
    seen = observe_leases([a_lease(until)], {}, 100.0)
    return is_lost(seen[1], INGEST, now=Millis(now), steady=100.0 + seconds)


def test_an_expired_lease_is_lost_after_a_missed_heartbeat():
    assert not lost_after(10, until=NOON - 1)
    assert lost_after(15, until=NOON - 1)


def test_rel_19g_a_clock_a_day_ahead_takes_nothing_from_workers():
    tomorrow = NOON + DAY
    seen = observe_leases([a_lease(NOON)], {}, 100.0)
    seen = observe_leases([a_lease(NOON + 10 * SECOND)], seen, 110.0)
    seen = observe_leases([a_lease(NOON + 20 * SECOND)], seen, 120.0)
    assert not is_lost(seen[1], INGEST, now=Millis(tomorrow), steady=130.0)


@pytest.mark.parametrize("until", [NOON + HOUR, NOON + DAY])
def test_rel_19g_a_lease_far_ahead_is_lost_after_one_silent_lease(until):
    assert not lost_after(29, until=until)
    assert lost_after(30, until=until)


def test_a_new_leaseholder_is_observed_anew():
    seen = observe_leases([a_lease(token=1)], {}, 100.0)
    assert observe_leases([], seen, 101.0) == {}
    assert observe_leases([a_lease(token=2)], seen, 101.0)[1].since == 101.0
    assert observe_leases([a_lease(token=1)], seen, 101.0)[1].since == 100.0
