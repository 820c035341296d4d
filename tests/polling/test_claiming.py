"""Whose turn it is."""

from hypothesis import given
from hypothesis import strategies as st

from tests.builders import NOON, stored_feed, stored_shelf, stored_watch
from tests.polling.builders import Clock, a_poller, q, state
from tsuzuki.model.times import MINUTE, SECOND, Millis
from tsuzuki.polling.claiming import DEFERRED_FOR, shares
from tsuzuki.polling.policy import COLD, HOT, WARM


@given(st.integers(0, 1000))
def test_shares_add_up_and_leave_no_class_out(slots):
    given_ = shares(slots)
    assert sum(given_.values()) <= slots
    if slots >= 3:
        assert min(given_.values()) >= 1
        assert given_[HOT] >= given_[WARM] >= given_[COLD]


async def due(db, count, priority, *, host=None):
    return [
        await stored_watch(
            db, await stored_feed(db), priority=priority, host=host or f"{priority}-{n}.example", next_check_at=NOON
        )
        for n in range(count)
    ]


async def test_cold_watches_are_not_starved_by_hot_ones(db, poller):
    await due(db, 30, HOT)
    await due(db, 30, COLD)
    claimed = await poller.claim(10, {})
    assert sorted({watch.priority for watch in claimed}) == [HOT, COLD]
    assert len(claimed) == 10


async def test_what_a_class_leaves_the_others_may_have(db, poller):
    await due(db, 30, COLD)
    assert len(await poller.claim(10, {})) == 10


async def test_no_host_takes_more_than_its_share_and_the_rest_waits_a_moment(db, poller):
    watches = await due(db, 10, WARM, host="one.example")
    claimed = await poller.claim(10, {})
    assert len(claimed) == 2
    put_back = next(watch for watch in watches if watch not in {each.id for each in claimed})
    assert (await state(db, put_back)).next_check_at == NOON + DEFERRED_FOR
    assert (await state(db, put_back)).lease_until is None


async def test_what_is_in_flight_counts(db, poller):
    await due(db, 1, WARM, host="one.example")
    assert await poller.claim(5, {"one.example": 2}) == []


async def test_a_refresh_comes_first_also_for_what_is_suspended_or_not_due(db, poller):
    await due(db, 5, HOT)
    wanted = await stored_watch(
        db, await stored_feed(db), host="w.example", priority=COLD, next_check_at=Millis(NOON + 10 * MINUTE)
    )
    await db.with_tx(lambda tx: tx.run(q.suspend, id=wanted))
    assert await poller.ask_refresh(wanted)
    assert not await poller.ask_refresh(wanted)
    assert [watch.id for watch in await poller.claim(1, {})] == [wanted]


async def test_a_refresh_waits_for_the_poll_that_is_running(db):
    clock = Clock()
    async with a_poller(db, clock) as poller:
        (watch,) = await due(db, 1, HOT)
        await poller.claim(1, {})
        await poller.ask_refresh(watch)
        assert await poller.claim(1, {}) == []
        clock.turn(30 * SECOND)
        assert [each.id for each in await poller.claim(1, {})] == [watch]


async def test_refreshing_all_asks_for_the_feeds_of_that_shelf_only(db, poller):
    await due(db, 2, HOT)
    assert await poller.ask_refresh_all(await stored_shelf(db)) == 0


async def test_a_refresh_of_many_feeds_of_one_host_forgets_none_and_keeps_no_place_from_others(db):
    """Suspended ones too: what is not polled now stays wanted."""
    clock = Clock()
    async with a_poller(db, clock) as poller:
        watches = await due(db, 6, COLD, host="one.example")
        others = await due(db, 3, HOT)
        for watch in watches:
            await db.with_tx(lambda tx, watch=watch: tx.run(q.suspend, id=watch))
            await poller.ask_refresh(watch)
        polled = set()
        for _ in range(3):
            claimed = {watch.id for watch in await poller.claim(5, {})}
            assert len(claimed & set(watches)) == 2
            polled |= claimed
        assert polled == {*watches, *others}
