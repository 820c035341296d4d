"""R94, R97, and what becomes of a watch whose polls never end or whose clock was wrong."""

import asyncio

import pytest

from tests.builders import NOON, stored_feed, stored_watch
from tests.net.builders import answer
from tests.polling.builders import LEASE, a_feed, poll_due, poll_one, q, state
from tsuzuki.model.times import DAY, HOUR, MINUTE, Millis
from tsuzuki.polling.outcomes import EndedPoll, PollAnswer, save_answers_tx


@pytest.fixture
async def watch(db, publisher):
    return await stored_watch(db, await stored_feed(db, f"{publisher.url}/feed"), host="127.0.0.1")


def wishing_feed(wishes: str, *keys: str) -> bytes:
    return a_feed(*keys).replace(b"<title>A feed</title>", f"<title>A feed</title>{wishes}".encode())


async def next_wait(db, watch, clock):
    return (await state(db, watch)).next_check_at - clock()


# -- R94: on both engines, through what is stored


@pytest.mark.parametrize("again", [answer(304, b""), None], ids=["304", "the same body"])
async def test_r94_wishes_are_kept_where_an_answer_does_not_repeat_them(db, poller, publisher, clock, watch, again):
    """NOON is 12:00 UTC; two hours later lies in a skipped hour."""
    wishes = "<ttl>120</ttl><skipHours><hour>14</hour><hour>15</hour></skipHours>"
    publisher.response = answer(200, wishing_feed(wishes, "1"), etag='"1"')
    await poll_one(poller)
    assert await next_wait(db, watch, clock) == 4 * HOUR
    clock.turn(4 * HOUR)
    publisher.response = again or publisher.response
    assert (await poll_one(poller)).outcome == "unchanged"
    assert await next_wait(db, watch, clock) == 2 * HOUR
    assert (await state(db, watch)).next_check_why == "the publisher asks for this pause"
    publisher.response = answer(200, a_feed("2", "1"))
    clock.turn(2 * HOUR)
    await poll_one(poller)
    assert await next_wait(db, watch, clock) == 30 * MINUTE


async def test_r94_a_304_without_freshness_is_good_for_as_long_again(db, poller, publisher, clock, watch):
    publisher.response = answer(200, a_feed("1"), etag='"1"', cache_control="max-age=7200")
    await poll_one(poller)
    publisher.response = answer(304, b"")
    clock.turn(2 * HOUR)
    await poll_one(poller)
    assert await next_wait(db, watch, clock) == 2 * HOUR


async def test_a_failure_waits_for_the_skipped_hours_too(db, poller, publisher, clock, watch):
    publisher.response = answer(200, wishing_feed("<skipHours><hour>13</hour></skipHours>", "1"))
    await poll_one(poller)
    clock.turn(30 * MINUTE)
    publisher.response = answer(500, b"")
    await poll_one(poller)
    assert (await state(db, watch)).next_check_at == NOON + 2 * HOUR


# -- whose lease is lost


async def test_a_feed_that_hangs_twice_is_not_called_again(db, poller, publisher, clock, watch):
    publisher.response = answer(200, a_feed("1"))
    for _ in range(2):
        assert len(await poller.claim(1, {})) == 1  # and whoever claimed it dies
        clock.turn(LEASE)
    assert (await poll_one(poller)).outcome == "unended"
    assert publisher.requests == []
    after = await state(db, watch)
    assert (after.consecutive_failures, after.last_error_code) == (1, "unended")
    assert after.next_check_at == clock() + int(30 * MINUTE * 1.8)
    clock.turn(HOUR)
    assert (await poll_one(poller)).outcome == "changed"


async def test_polls_that_end_in_between_begin_the_count_anew(db, poller, publisher, clock, watch):
    publisher.response = answer(200, a_feed("1"))
    for _ in range(3):
        await poller.claim(1, {})
        clock.turn(LEASE)
        assert (await poll_one(poller)).outcome in ("changed", "unchanged")
        clock.turn(HOUR)
    assert (await state(db, watch)).consecutive_failures == 0


async def test_a_poll_waiting_for_its_host_loses_nothing(db, poller, publisher, clock, watch):
    publisher.response = answer(200, a_feed("1"))
    others = [await stored_watch(db, await stored_feed(db), host="127.0.0.1") for _ in range(4)]
    for _ in range(5):
        claimed = await poller.claim(10, {"127.0.0.1": 1})
        assert len(claimed) == 1
        await asyncio.gather(*(poller.poll(each, NoTurn()) for each in claimed))
    await db.with_tx(lambda tx: tx.run(q.drop_others, id=watch))
    assert (await poll_one(poller)).outcome == "changed"
    assert len(others) == 4


