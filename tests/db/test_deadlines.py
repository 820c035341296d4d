"""Work that was undone to break a deadlock is begun anew, and given up at some point."""

import pytest

from tsuzuki.db.deadlines import TRIES, with_tx_again
from tsuzuki.db.errors import Contention
from tsuzuki.model.errors import NotFound


def failing(times, error=Contention):
    """Work that fails so often, and what it counts."""
    tried = []

    async def work(tx):
        tried.append(tx)
        if len(tried) <= times:
            raise error("deadlock detected")
        return "done"

    return work, tried


async def test_it_is_tried_again_until_it_is_let_through(db):
    work, tried = failing(TRIES - 1)
    assert await with_tx_again(db, work) == "done"
    assert len(tried) == TRIES


async def test_it_is_not_tried_for_ever(db):
    work, tried = failing(TRIES)
    with pytest.raises(Contention):
        await with_tx_again(db, work)
    assert len(tried) == TRIES


async def test_any_other_failure_is_one(db):
    work, tried = failing(1, NotFound)
    with pytest.raises(NotFound):
        await with_tx_again(db, work)
    assert len(tried) == 1
