"""Sources and jobs on the admin pages, as a browser without scripts uses them."""

import re
from collections.abc import AsyncIterator

import pytest

from tests.crawler.builders import SITE
from tests.web.admin.builders import AdminSite, an_admin_site
from tests.web.guests import a_guest, error_of, value_of
from tsuzuki.accounts.audit import AuditFilter
from tsuzuki.accounts.types import Slice
from tsuzuki.db.queries import parse_queries

_q = parse_queries(
    "tests", "-- name: forget_connector\nupdate source set connector = :connector, config = :config where id = :id;"
)

FORM = {"name": "Site", "slug": "site"}


@pytest.fixture
async def admin_site(tmp_path) -> AsyncIterator[AdminSite]:
    async with an_admin_site(tmp_path) as admin_site:
        yield admin_site


async def acts(admin_site: AdminSite) -> list[str]:
    rows, _ = await admin_site.app.accounts.audit_log.list(AuditFilter(), Slice())
    return [row.action for row in rows]


async def config_of(admin_site: AdminSite, source_id: int | None = None) -> dict[str, object]:
    return (await admin_site.app.crawling.sources.get(source_id or admin_site.source_id)).config


# -- looking


async def test_the_list_shows_each_sources_state_and_is_filterable(admin_site):
    shown = await admin_site.operator.see("/admin/sources")
    assert "not called yet" in shown.text
    assert f'href="{admin_site.source}"' in shown.text
    assert f'href="{admin_site.source}"' not in (await admin_site.operator.see("/admin/sources?state=disabled")).text
    assert f'href="{admin_site.source}"' not in (await admin_site.operator.see("/admin/sources?q=nothing")).text
    assert f'href="{admin_site.source}"' in (await admin_site.operator.see("/admin/sources?q=SIT&page=nonsense")).text


async def test_readers_are_refused_and_missing_sources_not_found(admin_site):
    reader = await a_guest(admin_site.app, await admin_site.app.add())
    for path in ("/admin", "/admin/sources", admin_site.source, f"{admin_site.source}/edit", "/admin/jobs"):
        assert (await reader.see(path)).status == 403, path
    assert (await reader.send(f"{admin_site.source}/delete")).status == 403
    for path in ("/admin/sources/999", "/admin/sources/x", f"/admin/sources/{2**70}", "/admin/jobs/x"):
        assert (await admin_site.operator.see(path)).status == 404, path


# -- adding and changing


async def test_a_source_is_added_with_the_form_of_its_connector(admin_site):
    picked = await admin_site.operator.see("/admin/sources/add")
    assert f"/admin/sources/add?connector={SITE}" in picked.text
    form = await admin_site.operator.see(f"/admin/sources/add?connector={SITE}")
    assert value_of(form, "baseurl") == admin_site.site.url
    await admin_site.operator.send(f"{admin_site.source}/delete")
    said = {"name": "Second site", "baseurl": admin_site.site.url, "enabled": "on", "config.maxpages": "7"}
    said |= {"config.headers": "X-One: 1\nX-Two: a:b", "config.fetchpages": "on", "config.ratelimit": "1.5"}
    added = await admin_site.operator.send(f"/admin/sources/add?connector={SITE}", said)
    assert added.status == 303
    [number] = re.findall(r"/admin/sources/(\d+)\?done=source_added", added.headers["location"])
    source = await admin_site.app.crawling.sources.get(int(number))
    assert (source.slug, source.is_enabled) == ("second-site", True)
    assert source.config == {
        "ratelimit": 1.5,
        "headers": {"X-One": "1", "X-Two": "a:b"},
        "maxpages": 7,
        "fetchpages": True,
    }
    assert "crawlersource.create" in await acts(admin_site)


