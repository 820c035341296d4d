"""What is new comes into every inbox that wants it, once, with an event and with as many notices as are due."""

import asyncio

import pytest

from tests.builders import NOON, a_new_chapter, stored_feed, stored_series
from tests.delivery.builders import (
    a_channel,
    a_followed_feed,
    a_followed_series,
    a_reader,
    chapters_tx,
    deliver_items_tx,
    entries_of,
    events_of,
    follow,
    follow_tx,
    items_tx,
    publish,
    release,
    subscribe,
    subscribe_tx,
    task_keys,
)
from tsuzuki.db import Tx
from tsuzuki.delivery.fanout import FLOOD, NOTHING, SETTLING, Delivered, deliver_chapters_tx
from tsuzuki.ingest.chapters import upsert_chapters_tx
from tsuzuki.model.times import Millis
from tsuzuki.shelves.backfill import KNOWN_ITEMS, deliver_known_chapters_tx, deliver_known_items_tx
from tsuzuki.shelves.events import EVENTS_WAKEUP

LATER = Millis(NOON + 60_000)


# -- entries


async def test_i2_every_subscriber_gets_one_entry_for_each_item(db):
    feed, readers = await a_followed_feed(db, readers=3)
    delivered = await publish(db, feed, range(4))
    assert delivered == Delivered(12, (EVENTS_WAKEUP,))
    for reader in readers:
        assert [(entry.unread, entry.created_at) for entry in await entries_of(db, reader)] == [(True, NOON)] * 4


async def test_i2_a_repeat_delivers_nothing(db):
    feed, [reader] = await a_followed_feed(db)
    new = await db.with_tx(lambda tx: items_tx(tx, feed, "ab"))
    deliveries = [
        await db.with_tx(lambda tx: deliver_items_tx(tx, feed, [*new, *new], is_first_harvest=False, now=NOON))
        for _ in range(3)
    ]
    assert deliveries == [Delivered(2, (EVENTS_WAKEUP,)), NOTHING, NOTHING]
    assert len(await entries_of(db, reader)) == 2
    assert len(await events_of(db, reader)) == 1


async def test_a_suspended_subscription_and_a_dropped_follow_get_nothing(db):
    feed, series = await stored_feed(db), await stored_series(db)
    reader = await a_reader(db)
    await subscribe(db, reader, feed, suspended_at=NOON)
    await follow(db, reader, series, status="dropped")
    assert await publish(db, feed, "a") == NOTHING
    assert await release(db, series, [1]) == NOTHING
    assert await entries_of(db, reader) == []
    assert await events_of(db, reader) == []


@pytest.mark.parametrize("status", ["reading", "plan", "done"])
async def test_every_other_follow_gets_the_chapter(db, status):
    series, reader = await stored_series(db), await a_reader(db)
    await follow(db, reader, series, status=status)
    assert (await release(db, series, [1])).entries == 1


async def test_nobody_else_gets_it(db):
    feed, _ = await a_followed_feed(db)
    other = await a_reader(db, feeds=[await stored_feed(db)])
    await publish(db, feed, "a")
    assert await entries_of(db, other) == []


async def test_an_item_of_another_feed_is_not_delivered(db):
    feed, [reader] = await a_followed_feed(db)
    foreign = await db.with_tx(lambda tx: items_tx(tx, feed, "a"))
    elsewhere, _ = await a_followed_feed(db)
    work = lambda tx: deliver_items_tx(tx, elsewhere, foreign, is_first_harvest=False, now=NOON)  # noqa: E731
    assert await db.with_tx(work) == NOTHING
    assert await entries_of(db, reader) == []


async def test_r30_a_chapter_sorts_by_published_or_first_seen(db):
    series, [reader] = await a_followed_series(db)
    dates = {1: Millis(NOON - 5), 2: Millis(NOON + 5), 3: None, 4: Millis(-5)}

    async def ingest(tx: Tx) -> Delivered:
        found = [a_new_chapter(number, published_at=at) for number, at in dates.items()]
        new = [chapter.id for chapter in await upsert_chapters_tx(tx, series, found, NOON)]
        return await deliver_chapters_tx(tx, series, new, is_first_harvest=False, now=NOON)

    await db.with_tx(ingest)
    assert [entry.sort_at for entry in await entries_of(db, reader)] == [NOON - 5, NOON, NOON, 0]


