"""A client written from the crawler's document works: its summary, its types, its examples as they are printed.

Where the document is silent or contradicts itself, the rulings R40-R57 decide; each is named where it is held.
"""

from tests.api.crawler.contract import CrawlerFixture, is_a
from tests.crawler.builders import a_source_body, made
from tsuzuki.api.build import ENDPOINTS
from tsuzuki.api.endpoints import Access
from tsuzuki.model.times import MINUTE, from_iso

SUMMARY = """
GET    /admin/crawler/sources
GET    /admin/crawler/sources/:id
POST   /admin/crawler/sources
PATCH  /admin/crawler/sources/:id
DELETE /admin/crawler/sources/:id
PATCH  /admin/crawler/sources/:id/enable
GET    /admin/crawler/sources/:id/health
GET    /admin/comics/:id/sources
POST   /admin/comics/:id/sources
PATCH  /admin/comics/:id/sources/:sourceId
DELETE /admin/comics/:id/sources/:sourceId
GET    /admin/crawler/jobs
GET    /admin/crawler/jobs/:id
POST   /admin/crawler/jobs
PATCH  /admin/crawler/jobs/:id/cancel
GET    /admin/crawler/jobs/:id/logs
"""


def test_every_endpoint_of_the_summary_exists_and_is_the_administrators():
    names = {"{source_id}": ":id", "{comic_id}": ":id", "{job_id}": ":id", "{mapping_id}": ":sourceId"}
    found = {}
    for endpoint in ENDPOINTS:
        path = endpoint.path
        for ours, theirs in names.items():
            path = path.replace(ours, theirs)
        found[endpoint.method, path] = endpoint.access
    for line in SUMMARY.split("\n")[1:-1]:
        method, path = line.split()
        assert found[method, path] is Access.ADMIN, line


async def test_every_type_has_its_fields(fixture: CrawlerFixture):
    is_a("CrawlerSource", await fixture.data("/admin/crawler/sources/{source}"))
    is_a("CrawlerSource", (await fixture.data("/admin/crawler/sources"))[0])
    [mapping] = await fixture.data("/admin/comics/{comic}/sources")
    is_a("ComicSource", mapping)
    assert mapping["source"] == {
        "id": fixture.ids["source"],
        "name": "MangaFire",
        "slug": "mangafire",
        "baseurl": "https://mangafire.example",
    }
    job = await fixture.data("/admin/crawler/jobs/{job}")
    for shown in (job, *await fixture.data("/admin/crawler/jobs")):
        is_a("CrawlJob", shown)
    assert job["source"] == {"id": fixture.ids["source"], "name": "MangaFire", "slug": "mangafire"}
    assert job["comic"] == {"id": fixture.ids["comic"], "title": "Solo", "coverurl": None}
    assert job["triggeredbyuser"] == {"id": job["triggeredby"], "username": "admin"}
    assert (job["status"], job["kind"]) == ("queued", "targeted")
    is_a("Health", await fixture.data("/admin/crawler/sources/{source}/health"))
    await fixture.admin.ask("PATCH", fixture.path("/admin/crawler/jobs/{job}/cancel"), {"reason": "no"})
    [line] = await fixture.data("/admin/crawler/jobs/{job}/logs")
    is_a("CrawlLog", line)
    assert line["jobid"] == job["id"]


async def test_ids_are_as_the_document_shows_them(fixture: CrawlerFixture):
    """R9: sources count from 100000; jobs are UUIDv7."""
    assert fixture.ids["source"] == 100000
    assert fixture.ids["mapping"] >= 200000
    assert fixture.ids["job"][14] == "7"


async def test_health_has_the_documents_fields_and_ours(fixture: CrawlerFixture):
    """R50: the total is the sum of every status."""
    health = await fixture.data("/admin/crawler/sources/{source}/health")
    assert health["jobs"] == {"total": 1, "done": 0, "failed": 0, "running": 0, "queued": 1, "cancelled": 0}
    assert health["lastjob"].keys() == {"id", "status", "pagescount", "errorcount", "finishedat"}
    assert health["lastjob"]["id"] == fixture.ids["job"]
    job_stats = {"jobs": 0, "failed": 0, "errorrate": 0.0, "averagems": None, "longestms": None}
    assert (health["last24h"], health["last7d"]) == (job_stats, job_stats)
    assert health["breaker"] == {"state": "closed", "open": 0, "watched": 1, "failing": 0}
    assert (health["lastfailure"], health["ispaused"]) == (None, False)
    other = await made(fixture.admin, "/admin/crawler/sources", a_source_body(name="Idle", slug="idle"))
    idle = await fixture.data(f"/admin/crawler/sources/{other['id']}/health")
    assert (idle["lastjob"], idle["nextdueat"], idle["jobs"]["total"]) == (None, None, 0)


