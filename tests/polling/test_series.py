"""One poll of a series after another."""

import pytest

from tests.builders import NOON, stored_series, stored_series_source, stored_source
from tests.net.builders import answer
from tests.polling.builders import chapter_batches, poll_due, poll_one, state
from tsuzuki.db.queries import parse_queries
from tsuzuki.ingest.chapters import new_chapter, new_release, upsert_chapters_tx, upsert_releases_tx
from tsuzuki.model.times import DAY, HOUR, MINUTE, Millis
from tsuzuki.polling.service import PollResult
from tsuzuki.sources.watches import NewWatch, add_watch_tx

q = parse_queries(
    "tests",
    """
-- name: set_url
update series_source set url = :url where id = :id;
-- name: strategy
update series_source set update_strategy = 'ONLY_FETCH_ONCE' where id = :id;
-- name: disable
update source set is_enabled = false;
""",
)


@pytest.fixture
async def series(db):
    return await stored_series(db)


@pytest.fixture
async def mapping(db, publisher, series):
    source = await stored_source(db, connector="org.example.plain")
    mapping = await stored_series_source(db, series, source)
    await db.with_tx(lambda tx: tx.run(q.set_url, id=mapping, url=f"{publisher.url}/one"))
    return mapping


@pytest.fixture
async def watch(db, mapping):
    new = NewWatch(series_source_id=mapping, host="127.0.0.1", next_check_at=NOON)
    return await db.with_tx(lambda tx: add_watch_tx(tx, new, NOON))


async def ingest(db, series, mapping):
    releases = [release for batch in await chapter_batches(db) for release in batch.releases]
    chapters = [new_chapter(release.found) for release in releases]
    await db.with_tx(lambda tx: upsert_chapters_tx(tx, series, chapters, NOON))
    rows = [new_release(release) for release in releases]
    await db.with_tx(lambda tx: upsert_releases_tx(tx, series, mapping, rows, now=NOON))


async def test_r11_releases_are_handed_on_with_their_place_from_the_oldest(db, poller, publisher, watch):
    publisher.response = answer(200, b'["3", "2", "1"]')
    assert await poll_one(poller) == PollResult("changed", 3)
    (batch,) = await chapter_batches(db)
    assert [(str(each.found.number), each.source_order) for each in batch.releases] == [("1", 0), ("2", 1), ("3", 2)]
    assert batch.is_first_harvest
    after = await state(db, watch)
    assert (after.next_check_at, after.next_check_why) == (NOON + 15 * MINUTE, "the series is hot")


async def test_only_new_releases_are_handed_on(db, poller, publisher, clock, series, mapping, watch):
    publisher.response = answer(200, b'["2", "1"]')
    await poll_one(poller)
    await ingest(db, series, mapping)
    publisher.response = answer(200, b'["3", "2", "1"]')
    clock.turn(15 * MINUTE)
    assert await poll_one(poller) == PollResult("changed", 1)
    (batch,) = await chapter_batches(db)
    assert ([str(each.found.number) for each in batch.releases], batch.is_first_harvest) == (["3"], False)
    clock.turn(15 * MINUTE)
    await poll_one(poller)
    assert len((await chapter_batches(db))[0].releases) == 1  # it was not stored, so it is handed on again


async def test_rel_20_five_failures_rest_and_one_probe_closes_the_breaker(db, poller, publisher, clock, watch):
    publisher.response = answer(500, b"")
    waits = []
    for _ in range(6):
        await poll_one(poller)
        after = await state(db, watch)
        waits.append(after.next_check_at - clock.now)
        clock.turn(waits[-1])
    assert waits[0] == int(15 * MINUTE * 1.8)
    assert waits[3] < 3 * HOUR
    assert waits[4] == waits[5] == DAY
    publisher.response = answer(200, b'["1"]')
    assert await poll_one(poller) == PollResult("changed", 1)
    assert (await state(db, watch)).next_check_at == clock.now + 15 * MINUTE


async def test_r24_what_is_fetched_once_is_not_polled_again(db, poller, publisher, clock, mapping, watch):
    await db.with_tx(lambda tx: tx.run(q.strategy, id=mapping))
    publisher.response = answer(200, b'["1"]')
    await poll_one(poller)
    clock.turn(90 * DAY)
    assert await poll_due(poller) == []


async def test_r23_a_disabled_source_is_skipped_and_that_is_no_failure(db, poller, clock, watch):
    await db.with_tx(lambda tx: tx.run(q.disable))
    assert (await poll_one(poller)).outcome == "skipped"
    after = await state(db, watch)
    assert (after.consecutive_failures, after.next_check_at) == (0, Millis(NOON + DAY))


async def test_r28_a_list_that_is_suddenly_empty_is_a_failure(db, poller, publisher, clock, series, mapping, watch):
    publisher.response = answer(200, b'["1"]')
    await poll_one(poller)
    await ingest(db, series, mapping)
    publisher.response = answer(200, b"[]")
    clock.turn(15 * MINUTE)
    assert (await poll_one(poller)).outcome == "shape_changed"


async def test_a_connector_that_stumbles_is_a_failure_of_its_source(db, poller, publisher, watch):
    publisher.response = answer(200, b'{"not": "a list"}')
    assert (await poll_one(poller)).outcome == "shape_changed"
    assert (await state(db, watch)).consecutive_failures == 1


async def test_i4_a_lost_lease_of_a_disabled_source_defers_nothing(db, poller, clock, watch):
    await db.with_tx(lambda tx: tx.run(q.disable))
    (late,) = await poller.claim(1, {})
    clock.turn(MINUTE)
    (ours,) = await poller.claim(1, {})
    before = await state(db, watch)
    assert await poller.poll(late) == PollResult("skipped")
    assert await state(db, watch) == before
    assert await poller.poll(ours) == PollResult("skipped")
    assert (await state(db, watch)).next_check_at == clock.now + DAY