async def test_rel_01_a_rollback_leaves_no_entry_event_or_notice(db):
    feed, [reader] = await a_followed_feed(db)

    async def dies(tx: Tx) -> None:
        new = await items_tx(tx, feed, "a")
        await deliver_items_tx(tx, feed, new, is_first_harvest=False, now=NOON)
        raise KeyError("killed")

    with pytest.raises(KeyError):
        await db.with_tx(dies)
    assert await entries_of(db, reader) == []
    assert await events_of(db, reader) == []
    assert (await publish(db, feed, "a")).entries == 1


async def test_a_hundred_shelves_get_fifty_items_in_one_batch(db):
    feed, readers = await a_followed_feed(db, readers=100)
    delivered = await publish(db, feed, range(50))
    assert delivered.entries == 5_000
    assert {len(await entries_of(db, reader)) for reader in readers} == {50}
    assert {len(await events_of(db, reader)) for reader in readers} == {1}


async def test_rel_02_the_same_chapter_of_two_sources_makes_one_entry(db):
    series, [reader] = await a_followed_series(db)
    delivered = await asyncio.gather(*(release(db, series, [45]) for _ in range(10)))
    assert sorted(each.entries for each in delivered) == [0] * 9 + [1]
    assert len(await entries_of(db, reader)) == 1
    assert len(await events_of(db, reader)) == 1


# -- R8


async def test_r8_a_first_harvest_of_a_feed_is_unread_and_quiet(db):
    feed, [reader] = await a_followed_feed(db)
    assert (await publish(db, feed, range(3), first=True)).entries == 3
    [event] = await events_of(db, reader)
    assert event.kind == "entry"
    assert (event.payload["count"], event.payload["is_quiet"]) == (3, True)
    assert await task_keys(db, "notifications") == []


async def test_r8_a_first_harvest_of_a_series_is_one_notice(db):
    series, readers = await a_followed_series(db, readers=2)
    assert await release(db, series, range(1, 200), first=True) == Delivered(0, (EVENTS_WAKEUP,))
    for reader in readers:
        assert await entries_of(db, reader) == []
        [event] = await events_of(db, reader)
        assert (event.kind, event.payload["available"], event.payload["is_quiet"]) == ("entry", 199, True)
    assert (await release(db, series, [200])).entries == 2


async def test_a_first_harvest_that_nobody_follows_wakes_nobody(db):
    assert await release(db, await stored_series(db), [1], first=True) == NOTHING


@pytest.mark.parametrize("known", [3, KNOWN_ITEMS + 10])
async def test_r8_subscribing_to_a_known_feed_brings_its_newest_fifty(db, known):
    feed = await stored_feed(db)
    new = await db.with_tx(lambda tx: items_tx(tx, feed, range(known)))
    late = await a_reader(db)

    async def join(tx: Tx) -> int:
        await subscribe_tx(tx, late, feed, name="Mine")
        return await deliver_known_items_tx(tx, late, feed, now=LATER)

    assert await db.with_tx(join) == min(known, KNOWN_ITEMS)
    assert [entry.of_id for entry in await entries_of(db, late)] == sorted(new)[-KNOWN_ITEMS:]
    [event] = await events_of(db, late)
    assert (event.payload["name"], event.payload["is_quiet"]) == ("Mine", True)


async def test_subscribing_to_an_empty_feed_brings_nothing(db):
    feed, reader = await stored_feed(db), await a_reader(db)
    assert await db.with_tx(lambda tx: deliver_known_items_tx(tx, reader, feed, now=NOON)) == 0


async def test_an_item_published_during_subscribing_is_not_lost(db):
    feed, _ = await a_followed_feed(db)

    async def join(shelf):
        async def work(tx: Tx) -> None:
            await subscribe_tx(tx, shelf, feed)
            await deliver_known_items_tx(tx, shelf, feed, now=NOON)

        await db.with_tx(work)

    for round_ in range(15):
        late = [await a_reader(db) for _ in range(3)]
        await asyncio.gather(publish(db, feed, [f"new {round_}"]), *(join(shelf) for shelf in late))
        for shelf in late:
            assert len(await entries_of(db, shelf)) == round_ + 1