async def test_the_examples_of_sources_work_as_they_are_printed(fixture: CrawlerFixture):
    body = {
        "name": "NetTruyen",
        "slug": "nettruyen",
        "baseurl": "https://nettruyen.com",
        "extensionid": "org.mangadex",  # the document's own is installed nowhere
        "config": {"ratelimit": 3, "proxy": None, "headers": {"Accept-Language": "en-US"}},
        "isenabled": True,
    }
    source = await fixture.done("POST", "/admin/crawler/sources", body, 201)
    assert {field: source[field] for field in body} == body
    where = f"/admin/crawler/sources/{source['id']}"
    change = {"config": {"ratelimit": 1, "proxy": "http://proxy.internal:3128"}, "isenabled": False}
    changed = await fixture.done("PATCH", where, change)
    assert {field: changed[field] for field in change} == change
    switched = await fixture.done("PATCH", f"{where}/enable", {"isenabled": True, "reason": "Back again"})
    assert (switched["id"], switched["name"], switched["isenabled"]) == (source["id"], "NetTruyen", True)
    assert await fixture.done("DELETE", where, {"reason": "Source site shut down permanently"}, 204) is None
    assert (await fixture.admin.get(where)).status == 404
    steps = ["crawlersource.delete", "crawlersource.enable", "crawlersource.disable", "crawlersource.create"]
    assert (await fixture.audit_events("crawlersource"))[:4] == steps


async def test_the_examples_of_mappings_work_as_they_are_printed(fixture: CrawlerFixture):
    body = {
        "sourceid": fixture.ids["source"],
        "sourceid_ext": "solo-leveling-chapter",
        "sourceurl": "https://nettruyen.com/truyen-tranh/solo-leveling-chapter",
        "isactive": True,
    }
    mapping = await fixture.done("POST", "/admin/comics/{comic}/sources", body, 201)
    assert {field: mapping[field] for field in body} == body
    where = f"/admin/comics/{fixture.ids['comic']}/sources/{mapping['id']}"
    change = {
        "sourceurl": "https://nettruyen.net/truyen-tranh/solo-leveling",
        "sourceid_ext": "solo-leveling",
        "isactive": False,
    }
    changed = await fixture.done("PATCH", where, change)
    assert {field: changed[field] for field in change} == change
    assert await fixture.done("DELETE", where, None, 204) is None
    assert [one["id"] for one in await fixture.data("/admin/comics/{comic}/sources")] == [fixture.ids["mapping"]]
    assert (await fixture.audit_events("comicsource"))[0] == "comicsource.delete"


async def test_the_examples_of_jobs_work_as_they_are_printed(fixture: CrawlerFixture):
    body = {"sourceid": fixture.ids["source"], "comicid": None, "scheduledat": "2026-02-22T00:17:00Z"}
    job = await fixture.done("POST", "/admin/crawler/jobs", body, 201)
    is_a("CrawlJob", job)
    assert (job["status"], job["comicid"], job["comic"]) == ("queued", None, None)
    assert job["scheduledat"].startswith("2026-02-22T00:17:00")
    reason = {"reason": "Manual cancellation — source site temporarily unreachable"}
    cancelled = await fixture.done("PATCH", f"/admin/crawler/jobs/{job['id']}/cancel", reason)
    assert (cancelled["id"], cancelled["status"]) == (job["id"], "cancelled")
    [line] = await fixture.data(f"/admin/crawler/jobs/{job['id']}/logs")
    assert line["meta"]["reason"] == reason["reason"]
    now = await made(fixture.admin, "/admin/crawler/jobs", {"sourceid": fixture.ids["source"]})
    assert abs(from_iso(now["scheduledat"]) - fixture.app.time()) < MINUTE
