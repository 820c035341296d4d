"""A file is shown, imported and undone on pages, without scripts, on a phone, and by the API."""

import asyncio
import io
import re

import aiohttp
import pytest
from aiohttp import web

from tests.api.people import a_running_app
from tests.builders import stored_source
from tests.net.builders import a_web_app
from tests.transfer.mihon.builders import MANGADEX, UNKNOWN, UUID, a_backup, a_chapter, a_manga, packed
from tests.waiting import eventually
from tests.web.guests import a_guest, error_of
from tests.web.reader_setup import follow_to
from tsuzuki.transfer.imports.service import MOST_BYTES
from tsuzuki.transfer.mihon.unpack import unpack

BACKUP = packed(
    a_backup(
        a_manga(
            UNKNOWN,
            title="Lost & found",
            chapters=[a_chapter("/c/1", "Ch. 1", number=1, read=1), a_chapter("/c/2", "Ch. 2", number=2)],
        ),
        sources=[("Gone <Scans>", UNKNOWN)],
    )
)


def form_of(name, body):
    form = aiohttp.FormData()
    form.add_field("file", body, filename=name, content_type="application/octet-stream")
    return form


async def looked_at(guest, name, body):
    return await guest._ask("POST", "/import", {}, data=form_of(name, body))


async def guest_sees(guest, name, body):
    return (await guest.see((await looked_at(guest, name, body)).headers["location"])).text


async def over(guest, path):
    async with asyncio.timeout(30):
        while "refresh" in (page := await guest.see(path)).headers:  # noqa: ASYNC110  as a browser does
            await asyncio.sleep(0.05)
    return page


@pytest.fixture
async def working(reader):
    """Somebody's server, at work."""
    reader.app.worker_loops.start()
    yield reader
    await reader.app.worker_loops.stop()


async def test_a_backup_is_shown_then_imported_then_undone(working):
    reader = working
    guest = reader.guest
    answer = await looked_at(guest, "backup.tachibk", BACKUP)
    assert answer.status == 303
    path = answer.headers["location"]
    page = await guest.see(path)
    assert "backup.tachibk" in page.text
    assert "Gone &lt;Scans&gt;" in page.text
    assert "Lost" not in (await guest.see("/library")).text
    await guest.send(f"{path}/start", {})
    done = await over(guest, path)
    assert "imported" in done.text
    assert 'class="button" href="/library"' in done.text
    library = await guest.see("/library")
    assert "Lost &amp; found" in library.text
    [series] = set(
        re.findall(r'href="(/series/[0-9a-f-]+)"[^>]*>[^<]*(?:<[^>]*>)*\s*Lost &amp; found', library.text)
    ) or {None}
    assert series is None or "Link to source" in (await guest.see(series)).text
    backup = await guest.see("/api/v1/library/backup")
    assert backup.headers["content-disposition"].endswith('.tachibk"')
    assert "Lost & found" in [head.title for portion in unpack(backup.body).portions for head in portion.heads]
    question = await guest.see(f"{path}/undo")
    assert "What backup.tachibk added is removed" in question.text
    await guest.send(f"{path}/undo", {})
    assert "undone" in (await over(guest, path)).text
    assert "Lost &amp; found" not in (await guest.see("/library")).text
    gone = await follow_to(guest, await guest.send(f"{path}/drop", {}))
    assert "Import removed from the list." in gone.text


async def test_a_preview_says_what_has_a_source(reader):
    await stored_source(reader.app.db, connector="org.mangadex", slug="mangadex", base_url="https://mangadex.org")
    known = a_manga(MANGADEX, f"/manga/{UUID}", "Solo")
    backup = a_backup(known, a_manga(UNKNOWN, title="Lost"), sources=[("MangaDex", MANGADEX), ("Gone", UNKNOWN)])
    page = await guest_sees(reader.guest, "b.tachibk", backup)
    assert "1 series has a source on this server." in page
    assert "Gone: 1 series" in page


async def test_starred_articles_lead_to_the_bookmarks(working):
    body = b'{"items": [{"title": "One", "canonical": [{"href": "https://example.org/1"}]}]}'
    path = (await looked_at(working.guest, "starred.json", body)).headers["location"]
    await working.guest.send(f"{path}/start", {})
    assert 'class="button" href="/bookmarks"' in (await over(working.guest, path)).text


