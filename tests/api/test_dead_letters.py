"""Dead letters, and answers that are kept for a while."""

from collections.abc import AsyncIterator

import pytest

from tests.api.people import RunningApp, Visitor
from tests.app import running_app, settings_for
from tests.crawler.builders import a_crawling_app, a_dead_letter, a_source_body, made, the_admin
from tsuzuki.db.queries import parse_queries

LETTERS = "/admin/deadletters"
SOURCES = "/admin/crawler/sources"

q = parse_queries(
    "tests",
    """
-- name: rename
update source set name = :name where id = :id;
-- name: break_jobs
update crawl_job set last_error = :error;
-- name: change_log
update crawl_log set message = :message;
""",
)


@pytest.fixture
async def app(tmp_path, database_url) -> AsyncIterator[RunningApp]:
    async with a_crawling_app(tmp_path / "data", database_url) as app:
        yield app


@pytest.fixture
async def admin(app: RunningApp) -> Visitor:
    return await the_admin(app)


async def letters(app: RunningApp, count: int) -> list[int]:
    return [await a_dead_letter(app.accounts.deps.db, app.time()) for _ in range(count)]


async def test_dead_letters_are_listed_newest_first_and_shown_whole(app, admin):
    """R55."""
    first, second, third = await letters(app, 3)
    page = (await admin.get(f"{LETTERS}?limit=2")).json()
    assert [letter["id"] for letter in page["data"]] == [third, second]
    rest = (await admin.get(f"{LETTERS}?before={page['meta']['nextcursor']}")).json()
    assert ([letter["id"] for letter in rest["data"]], rest["meta"]["nextcursor"]) == ([first], None)
    assert (await admin.get(f"{LETTERS}?code=other")).json()["data"] == []
    shown = (await admin.get(f"{LETTERS}/{first}")).json()["data"]
    assert (shown["queue"], shown["error"], shown["code"]) == ("nobody", "It broke.", "broken")
    assert (shown["payload"], shown["stack"]) == ({}, "here")


async def test_a_replay_is_idempotent_and_discarded_letters_conflict(app, admin):
    """R55."""
    one, two = await letters(app, 2)
    first = (await admin.post(f"{LETTERS}/{one}/replay")).json()["data"]
    assert (await admin.post(f"{LETTERS}/{one}/replay")).json()["data"] == first
    assert (await admin.post(f"{LETTERS}/{two}/discard")).status == 204
    assert (await admin.post(f"{LETTERS}/{two}/discard")).status == 204
    assert (await admin.post(f"{LETTERS}/{two}/replay")).status == 409
    assert (await admin.get(LETTERS)).json()["data"] == []
    rows = (await admin.get("/admin/auditlog?entitytype=deadletter")).json()["data"]
    assert [row["action"] for row in rows] == ["deadletter.discard", "deadletter.replay", "deadletter.replay"]


async def test_letters_are_replayed_and_discarded_by_kind(app, admin):
    await letters(app, 3)
    assert (await admin.post(f"{LETTERS}/replay", {"queue": "other"})).json()["data"] == {"count": 0}
    assert (await admin.post(f"{LETTERS}/replay", {"queue": "nobody"})).json()["data"] == {"count": 3}
    [_, queue] = (await admin.get("/admin/queues")).json()["data"]  # the first is what is polled
    assert (queue["queue"], queue["depth"], queue["deadletters"]) == ("nobody", 3, 0)
    await letters(app, 2)
    assert (await admin.post(f"{LETTERS}/discard", {"code": "broken"})).json()["data"] == {"count": 2}


async def test_sources_are_kept_until_something_is_written(app, admin):
    """R53: each under its full question; a write is seen at once."""
    source = (await made(admin, SOURCES, a_source_body()))["id"]

    async def names() -> list[str]:
        listed = (await admin.get(f"{SOURCES}?limit=10")).json()["data"]
        return [listed[0]["name"], (await admin.get(f"{SOURCES}/{source}")).json()["data"]["name"]]

    assert await names() == ["MangaFire", "MangaFire"]
    await app.accounts.deps.db.with_tx(lambda tx: tx.run(q.rename, id=source, name="Behind"))
    assert await names() == ["MangaFire", "MangaFire"]
    assert (await admin.get(f"{SOURCES}?limit=11")).json()["data"][0]["name"] == "Behind"
    await admin.ask("PATCH", f"{SOURCES}/{source}", {"slug": "new"})
    assert await names() == ["Behind", "Behind"]


