"""What other pollers tripped over, between a poll and what comes after it."""

import asyncio
import os
import random

import pytest

from tests.builders import NOON, stored_feed, stored_watch
from tests.delivery.builders import a_reader, entries_of, publish, subscribe
from tests.net.builders import answer
from tests.polling.builders import (
    LEASE,
    PACE,
    Clock,
    a_feed,
    a_poller,
    a_publisher,
    item_batches,
    poll_due,
    poll_one,
    q,
    redirecting,
    state,
)
from tests.scale import SOAK
from tsuzuki.coord.wakeup import MemoryWakeup
from tsuzuki.delivery import outages
from tsuzuki.ingest.housekeeping import forget_tombstones
from tsuzuki.ingest.items import ITEMS
from tsuzuki.model.ids import WatchId
from tsuzuki.model.times import DAY, HOUR, SECOND, Millis
from tsuzuki.polling.policy import SPREAD
from tsuzuki.polling.service import PollResult
from tsuzuki.queue.policy import QueueSettings
from tsuzuki.queue.service import Tasks
from tsuzuki.queue.store import TaskFailure, claim_tx, fail_tx

TRIALS = 200 if os.environ.get(SOAK) else 20


async def give_up(db, now):
    """Every task of ingest is given up, as after its last attempt."""

    async def fail(tx):
        for row in await claim_tx(tx, ITEMS.name, QueueSettings(), worker="w", now=now, most=10):
            await fail_tx(tx, row, TaskFailure(error="no", code="x"), now=now)

    await db.with_tx(fail)


@pytest.mark.parametrize("validators", [{}, {"etag": '"a"'}])
async def test_rel_08_the_next_poll_finds_what_ingest_gave_up(db, publisher, validators):
    """Though the body is the same (R27) and the source would say 304 (R26)."""
    clock = Clock()
    feed = await stored_feed(db, f"{publisher.url}/feed")
    watch = await stored_watch(db, feed, host="127.0.0.1")
    other = await stored_watch(db, await stored_feed(db, f"{publisher.url}/other"), host="127.0.0.1")
    publisher.response = answer(200, a_feed("1"), **validators)
    async with a_poller(db, clock) as poller:
        assert [each.found for each in await poll_due(poller)] == [1, 1]
        await give_up(db, clock())
        clock.turn(PACE.interval)
        assert [each.found for each in await poll_due(poller)] == [1, 1]
        assert "if-none-match" not in publisher.requests[-1]
        clock.turn(PACE.interval)  # nothing was given up since: back to the ordinary
        assert await poll_due(poller) == [PollResult("unchanged"), PollResult("unchanged")]
    assert (await state(db, watch)).consecutive_failures == (await state(db, other)).consecutive_failures == 0


@pytest.mark.parametrize("validators", [{}, {"etag": '"a"'}])
async def test_rel_08_items_given_up_during_a_poll_come_next_time(db, publisher, validators):
    """The poll goes by what was known when it was claimed; what came later is not forgotten by its answer."""
    clock = Clock()
    await stored_watch(db, await stored_feed(db, f"{publisher.url}/feed"), host="127.0.0.1")
    publisher.response = answer(200, a_feed("1"), **validators)
    async with a_poller(db, clock) as poller:
        assert (await poll_one(poller)).found == 1
        clock.turn(PACE.interval)
        (due,) = await poller.claim(1, {})
        clock.turn(SECOND)
        await give_up(db, clock())
        clock.turn(SECOND)
        assert await poller.poll(due) == PollResult("unchanged")
        clock.turn(PACE.interval)
        assert (await poll_one(poller)).found == 1


async def test_rel_08_a_poll_that_fails_forgets_nothing_that_was_given_up(db, publisher):
    clock = Clock()
    await stored_watch(db, await stored_feed(db, f"{publisher.url}/feed"), host="127.0.0.1")
    publisher.response = answer(200, a_feed("1"))
    async with a_poller(db, clock) as poller:
        assert (await poll_one(poller)).found == 1
        await give_up(db, clock())
        clock.turn(PACE.interval)
        publisher.response, found = answer(500, b""), publisher.response
        assert (await poll_one(poller)).found == 0
        publisher.response = found
        clock.turn(2 * PACE.interval)
        assert (await poll_one(poller)).found == 1


async def test_r8_a_first_harvest_saved_by_another_is_not_repeated(db, publisher):
    """I4: the first knew of none when it was claimed."""
    clock = Clock()
    await stored_watch(db, await stored_feed(db, f"{publisher.url}/feed"), host="127.0.0.1")
    publisher.response = answer(200, a_feed("1"))
    async with a_poller(db, clock) as poller:
        (late,) = await poller.claim(1, {})
        clock.turn(LEASE)
        assert await poll_one(poller) == PollResult("changed", 1)
        assert await poller.poll(late) == PollResult("lost")
    assert [batch.is_first_harvest for batch in await item_batches(db)] == [True]


