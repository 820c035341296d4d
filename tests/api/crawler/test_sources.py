"""Sources: their bodies, their switch, their secrets, and what is wrong with them in the document's words."""

from typing import Any

import pytest

from tests.api.crawler.contract import SOURCE_TEXTS, CrawlerFixture
from tests.crawler.builders import a_source_body, made
from tsuzuki.db.queries import parse_queries

_q = parse_queries(
    "tests",
    """
-- name: remove_extension
update source set connector = :connector where id = :id;
-- name: fail
update source set consecutive_fails = 3 where id = :id;
""",
)

NOT_HTTPS = (
    *("http://example.org", "ftp://example.org", "example.org", "https://", "", "https://u:p@example.org", "local:x"),
    *("http://10.0.0.1", "https://exa mple.org", "javascript:alert(1)"),
)


async def test_a_source_is_registered_with_the_documents_defaults(fixture: CrawlerFixture):
    source = await made(fixture.admin, "/admin/crawler/sources", a_source_body(name="Two", slug="two"))
    assert (source["extensionid"], source["config"], source["isenabled"]) == (None, {}, True)
    assert (source["consecutivefails"], source["lastsucceededat"], source["lastfailedat"]) == (0, None, None)
    assert isinstance(source["uid"], str)


async def test_a_name_or_slug_that_is_taken_is_a_conflict(fixture: CrawlerFixture):
    other = await made(fixture.admin, "/admin/crawler/sources", a_source_body(name="Other", slug="other"))
    for field in ("name", "slug"):
        expected = (409, "CONFLICT", SOURCE_TEXTS[field])
        change = {field: a_source_body()[field]}
        third = a_source_body(name="Third", slug="third") | change
        assert await fixture.refused("POST", "/admin/crawler/sources", third) == expected
        assert await fixture.refused("PATCH", f"/admin/crawler/sources/{other['id']}", change) == expected


async def test_an_address_that_is_not_https_is_refused(fixture: CrawlerFixture):
    expected = (400, "VALIDATION_ERROR", SOURCE_TEXTS["baseurl"])
    for url in NOT_HTTPS:
        body = a_source_body(name="Other", slug="other", baseurl=url)
        assert await fixture.refused("POST", "/admin/crawler/sources", body) == expected, url
        assert await fixture.refused("PATCH", "/admin/crawler/sources/{source}", {"baseurl": url}) == expected, url


async def test_http_is_for_loopback_that_the_operator_opened(fixture: CrawlerFixture):
    for number, url in enumerate(("http://127.0.0.1:8000", "http://localhost:8000")):
        await made(fixture.admin, "/admin/crawler/sources", a_source_body(name=url, slug=f"l{number}", baseurl=url))


async def test_lengths_end_where_the_document_says(fixture: CrawlerFixture):
    for field, most in {"name": 100, "slug": 120}.items():
        longest = "a" * most
        body = a_source_body(name=f"Long {field}", slug=f"long-{field}") | {field: longest}
        await made(fixture.admin, "/admin/crawler/sources", body)
        answer = await fixture.admin.post("/admin/crawler/sources", body | {field: longest + "a"})
        assert (answer.status, answer.json()["code"]) == (400, "VALIDATION_ERROR")
        assert [problem["field"] for problem in answer.json()["details"]] == [field]
    for length, said in ((200, "no extension"), (201, "200")):
        body = a_source_body(extensionid="com." + "a" * (length - 4))
        answer = await fixture.admin.post("/admin/crawler/sources", body)
        assert said in answer.json()["error"]


@pytest.mark.parametrize(("field", "text"), [("slug", "one\n"), ("extensionid", "org.mangadex\n")])
async def test_a_newline_at_the_end_is_refused(fixture: CrawlerFixture, field, text):
    body = a_source_body(name="Newline", slug="newline") | {field: text}
    answer = await fixture.admin.post("/admin/crawler/sources", body)
    assert (answer.status, [problem["field"] for problem in answer.json()["details"]]) == (400, [field])
    assert "\\Z" not in answer.text  # people and clients read the pattern as JSON Schema has it


async def test_all_problems_of_a_body_are_told_at_once(fixture: CrawlerFixture):
    """R57: `error` is the first problem's text, `details` has all."""
    body = {"name": "", "slug": "Not A Slug", "baseurl": "ftp://x", "extensionid": "nodots", "config": [], "more": 1}
    answer = (await fixture.admin.post("/admin/crawler/sources", body)).json()
    fields = [problem["field"] for problem in answer["details"]]
    assert sorted(fields) == ["baseurl", "config", "extensionid", "more", "name", "slug"]
    assert answer["error"] == answer["details"][0]["message"]
    assert {problem["field"]: problem["message"] for problem in answer["details"]}["baseurl"] == SOURCE_TEXTS["baseurl"]