async def test_r9_an_unnamed_source_gets_its_connectors_name_and_language(admin_site):
    path = "/admin/sources/add?connector=org.mangadex"
    said = {"name": "", "baseurl": "https://mangadex.org", "config.language": "vi", "config.contentrating": "safe"}
    [number] = re.findall(r"/(\d+)\?", (await admin_site.operator.send(path, said)).headers["location"])
    source = await admin_site.app.crawling.sources.get(int(number))
    assert (source.name, source.slug, source.lang) == ("MangaDex (VI)", "mangadex-vi", "vi")
    wrong = await admin_site.operator.send(path, said | {"config.language": "Vietnamese"})
    assert "config.language" in wrong.text
    assert error_of(wrong, "config.language")


async def test_problems_are_shown_beside_fields_and_inputs_are_kept(admin_site):
    said = {"name": "Wrong", "baseurl": "ftp://x", "config.maxpages": "many", "config.headers": "Host: x"}
    path = f"/admin/sources/add?connector={SITE}"
    answer = await admin_site.operator.send(path, said)
    assert answer.status == 400
    assert "begins with https://" in (error_of(answer, "baseurl") or "")
    assert error_of(answer, "config.maxpages") == "Enter a whole number."
    assert value_of(answer, "config.maxpages") == "many"
    assert "Host: x" in answer.text
    answer = await admin_site.operator.send(path, said | {"config.maxpages": "5", "baseurl": admin_site.site.url})
    assert "set by the client itself" in (error_of(answer, "config.headers") or "")
    answer = await admin_site.operator.send(path, said | {"config.headers": "no colon"})
    assert "no colon" in (error_of(answer, "config.headers") or "")
    answer = await admin_site.operator.send(path, {"name": "Site", "slug": "other", "baseurl": admin_site.site.url})
    assert answer.status == 409
    assert "already exists" in (error_of(answer, "name") or "")


async def test_r47_a_masked_secret_sent_back_stays(admin_site):
    secret = {"config.headers": "Cookie: s3cret-cookie", "baseurl": admin_site.site.url} | FORM
    assert (await admin_site.operator.send(f"{admin_site.source}/edit", secret)).status == 303
    form = await admin_site.operator.see(f"{admin_site.source}/edit")
    assert "s3cret-cookie" not in form.text
    assert "Cookie: ***" in form.text
    again = {"config.headers": "Cookie: ***", "config.maxpages": "9", "baseurl": admin_site.site.url} | FORM
    assert (await admin_site.operator.send(f"{admin_site.source}/edit", again)).status == 303
    assert await config_of(admin_site) == {"headers": {"Cookie": "s3cret-cookie"}, "maxpages": 9}


async def test_concurrent_edits_of_a_source_conflict(admin_site):
    """The second is told, keeps what they typed, and may put it in the place of the first one's all the same."""
    path = f"{admin_site.source}/edit"
    first, second = [value_of(await admin_site.operator.see(path), "edition") for _ in range(2)]
    assert first == second
    ours = {"baseurl": admin_site.site.url} | FORM
    mine, theirs = ours | {"config.maxpages": "5", "edition": first}, ours | {"config.maxpages": "7", "edition": second}
    assert (await admin_site.operator.send(path, mine)).status == 303
    wrong = await admin_site.operator.send(path, {**theirs, "slug": "No Slug"})  # what is told first is about the form
    assert (wrong.status, value_of(wrong, "edition")) == (400, second)
    told = await admin_site.operator.send(path, theirs)
    assert (told.status, error_of(told, "name"), value_of(told, "config.maxpages")) == (409, None, "7")
    assert "Somebody else changed this source since you opened it." in told.text
    assert (await config_of(admin_site))["maxpages"] == 5
    again = theirs | {"edition": value_of(told, "edition") or ""}
    assert (await admin_site.operator.send(path, again)).status == 303
    assert (await config_of(admin_site))["maxpages"] == 7


async def test_a_job_does_not_conflict_with_an_open_form(admin_site):
    path = f"{admin_site.source}/edit"
    before = value_of(await admin_site.operator.see(path), "edition")
    await admin_site.operator.send(f"{admin_site.source}/switch", {"reason": "for a while"})
    assert value_of(await admin_site.operator.see(path), "edition") == before


