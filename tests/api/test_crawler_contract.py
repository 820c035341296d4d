"""The crawler's contract: a client written from its document works. The tables below are the document's own.

Where the document is silent or contradicts itself, the rulings R40-R57 decide; each is named where it is held.
"""

import os
from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.api.people import Town, Visitor
from tests.crawl.builders import a_crawling_town, a_source_body, made, the_admin
from tsuzuki.accounts.nouns import SYSTEM
from tsuzuki.api.build import ENDPOINTS
from tsuzuki.api.endpoints import Access
from tsuzuki.crawl.rows import LogLine
from tsuzuki.crawl.store import append_log_tx
from tsuzuki.model.ids import PublicId
from tsuzuki.model.times import MINUTE, from_iso
from tsuzuki.sources.sites.rows import Wanted

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

TYPES: dict[str, dict[str, str]] = {
    "CrawlerSource": {
        "id": "number",
        "name": "string",
        "slug": "string",
        "baseurl": "string",
        "extensionid": "string | null",
        "config": "object",
        "isenabled": "boolean",
        "lastsucceededat": "string | null",
        "lastfailedat": "string | null",
        "consecutivefails": "number",
        "createdat": "string",
        "updatedat": "string",
    },
    "ComicSource": {
        "id": "number",
        "comicid": "string",
        "sourceid": "number",
        "source": "object",
        "sourceid_ext": "string",
        "sourceurl": "string",
        "isactive": "boolean",
        "lastcrawlat": "string | null",
        "createdat": "string",
        "updatedat": "string",
    },
    "CrawlJob": {
        "id": "string",
        "sourceid": "number",
        "source": "object",
        "comicid": "string | null",
        "comic": "object | null",
        "status": "string",
        "scheduledat": "string",
        "startedat": "string | null",
        "finishedat": "string | null",
        "pagescount": "number",
        "errorcount": "number",
        "lasterror": "string | null",
        "triggeredby": "string | null",
        "triggeredbyuser": "object | null",
        "createdat": "string",
        "updatedat": "string",
    },
    "CrawlLog": {
        "id": "string",
        "jobid": "string",
        "level": "string",
        "message": "string",
        "meta": "object | null",
        "createdat": "string",
    },
    "Health": {
        "id": "number",
        "name": "string",
        "isenabled": "boolean",
        "consecutivefails": "number",
        "lastsucceededat": "string | null",
        "lastfailedat": "string | null",
        "jobs": "object",
        "lastjob": "object | null",
    },
}
KINDS: dict[str, Any] = {"string": str, "number": (int, float), "boolean": bool, "object": dict, "null": type(None)}

LIMITS = {
    "/admin/crawler/sources": (50, 200),
    "/admin/crawler/jobs": (50, 200),
    "/admin/crawler/jobs/{job}/logs": (100, 1000),
}

SOURCE_TEXTS = {
    "name": "A source with this name already exists",
    "slug": "A source with this slug already exists",
    "baseurl": "BaseURL must be a valid HTTPS URL",
}


class World:
    """A source, a comic that it has, a job, and somebody who may look at them."""

    def __init__(self, town: Town, admin: Visitor, ids: dict[str, Any]) -> None:
        self.town = town
        self.admin = admin
        self.ids = ids

    def path(self, template: str) -> str:
        return template.format(**self.ids)

    async def done(self, method: str, template: str, body: Any, status: int = 200) -> Any:
        """The data of a request that goes well."""
        answer = await self.admin.ask(method, self.path(template), body)
        assert answer.status == status, answer.text
        return answer.json()["data"] if answer.body else None

    async def deeds(self, entity: str) -> list[str]:
        """What the audit log has of this kind, the newest first."""
        rows = (await self.admin.get(f"/admin/auditlog?entitytype={entity}")).json()["data"]
        return [row["action"] for row in rows]

    async def data(self, template: str) -> Any:
        answer = await self.admin.get(self.path(template))
        assert answer.status == 200, answer.text
        return answer.json()["data"]

    async def refused(self, method: str, template: str, body: Any = None) -> tuple[int, str, str]:
        """Status, code and text of an error."""
        answer = await self.admin.ask(method, self.path(template), body)
        said = answer.json()
        return answer.status, said["code"], said["error"]


