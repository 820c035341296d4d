"""Sources, feeds and watches."""

import asyncio
from collections import Counter

import pytest

from tests.builders import NOON, stored_feed, stored_series, stored_series_source, stored_source, stored_watch
from tsuzuki.db.errors import CheckViolation, UniqueViolation
from tsuzuki.model.times import HOUR, MINUTE, Millis
from tsuzuki.polling.store import claim_due_watches_tx
from tsuzuki.sources.feeds import find_feed_tx, new_feed_tx
from tsuzuki.sources.sites import register_source_tx
from tsuzuki.sources.types import NewSource
from tsuzuki.sources.watches import NewWatch, add_watch_tx


async def test_r9_source_ids_are_numbers_from_100000(db):
    assert await stored_source(db) == 100_000
    assert await stored_source(db) == 100_001


@pytest.mark.parametrize("same", ["name", "slug"])
async def test_an_existing_source_conflicts_and_names_the_field(db, same):
    new = NewSource(uid=2**40, name="One", slug="one", base_url="https://example.org")
    await stored_source(db, name="One" if same == "name" else "Other", slug="one" if same == "slug" else "other")
    with pytest.raises(UniqueViolation) as refused:
        await db.with_tx(lambda tx: register_source_tx(tx, new, is_enabled=True, now=NOON))
    assert refused.value.on == f"source.{same}"


async def test_r70_a_known_feed_is_shared(db):
    link = "https://example.org/feed"
    first = await db.with_tx(lambda tx: new_feed_tx(tx, link, now=NOON))
    assert first is not None
    assert await db.with_tx(lambda tx: new_feed_tx(tx, link, now=NOON)) is None
    assert await db.read(lambda tx: find_feed_tx(tx, link)) == first


async def test_sec_10_the_same_link_through_a_proxy_is_another_feed(db):
    link = "https://example.org/feed"
    direct = await db.with_tx(lambda tx: new_feed_tx(tx, link, now=NOON))
    behind = await db.with_tx(lambda tx: new_feed_tx(tx, link, now=NOON, proxy="http://proxy.example.org"))
    assert behind is not None
    assert direct != behind


async def test_a_watch_has_either_a_feed_or_a_series_source(db):
    feed = await stored_feed(db)
    mapping = await stored_series_source(db, await stored_series(db), await stored_source(db))
    nothing = NewWatch(host="example.org", next_check_at=NOON)
    both = NewWatch(host="example.org", next_check_at=NOON, feed_id=feed, series_source_id=mapping)
    for new in (nothing, both):
        with pytest.raises(CheckViolation):
            await db.with_tx(lambda tx, new=new: add_watch_tx(tx, new, NOON))


async def claim(db, priority=2, *, now=NOON, lease=MINUTE, most=10):
    return await db.with_tx(lambda tx: claim_due_watches_tx(tx, {priority: most}, now=now, lease=lease))


async def test_the_longest_overdue_watches_are_claimed_first(db):
    wanted = {}
    for due, priority, suspended in ((NOON, 2, False), (NOON - HOUR, 2, False), (NOON + 1, 2, False), (NOON, 1, False)):
        watch = await stored_watch(db, await stored_feed(db), next_check_at=Millis(due), priority=priority)
        wanted[due, priority, suspended] = watch
    claimed = await claim(db, most=1)
    assert [each.id for each in claimed] == [wanted[NOON - HOUR, 2, False]]
    assert [each.id for each in await claim(db)] == [wanted[NOON, 2, False]]
    assert await claim(db) == []


async def test_i5_an_expired_lease_makes_the_watch_due_again(db):
    await stored_watch(db, await stored_feed(db))
    first = (await claim(db))[0]
    assert await claim(db, now=Millis(NOON + MINUTE - 1)) == []
    second = (await claim(db, now=Millis(NOON + MINUTE)))[0]
    assert (second.id, second.lease_token) == (first.id, first.lease_token + 1)


async def test_rel_09_two_schedulers_over_200_due_watches_make_200_polls(db):
    for _ in range(200):
        await stored_watch(db, await stored_feed(db))

    async def scheduler():
        mine = []
        while batch := await claim(db, most=7):
            mine += [watch.id for watch in batch]
        return mine

    taken = Counter(watch for mine in await asyncio.gather(*(scheduler() for _ in range(4))) for watch in mine)
    assert len(taken) == 200
    assert set(taken.values()) == {1}
