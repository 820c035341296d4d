"""Which engines a run draws for the tests above the stores."""

from pathlib import Path

from tests.engines import ONE_SUFFICES, left_out

ROOT = Path(__file__).parent.parent
ENGINES = ("sqlite", "postgres")
ABOVE = {f"tests/api/test_a.py::test_{n}[{engine}-x]": engine for n in range(100) for engine in ENGINES}


def test_folders_where_one_engine_suffices_exist():
    assert [folder for folder in ONE_SUFFICES if not (ROOT / folder).is_dir()] == []


def test_each_test_above_the_stores_keeps_one_engine():
    kept = ABOVE.keys() - left_out(ABOVE, 1)
    assert sorted(one.partition("[")[0] for one in kept) == sorted({one.partition("[")[0] for one in ABOVE})
    assert {ABOVE[one] for one in kept} == set(ENGINES)


def test_a_seed_draws_the_same_and_another_draws_anew():
    assert left_out(ABOVE, 1) == left_out(dict(reversed(ABOVE.items())), 1)
    assert left_out(ABOVE, 1) != left_out(ABOVE, 2)


def test_every_case_of_a_test_is_kept():
    cases = {f"tests/web/test_a.py::test[{case}-{engine}]": engine for case in "abc" for engine in ENGINES}
    assert sorted(one[26] for one in cases.keys() - left_out(cases, 1)) == ["a", "b", "c"]


def test_a_long_test_keeps_one_engine_wherever_it_is():
    tests = {f"tests/db/test_a.py::test[{engine}]": engine for engine in ENGINES}
    assert len(left_out(tests, 1, tests.keys())) == 1


def test_what_has_one_engine_or_is_a_store_keeps_all():
    alone = {"tests/api/test_a.py::test[postgres]": "postgres"}
    stores = {f"tests/db/test_a.py::test[{engine}]": engine for engine in ENGINES}
    assert left_out(alone | stores, 1) == set()
