"""What happens at the same moment: triggers, cancels, failures, lines of a log, workers that die."""

import asyncio
import os
import re
from collections import Counter
from collections.abc import AsyncIterator

import asyncpg
import pytest

from tests.api.people import RunningApp, Visitor
from tests.app import Answer
from tests.crawler.builders import a_crawling_app, a_source_body, claimed, made
from tests.databases import until_blocked
from tsuzuki.accounts.caller import Caller
from tsuzuki.accounts.types import SYSTEM
from tsuzuki.coord.cache import MemoryCache
from tsuzuki.crawler.journal import JobLog
from tsuzuki.crawler.outcome import JobEnding, end_tx, fail_abandoned
from tsuzuki.crawler.runner import CRAWLS, CrawlTask
from tsuzuki.crawler.service import CrawlerWrites, JobExists, NewCrawlJob
from tsuzuki.crawler.store import append_log_tx, begin_job_tx, move_job_tx
from tsuzuki.crawler.types import BegunJob, Job, JobId, JobLogLine, LogPlace
from tsuzuki.db import Database
from tsuzuki.model.errors import Invalid, NotFound
from tsuzuki.model.ids import read_id, show_id
from tsuzuki.model.times import HOUR, Millis
from tsuzuki.queue.errors import LeaseLost
from tsuzuki.queue.policy import QueueSettings
from tsuzuki.queue.store import claim_tx, reclaim_lost_tx, running_tx
from tsuzuki.queue.tasks import Task

pytestmark = pytest.mark.both_engines

SOURCES = "/admin/crawler/sources"
JOBS = "/admin/crawler/jobs"


@pytest.fixture
async def app(tmp_path, database_url) -> AsyncIterator[RunningApp]:
    """Nobody works here but the test."""
    async with a_crawling_app(tmp_path / "data", database_url) as app:
        yield app


@pytest.fixture
async def caller(app: RunningApp) -> Caller:
    resumed = await app.accounts.sessions.resume(await app.session(await app.admin()), "")
    assert resumed is not None
    return resumed.caller


@pytest.fixture
async def source(admin: Visitor) -> int:
    return int((await made(admin, SOURCES, a_source_body()))["id"])


def db_of(app: RunningApp) -> Database:
    return app.accounts.deps.db


async def mapped(admin: Visitor, source: int, key: str) -> str:
    comic: str = (await made(admin, "/admin/comics", {"title": key}))["id"]
    body = {"sourceid": source, "sourceid_ext": key, "sourceurl": f"https://mangafire.example/{key}"}
    await made(admin, f"/admin/comics/{comic}/sources", body)
    return comic


async def end(app: RunningApp, task: Task[CrawlTask], job: BegunJob, error: str | None = None) -> None:
    """As a worker ends its job."""
    journal = JobLog(db_of(app), job, app.time, random_bytes=os.urandom, after_commit=lambda *_: None)
    ending, now = JobEnding(error), app.time()
    await db_of(app).with_tx(lambda tx: end_tx(tx, task, job, ending, journal=journal, threshold=5, now=now))


async def fail_lost(app: RunningApp) -> int:
    return await fail_abandoned(db_of(app), app.time, threshold=5, cache=MemoryCache(CrawlerWrites(db_of(app))))


async def say(db: Database, job_id: JobId, lines: list[JobLogLine], now: Millis) -> None:
    await db.with_tx(lambda tx: append_log_tx(tx, job_id, lines, now=now, random_bytes=os.urandom))


@pytest.mark.parametrize("is_targeted", [True, False])
async def test_fifty_identical_triggers_make_one_job(admin, source, is_targeted):
    """REL-10, R43: also without a comic."""
    comic = await mapped(admin, source, "one") if is_targeted else None
    answers = await asyncio.gather(*(admin.post(JOBS, {"sourceid": source, "comicid": comic}) for _ in range(50)))
    assert Counter(answer.status for answer in answers) == {201: 1, 409: 49}
    [made_id] = [answer.json()["data"]["id"] for answer in answers if answer.status == 201]
    named = {answer.json()["details"][0]["message"] for answer in answers if answer.status == 409}
    assert named == {made_id}
    assert (await admin.get("/admin/queues")).json()["data"][1]["depth"] == 1


async def test_a_job_cancelled_as_it_ends_ends_once(app: RunningApp, caller, source):
    """REL-12, R45: 200 trials; what follows from the end matches it."""
    jobs, ends = app.crawling.jobs, Counter[str]()
    for trial in range(200):
        made_job = await jobs.trigger(caller, NewCrawlJob(source))
        task, begun = await claimed(db_of(app), app.time())
        both = [jobs.cancel(SYSTEM, made_job.public_id, reason=None), end(app, task, begun)]
        outcomes = await asyncio.gather(*both[:: -1 if trial % 2 else 1], return_exceptions=True)
        failures = [outcome for outcome in outcomes if isinstance(outcome, BaseException)]
        [failure] = failures
        status = (await jobs.get(made_job.public_id)).status
        assert isinstance(failure, LeaseLost if status == "cancelled" else Invalid)
        lines = (await jobs.log(made_job.public_id, after=LogPlace(), level=None, most=10)).rows
        assert [line.message for line in lines] == (["Job cancelled"] if status == "cancelled" else [])
        ends[status] += 1
    assert ends.keys() == {"done", "cancelled"}
    assert (await app.crawling.sources.get(source)).consecutive_fails == 0


