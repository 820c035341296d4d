"""What a browser shows where nothing is: within the frame for who is signed in, plain for everyone else."""

from structlog.testing import capture_logs

from tests.api.people import a_running_app
from tests.app import in_settings
from tests.db.builders import a_query
from tests.net.builders import answer
from tests.polling.builders import a_publisher
from tests.web.guests import Guest, a_guest, error_of, value_of
from tsuzuki.db.queries import parse_queries

q = parse_queries(
    "tests",
    """
-- name: hide_counts
alter table tally rename to hidden;
-- name: pages
select page_count from pragma_page_count;
""",
)
PLACES = 'aria-label="Navigation"'


async def test_an_unknown_address_keeps_the_frame_and_leads_home(empty_database_url, tmp_path):
    async with a_running_app(tmp_path, database_url=in_settings(empty_database_url)) as app:
        guest, stranger = await a_guest(app, await app.add()), Guest(app.client)
        for path in ("/nothing", "/nothing/at/all", "/series", "/admin/nothing", "/items/1/2/3/4/5/6/7/8"):
            mine, theirs = await guest.see(path), await stranger.see(path)
            assert (mine.status, PLACES in mine.text) == (404, True), path
            assert (theirs.status, PLACES in theirs.text) == (404, False), path
            for shown in (mine, theirs):
                assert shown.headers["cache-control"] == "no-store"
                assert "Page not found" in shown.text
                assert 'href="/"' in shown.text
        wrong = await guest.see("/sign-out")
        assert (wrong.status, PLACES in wrong.text, wrong.headers["allow"]) == (405, True, "POST")


async def test_machines_get_json_and_lost_sessions_a_plain_page(tmp_path):
    async with a_running_app(tmp_path) as app:
        guest = await a_guest(app, await app.add())
        for path, accept in (("/api/v1/nothing", "text/html"), ("/nothing", "application/json")):
            told = await guest.see(path, accept=accept)
            assert (told.status, told.json()["code"]) == (404, "NOT_FOUND"), path
        for headers in ({"authorization": "Bearer tsz_wrong"}, {"cookie": "tsuzuki=nobody"}):
            told = await guest.see("/nothing", **headers)
            assert (told.status, PLACES in told.text) == (404, False), headers


async def test_sec_42_other_sites_do_not_learn_who_is_signed_in(tmp_path):
    async with a_running_app(tmp_path) as app:
        guest = await a_guest(app, await app.add())
        told = await guest.send("/nothing", origin="https://elsewhere.example", sec_fetch_site="cross-site")
        assert (told.status, PLACES in told.text) == (404, False)


async def test_an_error_page_keeps_the_navigation(reader):
    page = await reader.guest.see("/items/0")
    assert (page.status, PLACES in page.text) == (404, True)
    assert "There is no such item." in page.text
    as_json = await reader.guest.see("/items/0", accept="application/json")
    assert as_json.json()["code"] == "NOT_FOUND"


async def test_a_frame_that_cannot_be_made_leaves_the_plain_page(reader):
    """The page that says sorry is never the one that fails."""
    told = await reader.guest.send("/feeds/nonsense/suspend")
    assert (told.status, PLACES in told.text) == (404, True)
    await reader.app.db.with_tx(lambda tx: tx.run(q.hide_counts))
    told = await reader.guest.send("/feeds/nonsense/suspend")
    assert (told.status, PLACES in told.text) == (404, False)
    assert "<h1>" in told.text


async def test_a_failed_preview_says_why_and_when_to_retry(tmp_path):
    """On the page beside what was typed, in the answer's head and in the log."""
    async with a_publisher() as publisher, a_running_app(tmp_path, allow_private_networks="127.0.0.0/8") as app:
        guest = await a_guest(app, await app.add())
        publisher.response = answer(429, b"", retry_after="600")
        with capture_logs() as logs:
            page = await guest.send("/feeds/find", {"url": publisher.url})
    assert (page.status, page.headers["retry-after"], value_of(page, "url")) == (503, "600", publisher.url)
    reason = "127.0.0.1 asks us to slow down (429), for 600 s."
    assert error_of(page, "url") == f"{reason} Try again in 10 minutes."
    [line] = [line for line in logs if line["event"] == "request"]
    assert (line["code"], line["reason"]) == ("rate_limited", reason)


async def test_a_full_disk_is_reported_beside_the_input(tmp_path):
    """I3: what was answered is there, what was refused is not, and nothing has to be typed again."""
    async with a_running_app(tmp_path) as app:
        guest = await a_guest(app, await app.add())
        pages = await app.db.read(lambda tx: tx.one(int, q.pages))
        await app.db.with_tx(lambda tx: tx.run(a_query(f"pragma max_page_count = {pages}")))
        made: list[str] = []
        while (page := await guest.send("/groups/new", {"name": f"Group {len(made)}"})).status == 303:
            made.append(f"Group {len(made)}")
            assert len(made) < 200
        assert (page.status, value_of(page, "name")) == (503, f"Group {len(made)}")
        assert "The disk is full." in page.text
        assert (await guest.see("/feeds")).status == 200
        await app.db.with_tx(lambda tx: tx.run(a_query("pragma max_page_count = 1000000")))
        assert (await guest.send("/groups/new", {"name": "The last"})).status == 303
        shown = (await guest.see("/feeds")).text
        assert [name for name in (*made, "The last") if name not in shown] == []
        assert f"Group {len(made)}" not in shown
