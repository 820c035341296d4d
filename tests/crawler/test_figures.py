"""Figures are taken once a minute, kept for a week, and summed up for charts."""

from tests.builders import stored_feed, stored_shelf, stored_watch
from tests.catalogue.fixed import Fixed, a_catalogue, a_manga
from tests.crawler.builders import a_dead_letter
from tsuzuki.accounts.types import Slice
from tsuzuki.coord.wakeup import MemoryWakeup
from tsuzuki.crawler.figures import Figures
from tsuzuki.db import Database
from tsuzuki.db.queries import parse_queries
from tsuzuki.model.times import DAY, HOUR, MINUTE, Millis
from tsuzuki.queue.service import Tasks

NOON = Millis(1_700_000_000_000 // DAY * DAY + 12 * HOUR)

q = parse_queries(
    "tests",
    """
-- name: was_polled
update watch set last_checked_at = :at, consecutive_failures = :failures where feed_id = :feed_id;
-- name: suspend
update watch set suspended_at = :at;
-- name: add_job
insert into crawl_job (public_id, kind, source_id, source_name, source_slug, status, scheduled_at, started_at,
  finished_at, created_at, updated_at)
values (:public_id, 'discovery', :source_id, 'A', 'a', :status, :at, :at, :ended, :at, :at);
-- name: add_tally
insert into crawl_tally (source_id, hour, jobs, spent_ms, longest_ms) values (:source_id, :hour, 10, 1000, 300);
""",
)


class ManualClock:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = NOON

    def __call__(self) -> Millis:
        return self.now


def figures_of(db: Database, clock: ManualClock) -> Figures:
    return Figures(db, Tasks(db, MemoryWakeup(), clock), clock)


async def polled(db: Database, at: Millis, failures: int = 0) -> None:
    feed = await stored_feed(db)
    await stored_watch(db, feed, next_check_at=Millis(at + DAY))
    await db.with_tx(lambda tx: tx.run(q.was_polled, at=at, failures=failures, feed_id=feed))


async def test_feeds_that_fail_are_listed_with_the_worst_first(db):
    """On both engines; what is suspended is known to somebody, and comics are listed with their sources."""
    for failures in (0, 1, 7, 3):
        await polled(db, NOON, failures=failures)
    rows, total = await figures_of(db, ManualClock()).failing_feeds(Slice(most=2))
    assert ([row.failures for row in rows], total) == ([7, 3], 3)
    assert [row.failures for row in (await figures_of(db, ManualClock()).failing_feeds(Slice(most=2, skip=2)))[0]] == [
        1
    ]
    await db.with_tx(lambda tx: tx.run(q.suspend, at=NOON))
    assert await figures_of(db, ManualClock()).failing_feeds(Slice()) == ([], 0)


async def test_what_is_due_is_counted_with_how_long_it_waits(db):
    clock = ManualClock()
    for late in (10_000, 20_000, -60_000):
        await stored_watch(db, await stored_feed(db), next_check_at=Millis(NOON - late))
    await polled(db, Millis(NOON - 10_000), failures=1)
    [polls, *_] = await figures_of(db, clock).queues()
    assert (polls.queue, polls.due, polls.scheduled, polls.running) == ("poll-source", 2, 2, 0)
    assert (polls.oldest_due_at, polls.finished_last_minute) == (NOON - 20_000, 1)
    [warm] = await figures_of(db, clock).watches()
    assert (warm.priority, warm.watched, warm.due, warm.failing) == (2, 4, 2, 1)


async def test_a_minute_reports_polls_failures_and_dead_letters(db):
    clock = ManualClock()
    await polled(db, Millis(NOON - 10_000))
    await polled(db, Millis(NOON - 20_000), failures=2)
    await polled(db, Millis(NOON - 2 * MINUTE), failures=1)
    await a_dead_letter(db, Millis(NOON - 1000))
    await figures_of(db, clock).record_minute()
    [taken] = await figures_of(db, clock).figures(Millis(HOUR), Millis(MINUTE))
    assert (taken.at, taken.polls, taken.failing) == (NOON, 2, 2)
    assert (taken.failed, taken.dead_letters, taken.depth) == (1, 1, 0)


async def test_a_minute_is_taken_once_however_many_processes_try(db):
    clock = ManualClock()
    figures = figures_of(db, clock)
    await figures.record_minute()
    clock.now = Millis(NOON + 30_000)
    await figures.record_minute()
    assert len(await figures.figures(Millis(HOUR), Millis(MINUTE))) == 1


async def test_minutes_are_summed_up_and_forgotten_after_a_week(db):
    clock = ManualClock()
    figures = figures_of(db, clock)
    for minute in range(3):
        clock.now = Millis(NOON + minute * MINUTE)
        await polled(db, clock.now, failures=1)
        await figures.record_minute()
    [hour] = await figures.figures(Millis(DAY), Millis(HOUR))
    assert hour.at == NOON
    assert hour.polls == 1 + 2 + 2  # a poll on the minute's edge is of both: charts, not the ledger
    assert hour.failing == 2
    clock.now = Millis(NOON + 7 * DAY + 2 * MINUTE)
    await figures.record_minute()
    assert [one.at for one in await figures.figures(Millis(30 * DAY), Millis(MINUTE))] == [
        NOON + 2 * MINUTE,
        clock.now,
    ]


async def test_the_pulse_of_a_source_counts_forgotten_polls(db):
    clock = ManualClock()

    async def add(tx):
        for number, status in enumerate(("done", "failed", "failed")):
            at = NOON - HOUR + number * 1000
            await tx.run(
                q.add_job, public_id=bytes(15) + bytes([number]), source_id=7, status=status, at=at, ended=at + 200
            )
        await tx.run(q.add_tally, source_id=7, hour=NOON // HOUR - 1)
        await tx.run(q.add_tally, source_id=8, hour=NOON // HOUR - 48)

    await db.with_tx(add)
    source_hours = await figures_of(db, clock).source_hours(Millis(DAY))
    assert list(source_hours) == [7]
    [source_hour] = source_hours[7]
    assert (source_hour.jobs, source_hour.failed, source_hour.spent_ms) == (13, 2, 1600)


async def test_amounts_are_of_everything_that_grows(db):
    amounts = await figures_of(db, ManualClock()).amounts()
    assert set(amounts) == {"database", "images", "items", "chapters", "entries", "watches", "logs"}
    assert amounts["database"] > 100_000
    assert amounts["images"] == 0


async def test_what_was_only_browsed_is_not_watched(db):
    shelf = await stored_shelf(db)
    await a_manga(db, a_catalogue(db, Fixed(series=3)), shelf)
    await stored_watch(db, await stored_feed(db))
    assert (await figures_of(db, ManualClock()).amounts())["watches"] == 1