async def test_a_source_is_switched_off_and_on(admin_site):
    await admin_site.operator.send(f"{admin_site.source}/switch")
    assert "disabled" in (await admin_site.operator.see("/admin/sources")).text
    assert (await admin_site.operator.see(admin_site.source)).text.count("/crawl") == 0
    await admin_site.operator.send(f"{admin_site.source}/switch", {"enabled": "on"})
    assert (await acts(admin_site))[:2] == ["crawlersource.enable", "crawlersource.disable"]


async def test_deleting_asks_first_and_says_what_goes(admin_site):
    asked = await admin_site.operator.see(f"{admin_site.source}/delete")
    assert "1 comic is no longer crawled" in asked.text
    done = await admin_site.operator.send(f"{admin_site.source}/delete", {"reason": "it moved"})
    assert done.headers["location"] == "/admin/sources?done=source_deleted"
    assert (await admin_site.operator.see(admin_site.source)).status == 404


# -- trying


async def test_trying_shows_requests_and_results_and_stores_nothing(admin_site):
    tried = await admin_site.operator.send(f"{admin_site.source}/try")
    assert "It works" in tried.text
    for path in ("/list-1.html", "/s/one", "/s/one/2"):
        assert f"GET {admin_site.site.url}{path}" in tried.text
    assert "Chapter 2" in tried.text
    assert "3 pages were found" in tried.text
    assert (await admin_site.app.crawling.comics.list(None, Slice()))[1] == 1
    admin_site.site.is_down = True
    broken = await admin_site.operator.send(f"{admin_site.source}/try")
    assert "It does not work yet" in broken.text
    assert "500" in broken.text


async def test_a_source_of_an_unknown_connector_is_refused(admin_site):
    for connector, said in (
        ("com.example.nowhere", "This server has no connector com.example.nowhere"),
        ("", "Choose the kind"),
    ):
        refused = await admin_site.operator.send(f"/admin/sources/add?connector={connector}", FORM)
        assert (refused.status, said in refused.text) == (400, True)


async def test_a_source_without_connector_can_still_be_edited(admin_site):
    await admin_site.app.db.with_tx(
        lambda tx: tx.run(_q.forget_connector, id=admin_site.source_id, connector="gone.away", config={"old": 1})
    )
    assert "There is no connector gone.away" in (await admin_site.operator.send(f"{admin_site.source}/try")).text
    form = await admin_site.operator.see(f"{admin_site.source}/edit")
    assert "not installed" in form.text
    wrong = await admin_site.operator.send(
        f"{admin_site.source}/edit", {"config": "[1]", "baseurl": admin_site.site.url} | FORM
    )
    assert "JSON object" in (error_of(wrong, "config") or "")
    await admin_site.operator.send(
        f"{admin_site.source}/edit", {"config": '{"new": 2}', "baseurl": admin_site.site.url} | FORM
    )
    assert await config_of(admin_site) == {"new": 2}


# -- comics and jobs


async def test_a_comic_is_crawled_switched_off_and_removed(admin_site):
    comic = admin_site.comic_id
    page = await admin_site.operator.see(admin_site.source)
    [mapping] = set(re.findall(rf"/admin/comics/{comic}/sources/(\d+)/", page.text))
    queued = await admin_site.operator.send(f"{admin_site.source}/crawl", {"comic": comic})
    [job] = re.findall(r"/admin/jobs/([\w-]+)\?done=job_queued", queued.headers["location"])
    again = await admin_site.operator.send(f"{admin_site.source}/crawl", {"comic": comic})
    assert again.headers["location"] == f"/admin/jobs/{job}?done=job_exists"
    one = f"/admin/comics/{comic}/sources/{mapping}"
    await admin_site.operator.send(f"{one}/switch")
    assert "disabled" in (await admin_site.operator.see(admin_site.source)).text
    assert "no longer asked" in (await admin_site.operator.see(f"{one}/remove")).text
    await admin_site.operator.send(f"{one}/remove")
    assert "None yet." in (await admin_site.operator.see(admin_site.source)).text


