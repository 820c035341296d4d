"""Those who follow a source are told once that it broke, and once that it works again."""

from tests.builders import stored_feed, stored_watch
from tests.delivery.builders import a_reader, events_of
from tests.net.builders import answer
from tests.polling.builders import Clock, a_feed, a_poller, poll_one, state
from tsuzuki.polling.policy import BREAKER_AT
from tsuzuki.shelves.events import EVENTS_WAKEUP


async def poll_again(db, poller, clock, watch):
    """One more poll at the next moment that the watch is due."""
    clock.now = max(clock.now, (await state(db, watch)).next_check_at)
    return await poll_one(poller)


async def test_a_broken_feed_notifies_once_and_again_when_repaired(db, publisher):
    clock, rung = Clock(), []
    feed = await stored_feed(db, f"{publisher.url}/feed")
    watch = await stored_watch(db, feed, host="127.0.0.1")
    shelf = await a_reader(db, feeds=[feed])

    async def alerts():
        return [event.payload["is_broken"] for event in await events_of(db, shelf) if event.kind == "feed"]

    async with a_poller(db, clock, after_commit=lambda *names: rung.extend(names)) as poller:
        publisher.response = answer(500, b"")
        for _ in range(BREAKER_AT - 1):
            await poll_again(db, poller, clock, watch)
        assert await alerts() == []
        for _ in range(3):
            await poll_again(db, poller, clock, watch)
        assert await alerts() == [True]
        assert rung == [EVENTS_WAKEUP]
        publisher.response = answer(200, a_feed("1"))
        await poll_again(db, poller, clock, watch)
        await poll_again(db, poller, clock, watch)
        assert await alerts() == [True, False]
        assert rung == [EVENTS_WAKEUP, EVENTS_WAKEUP]


async def test_failures_that_pass_by_themselves_are_nobodys_business(db, publisher):
    clock = Clock()
    feed = await stored_feed(db, f"{publisher.url}/feed")
    watch = await stored_watch(db, feed, host="127.0.0.1")
    shelf = await a_reader(db, feeds=[feed])
    async with a_poller(db, clock) as poller:
        for _ in range(BREAKER_AT - 1):
            await poll_again(db, poller, clock, watch)
        publisher.response = answer(200, a_feed("1"))
        await poll_again(db, poller, clock, watch)
    assert [event.kind for event in await events_of(db, shelf)] == []


async def test_a_feed_gone_for_good_notifies_when_confirmed(db, publisher):
    clock = Clock()
    feed = await stored_feed(db, f"{publisher.url}/feed")
    watch = await stored_watch(db, feed, host="127.0.0.1")
    shelf = await a_reader(db, feeds=[feed])
    publisher.response = answer(410, b"")
    async with a_poller(db, clock) as poller:
        await poll_again(db, poller, clock, watch)
        assert await events_of(db, shelf) == []
        await poll_again(db, poller, clock, watch)
    assert [event.kind for event in await events_of(db, shelf)] == ["feed"]
