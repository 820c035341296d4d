import pytest

from tsuzuki.db import Tx
from tsuzuki.db.measured import MeasuredDatabase


async def test_every_transaction_is_timed_whether_it_was_committed_or_not(db):
    seen: list[tuple[bool, float]] = []
    measured = MeasuredDatabase(db, lambda committed, seconds: seen.append((committed, seconds)))

    async def fine(_: Tx) -> int:
        return 7

    async def failing(_: Tx) -> None:
        raise ValueError("no")

    assert await measured.with_tx(fine) == 7
    with pytest.raises(ValueError, match="no"):
        await measured.with_tx(failing)
    assert [committed for committed, _ in seen] == [True, False]
    assert all(0 < seconds < 10 for _, seconds in seen)
    assert measured.engine == db.engine
    await measured.ping()