async def test_a_hand_mapped_comic_is_not_duplicated_by_title(admin_site):
    path = f"{admin_site.source}/map"
    wrong = await admin_site.operator.send(path, {"title": "Two", "sourceurl": "ftp://x"})
    assert "begins with https://" in (error_of(wrong, "sourceurl") or "")
    assert value_of(wrong, "title") == "Two"
    assert error_of(await admin_site.operator.send(path, {"sourceurl": admin_site.site.url}), "title")
    taken = await admin_site.operator.send(
        path, {"title": "one", "sourceurl": f"{admin_site.site.url}/s/one", "key": "one"}
    )
    assert taken.status == 409
    assert error_of(taken, "key")
    added = await admin_site.operator.send(path, {"title": "Two", "sourceurl": f"{admin_site.site.url}/s/two"})
    assert added.headers["location"] == f"{admin_site.source}?done=mapping_added"
    assert "<strong>Two</strong>" in (await admin_site.operator.see(admin_site.source)).text
    assert (await admin_site.app.crawling.comics.list(None, Slice()))[1] == 2


async def test_jobs_are_listed_narrowed_shown_and_cancelled(admin_site):
    queued = await admin_site.operator.send(f"{admin_site.source}/crawl")
    path = queued.headers["location"].partition("?")[0]
    for query, is_there in (
        ("", True),
        ("?status=queued&by=people", True),
        ("?status=done", False),
        ("?source=1", False),
    ):
        assert (path in (await admin_site.operator.see(f"/admin/jobs{query}")).text) is is_there, query
    shown = await admin_site.operator.see(path)
    assert "New lines appear" in shown.text
    assert "data-tail" in shown.text
    assert (await admin_site.operator.send(f"{path}/cancel")).headers["location"] == f"{path}?done=job_cancelled"
    assert (await admin_site.operator.send(f"{path}/cancel")).headers["location"] == f"{path}?done=job_over"
    over = await admin_site.operator.see(path)
    assert "Job cancelled" in over.text
    assert "data-tail" not in over.text
    assert "Job cancelled" not in (await admin_site.operator.see(f"{path}?level=error")).text


async def test_jobs_are_filtered_by_existing_and_deleted_sources(admin_site):
    page = await admin_site.operator.see("/admin/jobs?source=77")
    assert f'<option value="{admin_site.source_id}">Site</option>' in page.text
    assert '<option value="77" selected>77</option>' in page.text


# -- why


async def test_a_pause_shows_its_reason_wherever_it_matters(admin_site):
    assert 'for="reason"' in (await admin_site.operator.see("/admin")).text
    await admin_site.operator.send("/admin/crawler", {"pause": "on", "reason": "moving <b>house</b>"})
    for path in ("/admin", "/admin/sources", admin_site.source, "/admin/jobs"):
        assert "“moving &lt;b&gt;house&lt;/b&gt;”" in (await admin_site.operator.see(path)).text, path
    await admin_site.operator.send("/admin/crawler")
    assert "moving" not in (await admin_site.operator.see("/admin")).text


async def test_a_disabled_source_says_who_disabled_it_and_why(admin_site):
    assert "Disabled by" not in (await admin_site.operator.see(admin_site.source)).text
    await admin_site.operator.send(f"{admin_site.source}/switch", {"reason": "they asked us to"})
    page = await admin_site.operator.see(admin_site.source)
    assert "Disabled by admin" in page.text
    assert "“they asked us to”" in page.text
    await admin_site.operator.send(f"{admin_site.source}/switch", {"enabled": "on"})
    assert "Disabled by" not in (await admin_site.operator.see(admin_site.source)).text
