"""Many cases of one sentence in one test: a corpus of hundreds costs more to collect and report than to check."""

from collections.abc import Callable, Sequence
from typing import Any


def hold(check: Callable[[Any], object], cases: Sequence[Any]) -> None:
    """Check every case; those that fail are told together, each with what it said."""
    assert cases
    failed = {}
    for case in cases:
        try:
            check(case)
        except Exception as error:  # noqa: BLE001  whatever a case raises is that case's failure
            failed[repr(case)[:200]] = f"{type(error).__name__}: {error}"
    assert not failed, "\n\n".join(f"{case}\n{said}" for case, said in failed.items())
