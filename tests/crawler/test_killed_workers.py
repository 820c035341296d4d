"""A worker that is killed in the middle of a discovery, and another that goes on with it: real processes."""

import asyncio
import os
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.crash.fleet import LEASE_S, Fleet
from tests.crawler.builders import Site, a_crawling_app, a_mapped_comic, made, the_admin, until_over
from tests.scale import SOAK
from tsuzuki.model.times import SECOND
from tsuzuki.queue.policy import FLOOR

pytestmark = pytest.mark.both_engines

JOBS = "/admin/crawler/jobs"
HELD = "/list-3.html"
SLACK_S = 2.0 if os.environ.get(SOAK) else 20.0
"""Beside other tests a process may have to wait for a core; the lease that is meant is not the default of 30 s."""


@pytest.fixture
def site(site: Site) -> Site:
    site.series = {f"s{number}": [1] for number in range(8)}
    return site


@pytest.fixture
async def fleet(tmp_path: Path, database_url: str) -> AsyncIterator[Fleet]:
    """Two workers, not yet started."""
    fleet = Fleet(tmp_path, database_url, workers=2)
    yield fleet
    await fleet.stop()
    await fleet.close()


async def asked(site: Site) -> float:
    """The moment at which somebody asks for the held page."""
    async with asyncio.timeout(LEASE_S + 100):
        await site.waiting.get()
    return time.monotonic()


@pytest.mark.timeout(300)
async def test_another_worker_continues_a_killed_discovery(tmp_path, database_url, site, fleet):
    """R42, I3: within the lease and the floor, from the page where it was, and nothing is made twice."""
    site.gates[HELD] = asyncio.Event()
    async with a_crawling_app(tmp_path / "data", database_url, site) as app:
        admin = await the_admin(app)
        source, _ = await a_mapped_comic(admin, site.url, "s0")
        job = await made(admin, JOBS, {"sourceid": source})
        first = await fleet.start_worker(0)
        await asked(site)
        assert (await admin.get(f"{JOBS}/{job['id']}")).json()["data"]["pagescount"] == 2
        await fleet.start_worker(1)
        await fleet.kill(first)
        died_at = time.monotonic()
        taken_after = await asked(site) - died_at
        site.gates[HELD].set()
        done = await until_over(admin, job["id"])
        assert (done["status"], done["pagescount"]) == ("done", 4)
        assert taken_after < LEASE_S + FLOOR / SECOND + SLACK_S
        lists = [path for path in site.asked if path.startswith("/list-")]
        assert lists == ["/list-1.html", "/list-2.html", HELD, HELD, "/list-4.html"]
        comics = (await admin.get("/admin/comics")).json()
        assert [comic["sources"] for comic in comics["data"]] == [1] * 8
        begun = [
            line["meta"]["frompage"]
            for line in (await admin.get(f"{JOBS}/{job['id']}/logs?level=info")).json()["data"]
            if line["message"].startswith("Starting discovery")
        ]
        assert begun == ["1", "3"]
    assert fleet.exits == []
