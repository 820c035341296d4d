"""The order of tests that several processes share."""

from tests.turns import in_turn

TESTS = [
    *[(f"a::{n}", 0.0) for n in range(4)],
    ("b::0", 0.0), ("b::1", 120.0),
    *[(f"c::{n}", 0.0) for n in range(4)],
    ("d::0", 900.0),
    ("e::0", 120.0),
]  # fmt: skip


def names(processes: int) -> list[str]:
    return [TESTS[place][0] for place in in_turn(TESTS, processes)]


def test_each_process_begins_with_long_ones_and_modules_stay_together():
    assert names(2) == [
        *("d::0", "e::0", "a::0", "a::1", "a::2", "a::3"),
        *("b::0", "b::1", "c::0", "c::1", "c::2", "c::3"),
    ]


def test_every_test_has_its_turn_whatever_the_number_of_processes():
    for processes in range(1, 20):
        assert sorted(names(processes)) == sorted(name for name, _ in TESTS)


def test_what_is_short_keeps_its_order():
    short = [(f"{module}::0", 0.0) for module in "caedb"]
    assert in_turn(short, 3) == list(range(5))
