"""One poll of a feed after another: what is asked, what is handed on, what is remembered."""

import asyncio

import pytest

from tests.builders import NOON, store_items_tx, stored_feed, stored_watch
from tests.delivery.builders import a_reader
from tests.net.builders import answer
from tests.polling.builders import (
    Clock,
    a_feed,
    a_poller,
    a_publisher,
    item_batches,
    poll_due,
    poll_one,
    q,
    state,
)
from tsuzuki.ingest.items import new_item
from tsuzuki.ingest.service import LARGEST_BATCH
from tsuzuki.model.times import DAY, HOUR, MINUTE, SECOND, Millis
from tsuzuki.polling.policy import MANY_READERS
from tsuzuki.polling.service import PollResult
from tsuzuki.polling.store import feed_targets_tx


@pytest.fixture
async def feed(db, publisher):
    return await stored_feed(db, f"{publisher.url}/feed")


@pytest.fixture
async def watch(db, feed):
    return await stored_watch(db, feed, host="127.0.0.1")


async def ingest(db, feed):
    """Store what was handed on, as ingest would."""
    batches = await item_batches(db)
    found = [item for batch in batches for item in batch.items]
    await db.with_tx(lambda tx: store_items_tx(tx, feed, [new_item(item, NOON) for item in found], NOON))
    return [item.key for item in found]


async def test_a_first_poll_hands_on_everything_as_a_back_catalogue(db, poller, publisher, feed, watch):
    publisher.response = answer(200, a_feed("2", "1"), etag='"a"', cache_control="max-age=7200")
    assert await poll_one(poller) == PollResult("changed", 2)
    batches = await item_batches(db)
    assert [[item.key for item in batch.items] for batch in batches] == [["1", "2"]]
    assert batches[0].is_first_harvest
    after = await state(db, watch)
    assert (after.etag, after.last_http_status, after.first_harvest_at) == ('"a"', 200, NOON)
    assert (after.next_check_at, after.next_check_why) == (NOON + 2 * HOUR, "its answer is fresh until then")
    assert (after.consecutive_failures, after.lease_until) == (0, None)


async def test_rel_25_rel_26_validators_are_echoed_exactly_and_kept_after_a_304(db, poller, publisher, clock, watch):
    modified = "Tue, 24 Feb 2026 00:00:00 GMT"
    publisher.response = answer(
        200, a_feed("1"), etag='W/"x;gzip"', last_modified=modified, cache_control="max-age=3600"
    )
    await poll_one(poller)
    await item_batches(db)
    publisher.response = answer(304, b"")
    clock.turn(HOUR)
    assert await poll_one(poller) == PollResult("unchanged", 0)
    asked = publisher.requests[-1]
    assert (asked["if-none-match"], asked["if-modified-since"]) == ('W/"x;gzip"', modified)
    after = await state(db, watch)
    assert (after.etag, after.last_modified, after.last_http_status) == ('W/"x;gzip"', modified, 304)
    assert after.expires_at == clock() + HOUR  # R94: as long again
    assert await item_batches(db) == []


@pytest.mark.parametrize("new", [{"etag": '"b"'}, {"last_modified": "Wed, 25 Feb 2026 00:00:00 GMT"}])
async def test_rel_24_both_validators_are_stored_though_only_one_of_them_changed(
    db, poller, publisher, clock, watch, new
):
    first = {"etag": '"a"', "last_modified": "Tue, 24 Feb 2026 00:00:00 GMT"}
    for keys, said in ((("1",), first), (("2", "1"), first | new)):
        publisher.response = answer(200, a_feed(*keys), **said)
        await poll_one(poller)
        after = await state(db, watch)
        assert {"etag": after.etag, "last_modified": after.last_modified} == said
        clock.turn(HOUR)


