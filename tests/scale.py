"""How many cases a test runs: all of them for `make soak`, a share otherwise."""

import os
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

SOAK = "TSUZUKI_TEST_SOAK"
"""Set by conftest for `--soak`, because a property fixes its count when it is imported."""
SEED = "TSUZUKI_TEST_SEED"
"""Set by conftest: what this run draws by. `--seed` draws the same again."""


def examples(full: int, *, share: int = 10) -> Callable[[Any], Any]:
    """`full` cases with `--soak`, one in `share` of them in an ordinary run."""
    count = full if os.environ.get(SOAK) else full // share
    bounded = settings(max_examples=count, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    return lambda test: pytest.mark.soak(bounded(test))


def scaled(share: int, full: int) -> int:
    """`full` with `--soak`, `share` in an ordinary run; for a test that is marked `soak`."""
    return full if os.environ.get(SOAK) else share