@pytest.fixture
async def world(tmp_path, database_url) -> AsyncIterator[World]:
    async with a_crawling_town(tmp_path / "data", database_url) as town:
        admin = await the_admin(town)
        source = await made(admin, "/admin/crawler/sources", a_source_body())
        comic = await made(admin, "/admin/comics", {"title": "Solo"})
        body = {"sourceid": source["id"], "sourceid_ext": "solo", "sourceurl": "https://mangafire.example/solo"}
        mapping = await made(admin, f"/admin/comics/{comic['id']}/sources", body)
        job = await made(admin, "/admin/crawler/jobs", {"sourceid": source["id"], "comicid": comic["id"]})
        ids = {"source": source["id"], "comic": comic["id"], "mapping": mapping["id"], "job": job["id"]}
        yield World(town, admin, ids)


def fits(value: Any, kinds: str) -> bool:
    return any(
        isinstance(value, KINDS[kind]) and not (kind == "number" and isinstance(value, bool))
        for kind in kinds.split(" | ")
    )


def is_a(name: str, value: dict[str, Any]) -> None:
    wrong = {
        field: value.get(field, "missing") for field, kinds in TYPES[name].items() if not fits(value.get(field), kinds)
    }
    assert TYPES[name].keys() <= value.keys()
    assert wrong == {}


# -- the summary


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


# -- types


async def test_every_type_has_its_fields(world: World):
    is_a("CrawlerSource", await world.data("/admin/crawler/sources/{source}"))
    is_a("CrawlerSource", (await world.data("/admin/crawler/sources"))[0])
    [mapping] = await world.data("/admin/comics/{comic}/sources")
    is_a("ComicSource", mapping)
    assert mapping["source"] == {
        "id": world.ids["source"],
        "name": "MangaFire",
        "slug": "mangafire",
        "baseurl": "https://mangafire.example",
    }
    job = await world.data("/admin/crawler/jobs/{job}")
    for shown in (job, *await world.data("/admin/crawler/jobs")):
        is_a("CrawlJob", shown)
    assert job["source"] == {"id": world.ids["source"], "name": "MangaFire", "slug": "mangafire"}
    assert job["comic"] == {"id": world.ids["comic"], "title": "Solo", "coverurl": None}
    assert job["triggeredbyuser"] == {"id": job["triggeredby"], "username": "admin"}
    assert (job["status"], job["kind"]) == ("queued", "targeted")
    is_a("Health", await world.data("/admin/crawler/sources/{source}/health"))
    await world.admin.ask("PATCH", world.path("/admin/crawler/jobs/{job}/cancel"), {"reason": "no"})
    [line] = await world.data("/admin/crawler/jobs/{job}/logs")
    is_a("CrawlLog", line)
    assert line["jobid"] == job["id"]


async def test_ids_are_as_the_document_shows_them(world: World):
    """R9: sources count from 100000; jobs are UUIDv7."""
    assert world.ids["source"] == 100000
    assert world.ids["mapping"] >= 200000
    assert world.ids["job"][14] == "7"


async def test_health_has_the_documents_fields_and_ours(world: World):
    health = await world.data("/admin/crawler/sources/{source}/health")
    assert health["jobs"] == {"total": 1, "done": 0, "failed": 0, "running": 0, "queued": 1, "cancelled": 0}
    assert health["lastjob"].keys() == {"id", "status", "pagescount", "errorcount", "finishedat"}
    assert health["lastjob"]["id"] == world.ids["job"]
    spell = {"jobs": 0, "failed": 0, "errorrate": 0.0, "averagems": None, "longestms": None}
    assert (health["last24h"], health["last7d"]) == (spell, spell)
    assert health["breaker"] == {"state": "closed", "open": 0, "watched": 1, "failing": 0}
    assert (health["lastfailure"], health["ispaused"]) == (None, False)
    other = await made(world.admin, "/admin/crawler/sources", a_source_body(name="Idle", slug="idle"))
    idle = await world.data(f"/admin/crawler/sources/{other['id']}/health")
    assert (idle["lastjob"], idle["nextdueat"], idle["jobs"]["total"]) == (None, None, 0)


# -- the document's own examples