async def test_r27_an_unchanged_body_is_not_parsed_again(db, poller, publisher, clock, feed, watch):
    publisher.response = answer(200, a_feed("1"))
    await poll_one(poller)
    await db.with_tx(lambda tx: tx.run(q.clear_tasks))  # nothing was stored: only the body's hash can tell
    clock.turn(30 * MINUTE)
    assert await poll_one(poller) == PollResult("unchanged", 0)


@pytest.mark.parametrize(("readers", "many"), [(0, False), (MANY_READERS, False), (MANY_READERS + 1, True)])
async def test_r24_many_readers_are_counted_as_far_as_it_matters(db, feed, watch, readers, many):
    shelves = [await a_reader(db, feeds=[feed]) for _ in range(readers)]
    (target,) = await db.read(lambda tx: feed_targets_tx(tx, [watch], NOON))
    assert (target.followers > MANY_READERS) is many
    assert target.wished_interval is None
    if shelves:
        await db.with_tx(lambda tx: tx.run(q.wish, shelf_id=shelves[-1], interval=MINUTE))
        (target,) = await db.read(lambda tx: feed_targets_tx(tx, [watch], NOON))
        assert target.wished_interval == MINUTE


async def test_only_what_is_new_or_changed_is_handed_on(db, poller, publisher, clock, feed, watch):
    publisher.response = answer(200, a_feed("2", "1"), etag='"a"')
    await poll_one(poller)
    await ingest(db, feed)
    publisher.response = answer(200, a_feed("3", "2", "1", changed="1"), etag='"a"')  # REL-24: the body wins
    clock.turn(30 * MINUTE)
    assert await poll_one(poller) == PollResult("changed", 2)
    batches = await item_batches(db)
    assert [(item.key, batch.is_first_harvest) for batch in batches for item in batch.items] == [
        ("1", False),
        ("3", False),
    ]


async def test_a_large_harvest_travels_in_several_batches(db, poller, publisher, watch):
    keys = [str(n) for n in range(LARGEST_BATCH * 2 + 1)]
    publisher.response = answer(200, a_feed(*keys))
    assert await poll_one(poller) == PollResult("changed", len(keys))
    assert [len(batch.items) for batch in await item_batches(db)] == [LARGEST_BATCH, LARGEST_BATCH, 1]


@pytest.mark.parametrize(
    ("response", "code"),
    [
        (answer(500, b"oops"), "http_status"),
        (answer(404, b""), "http_status"),
        (answer(403, b""), "blocked"),
        (answer(429, b"<html>slow down</html>"), "rate_limited"),
        (
            answer(200, b"<!doctype html><html><body>Please sign in</body></html>", content_type="text/html"),
            "not_a_feed",
        ),
        (answer(200, b""), "not_a_feed"),
    ],
)
async def test_a_failure_is_counted_once_with_the_next_check(db, poller, publisher, watch, response, code):
    publisher.response = response
    assert (await poll_one(poller)).outcome == code
    after = await state(db, watch)
    assert (after.consecutive_failures, after.last_error_code, after.last_error_at) == (1, code, NOON)
    assert after.next_check_at == NOON + int(30 * MINUTE * 1.8)
    assert after.suspended_reason is None


async def test_a_failure_keeps_validators_and_success_resets_the_count(db, poller, publisher, clock, watch):
    publisher.response = answer(200, a_feed("1"), etag='"a"', cache_control="max-age=1800")
    await poll_one(poller)
    before = await state(db, watch)
    publisher.response = answer(500, b"")
    clock.turn(30 * MINUTE)
    await poll_one(poller)
    broken = await state(db, watch)
    assert (broken.etag, broken.expires_at, broken.consecutive_failures) == (before.etag, before.expires_at, 1)
    publisher.response = answer(304, b"")
    clock.turn(HOUR)
    await poll_one(poller)
    healed = await state(db, watch)
    assert (healed.consecutive_failures, healed.last_error_code) == (0, None)
    assert (before.last_success_at, broken.last_success_at, healed.last_success_at) == (NOON, NOON, clock())


