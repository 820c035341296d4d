"""How benchmarks say what is aimed at."""

import pytest

from bench.harness import aim, p95


@pytest.mark.parametrize(
    ("measured", "bounds", "said"),
    [
        (59.9, {"most": 60}, "ok"),
        (60.1, {"most": 60}, "MISSED"),
        (1.7, {"least": 1.7}, "ok"),
        (1.6, {"least": 1.7}, "MISSED"),
    ],
)
def test_an_aim_that_is_missed_is_said_and_nothing_fails(measured, bounds, said, capsys):
    line = aim("memory, idle", measured, "MB", **bounds)
    assert line.startswith("aim: memory, idle")
    assert line.endswith(said)
    assert capsys.readouterr().out == line + "\n"


def test_an_aim_says_how_many_times_the_reference_it_is():
    assert "2.00 of a bare server (0.15)" in aim("start", 0.3, "s", most=0.35, beside=("a bare server", 0.15))


def test_a_smaller_case_is_not_judged():
    line = aim("search", 2.0, "ms", most=1, is_full=False)
    assert "MISSED" not in line
    assert line.endswith("smaller than the aim's case")


def test_p95_is_the_time_within_which_95_of_100_are():
    assert p95([float(number) for number in range(1, 101)]) == 95
    assert p95([3.0]) == 3