async def test_what_only_a_service_knows_is_told_with_the_rest(fixture: CrawlerFixture):
    """A config against its extension's schema, an address against the operator's networks: in one answer."""

    async def told(method: str, path: str, body: Any) -> dict[str, str]:
        answer = await fixture.admin.ask(method, fixture.path(path), body)
        assert (answer.status, answer.json()["code"]) == (400, "VALIDATION_ERROR")
        return {problem["field"]: problem["message"] for problem in answer.json()["details"]}

    wrong = {"name": "", "baseurl": "http://example.org", "extensionid": "org.mangadex", "config": {"proxi": 1}}
    assert (await told("POST", "/admin/crawler/sources", wrong)).keys() == {"name", "slug", "baseurl", "config.proxi"}
    changed = await told("PATCH", "/admin/crawler/sources/{source}", wrong | {"more": 1})
    assert changed.keys() == {"name", "baseurl", "config.proxi", "more"}
    assert changed["baseurl"] == SOURCE_TEXTS["baseurl"]
    unreadable = await told("POST", "/admin/crawler/sources", wrong | {"extensionid": 5, "config": "x"})
    assert unreadable.keys() == {"name", "slug", "baseurl", "extensionid", "config"}

    mapping = {"sourceid": fixture.ids["source"], "sourceid_ext": "", "sourceurl": "http://example.org/x"}
    assert (await told("POST", "/admin/comics/{comic}/sources", mapping)).keys() == {"sourceid_ext", "sourceurl"}
    one = "/admin/comics/{comic}/sources/{mapping}"
    assert (await told("PATCH", one, mapping)).keys() == {"sourceid", "sourceid_ext", "sourceurl"}
    assert (await told("PATCH", "/admin/comics/x/sources/y", {"isactive": 1})).keys() == {"isactive"}
    huge = await told("POST", "/admin/comics/{comic}/sources", mapping | {"sourceid": 2**80})
    assert huge.keys() == {"sourceid", "sourceid_ext"}

    await fixture.admin.ask("PATCH", fixture.path("/admin/crawler/sources/{source}"), {"isenabled": False})
    other = await made(fixture.admin, "/admin/comics", {"title": "Other"})
    job = {"sourceid": fixture.ids["source"], "comicid": other["id"], "scheduledat": "soon"}
    assert (await told("POST", "/admin/crawler/jobs", job)).keys() == {"sourceid", "comicid", "scheduledat"}
    assert (await told("POST", "/admin/crawler/jobs", job | {"scheduledat": None})).keys() == {"sourceid", "comicid"}
    assert (await told("POST", "/admin/crawler/jobs", {"comicid": "x"})).keys() == {"sourceid", "comicid"}


async def test_a_config_is_checked_against_its_extension(fixture: CrawlerFixture):
    """SEC-27: every unknown and impossible key is named; without an extension any object will do."""
    config = {"ratelimit": 0, "proxi": "x", "maxpages": "many"}
    known = a_source_body(name="Dex", slug="dex", extensionid="org.mangadex", config=config)
    answer = await fixture.admin.post("/admin/crawler/sources", known)
    assert answer.status == 400
    found = {problem["field"] for problem in answer.json()["details"]}
    assert found == {"config.ratelimit", "config.proxi", "config.maxpages"}
    await made(fixture.admin, "/admin/crawler/sources", known | {"extensionid": None})


async def test_an_unknown_extension_is_refused_by_its_name(fixture: CrawlerFixture):
    """When a source is made, tried or changed; one whose extension was removed later is still listed and changed."""
    expected = [{"field": "extensionid", "message": "There is no extension com.example.nowhere on this server."}]
    body = a_source_body(name="Other", slug="other", extensionid="com.example.nowhere")
    where = fixture.path("/admin/crawler/sources/{source}")
    for method, path, sent in (
        ("POST", "/admin/crawler/sources", body),
        ("POST", "/admin/crawler/try", body),
        ("PATCH", where, {"extensionid": "com.example.nowhere"}),
    ):
        answer = await fixture.admin.ask(method, path, sent)
        assert (answer.status, answer.json()["code"]) == (400, "VALIDATION_ERROR"), path
        assert answer.json()["details"] == expected

    await fixture.app.db.with_tx(lambda tx: tx.run(_q.remove_extension, id=fixture.ids["source"], connector="org.gone"))
    for change in ({"name": "Renamed"}, {"config": {"old": 1}}, {"extensionid": "org.gone"}):
        assert (await fixture.admin.ask("PATCH", where, change)).status == 200
    await fixture.app.crawling.sources.cache.forget()
    listed = (await fixture.admin.get("/admin/crawler/sources")).json()["data"]
    assert {"org.gone"} == {one["extensionid"] for one in listed if one["id"] == fixture.ids["source"]}