async def test_the_examples_of_sources_work_as_they_are_printed(world: World):
    body = {
        "name": "NetTruyen",
        "slug": "nettruyen",
        "baseurl": "https://nettruyen.com",
        "extensionid": "com.yomira.extension.nettruyen",
        "config": {"ratelimit": 3, "proxy": None, "headers": {"Accept-Language": "en-US"}},
        "isenabled": True,
    }
    source = await world.done("POST", "/admin/crawler/sources", body, 201)
    assert {field: source[field] for field in body} == body
    where = f"/admin/crawler/sources/{source['id']}"
    change = {"config": {"ratelimit": 1, "proxy": "http://proxy.internal:3128"}, "isenabled": False}
    changed = await world.done("PATCH", where, change)
    assert {field: changed[field] for field in change} == change
    switched = await world.done("PATCH", f"{where}/enable", {"isenabled": True, "reason": "Back again"})
    assert (switched["id"], switched["name"], switched["isenabled"]) == (source["id"], "NetTruyen", True)
    assert await world.done("DELETE", where, {"reason": "Source site shut down permanently"}, 204) is None
    assert (await world.admin.get(where)).status == 404
    steps = ["crawlersource.delete", "crawlersource.enable", "crawlersource.disable", "crawlersource.create"]
    assert (await world.deeds("crawlersource"))[:4] == steps


async def test_the_examples_of_mappings_work_as_they_are_printed(world: World):
    body = {
        "sourceid": world.ids["source"],
        "sourceid_ext": "solo-leveling-chapter",
        "sourceurl": "https://nettruyen.com/truyen-tranh/solo-leveling-chapter",
        "isactive": True,
    }
    mapping = await world.done("POST", "/admin/comics/{comic}/sources", body, 201)
    assert {field: mapping[field] for field in body} == body
    where = f"/admin/comics/{world.ids['comic']}/sources/{mapping['id']}"
    change = {
        "sourceurl": "https://nettruyen.net/truyen-tranh/solo-leveling",
        "sourceid_ext": "solo-leveling",
        "isactive": False,
    }
    changed = await world.done("PATCH", where, change)
    assert {field: changed[field] for field in change} == change
    assert await world.done("DELETE", where, None, 204) is None
    assert (await world.deeds("comicsource"))[0] == "comicsource.delete"


async def test_the_examples_of_jobs_work_as_they_are_printed(world: World):
    body = {"sourceid": world.ids["source"], "comicid": None, "scheduledat": "2026-02-22T00:17:00Z"}
    job = await world.done("POST", "/admin/crawler/jobs", body, 201)
    is_a("CrawlJob", job)
    assert (job["status"], job["comicid"], job["comic"]) == ("queued", None, None)
    assert job["scheduledat"].startswith("2026-02-22T00:17:00")
    reason = {"reason": "Manual cancellation — source site temporarily unreachable"}
    cancelled = await world.done("PATCH", f"/admin/crawler/jobs/{job['id']}/cancel", reason)
    assert (cancelled["id"], cancelled["status"]) == (job["id"], "cancelled")
    [line] = await world.data(f"/admin/crawler/jobs/{job['id']}/logs")
    assert line["meta"]["reason"] == reason["reason"]
    now = await made(world.admin, "/admin/crawler/jobs", {"sourceid": world.ids["source"]})
    assert abs(from_iso(now["scheduledat"]) - world.town.time()) < MINUTE


# -- parameters


@pytest.mark.parametrize("path", LIMITS)
async def test_a_list_has_its_default_and_its_maximum(world: World, path):
    """R57: a limit over the maximum is a 400."""
    default, most = LIMITS[path]
    where = world.path(path)
    meta = (await world.admin.get(where)).json()["meta"]
    if "limit" in meta:
        assert (meta["page"], meta["limit"], meta["pages"]) == (1, default, 1)
    assert (await world.admin.get(f"{where}?limit={most}")).status == 200
    for wrong in (f"limit={most + 1}", "limit=0", "limit=x", "nonsense=1"):
        answer = await world.admin.get(f"{where}?{wrong}")
        assert (answer.status, answer.json()["code"]) == (400, "VALIDATION_ERROR")
        assert answer.json()["details"][0]["field"] == wrong.partition("=")[0]


