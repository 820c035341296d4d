"""The rows of a month, read and removed."""

from collections.abc import Sequence
from typing import Any

import msgspec

from tsuzuki.db.log.months import Month
from tsuzuki.db.queries import load_queries
from tsuzuki.db.tx import Tx
from tsuzuki.model.times import Millis

q = load_queries("tsuzuki.db.log")


class StoredLogRow(msgspec.Struct, frozen=True):
    """A row of the log."""

    id: bytes
    job_id: int
    level: str
    message: str
    meta: Any
    created_at: Millis


async def oldest_log_tx(tx: Tx) -> Millis | None:
    """When the oldest row was written; None without rows."""
    return await tx.one(Millis | None, q.oldest_log)  # type: ignore[arg-type]  # a type of one column may be optional


async def count_logs_tx(tx: Tx, month: Month) -> int:
    """How many rows the month has."""
    return await tx.one(int, q.count_logs, start=month.start, stop=month.end)


async def page_logs_tx(tx: Tx, month: Month, after: StoredLogRow | None, most: int) -> list[StoredLogRow]:
    """The month's next rows by time and id."""
    after_time, after_id = (after.created_at, after.id) if after else (month.start - 1, b"")
    return await tx.many(
        StoredLogRow,
        q.page_logs,
        start=month.start,
        stop=month.end,
        after_time=after_time,
        after_id=after_id,
        most=most,
    )


async def remove_logs_tx(tx: Tx, month: Month, ids: Sequence[str]) -> int:
    """Delete rows of the month by their ids in hex digits; how many there were."""
    return await tx.run(q.remove_logs, start=month.start, stop=month.end, ids=ids)
