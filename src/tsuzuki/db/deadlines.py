"""How long a statement may take: most have somebody waiting for them, maintenance and imports have not."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final, TypeVar

from tsuzuki.db.database import Database
from tsuzuki.db.errors import Contention
from tsuzuki.db.tx import Work

T = TypeVar("T")

TRIES: Final = 5


async def with_tx_again(db: Database, work: Work[T]) -> T:
    """`with_tx`, begun anew when it was undone to break a deadlock; Contention when that happens every time.

    The work must not remember anything outside of its transaction. There is no pause: whoever was waited for has what
    it needs by then, and the next try waits for its end.
    """
    for _ in range(TRIES - 1):
        try:
            return await db.with_tx(work)
        except Contention:
            continue
    return await db.with_tx(work)


LONGEST = 600.0
"""Seconds."""

_is_unhurried: ContextVar[bool] = ContextVar("is_unhurried", default=False)


@contextmanager
def long_deadline() -> Iterator[None]:
    """Within the block statements may take as long as `LONGEST`. For what nobody waits for."""
    before = _is_unhurried.set(True)
    try:
        yield
    finally:
        _is_unhurried.reset(before)


def deadline(usual: float) -> float:
    """Seconds until a statement that was asked now is given up."""
    return max(usual, LONGEST) if _is_unhurried.get() else usual
