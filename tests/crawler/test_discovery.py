"""A discovery that dies goes on where it was."""

import os
import random
from typing import Any

import pytest

from tests.api.people import RunningApp
from tests.crawler.builders import Site, a_mapped_comic, claimed, made, the_admin
from tsuzuki.app.fetching import folder_of
from tsuzuki.app.pipeline import Pipeline
from tsuzuki.crawler.discovery import Discovery
from tsuzuki.crawler.journal import JobLog, SourceCalls
from tsuzuki.crawler.types import BegunJob
from tsuzuki.db import Database
from tsuzuki.model.ids import uuid7
from tsuzuki.model.times import DAY, Millis
from tsuzuki.queue.errors import LeaseLost
from tsuzuki.queue.policy import QueueSettings
from tsuzuki.queue.store import reclaim_lost_tx, running_tx

JOBS = "/admin/crawler/jobs"


@pytest.fixture
def site(site: Site) -> Site:
    site.series = {f"s{number}": [1] for number in range(6)}
    return site


def walker(pipeline: Pipeline, db: Database, app: RunningApp) -> Discovery:
    calls = SourceCalls(pipeline.fetching.registry, pipeline.fetching.driver, folder_of)
    return Discovery(db, calls, app.time, new_id=lambda: uuid7(app.time(), os.urandom(10)), jitter=random.random)


async def walk(app: RunningApp, job: BegunJob) -> None:
    db = app.accounts.deps.db
    journal = JobLog(db, job, app.time, random_bytes=os.urandom, after_commit=lambda *_: None)
    await walker(app.pipeline, db, app).run(job, journal)


async def lose(app: RunningApp) -> None:
    db = app.accounts.deps.db
    leases = await db.read(lambda tx: running_tx(tx, "crawl"))
    await db.with_tx(lambda tx: reclaim_lost_tx(tx, leases, QueueSettings(), now=app.time()))


async def test_a_killed_discovery_continues_at_its_page(app: RunningApp, site):
    """R42: what was stored stays, and nothing is made twice."""
    admin = await the_admin(app)
    source, _ = await a_mapped_comic(admin, site.url, "s0", config={"maxpages": 1})
    await made(admin, JOBS, {"sourceid": source})
    _, first = await claimed(app.accounts.deps.db, app.time())
    await walk(app, first)
    await admin.ask("PATCH", f"/admin/crawler/sources/{source}", {"config": {"ratelimit": 50}})
    await lose(app)
    before = len(site.asked)
    _, second = await claimed(app.accounts.deps.db, app.time())
    assert second.resume_from == "2"
    await walk(app, second)
    lists = [path for path in site.asked[before:] if path.startswith("/list-")]
    assert lists == ["/list-2.html", "/list-3.html"]
    comics = (await admin.get("/admin/comics")).json()
    assert comics["meta"]["total"] == 6
    assert all(comic["sources"] == 1 for comic in comics["data"])
    with pytest.raises(LeaseLost):
        await walk(app, first)


async def test_discovered_comics_are_polled_within_a_day_spread_out(app: RunningApp, site):
    admin = await the_admin(app)
    source, _ = await a_mapped_comic(admin, site.url, "s0", config={"ratelimit": 50})
    await made(admin, JOBS, {"sourceid": source})
    _, job = await claimed(app.accounts.deps.db, app.time())
    await walk(app, job)
    health: dict[str, Any] = (await admin.get(f"/admin/crawler/sources/{source}/health")).json()["data"]
    assert health["breaker"] == {"state": "closed", "open": 0, "watched": 6, "failing": 0}
    claimed_now = await app.pipeline.poller.claim(10, {})
    assert len(claimed_now) == 1
    app.time.pass_(Millis(DAY))
    assert len(await app.pipeline.poller.claim(10, {})) >= 1
