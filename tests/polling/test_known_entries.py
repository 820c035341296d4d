"""Entries whose digests are known are not compared again; nothing new or changed escapes by that."""

import pytest

from tests.builders import NOON, store_items_tx, stored_feed, stored_watch
from tests.net.builders import answer
from tests.polling.builders import a_feed, item_batches, poll_one, state
from tests.polling.test_outcomes import PLAIN
from tests.polling.test_scenarios import give_up
from tsuzuki.db.queries import parse_queries
from tsuzuki.ingest.housekeeping import TOUCHED
from tsuzuki.ingest.items import new_item
from tsuzuki.model.times import DAY, HOUR, MINUTE, Millis
from tsuzuki.polling.outcomes import EndedPoll, FeedDigests, FeedMetadata, save_polls_tx
from tsuzuki.polling.policy import COMPARED_EVERY

own = parse_queries(
    "tests",
    """
-- name: digests
select digests from feed_digest where feed_id = :feed_id;
-- name: compared_at
select compared_at from feed_digest where feed_id = :feed_id;
-- name: forget_items
delete from item where feed_id = :feed_id;
-- name: bury
insert into item_tombstone (feed_id, key, link_key, content_hash, at)
select feed_id, key, link_key, content_hash, cast(:now as bigint) from item where feed_id = :feed_id;
-- name: last_listed
select at from item_tombstone where feed_id = :feed_id;
""",
)


@pytest.fixture
async def feed(db, publisher):
    return await stored_feed(db, f"{publisher.url}/feed")


@pytest.fixture(autouse=True)
async def watch(db, feed):
    return await stored_watch(db, feed, host="127.0.0.1")


async def polled(db, poller, publisher, clock, body):
    """What a poll hands on of this document, half an hour later."""
    clock.turn(30 * MINUTE)
    publisher.response = answer(200, body)
    await poll_one(poller)
    batches = await item_batches(db)
    return [item for batch in batches for item in batch.items]


async def stored(db, feed, items):
    await db.with_tx(lambda tx: store_items_tx(tx, feed, [new_item(item, NOON) for item in items], NOON))


def keys(items):
    return sorted(item.key for item in items)


async def test_other_bytes_with_the_same_entries_are_not_compared(db, poller, publisher, clock, feed, watch):
    """Nothing of them is stored here, so a comparison would find them all new."""
    assert keys(await polled(db, poller, publisher, clock, a_feed("2", "1"))) == ["1", "2"]
    assert not await polled(db, poller, publisher, clock, a_feed("1", "2", title="Another title"))
    assert (await state(db, watch)).consecutive_failures == 0  # R28: it is not empty


async def test_r32_an_article_that_changes_and_changes_back_is_noticed(db, poller, publisher, clock, feed):
    first = await polled(db, poller, publisher, clock, a_feed("2", "1"))
    await stored(db, feed, first)
    changed = await polled(db, poller, publisher, clock, a_feed("2", "1", changed="1"))
    assert [item.title for item in changed] == ["Item 1 again"]
    await stored(db, feed, changed)
    assert [item.title for item in await polled(db, poller, publisher, clock, a_feed("2", "1"))] == ["Item 1"]


async def test_only_what_is_new_is_handed_on_beside_known_entries(db, poller, publisher, clock, feed):
    await stored(db, feed, await polled(db, poller, publisher, clock, a_feed("2", "1")))
    assert keys(await polled(db, poller, publisher, clock, a_feed("3", "2", "1"))) == ["3"]
    assert not await polled(db, poller, publisher, clock, a_feed("3", "2", "1", title="Another title"))


async def test_what_left_the_document_is_compared_when_it_comes_back(db, poller, publisher, clock, feed):
    await stored(db, feed, await polled(db, poller, publisher, clock, a_feed("2", "1")))
    assert not await polled(db, poller, publisher, clock, a_feed("2"))
    await db.with_tx(lambda tx: tx.run(own.forget_items, feed_id=feed))
    assert keys(await polled(db, poller, publisher, clock, a_feed("2", "1"))) == ["1"]


async def test_rel_08_entries_that_ingest_gave_up_are_not_taken_for_known(db, poller, publisher, clock, feed):
    clock.turn(30 * MINUTE)
    publisher.response = answer(200, a_feed("1"))
    await poll_one(poller)
    await give_up(db, clock())
    await item_batches(db)
    assert keys(await polled(db, poller, publisher, clock, a_feed("1", title="Another title"))) == ["1"]