async def test_a_page_of_a_log_has_a_hundred_lines_by_default_and_a_thousand_at_most(world: World):
    """R49: and the next page begins where it ended."""
    job = await world.town.crawling.jobs.get(PublicId(bytes.fromhex(world.ids["job"].replace("-", ""))))
    said = [LogLine("info" if number % 2 else "debug", str(number)) for number in range(1201)]
    await world.town.db.with_tx(lambda tx: append_log_tx(tx, job.id, said, now=world.town.time(), dice=os.urandom))
    where = world.path("/admin/crawler/jobs/{job}/logs")

    async def page(query: str) -> tuple[list[str], dict[str, Any]]:
        answer = (await world.admin.get(f"{where}?{query}")).json()
        return [line["message"] for line in answer["data"]], answer["meta"]

    lines, meta = await page("")
    assert (lines, meta["total"]) == ([str(number) for number in range(100)], 1201)
    more, meta = await page(f"limit=1000&since={meta['nextcursor']}")
    assert more == [str(number) for number in range(100, 1100)]
    assert len((await page(f"limit=1000&since={meta['nextcursor']}"))[0]) == 101
    assert (await page("level=info&limit=2"))[0] == ["1", "3"]
    assert (await page("level=error"))[0] == []
    assert (await world.admin.get(f"{where}?level=fatal")).status == 400


async def test_a_page_of_sources_or_jobs_has_fifty_by_default(world: World):
    for number in range(50):
        body = a_source_body(name=f"S{number}", slug=f"s{number}")
        await world.town.crawling.sources.register(
            SYSTEM, Wanted(name=body["name"], slug=body["slug"], base_url=body["baseurl"])
        )
    answer = (await world.admin.get("/admin/crawler/sources")).json()
    assert (len(answer["data"]), answer["meta"]) == (50, {"total": 51, "page": 1, "limit": 50, "pages": 2})
    last = (await world.admin.get("/admin/crawler/sources?page=2")).json()["data"]
    assert [source["name"] for source in last] == ["S49"]
    for source in [*answer["data"], *last]:
        await world.admin.post("/admin/crawler/jobs", {"sourceid": source["id"]})
    jobs = (await world.admin.get("/admin/crawler/jobs")).json()
    assert (len(jobs["data"]), jobs["meta"]) == (50, {"total": 52, "page": 1, "limit": 50, "pages": 2})


async def test_sources_are_filtered_by_the_switch_and_by_name(world: World):
    await made(world.admin, "/admin/crawler/sources", a_source_body(name="Off%", slug="off", isenabled=False))

    async def names(query: str) -> list[str]:
        return [source["name"] for source in await world.data(f"/admin/crawler/sources?{query}")]

    assert await names("isenabled=true") == ["MangaFire"]
    assert await names("isenabled=false") == ["Off%"]
    assert await names("q=mangaf") == ["MangaFire"]
    assert await names("q=%25") == ["Off%"]
    assert await names("q=nothing") == []
    assert await names("page=2&limit=1") == ["Off%"]
    assert (await world.admin.get("/admin/crawler/sources?isenabled=maybe")).status == 400


async def test_jobs_are_filtered_and_sorted(world: World):
    """R57: descending with nulls last; `status` may repeat or have commas."""
    source, comic = world.ids["source"], world.ids["comic"]
    later = {"sourceid": source, "scheduledat": "2099-01-01T00:00:00Z"}
    discovery = (await made(world.admin, "/admin/crawler/jobs", later))["id"]
    await world.admin.ask("PATCH", world.path("/admin/crawler/jobs/{job}/cancel"), {})
    targeted = world.ids["job"]

    async def ids(query: str) -> list[str]:
        return [job["id"] for job in await world.data(f"/admin/crawler/jobs?{query}")]

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
        assert (await world.admin.get(f"/admin/crawler/jobs?{wrong}")).status == 400


# -- sources: bodies and errors


async def test_a_source_is_registered_with_the_documents_defaults(world: World):
    source = await made(world.admin, "/admin/crawler/sources", a_source_body(name="Two", slug="two"))
    assert (source["extensionid"], source["config"], source["isenabled"]) == (None, {}, True)
    assert (source["consecutivefails"], source["lastsucceededat"], source["lastfailedat"]) == (0, None, None)
    assert isinstance(source["uid"], str)