async def test_what_cannot_be_imported_is_said_beside_the_file(reader):
    answer = await looked_at(reader.guest, "x.txt", b"hello")
    assert answer.status in {400, 422}
    assert "none that can be imported" in (error_of(answer, "file") or "")


async def test_a_file_that_is_too_large_is_said_beside_it(reader):
    answer = await looked_at(reader.guest, "large.tachibk", io.BytesIO(b"\0" * (MOST_BYTES + 100_000)))
    assert (answer.status, error_of(answer, "file")) == (413, "The file is larger than 64 MB.")


async def test_what_is_being_undone_shows_nothing_of_the_import(reader):
    guest, path = reader.guest, (await looked_at(reader.guest, "b.tachibk", BACKUP)).headers["location"]
    assert "If an administrator adds one of these sources" in (await guest.see(path)).text
    reader.app.worker_loops.start()
    await guest.send(f"{path}/start", {})
    await over(guest, path)
    await reader.app.worker_loops.stop()
    await guest.send(f"{path}/undo", {})
    page = await guest.see(path)
    assert "Removing what was imported." in page.text
    assert "the undo continues" in page.text
    assert not re.search(r"\d of \d", page.text)


async def test_an_unreachable_server_is_reported_beside_its_address(reader):
    answer = await reader.guest.send(
        "/import/server", {"kind": "komga", "url": "http://10.0.0.1", "username": "a", "password": "b"}
    )
    assert error_of(answer, "url")
    assert 'value="http://10.0.0.1"' in answer.text
    nothing = await reader.guest.send("/import/server", {"kind": "komga", "url": "http://10.0.0.1"})
    assert error_of(nothing, "password")


async def test_whoever_leaves_finds_what_a_slow_server_told(tmp_path):
    asked, told = asyncio.Event(), asyncio.Event()

    async def series(request):
        asked.set()
        await told.wait()
        return web.json_response({"content": [{"id": "A", "name": "Solo"}] if request.query["page"] == "0" else []})

    async def books(_):
        return web.json_response({"content": [{"id": "B", "name": "Ch. 1"}]})

    routes = web.get("/api/v1/series", series), web.get("/api/v1/series/A/books", books)
    async with (
        a_web_app(*routes) as url,
        a_running_app(tmp_path, allow_private_networks="127.0.0.0/8") as app,
    ):
        guest = await a_guest(app, await app.add())
        form = {"kind": "komga", "url": url, "username": "ann", "password": "secret"}
        asking = asyncio.create_task(guest.send("/import/server", form))
        await asked.wait()
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
        told.set()

        async def is_listed():
            return "not imported yet" in (await guest.see("/import")).text

        await eventually(is_listed)


async def test_another_shelfs_import_is_not_found(reader):
    path = (await looked_at(reader.guest, "my.tachibk", BACKUP)).headers["location"]
    unknown = path[:-4] + "0000"
    assert (await reader.guest.see(unknown)).status == 404


async def test_the_api_does_the_same(working):
    app, guest = working.app, working.guest
    headers = {"cookie": f"tsuzuki={guest.cookies['tsuzuki']}"}
    shown = (
        await app.client.ask("POST", "/api/v1/imports", headers=headers, data=form_of("x.tachibk", BACKUP))
    ).json()["data"]
    assert (shown["status"], shown["name"], shown["preview"]["unlinked"]) == ("shown", "x.tachibk", {"Gone <Scans>": 1})
    path = f"/api/v1/imports/{shown['id']}"
    assert (await app.client.ask("POST", f"{path}/start", headers=headers)).status == 202
    async with asyncio.timeout(30):
        while (one := (await app.client.ask("GET", path, headers=headers)).json()["data"])["status"] != "done":  # noqa: ASYNC110  as a client does
            await asyncio.sleep(0.05)
    assert one["report"]["parts"]["chapters"] == {"created": 2, "existing": 0, "left_out": 0}
    assert [
        each["id"] for each in (await app.client.ask("GET", "/api/v1/imports", headers=headers)).json()["data"]
    ] == [shown["id"]]
    backup = await app.client.ask("GET", "/api/v1/library/backup", headers=headers)
    assert backup.body[:2] == b"\x1f\x8b"
    assert (await app.client.ask("DELETE", path, headers=headers)).status == 204
    assert (await app.client.ask("GET", path, headers=headers)).status == 404
