"""What readers, polls and crawls find out of a source counts for its schedule, whoever found it (R98, R99)."""

import asyncio

import msgspec
import pytest

from tests.api.people import RunningApp
from tests.catalogue.builders import a_shelf, a_site, got
from tests.crawler.builders import made, the_admin, until_over
from tests.ingest.builders import work_off
from tests.waiting import eventually
from tsuzuki.db.queries import parse_queries
from tsuzuki.ingest.chapters import SeriesChapters
from tsuzuki.ingest.service import Ingest
from tsuzuki.model.ids import ShelfId, WatchId, read_id
from tsuzuki.model.priorities import COLD, HOT
from tsuzuki.model.times import DAY, HOUR, MINUTE, Millis
from tsuzuki.polling.policy import ClaimedWatch
from tsuzuki.shelves.types import FollowRequest

_q = parse_queries(
    "tests",
    """
-- name: state
select id, priority, next_check_at, next_check_why, consecutive_failures from watch where series_source_id = :id;
-- name: fail
update watch
set consecutive_failures = 5, next_check_at = :tomorrow, next_check_why = 'the breaker is open', last_release_at = :now,
  last_error = 'It was down.', last_error_at = :now
where series_source_id = :id;
-- name: open_outages
select count(*) from outage where healed_at is null;
-- name: suspend
update watch set suspended_at = :until, suspended_reason = 'a person' where series_source_id = :id;
-- name: wait
update watch set retry_after_until = :until where series_source_id = :id;
-- name: lease
update watch set lease_until = :until, next_check_at = :until where series_source_id = :id;
-- name: cool
update watch
set last_release_at = :long_ago, last_checked_at = :now, next_check_at = :tomorrow, next_check_why = 'it is cold',
  priority = 3, poll_floor = :poll_floor
where series_source_id = :id;
""",
)


class State(msgspec.Struct, frozen=True):
    """A watch as a test looks at it."""

    id: WatchId
    priority: int
    next_check_at: Millis
    next_check_why: str
    consecutive_failures: int


class Followed(msgspec.Struct):
    """A series of the sample site that a reader follows, its back-catalogue read."""

    app: RunningApp
    reader: object
    site: int
    manga: int
    series: str

    async def state(self) -> State:
        return await self.app.db.read(lambda tx: tx.one(State, _q.state, id=self.manga))

    async def cool(self, poll_floor: int | None = None) -> None:
        """Nothing came for two months, and it was looked at just now."""
        now = self.app.time()
        times = {"now": now, "long_ago": now - 60 * DAY, "tomorrow": now + DAY}
        await self.app.db.with_tx(lambda tx: tx.run(_q.cool, id=self.manga, poll_floor=poll_floor, **times))

    async def lease(self) -> ClaimedWatch:
        watch = await self.app.pipeline.poller.lease((await self.state()).id)
        assert watch is not None
        return watch

    async def store(self) -> None:
        """What was handed to ingest."""
        now = Millis(self.app.time())
        ingest = Ingest(self.app.db, SeriesChapters(), clock=lambda: now, after_commit=lambda *_: None)
        await work_off(self.app.db, ingest, now=now)


@pytest.fixture
async def followed(app, sample):
    site, (reader, shelf) = await a_site(app, sample), await a_shelf(app)
    manga = (await got(reader, f"/sources/{site}/popular"))["data"][0]
    await follow(app, shelf, manga["series_id"])
    await got(reader, f"/manga/{manga['id']}/chapters")
    return Followed(app, reader, site, manga["id"], manga["series_id"])


async def follow(app: RunningApp, shelf: ShelfId, series: str) -> None:
    public_id = read_id(series)
    assert public_id is not None
    await app.reading.follows.add(shelf, FollowRequest(series=public_id))


# -- R98


async def find_by_poll(followed):
    await followed.app.pipeline.poller.poll(await followed.lease())
    await followed.store()


async def find_by_crawl(followed):
    followed.app.worker_loops.start()
    admin = await the_admin(followed.app)
    job = await made(admin, "/admin/crawler/jobs", {"sourceid": followed.site, "comicid": followed.series})
    assert (await until_over(admin, job["id"]))["status"] == "done"

    async def is_stored():
        return (await got(followed.reader, "/inbox"))["data"] != []

    await eventually(is_stored)
    await followed.app.worker_loops.stop()


async def find_by_refresh(followed):
    await got(followed.reader, f"/manga/{followed.manga}/chapters?refresh=true")


@pytest.mark.parametrize("find", [find_by_poll, find_by_crawl, find_by_refresh])
async def test_r98_something_new_makes_a_series_hot_at_once(followed, sample, find):
    await followed.cool()
    sample.release(0, "900")
    await find(followed)
    after = await followed.state()
    assert (after.priority, after.next_check_why) == (HOT, "the series is hot")
    assert 14 * MINUTE <= after.next_check_at - followed.app.time() <= 15 * MINUTE