@pytest.mark.parametrize("field", ["name", "slug"])
async def test_a_name_or_slug_that_is_taken_is_a_conflict(world: World, field):
    body = a_source_body(name="Other", slug="other") | {field: a_source_body()[field]}
    expected = (409, "CONFLICT", SOURCE_TEXTS[field])
    assert await world.refused("POST", "/admin/crawler/sources", body) == expected
    other = await made(world.admin, "/admin/crawler/sources", a_source_body(name="Other", slug="other"))
    change = {field: a_source_body()[field]}
    assert await world.refused("PATCH", f"/admin/crawler/sources/{other['id']}", change) == expected


@pytest.mark.parametrize(
    "url",
    ["http://example.org", "ftp://example.org", "example.org", "https://", "", "https://u:p@example.org", "local:x",
     "http://10.0.0.1", "https://exa mple.org", "javascript:alert(1)"],
)  # fmt: skip
async def test_an_address_that_is_not_https_is_refused(world: World, url):
    expected = (400, "VALIDATION_ERROR", SOURCE_TEXTS["baseurl"])
    body = a_source_body(name="Other", slug="other", baseurl=url)
    assert await world.refused("POST", "/admin/crawler/sources", body) == expected
    assert await world.refused("PATCH", "/admin/crawler/sources/{source}", {"baseurl": url}) == expected


async def test_http_is_for_loopback_that_the_operator_opened(world: World):
    for number, url in enumerate(("http://127.0.0.1:8000", "http://localhost:8000")):
        await made(world.admin, "/admin/crawler/sources", a_source_body(name=url, slug=f"l{number}", baseurl=url))


LONG = {"name": 100, "slug": 120, "extensionid": 200}


@pytest.mark.parametrize("field", LONG)
async def test_lengths_end_where_the_document_says(world: World, field):
    longest = "com." + "a" * (LONG[field] - 4) if field == "extensionid" else "a" * LONG[field]
    body = a_source_body(name="Other", slug="other") | {field: longest}
    await made(world.admin, "/admin/crawler/sources", body)
    status, code, _ = await world.refused("POST", "/admin/crawler/sources", body | {field: longest + "a"})
    assert (status, code) == (400, "VALIDATION_ERROR")


async def test_all_problems_of_a_body_are_told_at_once(world: World):
    """R57: `error` is the first problem's text, `details` has all."""
    body = {"name": "", "slug": "Not A Slug", "baseurl": "ftp://x", "extensionid": "nodots", "config": [], "more": 1}
    answer = (await world.admin.post("/admin/crawler/sources", body)).json()
    fields = [problem["field"] for problem in answer["details"]]
    assert sorted(fields) == ["baseurl", "config", "extensionid", "more", "name", "slug"]
    assert answer["error"] == answer["details"][0]["message"]
    assert {problem["field"]: problem["message"] for problem in answer["details"]}["baseurl"] == SOURCE_TEXTS["baseurl"]


async def test_what_only_a_service_knows_is_told_with_the_rest(world: World):
    """A config against its extension's schema, an address against the operator's networks: in one answer."""

    async def told(method: str, path: str, body: Any) -> dict[str, str]:
        answer = await world.admin.ask(method, world.path(path), body)
        assert (answer.status, answer.json()["code"]) == (400, "VALIDATION_ERROR")
        return {problem["field"]: problem["message"] for problem in answer.json()["details"]}

    wrong = {"name": "", "baseurl": "http://example.org", "extensionid": "org.mangadex", "config": {"proxi": 1}}
    assert (await told("POST", "/admin/crawler/sources", wrong)).keys() == {"name", "slug", "baseurl", "config.proxi"}
    changed = await told("PATCH", "/admin/crawler/sources/{source}", wrong | {"more": 1})
    assert changed.keys() == {"name", "baseurl", "config.proxi", "more"}
    assert changed["baseurl"] == SOURCE_TEXTS["baseurl"]
    unreadable = await told("POST", "/admin/crawler/sources", wrong | {"extensionid": 5, "config": "x"})
    assert unreadable.keys() == {"name", "slug", "baseurl", "extensionid", "config"}

    mapping = {"sourceid": world.ids["source"], "sourceid_ext": "", "sourceurl": "http://example.org/x"}
    assert (await told("POST", "/admin/comics/{comic}/sources", mapping)).keys() == {"sourceid_ext", "sourceurl"}
    one = "/admin/comics/{comic}/sources/{mapping}"
    assert (await told("PATCH", one, mapping)).keys() == {"sourceid", "sourceid_ext", "sourceurl"}
    assert (await told("PATCH", "/admin/comics/x/sources/y", {"isactive": 1})).keys() == {"isactive"}
    huge = await told("POST", "/admin/comics/{comic}/sources", mapping | {"sourceid": 2**80})
    assert huge.keys() == {"sourceid", "sourceid_ext"}

    await world.admin.ask("PATCH", world.path("/admin/crawler/sources/{source}"), {"isenabled": False})
    other = await made(world.admin, "/admin/comics", {"title": "Other"})
    job = {"sourceid": world.ids["source"], "comicid": other["id"], "scheduledat": "soon"}
    assert (await told("POST", "/admin/crawler/jobs", job)).keys() == {"sourceid", "comicid", "scheduledat"}
    assert (await told("POST", "/admin/crawler/jobs", job | {"scheduledat": None})).keys() == {"sourceid", "comicid"}
    assert (await told("POST", "/admin/crawler/jobs", {"comicid": "x"})).keys() == {"sourceid", "comicid"}


