"""On which engine a test runs: those above the stores run on one, drawn anew for each run."""

from collections import defaultdict
from collections.abc import Mapping
from random import Random

ONE_SUFFICES = (
    *("tests/api/", "tests/catalogue/", "tests/crawler/", "tests/hostile/", "tests/nasty/", "tests/transfer/"),
    *("tests/web/", "tests/worker/"),
)
"""What stands above stores that are tested on both engines. A test there that is about engines is `both_engines`."""


def left_out(engines: Mapping[str, str], seed: int) -> set[str]:
    """Of tests by their ids, each with its engine, those that another engine is drawn for; a seed draws the same."""
    alike: defaultdict[str, list[str]] = defaultdict(list)
    for test, engine in engines.items():
        name, _, case = test.partition("[")
        if test.startswith(ONE_SUFFICES):
            alike[f"{name}[{case.replace(engine, '*')}"].append(test)
    drawn = {Random(f"{seed} {name}").choice(sorted(tests)) for name, tests in alike.items()}
    return {test for tests in alike.values() for test in tests} - drawn
