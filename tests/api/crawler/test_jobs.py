"""Mappings and jobs: when they are refused, and what the operator has beyond the document."""

from tests.api.crawler.contract import CrawlerFixture
from tests.crawler.builders import made
from tsuzuki.db.crawl_log import archive_month, month_of
from tsuzuki.files.folder import FolderStore
from tsuzuki.files.stores import ARCHIVE


async def test_a_mapping_is_made_once(fixture: CrawlerFixture):
    where = "/admin/comics/{comic}/sources"
    body = {"sourceid": fixture.ids["source"], "sourceid_ext": "solo", "sourceurl": "https://mangafire.example/other"}
    linked = "This comic is already linked to the specified source with this external ID"
    assert await fixture.refused("POST", where, body) == (409, "CONFLICT", linked)
    unknown = body | {"sourceid": 99, "sourceid_ext": "x"}
    assert await fixture.refused("POST", where, unknown) == (404, "NOT_FOUND", "Source not found")
    bad = body | {"sourceid_ext": "x", "sourceurl": "http://mangafire.example/x"}
    assert (await fixture.refused("POST", where, bad))[:2] == (400, "VALIDATION_ERROR")
    second = await made(fixture.admin, fixture.path(where), body | {"sourceid_ext": "two"})
    assert second["isactive"] is True
    one = f"{where}/{second['id']}"
    assert await fixture.refused("PATCH", one, {"sourceid_ext": "solo"}) == (409, "CONFLICT", linked)
    assert [mapping["sourceid_ext"] for mapping in await fixture.data(where)] == ["solo", "two"]


async def test_a_comic_that_is_not_there_has_no_mappings(fixture: CrawlerFixture):
    missing = "/admin/comics/01952fb0-0000-7000-8000-000000000000/sources"
    body = {"sourceid": fixture.ids["source"], "sourceid_ext": "x", "sourceurl": "https://mangafire.example/x"}
    for method, said in (("GET", None), ("POST", body)):
        assert (await fixture.refused(method, missing, said))[:2] == (404, "NOT_FOUND")
    for required in body:
        part = {field: value for field, value in body.items() if field != required}
        answer = await fixture.admin.post(fixture.path("/admin/comics/{comic}/sources"), part)
        assert [problem["field"] for problem in answer.json()["details"]] == [required]


async def test_a_mapping_of_another_comic_is_not_found(fixture: CrawlerFixture):
    """SEC-31."""
    other = await made(fixture.admin, "/admin/comics", {"title": "Other"})
    where = f"/admin/comics/{other['id']}/sources/{fixture.ids['mapping']}"
    assert (await fixture.refused("PATCH", where, {"isactive": False}))[0] == 404
    assert (await fixture.refused("DELETE", where))[0] == 404


async def test_a_job_that_is_not_there_is_not_found(fixture: CrawlerFixture):
    for method, path in (("GET", ""), ("PATCH", "/cancel"), ("GET", "/logs"), ("GET", "/events")):
        for missing in ("01952ff9-0000-7000-8000-000000000000", "nonsense"):
            where = f"/admin/crawler/jobs/{missing}{path}"
            assert await fixture.refused(method, where) == (404, "NOT_FOUND", "Job not found"), where


async def test_a_job_is_refused_in_the_documents_words(fixture: CrawlerFixture):
    """R43, R54, REL-07: while one is active, a conflict that names it; afterwards a new one is accepted."""
    jobs, source, comic = "/admin/crawler/jobs", fixture.ids["source"], fixture.ids["comic"]
    active = "A job for this comic and source is already queued or running."
    answer = await fixture.admin.post(jobs, {"sourceid": source, "comicid": comic})
    assert (answer.status, answer.json()["code"], answer.json()["error"]) == (409, "CONFLICT", active)
    assert answer.json()["details"] == [{"field": "jobid", "message": fixture.ids["job"]}]
    other = await made(fixture.admin, "/admin/comics", {"title": "Other"})
    unlinked = "Comic is not linked to this source (no comicsource mapping found)."
    body = {"sourceid": source, "comicid": other["id"]}
    assert await fixture.refused("POST", jobs, body) == (400, "VALIDATION_ERROR", unlinked)
    await fixture.admin.ask("PATCH", fixture.path("/admin/crawler/jobs/{job}/cancel"))
    again = await made(fixture.admin, jobs, {"sourceid": source, "comicid": comic})
    assert again["id"] != fixture.ids["job"]
    await fixture.admin.ask("PATCH", fixture.path("/admin/crawler/sources/{source}"), {"isenabled": False})
    disabled = "Source is disabled. Enable the source before triggering a job."
    assert await fixture.refused("POST", jobs, {"sourceid": source}) == (400, "VALIDATION_ERROR", disabled)