async def test_r98_a_plan_keeps_its_pace_when_something_is_new(followed, sample):
    await followed.cool(poll_floor=HOUR)
    sample.release(0, "900")
    await find_by_refresh(followed)
    assert 59 * MINUTE <= (await followed.state()).next_check_at - followed.app.time() <= HOUR


async def test_r98_nothing_new_leaves_a_series_cold(followed):
    await followed.cool()
    before = await followed.state()
    await find_by_refresh(followed)
    assert await followed.state() == before
    assert before.priority == COLD


async def test_r98_a_poll_heeds_what_a_reader_found_meanwhile(followed, sample):
    await followed.cool()
    sample.gate = gate = asyncio.Event()
    asked = len(sample.asked)
    poll = asyncio.create_task(followed.app.pipeline.poller.poll(await followed.lease()))

    async def is_called():
        return len(sample.asked) > asked

    await eventually(is_called)
    sample.gate = None
    sample.release(0, "900")
    await find_by_refresh(followed)
    gate.set()
    assert (await poll).outcome == "unchanged"
    after = await followed.state()
    assert (after.priority, after.next_check_why) == (HOT, "the series is hot")


# -- R99


async def break_it(followed, manga=None):
    """Its breaker is open until tomorrow."""
    now = followed.app.time()
    row = {"id": followed.manga if manga is None else manga, "now": now, "tomorrow": now + DAY}
    await followed.app.db.with_tx(lambda tx: tx.run(_q.fail, **row))


async def breaker(followed):
    health = await got(await the_admin(followed.app), f"/admin/crawler/sources/{followed.site}/health")
    return health["data"]["breaker"]["state"]


async def open_outages(followed):
    return await followed.app.db.read(lambda tx: tx.one(int, _q.open_outages))


async def browse(followed):
    await got(followed.reader, f"/sources/{followed.site}/latest")


async def search(followed):
    await got(followed.reader, f"/sources/{followed.site}/search?q=tale")


async def see_details(followed):
    await got(followed.reader, f"/manga/{followed.manga}?refresh=true")


async def poll_another(followed):
    other = (await got(followed.reader, f"/sources/{followed.site}/popular"))["data"][1]["id"]
    await got(followed.reader, f"/manga/{other}/chapters")
    await break_it(followed)
    watch_id = (await followed.app.db.read(lambda tx: tx.one(State, _q.state, id=other))).id
    watch = await followed.app.pipeline.poller.lease(watch_id)
    assert (await followed.app.pipeline.poller.poll(watch)).outcome == "unchanged"


async def discover(followed):
    followed.app.worker_loops.start()
    admin = await the_admin(followed.app)
    job = await made(admin, "/admin/crawler/jobs", {"sourceid": followed.site})
    assert (await until_over(admin, job["id"]))["status"] == "done"
    await followed.app.worker_loops.stop()


@pytest.mark.parametrize("call", [browse, search, see_details, poll_another, discover])
async def test_r99_any_call_that_is_answered_closes_the_breaker(followed, call):
    await break_it(followed)
    assert await breaker(followed) == "open"
    await call(followed)
    assert await breaker(followed) == "closed"
    after = await followed.state()
    assert (after.priority, after.next_check_why) == (HOT, "the source answers again")
    assert after.next_check_at <= followed.app.time() + 16 * MINUTE


async def test_r99_a_call_that_fails_closes_nothing(followed, sample):
    await break_it(followed)
    sample.is_down = True
    assert (await followed.reader.get(f"/sources/{followed.site}/latest")).status == 503
    assert await breaker(followed) == "open"


@pytest.mark.parametrize("query", [_q.suspend, _q.lease], ids=["suspended", "polled"])
async def test_r99_what_is_suspended_or_being_polled_is_left_alone(followed, query):
    await break_it(followed)
    await followed.app.db.with_tx(lambda tx: tx.run(query, id=followed.manga, until=followed.app.time() + MINUTE))
    before = await followed.state()
    await browse(followed)
    assert await followed.state() == before


async def test_r99_a_retry_after_holds_when_the_breaker_closes(followed):
    await break_it(followed)
    until = followed.app.time() + 2 * HOUR
    await followed.app.db.with_tx(lambda tx: tx.run(_q.wait, id=followed.manga, until=until))
    await browse(followed)
    after = await followed.state()
    assert (after.consecutive_failures, after.next_check_at) == (1, until)


async def test_r99_whoever_heard_of_an_outage_hears_of_its_end(followed, sample):
    for _ in range(5):
        sample.is_down = True
        assert (await followed.app.pipeline.poller.poll(await followed.lease())).outcome == "http_status"
        followed.app.time.pass_(DAY)
    sample.is_down = False
    await browse(followed)
    assert await breaker(followed) == "closed"
    assert await open_outages(followed) == 1
    assert (await followed.app.pipeline.poller.poll(await followed.lease())).outcome == "unchanged"
    assert await open_outages(followed) == 0
