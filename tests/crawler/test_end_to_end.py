"""The whole way of a crawl, through the API, against a real site on loopback."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest
from structlog.testing import capture_logs

from tests.api.people import RunningApp, Visitor
from tests.crawler.builders import a_mapped_comic, a_site, made, the_admin, until_over
from tests.stopwatch import Stopwatch
from tsuzuki.crawler.runner import CRAWLS
from tsuzuki.db.queries import parse_queries
from tsuzuki.model.times import Millis
from tsuzuki.queue.attempts import Attempts
from tsuzuki.queue.leases import LeaseKeeper, WorkerContext
from tsuzuki.queue.store import claim_tx

JOBS = "/admin/crawler/jobs"

q = parse_queries(
    "tests",
    """
-- name: pages_of
select page.image_url from page
join release on release.id = page.release_id join chapter on chapter.id = release.chapter_id
where chapter.number = :number order by page.position;

-- name: unwatch
delete from watch;

-- name: crawl_tasks
select status, attempts, losses, error, first_failed_at from task where queue = 'crawl';
""",
)


class CrawlTask(msgspec.Struct, frozen=True):
    """A task of a job as a test looks at it."""

    status: str
    attempts: int
    losses: int
    error: str | None
    first_failed_at: Millis | None


@pytest.fixture
async def app(app: RunningApp) -> AsyncIterator[RunningApp]:
    """With its workers."""
    app.worker_loops.start()
    yield app
    await app.worker_loops.stop()


async def events_of(admin: Visitor, job_id: str) -> list[tuple[str, dict[str, Any]]]:
    """All that the stream of a job says until it ends."""
    answer = await admin.get(f"{JOBS}/{job_id}/events")
    assert answer.headers["content-type"].startswith("text/event-stream")
    found = []
    for block in answer.text.split("\n\n"):
        lines = dict(line.split(": ", 1) for line in block.split("\n") if ": " in line)
        if "event" in lines:
            found.append((lines["event"], msgspec.json.decode(lines["data"])))
    return found


async def chapters(admin: Visitor, title: str, count: int) -> dict[str, Any]:
    """The comic once it has so many chapters."""
    async with asyncio.timeout(10):
        while True:
            [comic] = (await admin.get(f"/admin/comics?q={title}")).json()["data"]
            if comic["chapters"] == count:
                return dict(comic)
            await asyncio.sleep(0.05)


async def run(admin: Visitor, source_id: int, comic: str | None = None) -> dict[str, Any]:
    job = await made(admin, JOBS, {"sourceid": source_id, "comicid": comic})
    return await until_over(admin, job["id"])


async def test_a_source_is_crawled_disabled_by_failures_and_recovers(app: RunningApp, site):
    admin = await the_admin(app)
    source, comic = await a_mapped_comic(admin, site.url)

    job = await made(admin, JOBS, {"sourceid": source, "comicid": comic})
    told = await events_of(admin, job["id"])
    assert [data["status"] for kind, data in told if kind == "status"][-1] == "done"
    messages = [data["message"] for kind, data in told if kind == "log"]
    assert messages[0] == f"Starting targeted crawl for comic {comic}"
    assert messages[-1] == "Job completed successfully"
    assert (await chapters(admin, "One", 2))["latestchapter"] == "2"

    site.is_down = True
    for count in range(1, 6):
        failed = await run(admin, source, comic)
        assert failed["status"] == "failed"
        assert failed["errorcount"] >= 1
        assert "500" in failed["lasterror"]
        shown = (await admin.get(f"/admin/crawler/sources/{source}")).json()["data"]
        assert (shown["consecutivefails"], shown["isenabled"]) == (count, count < 5)
    refused = await admin.post(JOBS, {"sourceid": source, "comicid": comic})
    assert refused.json()["error"] == "Source is disabled. Enable the source before triggering a job."
    audit = (await admin.get(f"/admin/auditlog?entitytype=crawlersource&entityid={source}")).json()["data"]
    assert (audit[0]["actor"], audit[0]["action"]) == ("system", "crawlersource.disable")

    health = (await admin.get(f"/admin/crawler/sources/{source}/health")).json()["data"]
    # The watch was due at once: either a scheduled poll or the first job called the source first.
    done = (await admin.get(f"{JOBS}?status=done")).json()["meta"]["total"]
    assert done in (1, 2)
    assert health["jobs"] == {"total": done + 5, "done": done, "failed": 5, "running": 0, "queued": 0, "cancelled": 0}
    assert health["last24h"]["errorrate"] == pytest.approx(5 / (done + 5), abs=1e-3)
    by_hand = (await admin.get(f"{JOBS}?triggeredby=admin")).json()["meta"]["total"]
    assert by_hand == 6
    assert "500" in health["lastfailure"]["reason"]

    site.is_down = False
    site.series["one"].append(3)
    enabled = await admin.ask("PATCH", f"/admin/crawler/sources/{source}/enable", {"isenabled": True})
    assert enabled.json()["data"]["isenabled"] is True
    assert (await run(admin, source, comic))["status"] == "done"
    shown = (await admin.get(f"/admin/crawler/sources/{source}")).json()["data"]
    assert (shown["consecutivefails"], shown["isenabled"]) == (0, True)
    assert (await chapters(admin, "One", 3))["latestchapter"] == "3"


async def test_a_running_job_stops_calling_within_a_second(app: RunningApp, site):
    """R45."""
    admin = await the_admin(app)
    site.series |= {f"s{number}": [1] for number in range(30)}
    source = (await a_mapped_comic(admin, site.url))[0]
    site.delay = 0.3
    job = await made(admin, JOBS, {"sourceid": source})
    async with asyncio.timeout(10):
        await site.is_listed.wait()
    cancelled = await admin.ask("PATCH", f"{JOBS}/{job['id']}/cancel", {"reason": "enough"})
    assert cancelled.json()["data"]["status"] == "cancelled"
    await asyncio.sleep(1.0)
    asked = len(site.asked)
    await asyncio.sleep(1.0)
    assert len(site.asked) == asked
    over = (await admin.get(f"{JOBS}/{job['id']}")).json()["data"]
    assert (over["status"], over["lasterror"]) == ("cancelled", None)
    assert over["finishedat"] is not None
    shown = (await admin.get(f"/admin/crawler/sources/{source}")).json()["data"]
    assert shown["consecutivefails"] == 0
    again = await admin.ask("PATCH", f"{JOBS}/{job['id']}/cancel", {})
    assert (again.status, again.json()["error"]) == (400, "Job cannot be cancelled — it has already finished")


async def test_discovery_matches_comics_by_title_and_author(app: RunningApp, site):
    """R44: a job of a source is a discovery, one of a comic is targeted."""
    admin = await the_admin(app)
    site.series = {slug: [1] for slug in ("one", "two", "three", "four", "five")}
    site.authors = {"two": "Ana Silva", "three": "Ben"}
    known = await made(admin, "/admin/comics", {"title": "TWO", "author": "ana silva"})
    source, _ = await a_mapped_comic(admin, site.url)

    done = await run(admin, source)
    assert (done["status"], done["kind"], done["pagescount"]) == ("done", "discovery", 3)
    comics = (await admin.get("/admin/comics")).json()["data"]
    assert sorted(comic["title"] for comic in comics) == ["Five", "Four", "One", "TWO", "Three"]
    [mapping] = (await admin.get(f"/admin/comics/{known['id']}/sources")).json()["data"]
    assert mapping["sourceurl"] == f"{site.url}/s/two"

    assert (await run(admin, source))["status"] == "done"
    assert (await admin.get("/admin/comics")).json()["meta"]["total"] == 5
    lines = (await admin.get(f"{JOBS}/{done['id']}/logs?level=info")).json()["data"]
    assert lines[1]["message"] == "Page 1: 2 series, 1 new"
    assert (lines[-1]["message"], lines[-1]["meta"]["pagescount"]) == ("Job completed successfully", 3)


async def test_a_catalogue_comic_is_watched_once_it_is_crawled(app: RunningApp, site):
    admin = await the_admin(app)
    source, comic = await a_mapped_comic(admin, site.url)
    await chapters(admin, "One", 2)
    await app.db.with_tx(lambda tx: tx.run(q.unwatch))
    site.series["one"].append(3)
    assert (await run(admin, source, comic))["pagescount"] == 1
    health = (await admin.get(f"/admin/crawler/sources/{source}/health")).json()["data"]
    assert health["breaker"]["watched"] == 1


async def test_a_discovery_stops_at_maxpages(app: RunningApp, site):
    admin = await the_admin(app)
    site.series = {f"s{number}": [1] for number in range(9)}
    site.series["one"] = [1]
    source, _ = await a_mapped_comic(admin, site.url, config={"maxpages": 2})
    assert (await run(admin, source))["pagescount"] == 2
    assert max(path for path in site.asked if path.startswith("/list-")) == "/list-2.html"


async def test_a_paused_crawler_begins_nothing(app: RunningApp, site):
    admin = await the_admin(app)
    paused = (await admin.post("/admin/crawler/pause", {"reason": "moving"})).json()["data"]
    assert (paused["ispaused"], paused["reason"]) == (True, "moving")
    assert (await admin.get("/admin/crawler/pause")).json()["data"] == paused
    source, comic = await a_mapped_comic(admin, site.url)
    job = await made(admin, JOBS, {"sourceid": source, "comicid": comic})
    with capture_logs() as logs:
        await asyncio.sleep(1.5)  # longer than a worker sleeps that nothing wakes
    assert [line for line in logs if line["log_level"] in ("warning", "error")] == []
    assert (await admin.get(f"{JOBS}/{job['id']}")).json()["data"]["status"] == "queued"
    assert site.asked == []
    [task] = await app.db.read(lambda tx: tx.many(CrawlTask, q.crawl_tasks))
    assert task == CrawlTask(status="queued", attempts=0, losses=0, error=None, first_failed_at=None)
    stopwatch = Stopwatch()
    resumed = (await admin.post("/admin/crawler/resume")).json()["data"]
    assert resumed == {"ispaused": False, "pausedat": None, "reason": None}
    assert (await until_over(admin, job["id"]))["status"] == "done"
    assert stopwatch.seconds() < 5


async def test_pausing_gives_a_claimed_job_back_unchanged(app: RunningApp, site):
    admin = await the_admin(app)
    source, comic = await a_mapped_comic(admin, site.url)
    await app.worker_loops.stop()
    await made(admin, JOBS, {"sourceid": source, "comicid": comic})
    worker_context = WorkerContext(db=app.db, wakeup=app.wakeup, clock=app.time, name="w")
    worker = Attempts(worker_context, CRAWLS, app.pipeline.crawler, LeaseKeeper(worker_context, CRAWLS))
    rows = await app.db.with_tx(
        lambda tx: claim_tx(tx, CRAWLS.name, CRAWLS.settings, worker="w", now=app.time(), most=1)
    )
    await admin.post("/admin/crawler/pause")
    with capture_logs() as logs:
        await worker.work(rows)
    assert [line["event"] for line in logs if line["log_level"] == "warning"] == []
    [task] = await app.db.read(lambda tx: tx.many(CrawlTask, q.crawl_tasks))
    assert task == CrawlTask(status="queued", attempts=0, losses=0, error=None, first_failed_at=None)


async def test_page_lists_are_fetched_where_the_config_says_so(app: RunningApp, site):
    """Whether the job found the chapters, or a scheduled poll was there before it."""
    admin = await the_admin(app)
    source, comic = await a_mapped_comic(admin, site.url, config={"fetchpages": True})
    assert (await run(admin, source, comic))["pagescount"] in (2 * 3, 2 + 2 * 3)
    assert await pages_of(app, "2") == [f"{site.url}/s/one/2/{number}.png" for number in range(3)]
    assert (await run(admin, source, comic))["pagescount"] == 0


async def pages_of(app: RunningApp, number: str) -> list[str]:
    return await app.accounts.deps.db.read(lambda tx: tx.many(str, q.pages_of, number=number))


async def test_a_stream_of_a_job_ends_when_the_server_stops(app: RunningApp, site):
    admin = await the_admin(app)
    source = (await a_mapped_comic(admin, site.url))[0]
    job = await made(admin, JOBS, {"sourceid": source, "scheduledat": "2099-01-01T00:00:00Z"})
    listening = asyncio.create_task(events_of(admin, job["id"]))
    await asyncio.sleep(0.3)
    app.crawling.follower.close()
    async with asyncio.timeout(5):
        told = await listening
    assert [(kind, data["status"]) for kind, data in told] == [("status", "queued")]


async def test_a_mapping_is_not_followed_to_another_host(app: RunningApp, site):
    """SEC-05: the host is the definition's; what an operator types into a mapping does not choose it."""
    admin = await the_admin(app)
    async with a_site() as elsewhere:
        source, comic = await a_mapped_comic(admin, site.url)
        [mapping] = (await admin.get(f"/admin/comics/{comic}/sources")).json()["data"]
        where = f"/admin/comics/{comic}/sources/{mapping['id']}"
        changed = await admin.ask("PATCH", where, {"sourceurl": f"{elsewhere.url}/s/one"})
        assert changed.status == 200
        failed = await run(admin, source, comic)
        assert (failed["status"], elsewhere.asked) == ("failed", [])
        assert failed["lasterror"]


async def test_a_job_reports_only_real_waits(app: RunningApp, site):
    """A short Retry-After is waited out within the job; a long one ends it, and is not called a retry."""
    admin = await the_admin(app)
    source, comic = await a_mapped_comic(admin, site.url)
    await run(admin, source, comic)  # the scheduled poll is over by then
    limits = {}
    for seconds in (1, 600):
        site.retry_after = [seconds]
        job = await run(admin, source, comic)
        rows = (await admin.get(f"{JOBS}/{job['id']}/logs?level=warn")).json()["data"]
        limits[job["status"]] = [(row["message"], row["meta"]["httpstatus"], row["meta"]["retryafter"]) for row in rows]
    assert limits["done"] == [("Rate limit hit — retrying after 1s", 429, 1)]
    [(message, status, wait)] = limits["failed"]
    assert message.startswith("Rate limit hit, not tried again")
    assert (status, wait) == (429, 600)
