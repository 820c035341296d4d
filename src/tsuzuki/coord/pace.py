"""How often one place may be called: the generic cell rate algorithm, as "reserve, and be told when". Pure.

A bucket is one host as seen through one way out. Its state is one number, the theoretical arrival time of the next call
(TAT), beside the penalties that callers earned there. Times are integer microseconds of one clock, so that a rate such
as 7/s has no drift; the same arithmetic stands in `pace.lua`.
"""

from collections.abc import Mapping

import msgspec

SECOND = 1_000_000
MILLISECOND = 1_000


class Rate(msgspec.Struct, frozen=True):
    """So many calls a second, of which `burst` may come at once after a rest."""

    per_second: float
    burst: int = 1

    @property
    def interval(self) -> int:
        """Between two calls; rounded up, so that the rate is never passed."""
        return -int(-SECOND // self.per_second)

    @property
    def tolerance(self) -> int:
        """How far ahead of its time a call may come."""
        return self.interval * (self.burst - 1)


class PaceTurn(msgspec.Struct, frozen=True):
    """What a reservation came to."""

    wait: int
    """From now on, in microseconds."""
    is_reserved: bool
    """True: call after `wait`. False: nothing was taken; ask again after `wait`, or give up."""


class Reservation(msgspec.Struct, frozen=True):
    """A turn, and the bucket's TAT after it."""

    turn: PaceTurn
    tat: int


def reserve(tat: int, now: int, *, rate: Rate, held: int, patience: int) -> Reservation:
    """The earliest turn in a bucket whose TAT is `tat`, for a caller that is held until `held`.

    A held caller takes no turn, or its wait would be everyone's; neither does one that would not wait so long.
    """
    if held > now:
        return Reservation(PaceTurn(held - now, is_reserved=False), tat)
    wait = max(0, tat - rate.tolerance - now)
    if wait > patience:
        return Reservation(PaceTurn(wait, is_reserved=False), tat)
    return Reservation(PaceTurn(wait, is_reserved=True), max(tat, now) + rate.interval)


def held_until(penalties: Mapping[str, int], who: str) -> int:
    """Until when `who` must wait: for its own penalty, or for everyone's when a second caller was told the same (R21).

    What two agree on is the second-latest of all penalties; one caller alone can never stop the others (SEC-11).
    """
    agreed = sorted(penalties.values(), reverse=True)[1:2]
    return max(penalties.get(who, 0), *agreed, 0)
