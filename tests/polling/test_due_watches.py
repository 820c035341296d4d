"""Which watches a periodic pull takes, and which it skips: each row of the decision flow."""

import contextlib
import re
import time
from functools import partial

import asyncpg
import msgspec
import pytest

from tests.builders import NOON, stored_feed, stored_watch
from tests.delivery.builders import a_reader
from tests.delivery.crowd import add_crowd, feed_of_crowd
from tsuzuki.db import Database, Tx
from tsuzuki.db.queries import load_queries, parse_queries
from tsuzuki.db.statistics import refresh_statistics
from tsuzuki.model.errors import NotFound
from tsuzuki.model.ids import ShelfId, WatchId
from tsuzuki.model.times import HOUR, MINUTE, Millis
from tsuzuki.polling.outcomes import EndedPoll, PollAnswer, save_answers_tx
from tsuzuki.polling.store import BusyHosts, claim_due_watches_tx, claim_wanted_watches_tx, release_watches_tx
from tsuzuki.sources.watches import fetch_whole_tx

LEASE = Millis(30_000)
FOLLOWERS = 20_000
ROUNDS = 15
MOST = 10
"""Times a claim that does not ask who follows; with a look at every follower it is 50."""

q = parse_queries(
    "tests",
    """
-- name: be
update watch set suspended_at = :suspended_at, retry_after_until = :retry_after_until where id = :id;
-- name: bring
update watch set etag = '"1"' where id = :id;
-- name: want
update watch set refresh_at = :now where id = :id;
-- name: updates
select pg_stat_get_xact_tuples_updated('watch'::regclass) as all,
  pg_stat_get_xact_tuples_hot_updated('watch'::regclass) as hot;
""",
)


class HotUpdates(msgspec.Struct, frozen=True):
    all: int
    hot: int


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
async def test_r20_suspended_waiting_or_undue_watches_are_skipped(
    db, suspended_at, retry_after_until, next_check_at, is_taken
):
    """R20, R21: whoever writes a Retry-After writes a next check that is not before it, so that one gate is enough."""
    watch = await stored_watch(db, await stored_feed(db), next_check_at=Millis(next_check_at))
    values = {"id": watch, "suspended_at": suspended_at, "retry_after_until": retry_after_until}
    await db.with_tx(lambda tx: tx.run(q.be, **values))
    taken = await db.with_tx(lambda tx: claim_due_watches_tx(tx, {2: 9}, now=NOON, lease=LEASE))
    assert [claimed.id for claimed in taken] == ([watch] if is_taken else [])


async def test_r25_of_many_wanted_watches_those_are_claimed_that_nobody_polls(db):
    """In the order in which they were wanted, each with a lease of its own."""
    watches = [await stored_watch(db, await stored_feed(db)) for _ in range(3)]

    async def claimed(wanted: list[WatchId], now: Millis = NOON) -> list[WatchId]:
        found = await db.with_tx(lambda tx: claim_wanted_watches_tx(tx, wanted, now=now, lease=LEASE))
        return [watch.id for watch in found]

    await want(db, watches)
    assert await claimed(watches[1:2]) == watches[1:2]
    await want(db, watches[1:2])  # somebody wants it again while it is polled
    assert await claimed(watches[::-1]) == [watches[2], watches[0]]
    assert await claimed(watches, Millis(NOON + LEASE)) == watches[1:2]


async def test_a_request_older_than_the_last_poll_is_dropped(db):
    """Two workers read at once what is wanted, and one of them is quick."""
    watch = await stored_watch(db, await stored_feed(db))
    await want(db, [watch])
    [first] = await db.with_tx(lambda tx: claim_wanted_watches_tx(tx, [watch], now=NOON, lease=LEASE))
    await db.with_tx(lambda tx: release_watches_tx(tx, [first]))
    assert not await db.with_tx(lambda tx: claim_wanted_watches_tx(tx, [watch], now=NOON, lease=LEASE))