async def test_once_a_week_all_entries_are_compared(db, poller, publisher, clock, feed):
    assert keys(await polled(db, poller, publisher, clock, a_feed("1"))) == ["1"]
    compared_at = await db.read(lambda tx: tx.one(Millis, own.compared_at, feed_id=feed))
    assert not await polled(db, poller, publisher, clock, a_feed("1", title="Another title"))
    assert keys(await polled(db, poller, publisher, clock, a_feed("2", "1"))) == ["2"]
    assert await db.read(lambda tx: tx.one(Millis, own.compared_at, feed_id=feed)) == compared_at
    clock.turn(COMPARED_EVERY)
    assert keys(await polled(db, poller, publisher, clock, a_feed("1"))) == ["1"]
    assert await db.read(lambda tx: tx.one(Millis, own.compared_at, feed_id=feed)) == clock()


async def test_i4_who_lost_the_lease_makes_nothing_known(db, poller, clock, feed):
    (watch,) = await poller.claim(1, {})
    clock.turn(HOUR)
    (again,) = await poller.claim(1, {})
    metadata = FeedMetadata(
        id=feed, now=clock(), title="A feed", site_url=None, description=None, language=None, icon_url=None,
        hub_url=None, has_unstable_keys=False,
    )  # fmt: skip
    for each, expected in ((watch, None), (again, b"12345678")):
        digests = FeedDigests(feed, b"12345678", clock())
        ended = EndedPoll(each, PLAIN, clock(), metadata, digests=digests)
        await db.with_tx(lambda tx, ended=ended: save_polls_tx(tx, [ended], waits=True))
        assert await db.read(lambda tx: tx.maybe(bytes, own.digests, feed_id=feed)) == expected


async def test_rel_27_a_new_entry_on_a_known_page_is_new(db, poller, publisher, clock, feed):
    """As when all of it is compared: two entries of one page, and both listed."""

    def two(*keys):
        return a_feed(*keys).replace(b"https://example.org/2", b"https://example.org/1")

    await stored(db, feed, await polled(db, poller, publisher, clock, two("1")))
    assert keys(await polled(db, poller, publisher, clock, two("2", "1"))) == ["2"]


async def test_rel_39d_the_weekly_comparison_says_what_is_still_listed(db, poller, publisher, clock, feed):
    """Digests are no reason to forget a tombstone of what is listed all the time."""
    await stored(db, feed, items := await polled(db, poller, publisher, clock, a_feed("1")))
    await db.with_tx(lambda tx: tx.run(own.bury, feed_id=feed, now=clock()))
    for week in range(6):
        clock.turn(7 * DAY)
        assert not await polled(db, poller, publisher, clock, a_feed("1", title=f"Week {week}"))
    at = await db.read(lambda tx: tx.one(Millis, own.last_listed, feed_id=feed))
    assert clock() - at < 2 * COMPARED_EVERY
    assert keys(items) == ["1"]


async def test_rel_39d_what_stays_listed_after_a_comparison_is_not_forgotten(db, poller, publisher, clock, feed):
    """The document was read after that comparison, its entries were not, and then it stayed as it was for weeks."""
    await stored(db, feed, await polled(db, poller, publisher, clock, a_feed("1")))
    await db.with_tx(lambda tx: tx.run(own.bury, feed_id=feed, now=clock()))
    clock.turn(TOUCHED - DAY)
    assert not await polled(db, poller, publisher, clock, a_feed("1", title="Compared"))
    clock.turn(6 * DAY)
    for _ in range(5):
        assert not await polled(db, poller, publisher, clock, a_feed("1", title="Not compared"))
        clock.turn(10 * DAY)
    listed_at = clock() - 10 * DAY
    assert keys(await polled(db, poller, publisher, clock, a_feed("2"))) == ["2"]
    assert await db.read(lambda tx: tx.one(Millis, own.last_listed, feed_id=feed)) == listed_at


@pytest.mark.parametrize("is_pruned", [False, True], ids=["stored", "removed"])
async def test_rel_27_an_entry_new_on_a_known_ones_page_is_new(db, poller, publisher, clock, feed, is_pruned):
    """What is stored is of a page that its entry no longer names; the entry is still listed, though not read again."""
    page = b"<link>https://example.org/1</link>"
    await stored(db, feed, await polled(db, poller, publisher, clock, a_feed("1")))
    if is_pruned:
        await db.with_tx(lambda tx: tx.run(own.bury, feed_id=feed, now=clock()))
    await stored(db, feed, await polled(db, poller, publisher, clock, a_feed("1").replace(page, b"")))
    second = a_feed("2", "1").replace(page, b"").replace(b"https://example.org/2", b"https://example.org/1")
    assert keys(await polled(db, poller, publisher, clock, second)) == ["2"]