async def test_a_job_for_a_merged_comic_uses_the_survivor(admin, source):
    """Whoever looks at an old page knows it by its former id."""
    gone, stays = [await mapped(admin, source, key) for key in ("one", "two")]
    assert (await admin.post(f"/admin/series/{gone}/merge", {"into": stays})).status == 200
    job = await made(admin, JOBS, {"sourceid": source, "comicid": gone})
    assert job["comicid"] == stays
    again = await admin.post(JOBS, {"sourceid": source, "comicid": stays})
    assert (again.status, again.json()["details"][0]["message"]) == (409, job["id"])


@pytest.mark.parametrize("engine", ["postgres"])  # SQLite has one writer
async def test_ending_and_triggering_jobs_lock_the_source_first(app, caller, source, database_url):
    """Else the one would hold the job and wait for the source, the other hold the source and wait for the job."""
    await app.crawling.jobs.trigger(caller, NewCrawlJob(source))
    task, begun = await claimed(db_of(app), app.time())
    asking, onlooker = [await asyncpg.connect(database_url) for _ in range(2)]
    try:
        async with asking.transaction():
            await asking.execute("select id from source where id = $1 for update", source)
            ending = asyncio.create_task(end(app, task, begun))
            await until_blocked(onlooker, ending)
            await onlooker.execute("select id from crawl_job where id = $1 for update nowait", begun.id)
        await ending
    finally:
        await asking.close()
        await onlooker.close()


async def test_fifty_failures_at_once_count_fifty_and_disable_once(app: RunningApp, admin, caller, source):
    """REL-11, R46."""
    comics = [await mapped(admin, source, f"c{number}") for number in range(50)]
    for comic in comics:
        await app.crawling.jobs.trigger(caller, NewCrawlJob(source, read_id(comic)))
    held = [await claimed(db_of(app), app.time()) for _ in comics]
    await asyncio.gather(*(end(app, task, job, "It is down.") for task, job in held))
    after = await app.crawling.sources.get(source)
    assert (after.consecutive_fails, after.is_enabled) == (50, False)
    rows = (await admin.get(f"/admin/auditlog?action=crawlersource.disable&entityid={source}")).json()["data"]
    assert [(row["actor"], row["after"]["isenabled"]) for row in rows] == [("system", False)]
    enabled = await admin.ask("PATCH", f"{SOURCES}/{source}", {"isenabled": True})
    assert enabled.json()["data"]["consecutivefails"] == 0


async def test_a_reason_is_kept_without_its_secrets(app: RunningApp, caller, source):
    """R47."""
    job = await app.crawling.jobs.trigger(caller, NewCrawlJob(source))
    await end(app, *(await claimed(db_of(app), app.time())), "https://me:hunter2@example.org/?token=abc is down.")
    said = (await app.crawling.jobs.get(job.public_id)).last_error or ""
    assert said.endswith("is down.")
    assert not {"hunter2", "abc"} & set(re.findall(r"\w+", said))


async def test_operators_hear_once_that_a_source_was_disabled(app: RunningApp, admin, caller, source):
    channel = {"kind": "webhook", "name": "Mine", "config": {"url": "http://127.0.0.1:9/key"}}
    assert (await admin.post("/channels", channel)).status == 201
    for _ in range(7):
        if not (await app.crawling.sources.get(source)).is_enabled:
            break
        await app.crawling.jobs.trigger(caller, NewCrawlJob(source))
        await end(app, *(await claimed(db_of(app), app.time())), "It is down.")
    queues = {queue["queue"]: queue["depth"] for queue in (await admin.get("/admin/queues")).json()["data"]}
    assert queues["channel-sends"] == 1


async def test_a_log_of_four_writers_reads_without_gaps(app: RunningApp, admin, caller, source):
    """REL-15, R49: 10,000 lines, paged while they are written."""
    job = await app.crawling.jobs.trigger(caller, NewCrawlJob(source))
    db, batch, each = db_of(app), 50, 2_500

    async def write(writer: int) -> None:
        for start in range(0, each, batch):
            lines = [JobLogLine("info", f"{writer}-{number}") for number in range(start, start + batch)]
            await say(db, job.id, lines, app.time())

    writing = asyncio.gather(*map(write, range(4)))
    read: list[str] = []
    where, place = f"{JOBS}/{show_id(job.public_id)}/logs?limit=777", ""
    while True:
        was_over = writing.done()
        answer = (await admin.get(f"{where}{place}")).json()
        read += [line["message"] for line in answer["data"]]
        if answer["meta"]["nextcursor"]:
            place = f"&since={answer['meta']['nextcursor']}"
        if was_over and not answer["data"]:
            break
    await writing
    assert len(read) == len(set(read)) == answer["meta"]["total"] == 4 * each
    for writer in range(4):
        own = [message for message in read if message.startswith(f"{writer}-")]
        assert own == [f"{writer}-{number}" for number in range(each)]