async def test_r9_a_source_is_asked_in_its_own_language(fixture: CrawlerFixture):
    """By its config, else by its name; whoever changes it later changes what is said of it, and never its uid."""

    async def dex(name: str, slug: str, **config: str) -> Any:
        body = a_source_body(name=name, slug=slug, extensionid="org.mangadex", config=config)
        return await made(fixture.admin, "/admin/crawler/sources", body)

    plain, named = await dex("MangaDex", "dex"), await dex("MangaDex (VI)", "dex-vi")
    asked = await dex("MangaDex (FR)", "dex-ja", language="ja")
    assert [(one["lang"], one["config"]) for one in (plain, named, asked)] == [
        ("en", {}),
        ("vi", {"language": "vi"}),
        ("ja", {"language": "ja"}),
    ]
    where = f"/admin/crawler/sources/{named['id']}"
    changed = (await fixture.admin.ask("PATCH", where, {"config": {"language": "de"}})).json()["data"]
    assert (changed["lang"], changed["uid"]) == ("de", named["uid"])
    changed = (await fixture.admin.ask("PATCH", where, {"name": "Dex (KO)"})).json()["data"]
    assert (changed["lang"], changed["config"]) == ("de", {"language": "de"})
    changed = (await fixture.admin.ask("PATCH", where, {"config": {"maxpages": 2}})).json()["data"]
    assert (changed["lang"], changed["config"]) == ("ko", {"maxpages": 2, "language": "ko"})


async def test_r9_two_sources_may_not_have_the_same_uid(fixture: CrawlerFixture):
    """One of an extension in a language; folders are told apart by their names."""
    path = "/admin/crawler/sources"
    await made(fixture.admin, path, a_source_body(name="Dex", slug="dex", extensionid="org.mangadex"))
    again = await fixture.admin.post(path, a_source_body(name="Dex 2", slug="dex-2", extensionid="org.mangadex"))
    assert (again.status, again.json()["code"]) == (409, "CONFLICT")
    assert again.json()["error"] == (
        "Dex is a source of the same extension and language: two may not have the same uid"
    )
    french = a_source_body(name="Dex (FR)", slug="dex-fr", extensionid="org.mangadex", config={"language": "fr"})
    await made(fixture.admin, path, french)
    for name in ("one", "two"):
        folder = {"extensionid": "tsuzuki.local", "baseurl": "local:", "config": {"folder": f"/srv/{name}"}}
        await made(fixture.admin, path, a_source_body(name=name, slug=name) | folder)


async def test_secrets_are_never_shown_and_masks_keep_what_is_stored(fixture: CrawlerFixture):
    """R47."""
    config = {
        "proxy": "http://me:hunter2@proxy.example:3128",
        "headers": {"Authorization": "Bearer abc"},
        "token": "xyz",
    }
    body = a_source_body(name="Secret", slug="secret", config=config)
    source = await made(fixture.admin, "/admin/crawler/sources", body)
    shown = source["config"]
    assert shown["proxy"] == "http://me:***@proxy.example:3128"
    assert (shown["headers"]["Authorization"], shown["token"]) == ("***", "***")
    where = f"/admin/crawler/sources/{source['id']}"
    changed = await fixture.admin.ask("PATCH", where, {"config": shown | {"ratelimit": 1}})
    assert changed.json()["data"]["config"] == shown | {"ratelimit": 1}
    stored = await fixture.app.crawling.sources.get(source["id"])
    assert stored.config == config | {"ratelimit": 1}
    replaced = await fixture.admin.ask("PATCH", where, {"config": {"ratelimit": 2}})
    assert replaced.json()["data"]["config"] == {"ratelimit": 2}
    log = await fixture.admin.get("/admin/auditlog?entitytype=crawlersource")
    assert "hunter2" not in log.text
    assert "xyz" not in log.text


