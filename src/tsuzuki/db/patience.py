"""How long a statement may take: most have somebody waiting for them, maintenance and imports have not."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

LONGEST = 600.0
"""Seconds."""

_is_unhurried: ContextVar[bool] = ContextVar("is_unhurried", default=False)


@contextmanager
def unhurried() -> Iterator[None]:
    """Within the block statements may take as long as `LONGEST`. For what nobody waits for."""
    before = _is_unhurried.set(True)
    try:
        yield
    finally:
        _is_unhurried.reset(before)


def deadline(usual: float) -> float:
    """Seconds until a statement that was asked now is given up."""
    return max(usual, LONGEST) if _is_unhurried.get() else usual
