"""Pages, filters and cursors of the crawler's lists."""

import os
from typing import Any

from tests.api.crawler.contract import CrawlerFixture
from tests.crawler.builders import a_source_body, made
from tsuzuki.accounts.types import SYSTEM
from tsuzuki.crawler.store import append_log_tx
from tsuzuki.crawler.types import JobLogLine
from tsuzuki.model.ids import PublicId
from tsuzuki.sources.types import SourceRegistration

PAGED = {"total": 1, "page": 1, "limit": 50, "pages": 1}
LISTS: dict[str, tuple[dict[str, Any], int]] = {
    "/admin/crawler/sources": (PAGED, 200),
    "/admin/crawler/jobs": (PAGED, 200),
    "/admin/crawler/jobs/{job}/logs": ({"total": 0, "nextcursor": None, "archived": 0}, 1000),
}
"""What each says of itself, and the most of it that can be asked for."""


async def test_a_list_has_a_total_and_a_maximum_limit(fixture: CrawlerFixture):
    """R57: a limit over the maximum is a 400."""
    for path, (meta, most) in LISTS.items():
        where = fixture.path(path)
        assert (await fixture.admin.get(where)).json()["meta"] == meta
        assert (await fixture.admin.get(f"{where}?limit={most}")).status == 200
        for wrong in (f"limit={most + 1}", "limit=0", "limit=x", "nonsense=1"):
            answer = await fixture.admin.get(f"{where}?{wrong}")
            assert (answer.status, answer.json()["code"]) == (400, "VALIDATION_ERROR"), (path, wrong)
            assert answer.json()["details"][0]["field"] == wrong.partition("=")[0]


async def test_a_log_page_has_100_lines_and_at_most_1000(fixture: CrawlerFixture):
    """R49: and the next page begins where it ended."""
    job = await fixture.app.crawling.jobs.get(PublicId(bytes.fromhex(fixture.ids["job"].replace("-", ""))))
    said = [JobLogLine("info" if number % 2 else "debug", str(number)) for number in range(1201)]
    await fixture.app.db.with_tx(
        lambda tx: append_log_tx(tx, job.id, said, now=fixture.app.time(), random_bytes=os.urandom)
    )
    where = fixture.path("/admin/crawler/jobs/{job}/logs")

    async def page(query: str) -> tuple[list[str], dict[str, Any]]:
        answer = (await fixture.admin.get(f"{where}?{query}")).json()
        return [line["message"] for line in answer["data"]], answer["meta"]

    lines, meta = await page("")
    assert (lines, meta["total"]) == ([str(number) for number in range(100)], 1201)
    more, meta = await page(f"limit=1000&since={meta['nextcursor']}")
    assert more == [str(number) for number in range(100, 1100)]
    assert len((await page(f"limit=1000&since={meta['nextcursor']}"))[0]) == 101
    assert (await page("level=info&limit=2"))[0] == ["1", "3"]
    assert (await page("level=error"))[0] == []
    assert (await fixture.admin.get(f"{where}?level=fatal")).status == 400


async def test_a_cursor_that_is_none_is_refused(fixture: CrawlerFixture):
    for since in ("yesterday", "2026-02-22_x", "2026-02-22T00:00:00Z_nonsense"):
        answer = await fixture.admin.get(fixture.path("/admin/crawler/jobs/{job}/logs") + f"?since={since}")
        assert (answer.status, answer.json()["details"][0]["field"]) == (400, "since"), since


async def test_a_page_of_sources_or_jobs_has_fifty_by_default(fixture: CrawlerFixture):
    for number in range(50):
        body = a_source_body(name=f"S{number}", slug=f"s{number}")
        await fixture.app.crawling.sources.register(
            SYSTEM, SourceRegistration(name=body["name"], slug=body["slug"], base_url=body["baseurl"])
        )
    answer = (await fixture.admin.get("/admin/crawler/sources")).json()
    assert (len(answer["data"]), answer["meta"]) == (50, {"total": 51, "page": 1, "limit": 50, "pages": 2})
    last = (await fixture.admin.get("/admin/crawler/sources?page=2")).json()["data"]
    assert [source["name"] for source in last] == ["S49"]
    for source in [*answer["data"], *last]:
        await fixture.admin.post("/admin/crawler/jobs", {"sourceid": source["id"]})
    jobs = (await fixture.admin.get("/admin/crawler/jobs")).json()
    assert (len(jobs["data"]), jobs["meta"]) == (50, {"total": 52, "page": 1, "limit": 50, "pages": 2})


async def test_sources_are_filtered_by_the_switch_and_by_name(fixture: CrawlerFixture):
    await made(fixture.admin, "/admin/crawler/sources", a_source_body(name="Off%", slug="off", isenabled=False))

    async def names(query: str) -> list[str]:
        return [source["name"] for source in await fixture.data(f"/admin/crawler/sources?{query}")]

    assert await names("isenabled=true") == ["MangaFire"]
    assert await names("isenabled=false") == ["Off%"]
    assert await names("q=mangaf") == ["MangaFire"]
    assert await names("q=%25") == ["Off%"]
    assert await names("q=nothing") == []
    assert await names("page=2&limit=1") == ["Off%"]
    assert (await fixture.admin.get("/admin/crawler/sources?isenabled=maybe")).status == 400


async def test_jobs_are_filtered_and_sorted(fixture: CrawlerFixture):
    """R57: descending with nulls last; `status` may repeat or have commas."""
    source, comic = fixture.ids["source"], fixture.ids["comic"]
    later = {"sourceid": source, "scheduledat": "2099-01-01T00:00:00Z"}
    discovery = (await made(fixture.admin, "/admin/crawler/jobs", later))["id"]
    await fixture.admin.ask("PATCH", fixture.path("/admin/crawler/jobs/{job}/cancel"), {})
    targeted = fixture.ids["job"]

    async def ids(query: str) -> list[str]:
        return [job["id"] for job in await fixture.data(f"/admin/crawler/jobs?{query}")]

    assert await ids("") == [discovery, targeted]
    assert await ids("sort=finishedat") == [targeted, discovery]
    assert await ids("sort=pagescount") == [discovery, targeted]
    assert await ids("status=cancelled") == [targeted]
    assert await ids("status=cancelled,queued") == await ids("status=cancelled&status=queued") == [discovery, targeted]
    assert await ids(f"comicid={comic}") == [targeted]
    assert await ids(f"sourceid={source + 1}") == []
    assert await ids("triggeredby=scheduler") == []
    assert await ids("triggeredby=admin") == [discovery, targeted]
    assert await ids("since=2098-01-01T00:00:00Z") == [discovery]
    for wrong in ("status=lost", "sort=name", "triggeredby=me", "comicid=x", "since=today"):
        assert (await fixture.admin.get(f"/admin/crawler/jobs?{wrong}")).status == 400