async def test_a_cancelled_job_says_so_once(fixture: CrawlerFixture):
    """R45: a second time it has already finished."""
    cancel = fixture.path("/admin/crawler/jobs/{job}/cancel")
    answer = await fixture.admin.ask("PATCH", cancel, {"reason": "Manual cancellation"})
    assert answer.json()["data"].keys() == {"id", "status", "updatedat"}
    assert answer.json()["data"]["status"] == "cancelled"
    over = (400, "VALIDATION_ERROR", "Job cannot be cancelled — it has already finished")
    assert await fixture.refused("PATCH", cancel) == over
    assert (await fixture.data("/admin/crawler/jobs/{job}"))["finishedat"] is not None
    rows = (await fixture.admin.get("/admin/auditlog?entitytype=crawljob")).json()["data"]
    assert [row["action"] for row in rows] == ["crawljob.cancel", "crawljob.create"]


async def test_extensions_come_with_the_schema_of_their_config(fixture: CrawlerFixture):
    found = {one["id"]: one for one in await fixture.data("/admin/crawler/extensions")}
    assert {"org.mangadex", "tsuzuki.local"} <= found.keys()
    assert "$defs" in found["tsuzuki.local"]["configschema"]


async def test_whether_the_crawler_is_paused_can_be_asked(fixture: CrawlerFixture):
    assert await fixture.data("/admin/crawler/pause") == {"ispaused": False, "pausedat": None, "reason": None}
    assert (await fixture.data("/admin/crawler/sources/{source}/health"))["nextdueat"] is not None
    paused = await fixture.done("POST", "/admin/crawler/pause", {"reason": "moving"})
    assert await fixture.data("/admin/crawler/pause") == paused
    assert (paused["ispaused"], (await fixture.done("POST", "/admin/crawler/pause", {}))) == (True, paused)
    health = await fixture.data("/admin/crawler/sources/{source}/health")
    assert (health["ispaused"], health["nextdueat"]) == (True, None)
    await fixture.done("POST", "/admin/crawler/resume", {})
    assert await fixture.audit_events("crawler") == ["crawler.resume", "crawler.pause"]


async def test_queues_say_how_deep_they_are(fixture: CrawlerFixture):
    [queue] = [one for one in await fixture.data("/admin/queues") if one["queue"] == "crawl"]
    assert (queue["depth"], queue["due"], queue["running"]) == (1, 1, 0)


async def test_the_last_job_is_neither_scheduled_nor_unstarted(fixture: CrawlerFixture):
    body = {"sourceid": fixture.ids["source"], "scheduledat": "2099-01-01T00:00:00Z"}
    future = await made(fixture.admin, "/admin/crawler/jobs", body)

    async def last() -> str | None:
        job = (await fixture.data("/admin/crawler/sources/{source}/health"))["lastjob"]
        return None if job is None else str(job["id"])

    assert await last() == fixture.ids["job"]
    await fixture.done("PATCH", f"/admin/crawler/jobs/{future['id']}/cancel", {})
    assert await last() == fixture.ids["job"]
    await fixture.done("PATCH", "/admin/crawler/jobs/{job}/cancel", {})
    assert await last() is None


async def test_a_log_says_how_much_of_it_is_archived(fixture: CrawlerFixture, tmp_path):
    """R52: the lines of old months are in files, and an empty answer says so."""
    await fixture.done("PATCH", "/admin/crawler/jobs/{job}/cancel", {})
    logs = fixture.path("/admin/crawler/jobs/{job}/logs")
    before = (await fixture.admin.get(logs)).json()
    assert (len(before["data"]), before["meta"]["archived"]) == (1, 0)
    await archive_month(fixture.app.db, month_of(fixture.app.time()), FolderStore(tmp_path / "archive", ARCHIVE))
    after = (await fixture.admin.get(logs)).json()
    assert (after["data"], after["meta"]) == ([], {"total": 0, "nextcursor": None, "archived": 1})
    page = await fixture.app.client.ask("GET", f"/admin/jobs/{fixture.ids['job']}", headers=fixture.admin.headers)
    assert "1 lines of this log are in the archive" in page.text
