"""Whose turn it is."""

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import NOON, stored_feed, stored_shelf, stored_watch
from tests.polling.builders import Clock, a_poller, q, state
from tsuzuki.model.ids import ShelfId
from tsuzuki.model.priorities import COLD, HOT, WARM
from tsuzuki.model.times import HOUR, MINUTE, SECOND, Millis
from tsuzuki.polling.claims import PollSlots, shares
from tsuzuki.polling.store import put_off_tx


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


async def test_no_host_takes_more_than_its_share(db, poller):
    """R97: nobody is put off; and the places go to others."""
    watches = await due(db, 10, WARM, host="one.example")
    others = await due(db, 3, COLD)
    claimed = {watch.id for watch in await poller.claim(10, {})}
    assert claimed == {*watches[:2], *others}
    for waiting in watches[2:]:
        assert (await state(db, waiting)).next_check_at == NOON
        assert (await state(db, waiting)).lease_until is None


async def test_r97_a_deferred_watch_comes_before_later_due_ones(db):
    clock = Clock()
    async with a_poller(db, clock) as poller:
        early = await due(db, 6, WARM, host="one.example")
        late = [
            await stored_watch(
                db, await stored_feed(db), priority=WARM, host="one.example", next_check_at=Millis(NOON + SECOND + n)
            )
            for n in range(2)
        ]
        order = []
        for _ in range(4):
            claimed = await poller.claim(10, {})
            order += [watch.id for watch in claimed]
            clock.turn(2 * SECOND)
            await db.with_tx(lambda tx, claimed=claimed: give_up_tx(tx, claimed))
        assert order == [*early, *late]


async def test_r97_a_watch_deferred_by_pace_keeps_its_place(db):
    """It is due when its host has room again, and then before what fell due meanwhile."""
    clock = Clock()
    async with a_poller(db, clock) as poller:
        (first,) = await due(db, 1, WARM, host="one.example")
        (claimed,) = await poller.claim(1, {})
        await db.with_tx(
            lambda tx: put_off_tx(tx, claimed, until=Millis(NOON + MINUTE), why="not our turn", keeps_place=True)
        )
        later = await stored_watch(
            db, await stored_feed(db), priority=WARM, host="one.example", next_check_at=Millis(NOON + SECOND)
        )
        clock.turn(30 * SECOND)
        assert [each.id for each in await poller.claim(1, {"two.example": 1})] == [later]
        await db.with_tx(lambda tx: tx.run(q.make_due, id=later, at=Millis(NOON + SECOND)))
        clock.turn(30 * SECOND)
        assert [each.id for each in await poller.claim(2, {})] == [first, later]


async def give_up_tx(tx, claimed):
    for watch in claimed:
        await put_off_tx(tx, watch, until=Millis(NOON + HOUR), why="")


class AWatch(msgspec.Struct, frozen=True):
    host: str
    shelf_id: ShelfId | None = None


def test_a_shelf_leaves_places_to_others_when_there_are():
    own = [AWatch(f"h{n}", ShelfId(1)) for n in range(30)]

    def kept(*, is_shared, shelves=None):
        places = PollSlots(10, hosts={}, shelves=shelves or {}, per_host=2, is_shared=is_shared)
        taken, _ = places.take(own)
        others, _ = places.take([AWatch("other", ShelfId(2)), AWatch("shared", None)])
        return len(taken), len(others)

    assert kept(is_shared=True) == (7, 2)
    assert kept(is_shared=True, shelves={ShelfId(1): 7}) == (5, 2)
    assert kept(is_shared=False) == (10, 0)


async def test_what_is_in_flight_counts(db, poller):
    await due(db, 1, WARM, host="one.example")
    assert await poller.claim(5, {"one.example": 2}) == []


async def test_a_refresh_comes_first_even_if_suspended(db, poller):
    await due(db, 5, HOT)
    wanted = await stored_watch(
        db, await stored_feed(db), host="w.example", priority=COLD, next_check_at=Millis(NOON + 10 * MINUTE)
    )
    await db.with_tx(lambda tx: tx.run(q.suspend, id=wanted))
    assert (await poller.ask_refresh(wanted)).queued == 1
    assert (await poller.ask_refresh(wanted)).queued == 0
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
    assert (await poller.ask_refresh_all(await stored_shelf(db))).queued == 0


async def test_refreshes_use_places_that_a_busy_host_leaves(db):
    clock = Clock()
    async with a_poller(db, clock) as poller:
        first = await due(db, 8, COLD, host="one.example")
        others = await due(db, 3, HOT)
        for watch in (*first, *others):
            await db.with_tx(lambda tx, watch=watch: tx.run(q.suspend, id=watch))
            await poller.ask_refresh(watch)
            clock.turn(SECOND)
        claimed = [watch.id for watch in await poller.claim(5, {})]
        assert claimed == [*first[:2], *others]


async def test_refreshing_one_hosts_feeds_forgets_none_and_blocks_none(db):
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
