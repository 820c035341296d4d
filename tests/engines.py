"""On which engine a test runs: the long ones, and those above the stores, on one that is drawn anew for each run."""

from collections import defaultdict
from collections.abc import Container, Mapping
from random import Random

ONE_SUFFICES = (
    *("tests/api/", "tests/catalogue/", "tests/crawler/", "tests/hostile/", "tests/images/", "tests/odd_values/"),
    *("tests/protocols/", "tests/transfer/", "tests/web/", "tests/worker/"),
)
"""What stands above stores that are tested on both engines. A test there that is about engines is `both_engines`."""


def left_out(engines: Mapping[str, str], seed: int, long: Container[str] = ()) -> set[str]:
    """Of tests by their ids, each with its engine, those that another engine is drawn for; a seed draws the same.

    The `long` ones run on all engines with `--soak`.
    """
    alike: defaultdict[str, list[str]] = defaultdict(list)
    for test, engine in engines.items():
        name, _, case = test.partition("[")
        if test in long or test.startswith(ONE_SUFFICES):
            alike[f"{name}[{case.replace(engine, '*')}"].append(test)
    drawn = {Random(f"{seed} {name}").choice(sorted(tests)) for name, tests in alike.items()}
    return {test for tests in alike.values() for test in tests} - drawn