async def test_a_chapter_published_during_following_comes_exactly_once(db):
    """Whoever follows and whoever delivers wait for each other: whichever is first is seen by the other."""
    series, _ = await a_followed_series(db)

    async def join(shelf):
        async def work(tx: Tx) -> None:
            await follow_tx(tx, shelf, series)
            await deliver_known_chapters_tx(tx, shelf, series, now=NOON)

        await db.with_tx(work)

    for number in range(1, 16):
        late = [await a_reader(db) for _ in range(3)]
        await asyncio.gather(release(db, series, [number], first=number == 1), *(join(shelf) for shelf in late))
        for shelf in late:
            lines = [event.payload.get("available", 0) for event in await events_of(db, shelf)]
            by_line, by_inbox = max(lines, default=0), len(await entries_of(db, shelf))
            assert by_line + by_inbox == number


async def test_r8_whoever_follows_a_known_series_hears_how_much_there_is(db):
    series, _ = await a_followed_series(db)
    await release(db, series, range(1, 8), first=True)
    late = await a_reader(db)
    await follow(db, late, series)
    assert await db.with_tx(lambda tx: deliver_known_chapters_tx(tx, late, series, now=LATER)) == 7
    [event] = await events_of(db, late)
    assert (event.payload["available"], event.payload["is_quiet"]) == (7, True)


async def test_empty_or_unfollowed_back_catalogues_notify_nobody(db):
    reader, bare, (others, _) = await a_reader(db), await stored_series(db), await a_followed_series(db)
    await follow(db, reader, bare)
    await release(db, others, range(1, 8), first=True)
    for series in (bare, others):
        told = await db.with_tx(lambda tx, series=series: deliver_known_chapters_tx(tx, reader, series, now=LATER))
        assert told == 0
    assert await events_of(db, reader) == []


# -- what is said of it


@pytest.mark.parametrize(
    ("deliveries", "told"),
    [
        ([1], "each"),
        ([FLOOD], "each"),
        ([FLOOD + 1], "flood"),
        ([5_000], "flood"),
        ([FLOOD, 1], "each then flood"),
        ([FLOOD, 200, 200], "each then flood"),
        ([200, 1, 1], "flood"),
    ],
)
async def test_r8_rel_29_how_loud_news_is(db, deliveries, told):
    feed, [reader] = await a_followed_feed(db)
    await a_channel(db, reader)
    for number, count in enumerate(deliveries):
        await publish(db, feed, [f"{number}-{each}" for each in range(count)])
    keys = await task_keys(db, "notifications")
    floods = [key for key in keys if "flood" in key]
    assert len(floods) == ("flood" in told)
    assert len(keys) - len(floods) == (deliveries[0] if "each" in told else 0)


async def test_r8_parts_of_a_flood_make_one_more_notice(db):
    feed, [reader] = await a_followed_feed(db)
    await a_channel(db, reader)
    await publish(db, feed, "ab")
    for number in range(5):
        await publish(db, feed, [number], came=FLOOD + 1)
    keys = await task_keys(db, "notifications")
    assert [("flood" in key) for key in keys] == [False, False, True]


async def test_rel_29_a_flood_is_announced_after_it_has_arrived(db):
    feed, [reader] = await a_followed_feed(db)
    await a_channel(db, reader)
    await publish(db, feed, range(FLOOD + 1))
    assert await task_keys(db, "notifications", now=NOON + SETTLING - 1) == []
    assert len(await task_keys(db, "notifications", now=NOON + SETTLING)) == 1


async def test_a_back_catalogue_in_batches_announces_its_size(db):
    series, [reader] = await a_followed_series(db)
    for start in (0, 200, 400):
        await release(db, series, range(start, start + 200), first=True)
    assert [event.payload["available"] for event in await events_of(db, reader)] == [200, 400, 600]


async def test_an_event_names_the_readers_feed_and_newest_entry(db):
    feed, [reader] = await a_followed_feed(db)
    await publish(db, feed, "ab")
    [event] = await events_of(db, reader)
    assert event.payload.keys() == {"kind", "id", "name", "count", "newest"}
    assert (event.payload["kind"], event.payload["count"], len(event.payload["id"])) == ("item", 2, 36)


async def test_chapters_are_told_by_the_title_of_the_series(db):
    series, [reader] = await a_followed_series(db)
    new = await db.with_tx(lambda tx: chapters_tx(tx, series, [1]))
    await db.with_tx(lambda tx: deliver_chapters_tx(tx, series, new, is_first_harvest=False, now=NOON))
    [event] = await events_of(db, reader)
    assert (event.payload["kind"], event.payload["name"]) == ("chapter", "One")