async def test_r23_a_poll_deferred_by_pace_is_no_failure(db, poller, publisher, clock, watch):
    publisher.response = answer(503, b"", retry_after="7200")
    assert (await poll_one(poller)).outcome == "rate_limited"
    clock.turn(SECOND)
    await db.with_tx(lambda tx: tx.run(q.make_due, id=watch, at=clock()))
    assert (await poll_one(poller)).outcome == "not_our_turn"
    after = await state(db, watch)
    assert len(publisher.requests) == 1
    assert (after.consecutive_failures, after.last_error_code) == (1, "rate_limited")
    assert after.next_check_why == "the rate limit of this host"
    assert clock() + HOUR < after.next_check_at <= clock() + 2 * HOUR


async def test_rel_21_retry_after_is_kept_and_capped(db, poller, publisher, clock, watch):
    publisher.response = answer(503, b"", retry_after="86400")
    await poll_one(poller)
    after = await state(db, watch)
    assert (after.retry_after_until, after.next_check_at) == (NOON + DAY, NOON + DAY)


async def test_r28_a_feed_that_became_empty_is_a_failure(db, poller, publisher, clock, feed, watch):
    publisher.response = answer(200, a_feed("1"))
    await poll_one(poller)
    await ingest(db, feed)
    publisher.response = answer(200, a_feed())
    clock.turn(30 * MINUTE)
    assert (await poll_one(poller)).outcome == "shape_changed"
    assert await db.read(lambda tx: tx.many(str, q.payloads, queue="item-ingest")) == []


async def test_rel_33_a_410_suspends_only_when_confirmed_a_day_later(db, poller, publisher, clock, watch):
    publisher.response = answer(410, b"")
    assert (await poll_one(poller)).outcome == "gone"
    first = await state(db, watch)
    assert (first.suspended_reason, first.next_check_at) == (None, NOON + DAY)
    clock.turn(DAY)
    await poll_one(poller)
    assert "gone" in ((await state(db, watch)).suspended_reason or "")
    clock.turn(30 * DAY)
    assert await poll_due(poller) == []


async def test_rel_33_a_410_that_heals_is_forgotten(db, poller, publisher, clock, watch):
    publisher.response = answer(410, b"")
    await poll_one(poller)
    clock.turn(DAY)
    publisher.response = answer(200, a_feed("1"))
    await poll_one(poller)
    clock.turn(DAY)
    publisher.response = answer(410, b"")
    await poll_one(poller)
    assert (await state(db, watch)).suspended_reason is None


async def test_r29_a_permanent_redirect_needs_five_answers_over_two_days(db, clock):
    async def redirect(head, writer):
        moved = b" /old" in head.split(b"\r\n")[0]
        writer.write(answer(301, b"", location="/new") if moved else answer(200, a_feed("1")))

    async with a_publisher(redirect) as publisher, a_poller(db, clock) as poller:
        feed = await stored_feed(db, f"{publisher.url}/old")
        await stored_watch(db, feed, host="127.0.0.1")
        links = []
        for _ in range(6):
            await poll_one(poller)
            links.append(await db.read(lambda tx: tx.one(str, q.link, id=feed)))
            clock.turn(12 * HOUR)
        assert [link.rpartition("/")[2] for link in links] == ["old"] * 4 + ["new"] * 2


async def test_rel_23_after_seven_days_the_validators_are_left_out_once(db, poller, publisher, clock, watch):
    publisher.response = answer(200, a_feed("1"), etag='"frozen"')
    await poll_one(poller)
    await item_batches(db)
    publisher.response = answer(304, b"")
    clock.turn(30 * MINUTE)
    await poll_one(poller)
    publisher.response = answer(200, a_feed("2", "1"), etag='"frozen"')
    clock.turn(8 * DAY)
    assert (await poll_one(poller)).found == 2
    assert [("if-none-match" in asked) for asked in publisher.requests] == [False, True, False]


