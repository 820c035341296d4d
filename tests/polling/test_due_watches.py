"""Which watches a periodic pull takes, and which it skips: each row of the decision flow."""

import pytest

from tests.builders import NOON, stored_feed, stored_watch
from tsuzuki.db.queries import parse_queries
from tsuzuki.model.times import HOUR, MINUTE, Millis
from tsuzuki.polling.store import claim_due_watches_tx

LEASE = Millis(30_000)

q = parse_queries(
    "tests",
    """
-- name: be
update watch set suspended_at = :suspended_at, retry_after_until = :retry_after_until where id = :id;
""",
)


@pytest.mark.parametrize(
    ("suspended_at", "retry_after_until", "next_check_at", "is_taken"),
    [
        (None, None, NOON, True),
        (None, None, NOON - HOUR, True),
        (None, None, NOON + 1, False),
        (None, NOON - MINUTE, NOON - MINUTE, True),
        (None, NOON + HOUR, NOON + HOUR, False),
        (NOON - HOUR, None, NOON - HOUR, False),
        (NOON - HOUR, None, NOON + HOUR, False),
        (NOON - HOUR, NOON + HOUR, NOON + HOUR, False),
    ],
)
async def test_r20_what_is_suspended_told_to_wait_or_not_yet_due_is_skipped(
    db, suspended_at, retry_after_until, next_check_at, is_taken
):
    """R20, R21: whoever writes a Retry-After writes a next check that is not before it, so that one gate is enough."""
    watch = await stored_watch(db, await stored_feed(db), next_check_at=Millis(next_check_at))
    values = {"id": watch, "suspended_at": suspended_at, "retry_after_until": retry_after_until}
    await db.with_tx(lambda tx: tx.run(q.be, **values))
    taken = await db.with_tx(lambda tx: claim_due_watches_tx(tx, {2: 9}, now=NOON, lease=LEASE))
    assert [claimed.id for claimed in taken] == ([watch] if is_taken else [])