async def test_since_takes_a_time_too(app: RunningApp, admin, caller, source):
    job = await app.crawling.jobs.trigger(caller, NewCrawlJob(source))
    for second in (1000, 2000, 3000):
        line = JobLogLine("info" if second < 3000 else "error", str(second))
        now = Millis(app.time() + HOUR + second)
        await say(db_of(app), job.id, [line], now)
    where = f"{JOBS}/{show_id(job.public_id)}/logs"
    lines = (await admin.get(where)).json()["data"]
    rest = (await admin.get(f"{where}?since={lines[0]['createdat']}")).json()
    assert [line["message"] for line in rest["data"]] == ["2000", "3000"]
    errors = (await admin.get(f"{where}?level=error")).json()
    assert ([line["message"] for line in errors["data"]], errors["meta"]["total"]) == (["3000"], 1)


async def test_a_job_waits_for_its_time(app: RunningApp, caller, source):
    """R41."""
    later = Millis(app.time() + HOUR)
    await app.crawling.jobs.trigger(caller, NewCrawlJob(source, scheduled_at=later))
    db = db_of(app)

    async def claim(now: Millis) -> int:
        return len(await db.with_tx(lambda tx: claim_tx(tx, CRAWLS.name, CRAWLS.settings, worker="w", now=now, most=9)))

    assert await claim(app.time()) == 0
    assert await claim(later) == 1


async def lose(app: RunningApp, most_losses: int) -> None:
    """Whoever holds crawl tasks is dead, and somebody has noticed."""
    settings = QueueSettings(most_losses=most_losses)
    leases = await db_of(app).read(lambda tx: running_tx(tx, CRAWLS.name))
    await db_of(app).with_tx(lambda tx: reclaim_lost_tx(tx, leases, settings, now=app.time()))


async def test_a_worker_without_its_job_changes_nothing(app: RunningApp, caller, source):
    """R42, I4: another has gone on with it."""
    job = await app.crawling.jobs.trigger(caller, NewCrawlJob(source))
    first = await claimed(db_of(app), app.time())
    await lose(app, 3)
    second = await claimed(db_of(app), app.time())
    assert not await db_of(app).with_tx(lambda tx: move_job_tx(tx, first[1], pages=5, now=app.time()))
    with pytest.raises(LeaseLost):
        await end(app, *first)
    await end(app, *second)
    done = await app.crawling.jobs.get(job.public_id)
    assert (done.status, done.pages_count) == ("done", 0)
    again = await db_of(app).with_tx(
        lambda tx: begin_job_tx(tx, second[1].id, lease_token=second[0].lease_token, now=app.time())
    )
    assert again is None


async def test_a_job_that_kills_its_workers_fails(app: RunningApp, caller, source):
    """R42: at the third loss."""
    job = await app.crawling.jobs.trigger(caller, NewCrawlJob(source))
    await claimed(db_of(app), app.time())
    assert await fail_lost(app) == 0
    await lose(app, 1)
    assert await fail_lost(app) == 1
    failed = await app.crawling.jobs.get(job.public_id)
    assert (failed.status, failed.error_count) == ("failed", 1)
    assert failed.last_error == "Its worker died or stopped answering, 3 times."
    assert (await app.crawling.sources.get(source)).consecutive_fails == 1


async def test_a_source_with_a_running_job_cannot_go(app: RunningApp, admin, caller, source):
    """R51."""
    await app.crawling.jobs.trigger(caller, NewCrawlJob(source))
    await claimed(db_of(app), app.time())
    answer = await admin.ask("DELETE", f"{SOURCES}/{source}")
    said = answer.json()
    assert (answer.status, said["code"]) == (409, "CONFLICT")
    assert said["error"] == "Cannot delete a source with running jobs. Cancel all jobs first."


async def test_concurrent_triggers_and_deletion_leave_no_orphaned_job(app: RunningApp, admin, caller, source):
    deleting = admin.ask("DELETE", f"{SOURCES}/{source}")
    triggering = [app.crawling.jobs.trigger(caller, NewCrawlJob(source)) for _ in range(5)]
    deleted, *triggered = await asyncio.gather(deleting, *triggering, return_exceptions=True)
    assert isinstance(deleted, Answer)
    assert deleted.status == 204
    assert {type(one) for one in triggered} <= {Job, JobExists, NotFound}
    open_jobs = (await admin.get(f"{JOBS}?status=queued,running")).json()["meta"]["total"]
    assert open_jobs == 0
