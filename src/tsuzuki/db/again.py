"""Transactions that lock several things, and may meet another one that locks them in another order."""

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
