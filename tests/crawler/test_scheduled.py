"""Scheduled polls of series as jobs that nobody triggered."""

import asyncio
from typing import Any

from tests.api.people import RunningApp, Visitor
from tests.crawler.builders import a_mapped_comic, made, until_over
from tsuzuki.crawler.service import forget_uneventful
from tsuzuki.model.times import DAY, HOUR, MINUTE, Millis
from tsuzuki.polling.service import PollResult

JOBS = "/admin/crawler/jobs"
SOURCES = "/admin/crawler/sources"


async def poll(app: RunningApp) -> list[PollResult]:
    """What came of everything that is due."""
    return [await app.pipeline.poller.poll(watch) for watch in await app.pipeline.poller.claim(10, {})]


async def jobs(admin: Visitor, query: str = "triggeredby=scheduler") -> list[dict[str, Any]]:
    return list((await admin.get(f"{JOBS}?{query}")).json()["data"])


async def lines(admin: Visitor, job: dict[str, Any]) -> list[tuple[str, str]]:
    return [(line["level"], line["message"]) for line in (await admin.get(f"{JOBS}/{job['id']}/logs")).json()["data"]]


async def health(admin: Visitor, source: int) -> dict[str, Any]:
    return dict((await admin.get(f"{SOURCES}/{source}/health")).json()["data"])


async def test_a_scheduled_poll_is_a_job_without_trigger(app: RunningApp, admin, site):
    source, comic = await a_mapped_comic(admin, site.url)
    assert [polled.outcome for polled in await poll(app)] == ["changed"]
    [job] = await jobs(admin)
    assert (job["status"], job["kind"], job["comicid"], job["sourceid"]) == ("done", "targeted", comic, source)
    assert (job["triggeredby"], job["triggeredbyuser"]) == (None, None)
    assert (job["pagescount"], job["errorcount"], job["lasterror"]) == (2, 0, None)
    assert job["scheduledat"] <= job["startedat"] <= job["finishedat"]
    assert await lines(admin, job) == [
        ("debug", f"GET {site.url}/s/one"),
        ("info", "Found 2 new chapters"),
        ("info", "Job completed successfully"),
    ]
    assert len(site.asked) == 1
    assert await jobs(admin, "triggeredby=admin") == []
    shown = await health(admin, source)
    assert (shown["jobs"]["total"], shown["lastjob"]["id"], shown["last24h"]["jobs"]) == (1, job["id"], 1)
    assert shown["lastsucceededat"] is not None
    [mapping] = (await admin.get(f"/admin/comics/{comic}/sources")).json()["data"]
    assert mapping["lastcrawlat"] is not None


async def test_a_failed_poll_is_explained_and_disables_nothing(app: RunningApp, admin, site):
    """R57: only jobs that people trigger move the count; a series that fails on schedule has its own breaker (R23)."""
    source, _ = await a_mapped_comic(admin, site.url)
    site.is_down = True
    for _ in range(6):
        [polled] = await poll(app)
        assert polled.outcome == "http_status"
        app.time.pass_(2 * DAY)
    failed = await jobs(admin)
    assert [job["status"] for job in failed] == ["failed"] * 6
    assert all("500" in job["lasterror"] and job["errorcount"] >= 1 for job in failed)
    level, message = (await lines(admin, failed[0]))[-1]
    assert (level, message) == ("error", f"Job failed: {failed[0]['lasterror']}")
    shown = await health(admin, source)
    assert (shown["consecutivefails"], shown["isenabled"]) == (0, True)
    assert (shown["lastfailure"]["jobid"], shown["breaker"]["state"]) == (failed[0]["id"], "open")
    assert shown["lastfailedat"] is not None
    assert await forget_uneventful(app.db, Millis(app.time() + 30 * DAY)) == 0


async def test_a_successful_poll_leaves_the_failure_count(app: RunningApp, admin, site):
    """R57."""
    source, comic = await a_mapped_comic(admin, site.url)
    site.is_down = True
    app.worker_loops.start()
    job = await made(admin, JOBS, {"sourceid": source, "comicid": comic})
    assert (await until_over(admin, job["id"]))["status"] == "failed"
    await app.worker_loops.stop()
    site.is_down = False
    app.time.pass_(2 * DAY)
    assert [polled.outcome for polled in await poll(app)] == ["changed"]
    assert (await health(admin, source))["consecutivefails"] == 1


async def test_an_uneventful_poll_is_forgotten_but_counted(app: RunningApp, admin, site):
    """R52: no log row goes with it, because none was written."""
    site.series["one"] = []
    source, comic = await a_mapped_comic(admin, site.url)
    assert [polled.outcome for polled in await poll(app)] == ["unchanged"]
    [job] = await jobs(admin)
    assert (job["status"], job["pagescount"], await lines(admin, job)) == ("done", 0, [])
    queued = await made(admin, JOBS, {"sourceid": source, "comicid": comic})
    await admin.ask("PATCH", f"{JOBS}/{queued['id']}/cancel")

    assert await forget_uneventful(app.db, Millis(app.time() + DAY - MINUTE)) == 0
    app.time.pass_(DAY + HOUR)
    assert await forget_uneventful(app.db, app.time()) == 1
    assert await forget_uneventful(app.db, app.time()) == 0
    assert [each["id"] for each in await jobs(admin, "")] == [queued["id"]]
    assert (await admin.get(f"{JOBS}/{job['id']}")).status == 404

    site.is_down = True
    assert [polled.outcome for polled in await poll(app)] == ["http_status"]
    shown = await health(admin, source)
    assert (shown["last24h"]["jobs"], shown["last24h"]["errorrate"]) == (1, 1.0)
    assert (shown["last7d"]["jobs"], shown["last7d"]["failed"], shown["last7d"]["errorrate"]) == (2, 1, 0.5)
    assert shown["last7d"]["averagems"] is not None
    app.time.pass_(9 * DAY)
    await forget_uneventful(app.db, app.time())
    await app.pipeline.cache.forget()
    assert (await health(admin, source))["last7d"]["jobs"] == 0


async def test_jobs_and_polls_never_call_a_series_concurrently(app: RunningApp, admin, site):
    """R43, R57: whoever has the watch's lease calls; the other waits or comes later."""
    site.delay = 0.5
    source, comic = await a_mapped_comic(admin, site.url)
    [watch] = await app.pipeline.poller.claim(10, {})
    polling = asyncio.create_task(app.pipeline.poller.poll(watch))
    job = await made(admin, JOBS, {"sourceid": source, "comicid": comic})
    app.worker_loops.start()
    assert (await until_over(admin, job["id"]))["status"] == "done"
    await app.worker_loops.stop()
    assert (await polling).outcome == "changed"
    said = [message for _, message in await lines(admin, job)]
    assert "A scheduled poll is under way — waiting for it" in said
    both = sorted(await jobs(admin, ""), key=lambda each: str(each["startedat"]))
    spans = [(each["startedat"], each["finishedat"]) for each in both]
    assert len(both) == 2
    assert spans[0][1] <= spans[1][1]
    assert site.asked.count("/s/one") == 2
    assert site.most_at_once == 1


async def test_a_poll_that_was_skipped_is_no_job(app: RunningApp, admin, site):
    source, _ = await a_mapped_comic(admin, site.url)
    await admin.ask("PATCH", f"{SOURCES}/{source}/enable", {"isenabled": False})
    assert [polled.outcome for polled in await poll(app)] == ["skipped"]
    assert await jobs(admin) == []