@pytest.mark.parametrize("is_joined_by_redis", [False, True])
async def test_a_write_is_visible_to_another_process_at_once(tmp_path, database_url, redis_url, is_joined_by_redis):
    """R53: with a Redis and without one, on both engines."""
    joined = {"redis_url": redis_url} if is_joined_by_redis else {}
    folder = tmp_path / "data"
    async with (
        a_crawling_app(folder, database_url, **joined) as app,
        running_app(settings_for(folder, database_url=database_url, **joined)) as client,
    ):
        here = await the_admin(app)
        there = Visitor(client, cookie=await app.session(await app.admin()))
        source = (await made(here, SOURCES, a_source_body()))["id"]
        one = f"{SOURCES}/{source}"
        for round_ in range(5):
            for path in (SOURCES, one, f"{one}/health"):
                for visitor in (here, there):
                    assert (await visitor.get(path)).status == 200
            writer, reader = (here, there) if round_ % 2 else (there, here)
            name = f"Name {round_}"
            assert (await writer.ask("PATCH", one, {"name": name})).status == 200
            assert (await reader.get(SOURCES)).json()["data"][0]["name"] == name
            assert (await reader.get(one)).json()["data"]["name"] == name
            assert (await reader.get(f"{one}/health")).json()["data"]["name"] == name
        await app.db.with_tx(lambda tx: tx.run(q.rename, id=source, name="Behind"))
        assert (await here.get(one)).json()["data"]["name"] == "Name 4"  # it was kept, and nobody wrote


async def test_health_is_kept_and_knows_of_a_job_at_once(app, admin):
    source = (await made(admin, SOURCES, a_source_body()))["id"]

    async def health() -> tuple[str, int]:
        shown = (await admin.get(f"{SOURCES}/{source}/health")).json()["data"]
        return shown["name"], shown["jobs"]["queued"]

    assert await health() == ("MangaFire", 0)
    await app.db.with_tx(lambda tx: tx.run(q.rename, id=source, name="Behind"))
    assert await health() == ("MangaFire", 0)
    job = await made(admin, "/admin/crawler/jobs", {"sourceid": source})
    assert await health() == ("Behind", 1)
    await admin.ask("PATCH", f"/admin/crawler/jobs/{job['id']}/cancel")
    assert await health() == ("Behind", 0)


async def test_jobs_and_logs_are_never_kept(app, admin):
    source = (await made(admin, SOURCES, a_source_body()))["id"]
    where = f"/admin/crawler/jobs/{(await made(admin, '/admin/crawler/jobs', {'sourceid': source}))['id']}"
    await admin.ask("PATCH", f"{where}/cancel")
    for text in ("first", "second"):
        await app.db.with_tx(lambda tx, text=text: tx.run(q.break_jobs, error=text))
        await app.db.with_tx(lambda tx, text=text: tx.run(q.change_log, message=text))
        assert (await admin.get(where)).json()["data"]["lasterror"] == text
        assert [job["lasterror"] for job in (await admin.get("/admin/crawler/jobs")).json()["data"]] == [text]
        assert [line["message"] for line in (await admin.get(f"{where}/logs")).json()["data"]] == [text]


async def test_health_knows_of_a_mapping_at_once(admin):
    source = (await made(admin, SOURCES, a_source_body()))["id"]
    comic = (await made(admin, "/admin/comics", {"title": "One"}))["id"]

    async def watched() -> tuple[int, bool]:
        health = (await admin.get(f"{SOURCES}/{source}/health")).json()["data"]
        return int(health["breaker"]["watched"]), health["nextdueat"] is not None

    assert await watched() == (0, False)
    body = {"sourceid": source, "sourceid_ext": "one", "sourceurl": "https://mangafire.example/one"}
    mapping = (await made(admin, f"/admin/comics/{comic}/sources", body))["id"]
    assert await watched() == (1, True)
    await admin.ask("PATCH", f"/admin/comics/{comic}/sources/{mapping}", {"isactive": False})
    assert await watched() == (1, False)
    await admin.ask("DELETE", f"/admin/comics/{comic}/sources/{mapping}")
    assert await watched() == (0, False)