async def test_a_config_is_checked_against_its_extension(world: World):
    """SEC-27: every unknown and impossible key is named; without the extension any object will do."""
    config = {"ratelimit": 0, "proxi": "x", "maxpages": "many"}
    known = a_source_body(name="Dex", slug="dex", extensionid="org.mangadex", config=config)
    answer = await world.admin.post("/admin/crawler/sources", known)
    assert answer.status == 400
    found = {problem["field"] for problem in answer.json()["details"]}
    assert found == {"config.ratelimit", "config.proxi", "config.maxpages"}
    await made(world.admin, "/admin/crawler/sources", known | {"extensionid": "com.example.unknown"})


async def test_secrets_are_never_shown_and_masks_keep_what_is_stored(world: World):
    """R47."""
    config = {
        "proxy": "http://me:hunter2@proxy.example:3128",
        "headers": {"Authorization": "Bearer abc"},
        "token": "xyz",
    }
    body = a_source_body(name="Secret", slug="secret", config=config)
    source = await made(world.admin, "/admin/crawler/sources", body)
    shown = source["config"]
    assert shown["proxy"] == "http://me:***@proxy.example:3128"
    assert (shown["headers"]["Authorization"], shown["token"]) == ("***", "***")
    where = f"/admin/crawler/sources/{source['id']}"
    changed = await world.admin.ask("PATCH", where, {"config": shown | {"ratelimit": 1}})
    assert changed.json()["data"]["config"] == shown | {"ratelimit": 1}
    stored = await world.town.crawling.sources.get(source["id"])
    assert stored.config == config | {"ratelimit": 1}
    replaced = await world.admin.ask("PATCH", where, {"config": {"ratelimit": 2}})
    assert replaced.json()["data"]["config"] == {"ratelimit": 2}
    log = await world.admin.get("/admin/auditlog?entitytype=crawlersource")
    assert "hunter2" not in log.text
    assert "xyz" not in log.text


async def test_a_change_touches_what_it_names(world: World):
    before = await world.data("/admin/crawler/sources/{source}")
    changes = {"name": "New", "slug": "new", "baseurl": "https://new.example", "extensionid": "com.example.new"}
    for field, value in changes.items():
        answer = await world.admin.ask("PATCH", world.path("/admin/crawler/sources/{source}"), {field: value})
        assert answer.status == 200, answer.text
    after = await world.data("/admin/crawler/sources/{source}")
    assert {field for field in after if after[field] != before[field]} == {*changes, "updatedat"}
    cleared = await world.admin.ask("PATCH", world.path("/admin/crawler/sources/{source}"), {"extensionid": None})
    assert cleared.json()["data"]["extensionid"] is None


async def test_the_switch_answers_as_the_document_shows(world: World):
    where = world.path("/admin/crawler/sources/{source}/enable")
    answer = await world.admin.ask("PATCH", where, {"isenabled": False, "reason": "Site down for maintenance"})
    assert answer.status == 200
    assert answer.json()["data"].keys() == {"id", "name", "isenabled", "updatedat"}
    assert (await world.refused("PATCH", "/admin/crawler/sources/{source}/enable", {}))[:2] == (400, "VALIDATION_ERROR")
    [row] = (await world.admin.get("/admin/auditlog?action=crawlersource.disable")).json()["data"]
    assert (row["entitytype"], row["reason"], row["actor"]) == ("crawlersource", "Site down for maintenance", "admin")