async def test_a_change_touches_what_it_names(fixture: CrawlerFixture):
    before = await fixture.data("/admin/crawler/sources/{source}")
    changes = {"name": "New", "slug": "new", "baseurl": "https://new.example", "isenabled": False}
    for field, value in changes.items():
        answer = await fixture.admin.ask("PATCH", fixture.path("/admin/crawler/sources/{source}"), {field: value})
        assert answer.status == 200, answer.text
    after = await fixture.data("/admin/crawler/sources/{source}")
    assert {field for field in after if after[field] != before[field]} == {*changes, "updatedat"}
    for extension in ("org.mangadex", None):
        change = {"extensionid": extension}
        changed = await fixture.admin.ask("PATCH", fixture.path("/admin/crawler/sources/{source}"), change)
        assert changed.json()["data"]["extensionid"] == extension
    for config in ({"ratelimit": 2, "note": "x"}, {"ratelimit": 1}):
        changed = await fixture.admin.ask("PATCH", fixture.path("/admin/crawler/sources/{source}"), {"config": config})
        assert changed.json()["data"]["config"] == config


async def test_every_write_of_a_source_is_in_the_audit_log(fixture: CrawlerFixture):
    source = await made(fixture.admin, "/admin/crawler/sources", a_source_body(name="Two", slug="two"))
    where = f"/admin/crawler/sources/{source['id']}"
    await fixture.done("PATCH", where, {"name": "Three"})
    await fixture.done("PATCH", f"{where}/enable", {"isenabled": False})
    await fixture.done("DELETE", where, {}, 204)
    steps = [f"crawlersource.{step}" for step in ("delete", "disable", "update", "create")]
    assert (await fixture.audit_events("crawlersource"))[:4] == steps


async def test_the_switch_answers_as_the_document_shows(fixture: CrawlerFixture):
    where = fixture.path("/admin/crawler/sources/{source}/enable")
    answer = await fixture.admin.ask("PATCH", where, {"isenabled": False, "reason": "Site down for maintenance"})
    assert answer.status == 200
    assert answer.json()["data"].keys() == {"id", "name", "isenabled", "updatedat"}
    assert (await fixture.refused("PATCH", "/admin/crawler/sources/{source}/enable", {}))[:2] == (
        400,
        "VALIDATION_ERROR",
    )
    [row] = (await fixture.admin.get("/admin/auditlog?action=crawlersource.disable")).json()["data"]
    assert (row["entitytype"], row["reason"], row["actor"]) == ("crawlersource", "Site down for maintenance", "admin")
    await fixture.app.db.with_tx(lambda tx: tx.run(_q.fail, id=fixture.ids["source"]))
    await fixture.done("PATCH", "/admin/crawler/sources/{source}/enable", {"isenabled": True})
    assert (await fixture.data("/admin/crawler/sources/{source}"))["consecutivefails"] == 0


async def test_a_source_that_is_not_there_is_not_found(fixture: CrawlerFixture):
    calls: list[tuple[str, str, dict[str, Any] | None]] = [
        ("GET", "/admin/crawler/sources/99", None),
        ("PATCH", "/admin/crawler/sources/99", {}),
        ("DELETE", "/admin/crawler/sources/99", {}),
        ("PATCH", "/admin/crawler/sources/99/enable", {"isenabled": True}),
        ("GET", "/admin/crawler/sources/99/health", None),
        ("POST", "/admin/crawler/jobs", {"sourceid": 99}),
    ]
    for method, path, body in calls:
        assert await fixture.refused(method, path, body) == (404, "NOT_FOUND", "Source not found"), (method, path)


async def test_deleting_a_source_takes_its_mappings_and_leaves_its_jobs(fixture: CrawlerFixture):
    """R51: what waits is cancelled; a finished job keeps the source's name itself."""
    answer = await fixture.admin.ask("DELETE", fixture.path("/admin/crawler/sources/{source}"), {"reason": "shut down"})
    assert (answer.status, answer.body) == (204, b"")
    assert await fixture.data("/admin/comics/{comic}/sources") == []
    job = await fixture.data("/admin/crawler/jobs/{job}")
    assert (job["status"], job["source"]["name"]) == ("cancelled", "MangaFire")
    assert (await fixture.admin.get(fixture.path("/admin/crawler/jobs/{job}/logs"))).status == 200
    [row] = (await fixture.admin.get("/admin/auditlog?action=crawlersource.delete")).json()["data"]
    assert row["reason"] == "shut down"