async def test_rel_39_restarts_poll_nothing_before_it_is_due(db, publisher, clock, watch):
    publisher.response = answer(200, a_feed("1"))
    for _ in range(10):
        async with a_poller(db, clock) as poller:
            await poll_due(poller)
        clock.turn(20 * SECOND)
    assert len(publisher.requests) == 1


async def test_i4_a_poll_whose_lease_was_taken_writes_nothing(db, poller, publisher, clock, watch):
    publisher.response = answer(200, a_feed("1"))
    mine = (await poller.claim(1, {}))[0]
    clock.turn(30 * SECOND)
    taken = (await poller.claim(1, {}))[0]
    assert taken.lease_token == mine.lease_token + 1
    before = await state(db, watch)
    assert await poller.poll(mine) == PollResult("lost")
    assert await state(db, watch) == before
    assert await item_batches(db) == []
    assert await poller.poll(taken) == PollResult("changed", 1)


async def test_a_slow_visit_keeps_its_lease(db, publisher, watch):
    clock = Clock()
    publisher.response = answer(200, a_feed("1"))
    publisher.delay = 0.35
    async with a_poller(db, clock, lease=Millis(150)) as poller, a_poller(db, clock) as other:
        mine = (await poller.claim(1, {}))[0]
        polling = asyncio.ensure_future(poller.poll(mine))
        await asyncio.sleep(0.1)
        clock.turn(140)
        await asyncio.sleep(0.1)
        clock.turn(20)
        assert await other.claim(1, {}) == []
        assert await polling == PollResult("changed", 1)


@pytest.mark.parametrize("status", [200, 304, 404])
async def test_a_poll_of_what_is_gone_by_then_writes_nothing(db, poller, publisher, watch, status):
    publisher.response = answer(status, a_feed("1") if status == 200 else b"")
    claimed = (await poller.claim(1, {}))[0]
    await db.with_tx(lambda tx: tx.run(q.drop_feeds))
    assert await poller.poll(claimed) == PollResult("lost")
    assert await item_batches(db) == []


def churning(poll: int, *pages: str) -> bytes:
    """A feed whose guids are others at every request."""
    items = "".join(
        f"<item><guid isPermaLink='false'>{poll}-{page}</guid><title>Item {page}</title>"
        f"<link>http{'s' if poll % 2 else ''}://example.org/{page}?utm_source=rss{poll}</link></item>"
        for page in pages
    )
    return f"<rss version='2.0'><channel><title>A feed</title>{items}</channel></rss>".encode()


async def test_rel_27_churning_guids_bring_each_story_once(db, poller, publisher, clock, feed, watch):
    seen = []
    for poll, pages in enumerate([("a", "b"), ("a", "b"), ("c", "a", "b"), ("c", "a", "b")]):
        publisher.response = answer(200, churning(poll, *pages))
        await poll_one(poller)
        seen += await ingest(db, feed)
        clock.turn(30 * MINUTE)
    stored = await db.read(lambda tx: tx.many(str, q.titles, id=feed))
    assert sorted(stored) == ["Item a", "Item b", "Item c"]
    assert await db.read(lambda tx: tx.one(bool, q.is_unstable, id=feed))


async def test_rel_28_two_items_of_one_page_under_lasting_keys_stay_two(db, poller, publisher, clock, feed, watch):
    same = "<link>https://example.org/page</link>"
    first = f"<item><guid>1</guid><title>One</title>{same}</item>"
    second = f"<item><guid>2</guid><title>Two</title>{same}</item>"
    for items in (first, second + first):
        publisher.response = answer(
            200, f"<rss version='2.0'><channel><title>F</title>{items}</channel></rss>".encode()
        )
        await poll_one(poller)
        await ingest(db, feed)
        clock.turn(30 * MINUTE)
    assert sorted(await db.read(lambda tx: tx.many(str, q.titles, id=feed))) == ["One", "Two"]