async def test_a_poll_by_brought_validators_ends_when_the_whole_is_wanted(db):
    """It could find nothing new in a feed that holds nothing here."""
    feed = await stored_feed(db)
    watch = await stored_watch(db, feed, next_check_at=NOON)
    await db.with_tx(lambda tx: tx.run(q.bring, id=watch))
    claim = partial(claim_due_watches_tx, most={2: 9}, now=NOON, lease=LEASE)
    [first] = await db.with_tx(claim)
    await db.with_tx(lambda tx: fetch_whole_tx(tx, feed, NOON))
    [second] = await db.with_tx(claim)
    assert (first.etag, second.etag) == ('"1"', None)
    answer = PollAnswer(next_check_at=Millis(NOON + HOUR), why="", priority=2, status=304, etag='"1"')
    assert not await db.with_tx(lambda tx: save_answers_tx(tx, [EndedPoll(first, answer, NOON)], waits=True))


@pytest.mark.parametrize("engine", ["postgres"], indirect=True)
async def test_a_claim_writes_no_index(db):
    """A row of an index for each of them would be half of what a poll writes to the log."""
    watches = [await stored_watch(db, await stored_feed(db), next_check_at=NOON) for _ in range(3)]

    async def updates(tx: Tx) -> HotUpdates:
        claimed = await claim_due_watches_tx(tx, {2: 9}, now=NOON, lease=LEASE)
        assert {watch.id for watch in claimed} == set(watches)
        assert set(await release_watches_tx(tx, claimed)) == set(watches)
        return await tx.one(HotUpdates, q.updates)

    assert await db.with_tx(updates) == HotUpdates(6, 6)


async def want(db: Database, watches: list[WatchId]) -> None:
    for watch in watches:
        await db.with_tx(lambda tx: tx.run(q.want, id=watch, now=NOON))  # noqa: B023  awaited at once


@pytest.mark.parametrize("engine", ["sqlite"], indirect=True)
async def test_a_claim_takes_no_longer_however_many_follow_a_feed(db):
    """R97: whether somebody wants it alone is known from two of them. On PostgreSQL the plan shows it, below."""
    await add_crowd(db, FOLLOWERS)
    watch = await stored_watch(db, await feed_of_crowd(db, FOLLOWERS), next_check_at=NOON)

    async def seconds(shelves: tuple[ShelfId, ...]) -> float:
        async def claim(tx: Tx) -> None:
            began = time.perf_counter()
            claimed = await claim_due_watches_tx(tx, {2: 9}, now=NOON, lease=LEASE, busy=BusyHosts(shelves=shelves))
            took.append(time.perf_counter() - began)
            assert [one.id for one in claimed] == [watch]
            raise NotFound("so that it is due again")

        took: list[float] = []
        with contextlib.suppress(NotFound):
            await db.with_tx(claim)
        return took[0]

    await seconds((ShelfId(1),))
    found = [(await seconds(()), await seconds((ShelfId(1),))) for _ in range(ROUNDS)]
    assert min(shared for _, shared in found) < MOST * min(alone for alone, _ in found)


@pytest.mark.parametrize("engine", ["postgres"], indirect=True)
@pytest.mark.parametrize("name", ["claim_due_watches", "feed_targets"])
async def test_polls_look_at_few_followers_where_one_feed_has_most(db, database_url, name):
    """PostgreSQL estimates as many followers of each feed as there are on average."""
    other = await stored_feed(db)
    await a_reader(db, feeds=[other])
    watch = await stored_watch(db, other)
    await add_crowd(db, FOLLOWERS)
    await stored_watch(db, await feed_of_crowd(db, FOLLOWERS))
    await refresh_statistics(db)
    query = getattr(load_queries("tsuzuki.polling"), name).postgres
    values = {"now": NOON, "many": 20, "rows": f'[{{"id": {watch}}}]', "hosts": "[]", "shelves": "[[1]]"}
    values |= {"hot": 9, "warm": 9, "cold": 9, "ahead": 9, "until": NOON}
    connection = await asyncpg.connect(database_url)
    try:
        rows = await connection.fetch(f"explain {query.sql}", *[values[name] for name in query.params])
    finally:
        await connection.close()
    plan = "\n".join(row[0] for row in rows)
    assert re.search(r"Limit .*\n *->  Index (Only )?Scan using subscription_feed on subscription", plan), plan
    assert "Seq Scan on subscription" not in plan
    assert "GroupAggregate" not in plan
