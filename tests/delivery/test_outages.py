"""A source that breaks is told once, and once that it healed, however many of its series are concerned."""

import asyncio

import pytest

from tests.builders import NOON, stored_feed, stored_series, stored_series_source, stored_source, stored_watch
from tests.delivery.builders import a_reader, events_of
from tsuzuki.delivery.fanout import NOTHING, Delivered
from tsuzuki.delivery.outages import KEPT_OUTAGES, alert_broken_tx, alert_healed_tx, prune
from tsuzuki.model.errors import NotFound
from tsuzuki.model.times import Millis
from tsuzuki.notifications.tasks import SENDS
from tsuzuki.shelves.events import EVENTS_WAKEUP
from tsuzuki.sources.watches import NewWatch, add_watch_tx


async def broke(db, watch, reason="It does not answer.", now=NOON):
    return await db.with_tx(lambda tx: alert_broken_tx(tx, watch, reason=reason, now=now))


async def healed(db, watch, now=NOON):
    return await db.with_tx(lambda tx: alert_healed_tx(tx, watch, now=now))


async def a_watched_feed(db):
    feed = await stored_feed(db)
    return feed, await stored_watch(db, feed)


async def watched_series(db, source, count):
    """So many series of one source, each with its watch."""
    found = []
    for number in range(count):
        series = await stored_series(db, f"Series {number}")
        mapping = await stored_series_source(db, series, source)
        new = NewWatch(series_source_id=mapping, host="example.org", next_check_at=NOON)
        found.append((series, await db.with_tx(lambda tx, new=new: add_watch_tx(tx, new, NOON))))
    return [series for series, _ in found], [watch for _, watch in found]


async def told(notifier, receiver):
    async with notifier.open():
        await notifier.until_idle()
    return [(got.document["type"], got.document["data"]["title"]) for got in receiver.got]


async def test_an_outage_is_told_once_and_its_end_once(db):
    feed, watch = await a_watched_feed(db)
    reader = await a_reader(db, feeds=[feed])
    answers = [await broke(db, watch), await broke(db, watch), await healed(db, watch), await healed(db, watch)]
    assert answers == [Delivered(0, (EVENTS_WAKEUP,)), NOTHING, Delivered(0, (EVENTS_WAKEUP,)), NOTHING]
    assert await broke(db, watch) != NOTHING
    events = await events_of(db, reader)
    assert [(event.kind, event.payload["is_broken"]) for event in events] == [
        ("feed", True),
        ("feed", False),
        ("feed", True),
    ]


async def test_of_many_who_find_it_out_at_once_one_tells(db):
    feed, watch = await a_watched_feed(db)
    await a_reader(db, feeds=[feed])
    answers = await asyncio.gather(*(broke(db, watch) for _ in range(10)))
    assert sum(answer != NOTHING for answer in answers) == 1


async def test_a_watch_that_was_never_broken_does_not_heal(db):
    _, watch = await a_watched_feed(db)
    assert await healed(db, watch) == NOTHING


async def test_a_watch_that_is_gone_is_not_found(db):
    with pytest.raises(NotFound):
        await broke(db, 999)


async def test_a_password_in_the_reason_is_not_told(db):
    feed, watch = await a_watched_feed(db)
    reader = await a_reader(db, feeds=[feed])
    await broke(db, watch, reason="http://me:hunter2@example.org/ does not answer")
    [event] = await events_of(db, reader)
    assert "hunter2" not in str(event.payload)


async def test_channels_are_told_by_the_name_of_the_feed(db, notifier, receiver):
    feed, watch = await a_watched_feed(db)
    reader = await a_reader(db, feeds=[feed])
    await notifier.webhook(reader, receiver.url)
    assert SENDS.name in (await broke(db, watch)).wakeups
    await healed(db, watch)
    assert sorted(kind for kind, _ in await told(notifier, receiver)) == ["source.broken", "source.healed"]


async def test_a_source_breaking_for_many_series_notifies_readers_once(db, notifier, receiver):
    source = await stored_source(db, name="Mangaverse")
    series, watches = await watched_series(db, source, 3)
    fan = await a_reader(db, series=series)
    other = await a_reader(db, series=series[2:])
    for shelf in (fan, other):
        await notifier.webhook(shelf, f"{receiver.url}/{shelf}")
    await asyncio.gather(*(broke(db, watch) for watch in watches))
    assert await told(notifier, receiver) == [("source.broken", "Mangaverse")] * 2
    receiver.got.clear()
    await healed(db, watches[0])
    await healed(db, watches[2])
    assert await told(notifier, receiver) == [("source.healed", "Mangaverse")]
    assert [got.path for got in receiver.got] == [f"/{other}"]
    await healed(db, watches[1])
    assert [got.path for got in receiver.got] == [f"/{other}"]
    await told(notifier, receiver)
    assert [got.path for got in receiver.got] == [f"/{other}", f"/{fan}"]


async def test_old_outages_are_forgotten_and_open_ones_are_not(db):
    _, watch = await a_watched_feed(db)
    _, other = await a_watched_feed(db)
    await broke(db, watch)
    await healed(db, watch)
    await broke(db, other)
    assert await prune(db, Millis(NOON + KEPT_OUTAGES)) == 0
    assert await prune(db, Millis(NOON + KEPT_OUTAGES + 1)) == 1
    assert await broke(db, other) == NOTHING