@pytest.mark.soak
async def test_rel_19d_cleaning_and_ingesting_never_deadlock(db):
    """Many times at once over the same rows, in whatever order they come to them."""
    feed = await stored_feed(db)
    shelves = [await a_reader(db, feeds=[feed]) for _ in range(3)]
    tasks = Tasks(db, MemoryWakeup(), lambda: Millis(NOON + 30 * DAY))

    async def clean():
        await outages.prune(db, Millis(NOON + 30 * DAY))
        await tasks.prune()
        await forget_tombstones(db, Millis(NOON + 900 * DAY))

    for trial in range(TRIALS):
        keys = [f"{trial}-{number}" for number in range(5)]
        await asyncio.gather(publish(db, feed, keys), clean(), publish(db, feed, keys[::-1]), clean())
    assert {len(await entries_of(db, shelf)) for shelf in shelves} == {TRIALS * 5}


async def test_rel_19i_a_refresh_before_the_create_commits_is_no_error(db):
    """Neither for what is not there yet, nor for a shelf whose subscription is on its way."""
    async with a_poller(db, Clock()) as poller:
        assert (await poller.ask_refresh(WatchId(10**6))).queued == 0
        shelf = await a_reader(db)
        for _ in range(10):
            feed = await stored_feed(db)
            _, asked, watch = await asyncio.gather(
                subscribe(db, shelf, feed), poller.ask_refresh_all(shelf), stored_watch(db, feed)
            )
            assert asked.queued in {0, 1}
            await poller.ask_refresh(watch)
        assert len(await poller.claim(10, {})) == 2  # of one host


async def test_rel_39_no_restart_makes_a_poll_come_early(db, publisher):
    """Ten processes one after the other, each as new as the first."""
    clock = Clock()
    watch = await stored_watch(db, await stored_feed(db, f"{publisher.url}/feed"), host="127.0.0.1")
    publisher.response = answer(200, a_feed("1"), etag='"a"')
    async with a_poller(db, clock, jitter=lambda: 0.9) as poller:
        await poll_one(poller)
    due = (await state(db, watch)).next_check_at
    for number in range(10):
        clock.now = Millis(NOON + (due - NOON) * number // 10)
        async with a_poller(db, clock, jitter=lambda: 0.1) as poller:
            assert await poll_due(poller) == []
    clock.now = due
    async with a_poller(db, clock) as poller:
        assert len(await poll_due(poller)) == 1
    assert ["if-none-match" in request for request in publisher.requests] == [False, True]


async def test_rel_39b_polls_after_an_outage_do_not_stay_synchronised(db, publisher):
    """Three days away, then all at once: afterwards they are spread over a part of their interval."""
    clock = Clock(Millis(NOON + 3 * DAY))
    publisher.response = answer(200, a_feed("1"))
    watches = [
        await stored_watch(db, await stored_feed(db, f"{publisher.url}/{n}"), host=f"h{n}", next_check_at=NOON)
        for n in range(30)
    ]
    async with a_poller(db, clock, jitter=random.Random(1).random) as poller:
        for _ in range(3):
            assert len(await poll_due(poller)) == 10
        assert await poll_due(poller) == []
    waits = [(await state(db, watch)).next_check_at - clock.now for watch in watches]
    assert len(set(waits)) == 30
    assert min(waits) >= PACE.interval
    assert PACE.interval * SPREAD / 2 < max(waits) - min(waits) <= PACE.interval * SPREAD


async def moving(db, clock, handler, polls, every=12 * HOUR):
    """Poll a feed at /old so often; where it is looked for afterwards."""
    async with a_publisher(handler) as publisher, a_poller(db, clock) as poller:
        feed = await stored_feed(db, f"{publisher.url}/old")
        watch = await stored_watch(db, feed, host="127.0.0.1")
        for _ in range(polls):
            clock.now = max(Millis(clock.now + every), (await state(db, watch)).next_check_at)
            await poll_one(poller)
        link = await db.read(lambda tx: tx.one(str, q.link, id=feed))
        return link.removeprefix(publisher.url)


@pytest.mark.parametrize(
    ("status", "body", "polls", "found_at"),
    [
        (301, a_feed("1"), 6, "/new"),
        (308, a_feed("1"), 6, "/new"),
        (301, a_feed("1"), 4, "/old"),
        (302, a_feed("1"), 8, "/old"),
        (307, a_feed("1"), 8, "/old"),
        (301, b"<html><body>Please sign in to this network.</body></html>", 8, "/old"),
    ],
)
async def test_rel_32_only_a_lasting_permanent_redirect_to_a_feed_is_believed(db, status, body, polls, found_at):
    assert await moving(db, Clock(), redirecting(status, body), polls) == found_at
