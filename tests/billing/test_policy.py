"""Periods, prices and patience."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.scale import examples
from tsuzuki.billing.policy import (
    Period,
    Rented,
    change_cents,
    monthly_cents,
    months_after,
    next_renewal,
    period_at,
    prorated,
    reminders_due,
    retry_delay,
    tenant_standing,
)
from tsuzuki.model.times import DAY, SECOND, Millis, from_iso, iso

moments = st.datetimes(datetime(2020, 1, 1), datetime(2040, 1, 1), timezones=st.just(UTC)).map(  # noqa: DTZ001  bounds
    lambda moment: Millis(int(moment.timestamp() * 1000))
)
plans = st.sampled_from(["free", "basic", "growth", "self-hosted"])
rented = st.builds(Rented, plans, st.sampled_from(["active", "inactive", "delinquent"]))


@pytest.mark.parametrize(
    ("anchor", "starts"),
    [
        ("2026-01-31T10:30:00Z", ["2026-02-28T10:30:00Z", "2026-03-31T10:30:00Z", "2026-04-30T10:30:00Z"]),
        ("2028-01-30T00:00:00Z", ["2028-02-29T00:00:00Z", "2028-03-30T00:00:00Z", "2028-04-30T00:00:00Z"]),
        ("2028-02-29T23:59:59.999Z", ["2028-03-29T23:59:59.999Z", "2028-04-29T23:59:59.999Z"]),
        ("2026-12-15T12:00:00Z", ["2027-01-15T12:00:00Z", "2027-02-15T12:00:00Z"]),
    ],
)
def test_periods_are_calendar_months_clamped_at_month_ends(anchor, starts):
    """R83"""
    found = [months_after(from_iso(anchor), count + 1) for count in range(len(starts))]
    assert found == [from_iso(start) for start in starts]


def test_a_year_from_a_leap_day_ends_on_the_28th():
    """R83"""
    leap = from_iso("2028-02-29T08:00:00Z")
    assert iso(months_after(leap, 12)) == "2029-02-28T08:00:00.000Z"
    assert iso(months_after(leap, 48)) == "2032-02-29T08:00:00.000Z"


def test_clocks_that_people_move_move_no_period():
    """R83: in UTC, so a month with a change to summer time is as long as its days."""
    march = period_at(from_iso("2026-03-15T01:30:00Z"), from_iso("2026-03-29T02:30:00Z"))
    assert march.length == 31 * DAY


@examples(2_000)
@given(anchor=moments, moment=moments)
def test_every_moment_is_in_exactly_one_period(anchor, moment):
    """R83, REL-46"""
    period = period_at(anchor, moment)
    assert 28 * DAY <= period.length <= 31 * DAY
    if moment >= anchor:
        assert period.start <= moment < period.end
    assert period_at(anchor, period.start) == period
    assert period_at(anchor, Millis(period.end - 1)) == period
    assert period_at(anchor, period.end).start == period.end


@examples(1_000)
@given(anchor=moments, count=st.integers(0, 40))
def test_renewals_follow_one_another_without_gap_and_stop_at_now(anchor, count):
    now = months_after(anchor, count)
    renewed, seen = None, 0
    while (period := next_renewal(anchor, renewed, now)) is not None:
        assert period.start == months_after(anchor, seen + 1)
        renewed, seen = period.start, seen + 1
    assert seen == count
    assert next_renewal(anchor, None, Millis(months_after(anchor, 1) - 1)) is None


@examples(2_000)
@given(before=rented, after=rented, at=moments, anchor=moments)
def test_a_change_and_its_reversal_net_to_nothing(before, after, at, anchor):
    """R82"""
    period = period_at(anchor, max(at, anchor))
    at = Millis(max(at, anchor))
    there = change_cents(before, after, at=at, period=period)
    back = change_cents(after, before, at=at, period=period)
    assert there + back == 0
    assert abs(there) <= 1500


@pytest.mark.parametrize(
    ("cents", "left", "length", "share"),
    [
        (500, 1, 1, 500),
        (500, 0, 1, 0),
        (1, 1, 2, 1),
        (-1, 1, 2, -1),
        (1, 49, 100, 0),
        (-1, 49, 100, 0),
        (500, 1, 3, 167),
    ],
)
def test_cents_are_rounded_half_up_on_the_absolute_value(cents, left, length, share):
    """R82"""
    assert prorated(cents, left, length) == share


@pytest.mark.parametrize(
    ("plan", "status", "cents"),
    [("basic", "active", 500), ("basic", "inactive", 0), ("growth", "delinquent", 0), ("free", "active", 0)],
)
def test_only_an_active_shelf_on_a_paid_plan_costs(plan, status, cents):
    assert monthly_cents(Rented(plan, status)) == cents
    assert monthly_cents(None) == 0


def test_a_change_on_the_boundary_counts_for_the_new_period():
    """REL-46, R85"""
    period = Period(Millis(0), Millis(30 * DAY))
    assert change_cents(None, Rented("basic", "active"), at=Millis(0), period=period) == 500
    assert change_cents(None, Rented("basic", "active"), at=Millis(30 * DAY), period=period) == 0


@pytest.mark.parametrize(
    ("days", "reminders", "stands"),
    [(0, 1, "good"), (2.9, 1, "good"), (3, 2, "good"), (6, 3, "good"), (7, 3, "delinquent"), (30, 3, "churned")],
)
def test_reminders_delinquency_and_churn_come_on_their_days(days, reminders, stands):
    """R84"""
    now = Millis(int(days * DAY))
    assert (reminders_due(Millis(0), now), tenant_standing(Millis(0), now)) == (reminders, stands)
    assert tenant_standing(None, now) == "good"


def test_a_failed_sync_is_retried_six_times_with_backoff():
    delays = [retry_delay(attempts) for attempts in range(1, 8)]
    assert delays == [30 * SECOND, 60 * SECOND, 120 * SECOND, 240 * SECOND, 480 * SECOND, 900 * SECOND, None]
