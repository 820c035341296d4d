"""Periods, prices, refunds and deadlines. Pure: the clock is an argument, money is integer cents."""

import calendar
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Literal

import msgspec

from tsuzuki.model.plans import get_plan
from tsuzuki.model.times import DAY, SECOND, Millis, from_datetime

REMINDERS: tuple[Millis, ...] = (Millis(0), Millis(3 * DAY), Millis(6 * DAY))
DELINQUENT_AFTER = Millis(7 * DAY)
CHURN_AFTER = Millis(30 * DAY)
"""R84, all counted from the invoice, which is due at once."""

SHORTEST_PERIOD = Millis(28 * DAY)

FIRST_RETRY = Millis(30 * SECOND)
LONGEST_RETRY = Millis(15 * 60 * SECOND)
MOST_RETRIES = 6


class Period(msgspec.Struct, frozen=True):
    """From `start` on and strictly before `end`."""

    start: Millis
    end: Millis

    @property
    def length(self) -> int:
        return self.end - self.start


class Rented(msgspec.Struct, frozen=True):
    """What decides what a shelf costs."""

    plan: str
    status: str


# -- periods


def months_after(anchor: Millis, count: int) -> Millis:
    """R83: the same day and time so many calendar months later, in UTC; in a shorter month its last day."""
    seconds, rest = divmod(anchor, SECOND)
    first = datetime.fromtimestamp(seconds, UTC)
    year, month = divmod(first.year * 12 + first.month - 1 + count, 12)
    day = min(first.day, calendar.monthrange(year, month + 1)[1])
    return Millis(from_datetime(first.replace(year=year, month=month + 1, day=day)) + rest)


def period_at(anchor: Millis, moment: Millis) -> Period:
    """The period with this moment in it; the first one for a moment before the anchor."""
    count = max(0, (moment - anchor) // (31 * DAY))  # never too far, and at most a few months behind
    while months_after(anchor, count + 1) <= moment:
        count += 1
    return Period(months_after(anchor, count), months_after(anchor, count + 1))


def next_renewal(anchor: Millis, renewed_at: Millis | None, now: Millis) -> Period | None:
    """The period to be renewed next; None when it has not begun. The first is paid by what was created in it."""
    last = period_at(anchor, anchor if renewed_at is None else renewed_at)
    following = period_at(anchor, last.end)
    return following if following.start <= now else None


# -- prices


def monthly_cents(rented: Rented | None) -> int:
    """Only a shelf that is active costs something; one that does not exist costs nothing."""
    return 0 if rented is None or rented.status != "active" else get_plan(rented.plan).price_cents


def prorated(cents: int, left: int, length: int) -> int:
    """R82: the share of a month's cents for what is left of it; half up on the absolute value, so that signs mirror."""
    share = (2 * abs(cents) * left + length) // (2 * length)
    return share if cents >= 0 else -share


def change_cents(before: Rented | None, after: Rented, *, at: Millis, period: Period) -> int:
    """What a change costs for the rest of its period; negative when it becomes cheaper."""
    return prorated(monthly_cents(after) - monthly_cents(before), period.end - at, period.length)


# -- time that is given back


class ChargedPeriod(msgspec.Struct, frozen=True):
    """What an invoice charged for a shelf's period, less what it gave back of it; None is what is on no invoice yet."""

    invoice_id: int | None
    status: Literal["unbilled", "open", "paid", "voided"]
    cents: int


_TAKEN_FROM = ("unbilled", "open", "paid", "voided")


def spread_credit(
    cents: int, charged: Sequence[ChargedPeriod], unpaid: Sequence[tuple[int, int]]
) -> list[tuple[int, int]]:
    """On which invoices so many cents that are given back go, and how many on each.

    First to what charged for that time: what is on no invoice yet needs nothing done, then what is open, then what was
    paid, the newest first, and last what was written off. Whatever is left goes to any open invoice, the oldest first;
    `unpaid` are these with their amounts.
    """
    placed: dict[int, int] = {}
    for one in sorted(charged, key=lambda one: (_TAKEN_FROM.index(one.status), -(one.invoice_id or 0))):
        share = min(cents, max(0, one.cents))
        cents -= share
        if one.invoice_id is not None and share:
            placed[one.invoice_id] = share
    for invoice_id, amount in unpaid:
        share = min(cents, max(0, amount - placed.get(invoice_id, 0)))
        cents -= share
        if share:
            placed[invoice_id] = placed.get(invoice_id, 0) + share
    return list(placed.items())


# -- patience


def reminders_due(created_at: Millis, now: Millis) -> int:
    """How many reminders an open invoice of this age should have had."""
    return sum(now - created_at >= after for after in REMINDERS)


def tenant_standing(oldest_open: Millis | None, now: Millis) -> Literal["good", "delinquent", "churned"]:
    """R84: where a tenant stands whose oldest open invoice is from then."""
    age = -1 if oldest_open is None else now - oldest_open
    if age >= CHURN_AFTER:
        return "churned"
    return "delinquent" if age >= DELINQUENT_AFTER else "good"


def retry_delay(attempts: int) -> Millis | None:
    """How long to wait after so many failed attempts; None when it is given up."""
    if attempts > MOST_RETRIES:
        return None
    return Millis(min(FIRST_RETRY * 2 ** (attempts - 1), LONGEST_RETRY))