# -- what is not there


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", "/admin/crawler/sources/99", None),
        ("PATCH", "/admin/crawler/sources/99", {}),
        ("DELETE", "/admin/crawler/sources/99", {}),
        ("PATCH", "/admin/crawler/sources/99/enable", {"isenabled": True}),
        ("GET", "/admin/crawler/sources/99/health", None),
        ("POST", "/admin/crawler/jobs", {"sourceid": 99}),
    ],
)
async def test_a_source_that_is_not_there_is_not_found(world: World, method, path, body):
    assert await world.refused(method, path, body) == (404, "NOT_FOUND", "Source not found")


@pytest.mark.parametrize(("method", "path"), [("GET", ""), ("PATCH", "/cancel"), ("GET", "/logs"), ("GET", "/events")])
async def test_a_job_that_is_not_there_is_not_found(world: World, method, path):
    for missing in ("01952ff9-0000-7000-8000-000000000000", "nonsense"):
        where = f"/admin/crawler/jobs/{missing}{path}"
        assert await world.refused(method, where) == (404, "NOT_FOUND", "Job not found")


# -- mappings


async def test_a_mapping_is_made_once_changed_and_removed(world: World):
    where = "/admin/comics/{comic}/sources"
    body = {"sourceid": world.ids["source"], "sourceid_ext": "solo", "sourceurl": "https://mangafire.example/other"}
    linked = "This comic is already linked to the specified source with this external ID"
    assert await world.refused("POST", where, body) == (409, "CONFLICT", linked)
    unknown = body | {"sourceid": 99, "sourceid_ext": "x"}
    assert await world.refused("POST", where, unknown) == (404, "NOT_FOUND", "Source not found")
    bad = body | {"sourceid_ext": "x", "sourceurl": "http://mangafire.example/x"}
    assert (await world.refused("POST", where, bad))[:2] == (400, "VALIDATION_ERROR")
    second = await made(world.admin, world.path(where), body | {"sourceid_ext": "two"})
    assert second["isactive"] is True
    one = f"{where}/{second['id']}"
    assert await world.refused("PATCH", one, {"sourceid_ext": "solo"}) == (409, "CONFLICT", linked)
    changes = {"sourceurl": "https://mangafire.net/two", "sourceid_ext": "new", "isactive": False}
    changed = await world.admin.ask("PATCH", world.path(one), changes)
    assert {field: changed.json()["data"][field] for field in changes} == changes
    removed = await world.admin.ask("DELETE", world.path(one))
    assert (removed.status, removed.body) == (204, b"")
    assert len(await world.data(where)) == 1


async def test_a_comic_that_is_not_there_has_no_mappings(world: World):
    missing = "/admin/comics/01952fb0-0000-7000-8000-000000000000/sources"
    body = {"sourceid": world.ids["source"], "sourceid_ext": "x", "sourceurl": "https://mangafire.example/x"}
    for method, said in (("GET", None), ("POST", body)):
        assert (await world.refused(method, missing, said))[:2] == (404, "NOT_FOUND")
    for required in body:
        part = {field: value for field, value in body.items() if field != required}
        answer = await world.admin.post(world.path("/admin/comics/{comic}/sources"), part)
        assert [problem["field"] for problem in answer.json()["details"]] == [required]


async def test_a_mapping_of_another_comic_is_not_found(world: World):
    """SEC-31."""
    other = await made(world.admin, "/admin/comics", {"title": "Other"})
    where = f"/admin/comics/{other['id']}/sources/{world.ids['mapping']}"
    assert (await world.refused("PATCH", where, {"isactive": False}))[0] == 404
    assert (await world.refused("DELETE", where))[0] == 404


# -- jobs