async def test_a_stopped_poll_does_not_count_as_hanging(db, poller, publisher, watch):
    """However often the server is restarted in the middle of it: it is due again at once."""
    publisher.response, publisher.delay = answer(200, a_feed("1")), 60
    for _ in range(3):
        (claimed,) = await poller.claim(1, {})
        polling = asyncio.create_task(poller.poll(claimed))
        await asyncio.sleep(0.1)
        polling.cancel()
        with pytest.raises(asyncio.CancelledError):
            await polling
    publisher.delay = 0
    assert (await poll_one(poller)).outcome == "changed"


class NoTurn:
    """A loop that stops before this poll's turn comes."""

    async def __aenter__(self) -> bool:
        return False

    async def __aexit__(self, *_: object) -> None:
        pass


# -- the clock


async def test_after_a_clock_ahead_feeds_are_polled_on_time(db, poller, publisher, clock, watch):
    """REL-19g: what was planned by it is planned by as much from now on."""
    publisher.response = answer(503, b"", retry_after="7200")
    other = await stored_watch(db, await stored_feed(db, f"{publisher.url}/other"), host="h.example")
    clock.turn(2 * DAY)
    (first, second) = await poller.claim(2, {})
    await poller.poll(first)
    told = PollAnswer(next_check_at=Millis(clock() + 30 * MINUTE), why="", priority=1, status=200)
    await db.with_tx(lambda tx: save_answers_tx(tx, [EndedPoll(second, told, clock())], waits=True))
    late = await stored_watch(db, await stored_feed(db), host="l.example", next_check_at=clock())
    await poller.claim(1, {})  # and its worker dies
    clock.turn(-2 * DAY)
    assert await poll_due(poller) == []
    assert await poller.repair() == 3
    after = await state(db, first.id)
    assert after.next_check_at == after.retry_after_until == clock() + 2 * HOUR
    assert (await state(db, second.id)).next_check_at == clock() + 30 * MINUTE
    after = await state(db, late)
    assert (after.lease_until, after.next_check_at) == (clock() + LEASE, clock() + 2 * DAY)
    assert {first.id, second.id} == {watch, other}
    assert await poller.repair() == 0


async def test_a_feed_added_by_a_clock_ahead_is_due(db, poller, clock):
    clock.turn(-3 * HOUR)  # rows of tests are made at noon
    watch = await stored_watch(db, await stored_feed(db), next_check_at=NOON)
    assert await poller.claim(1, {}) == []
    assert await poller.repair() == 1
    assert [each.id for each in await poller.claim(1, {})] == [watch]


async def test_skipped_days_are_not_mistaken_for_a_wrong_clock(db, poller, publisher, clock, watch):
    days = "".join(
        f"<day>{day}</day>"
        for day in ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")[1:]
    )
    publisher.response = answer(200, wishing_feed(f"<skipDays>{days}</skipDays>", "1"))
    await poll_one(poller)
    before = (await state(db, watch)).next_check_at
    assert await poller.repair() == 0
    assert (await state(db, watch)).next_check_at == before


async def test_r94_what_falls_due_offline_waits_for_skipped_hours(db, poller, publisher, clock, watch):
    """Unless a person asks."""
    publisher.response = answer(200, wishing_feed("<skipHours><hour>15</hour></skipHours>", "1"))
    await poll_one(poller)
    clock.turn(3 * HOUR + 20 * MINUTE)
    assert await poll_due(poller) == []
    assert await next_wait(db, watch, clock) == 40 * MINUTE
    await poller.ask_refresh(watch)
    assert (await poll_one(poller)).outcome == "unchanged"


async def test_rel_19g_mending_takes_no_watch_from_whoever_polls_it(db, poller, clock):
    """What was made by a clock that was ahead, and is leased by the right one, is polled once."""
    watch = await stored_watch(db, await stored_feed(db), next_check_at=Millis(clock() - 2 * HOUR))
    clock.turn(-HOUR)
    [claimed] = await poller.claim(1, {})
    assert claimed.id == watch
    await poller.repair()
    assert await poller.claim(1, {}) == []
    clock.turn(LEASE)
    assert [again.id for again in await poller.claim(1, {})] == [watch]
