"""The pace as a pure matter: reserve, be told when; penalise until."""

from hypothesis import given
from hypothesis import strategies as st

from tests.scale import examples
from tsuzuki.coord.pacer import MILLISECOND, SECOND, PaceTurn, Rate, held_until, reserve

PATIENT = 3600 * SECOND


def turns(rate: Rate, arrivals: list[int]) -> list[int]:
    """When each caller may call, for callers that arrive at these moments."""
    tat, moments = 0, []
    for now in arrivals:
        taken = reserve(tat, now, rate=rate, held=0, patience=PATIENT)
        tat = taken.tat
        moments.append(now + taken.turn.wait)
    return moments


def test_callers_at_once_are_spread_over_the_rate():
    assert turns(Rate(2), [0, 0, 0]) == [0, 500_000, 1_000_000]


def test_a_burst_may_come_at_once_after_a_rest():
    assert turns(Rate(2, burst=3), [0, 0, 0, 0, 0]) == [0, 0, 0, 500_000, 1_000_000]


def test_a_rest_is_not_saved_up_beyond_the_burst():
    assert turns(Rate(2, burst=2), [0, 60 * SECOND, 60 * SECOND, 60 * SECOND])[1:] == [
        60 * SECOND,
        60 * SECOND,
        60 * SECOND + 500_000,
    ]


def test_an_uneven_rate_is_rounded_to_the_polite_side():
    assert Rate(7).interval == 142_858
    assert Rate(0.5).interval == 2_000_000


def test_who_would_not_wait_so_long_takes_no_turn():
    taken = reserve(10 * SECOND, 0, rate=Rate(1), held=0, patience=SECOND)
    assert (taken.turn, taken.tat) == (PaceTurn(10 * SECOND, is_reserved=False), 10 * SECOND)


def test_who_is_held_takes_no_turn_from_others():
    """REL-21: the other feeds of the host go on."""
    taken = reserve(0, 100, rate=Rate(1), held=50 * SECOND, patience=PATIENT)
    assert (taken.turn, taken.tat) == (PaceTurn(50 * SECOND - 100, is_reserved=False), 0)


def test_penalties_of_two_hold_everybody_back_until_both_end():
    """R21, SEC-11."""
    one = {"a": 100}
    assert (held_until(one, "a"), held_until(one, "b")) == (100, 0)
    two = {"a": 100, "b": 40}
    assert (held_until(two, "a"), held_until(two, "b"), held_until(two, "c")) == (100, 40, 40)
    assert held_until({}, "a") == 0


@examples(1000)
@given(
    st.floats(min_value=0.1, max_value=1000),
    st.integers(min_value=1, max_value=10),
    st.lists(st.integers(min_value=0, max_value=SECOND), min_size=1, max_size=50),
)
def test_no_window_ever_holds_more_than_its_share(per_second, burst, gaps):
    """Any n calls in a row take at least (n - burst) intervals, whenever callers arrive."""
    rate, arrivals, now = Rate(per_second, burst), [], 0
    for gap in gaps:
        now += gap
        arrivals.append(now)
    moments = turns(rate, arrivals)
    assert moments == sorted(moments)
    for first in range(len(moments)):
        for last in range(first, len(moments)):
            count = last - first + 1
            assert moments[last] - moments[first] >= (count - burst) * rate.interval


def test_units_are_what_they_are_called():
    assert SECOND == 1000 * MILLISECOND