async def test_a_job_is_refused_in_the_documents_words(world: World):
    """R43, R54, REL-07: while one is active, a conflict that names it; afterwards a new one is accepted."""
    jobs, source, comic = "/admin/crawler/jobs", world.ids["source"], world.ids["comic"]
    active = "A job for this comic and source is already queued or running."
    answer = await world.admin.post(jobs, {"sourceid": source, "comicid": comic})
    assert (answer.status, answer.json()["code"], answer.json()["error"]) == (409, "CONFLICT", active)
    assert answer.json()["details"] == [{"field": "jobid", "message": world.ids["job"]}]
    other = await made(world.admin, "/admin/comics", {"title": "Other"})
    unlinked = "Comic is not linked to this source (no comicsource mapping found)."
    body = {"sourceid": source, "comicid": other["id"]}
    assert await world.refused("POST", jobs, body) == (400, "VALIDATION_ERROR", unlinked)
    await world.admin.ask("PATCH", world.path("/admin/crawler/jobs/{job}/cancel"))
    again = await made(world.admin, jobs, {"sourceid": source, "comicid": comic})
    assert again["id"] != world.ids["job"]
    await world.admin.ask("PATCH", world.path("/admin/crawler/sources/{source}"), {"isenabled": False})
    disabled = "Source is disabled. Enable the source before triggering a job."
    assert await world.refused("POST", jobs, {"sourceid": source}) == (400, "VALIDATION_ERROR", disabled)


async def test_a_cancelled_job_says_so_once(world: World):
    """R45: a second time it has already finished."""
    cancel = world.path("/admin/crawler/jobs/{job}/cancel")
    answer = await world.admin.ask("PATCH", cancel, {"reason": "Manual cancellation"})
    assert answer.json()["data"].keys() == {"id", "status", "updatedat"}
    assert answer.json()["data"]["status"] == "cancelled"
    over = (400, "VALIDATION_ERROR", "Job cannot be cancelled — it has already finished")
    assert await world.refused("PATCH", cancel) == over
    assert (await world.data("/admin/crawler/jobs/{job}"))["finishedat"] is not None
    rows = (await world.admin.get("/admin/auditlog?entitytype=crawljob")).json()["data"]
    assert [row["action"] for row in rows] == ["crawljob.cancel", "crawljob.create"]


async def test_deleting_a_source_takes_its_mappings_and_leaves_its_jobs(world: World):
    """R51: what waits is cancelled; a finished job keeps the source's name itself."""
    answer = await world.admin.ask("DELETE", world.path("/admin/crawler/sources/{source}"), {"reason": "shut down"})
    assert (answer.status, answer.body) == (204, b"")
    assert await world.data("/admin/comics/{comic}/sources") == []
    job = await world.data("/admin/crawler/jobs/{job}")
    assert (job["status"], job["source"]["name"]) == ("cancelled", "MangaFire")
    assert (await world.admin.get(world.path("/admin/crawler/jobs/{job}/logs"))).status == 200
    [row] = (await world.admin.get("/admin/auditlog?action=crawlersource.delete")).json()["data"]
    assert row["reason"] == "shut down"


@pytest.mark.parametrize("since", ["yesterday", "2026-02-22_x", "2026-02-22T00:00:00Z_nonsense"])
async def test_a_cursor_that_is_none_is_refused(world: World, since):
    answer = await world.admin.get(world.path("/admin/crawler/jobs/{job}/logs") + f"?since={since}")
    assert (answer.status, answer.json()["details"][0]["field"]) == (400, "since")


# -- what the operator has beyond the document


async def test_extensions_come_with_the_schema_of_their_config(world: World):
    found = {one["id"]: one for one in await world.data("/admin/crawler/extensions")}
    assert {"org.mangadex", "tsuzuki.local"} <= found.keys()
    assert "$defs" in found["tsuzuki.local"]["configschema"]


async def test_whether_the_crawler_is_paused_can_be_asked(world: World):
    assert await world.data("/admin/crawler/pause") == {"ispaused": False, "pausedat": None, "reason": None}
    assert (await world.data("/admin/crawler/sources/{source}/health"))["nextdueat"] is not None
    paused = await world.done("POST", "/admin/crawler/pause", {"reason": "moving"})
    assert await world.data("/admin/crawler/pause") == paused
    assert (paused["ispaused"], (await world.done("POST", "/admin/crawler/pause", {}))) == (True, paused)
    health = await world.data("/admin/crawler/sources/{source}/health")
    assert (health["ispaused"], health["nextdueat"]) == (True, None)
    await world.done("POST", "/admin/crawler/resume", {})
    assert await world.deeds("crawler") == ["crawler.resume", "crawler.pause"]


async def test_queues_say_how_deep_they_are(world: World):
    [queue] = [one for one in await world.data("/admin/queues") if one["queue"] == "crawl"]
    assert (queue["depth"], queue["due"], queue["running"]) == (1, 1, 0)
