"""How many generated cases a property runs: the full count for `make soak`, a share of it otherwise."""

import os
from collections.abc import Callable
from typing import Any

from hypothesis import HealthCheck, settings

SHARE = 10


def examples(full: int) -> Callable[[Any], Any]:
    """`full` cases when TSUZUKI_SOAK is set, a tenth of them in an ordinary run."""
    count = full if os.environ.get("TSUZUKI_SOAK") else full // SHARE
    return settings(max_examples=count, deadline=None, database=None, suppress_health_check=list(HealthCheck))
