"""SyncYomi: phones share one file, byte for byte, and none overwrites what it has not seen."""

import asyncio
import os
import tracemalloc
from contextlib import AsyncExitStack, suppress

import pytest
from aiohttp import ClientError

from tests.api.people import a_running_app
from tests.app import Answer, in_settings
from tests.protocols.people import an_app_reader
from tsuzuki.transfer.synced import AT_ONCE, MOST_BYTES, VERSIONS

CONTENT = "/syncyomi/api/sync/content"
EVENT = "/syncyomi/api/sync/event"
BODY = bytes(range(256)) * 1_000


async def ask(reader, method, body=None, *, key=None, **headers):
    said = {"x-api-token": reader.key if key is None else key} | {
        name.replace("_", "-"): one for name, one in headers.items()
    }
    return await reader.app.client.ask(method, CONTENT, headers=said, data=body)


async def test_a_file_is_stored_and_given_out_by_its_etag(empty_database_url, tmp_path):
    async with a_running_app(tmp_path, database_url=in_settings(empty_database_url)) as app:
        ann = await an_app_reader(app, "syncyomi")
        assert (await ask(ann, "GET")).status == 404
        stored = await ask(ann, "PUT", BODY)
        assert stored.status == 200
        etag = stored.headers["etag"]
        assert etag.startswith("uuid=")
        found = await ask(ann, "GET")
        assert (found.status, found.body, found.headers["etag"]) == (200, BODY, etag)
        assert found.headers["content-type"] == "application/octet-stream"
        for said in (etag, f'"{etag}"'):
            assert (await ask(ann, "GET", if_none_match=said)).status == 304
        newer = await ask(ann, "PUT", b"newer", if_match=etag)
        assert newer.status == 200
        stale = await ask(ann, "PUT", b"stale", if_match=etag)
        assert stale.status == 412
        assert (await ask(ann, "GET")).body == b"newer"
        assert (await ask(ann, "PUT", b"over it")).status == 200  # whoever says no ETag overwrites


async def test_of_two_phones_at_once_one_wins(empty_database_url, tmp_path):
    async with a_running_app(tmp_path, database_url=in_settings(empty_database_url)) as app:
        ann = await an_app_reader(app, "syncyomi")
        etag = (await ask(ann, "PUT", b"first")).headers["etag"]
        answers = await asyncio.gather(*(ask(ann, "PUT", b"%d" % n, if_match=etag) for n in range(8)))
        assert sorted(answer.status for answer in answers) == [200] + [412] * 7
        [winner] = [n for n, answer in enumerate(answers) if answer.status == 200]
        assert (await ask(ann, "GET")).body == b"%d" % winner


@pytest.mark.both_engines
async def test_the_exchange_that_apps_know(empty_database_url, tmp_path):
    """The requests of two phones, one after the other, with bytes that are no backup: nothing reads them."""
    async with a_running_app(tmp_path, database_url=in_settings(empty_database_url)) as app:
        ann = await an_app_reader(app, "syncyomi")
        first, second = os.urandom(300_000), b"\x0a\xff\xff\xff\xff\x0f" + os.urandom(1000)
        said: list[Answer] = []
        for body, headers in (
            (None, {}),
            (first, {}),
            (None, {}),
            (None, {"if_none_match": 1}),
            (second, {"if_match": 1}),
            (b"from the other phone", {"if_match": 1}),
            (None, {"if_none_match": 1}),
        ):
            sent = {name: said[place].headers["etag"] for name, place in headers.items()}
            said.append(await ask(ann, "GET" if body is None else "PUT", body, **sent))
        assert [answer.status for answer in said] == [404, 200, 200, 304, 200, 412, 200]
        assert [said[place].body for place in (2, 6)] == [first, second]
        etags = [said[place].headers.get("etag") for place in (1, 2, 3, 4, 6)]
        assert etags == [etags[0]] * 3 + [etags[3]] * 2
        assert etags[3] != etags[0]
        event = {"event": "SYNC_SUCCESS", "device_Name": "phone", "message": "x" * 2000}
        assert (await app.client.ask("POST", EVENT, headers={"x-api-token": ann.key}, json=event)).status == 200


async def test_an_older_version_can_be_had_back(empty_database_url, tmp_path):
    """By the API and on the page of imports; phones then get it by its own ETag."""
    async with a_running_app(tmp_path, database_url=in_settings(empty_database_url)) as app:
        ann, ben = await an_app_reader(app, "syncyomi"), await an_app_reader(app, "syncyomi")
        own, other = await app.signed_in(ann.user), await app.signed_in(ben.user)
        assert (await own.get("/synced")).json()["data"] == []
        await ask(ann, "PUT", BODY)
        broken = (await ask(ann, "PUT", b"broken")).headers["etag"]
        current, older = (await own.get("/synced")).json()["data"]
        assert [(one["size"], one["is_current"]) for one in (current, older)] == [(6, True), (len(BODY), False)]
        file = await own.get(f"/synced/{older['id']}/file")
        assert (file.status, file.body) == (200, BODY)
        assert (await other.get(f"/synced/{older['id']}/file")).status == 404
        assert (await other.post(f"/synced/{older['id']}/restore")).status == 404
        restored = await own.post(f"/synced/{older['id']}/restore")
        assert (restored.status, restored.json()["data"]["is_current"]) == (201, True)
        found = await ask(ann, "GET", if_none_match=broken)
        assert (found.status, found.body) == (200, BODY)
        assert (await ask(ann, "PUT", b"late", if_match=broken)).status == 412
        page = await app.client.get("/import", headers=own.headers)
        assert page.text.count('action="/import/synced/') == 2
        form = {"headers": own.headers | {"content-type": "application/x-www-form-urlencoded"}, "data": b""}
        done = await app.client.ask("POST", f"/import/synced/{current['id']}/restore", **form)
        assert done.status == 303, done.text
        assert (await ask(ann, "GET")).body == b"broken"
        assert len((await own.get("/synced")).json()["data"]) == 4


async def test_many_large_bodies_at_once_take_little_memory(tmp_path):
    """Neither here nor in a folder that is kept in memory: four are received at a time, on the disk of our data."""
    async with a_running_app(tmp_path) as app:
        readers = [await an_app_reader(app, "syncyomi") for _ in range(3)]
        synced = app.synced
        size, held = 40, []

        async def large():
            for _ in range(size):
                held.append(len(list((tmp_path / "images" / "drafts").glob("synced-*"))))
                yield b"\0" * (1 << 20)

        tracemalloc.start()
        answers = await asyncio.gather(*(ask(reader, "PUT", large()) for reader in readers * 3))
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert {answer.status for answer in answers} == {200}
        assert max(held) <= AT_ONCE
        assert peak < 3 * size * (1 << 20) / 4, f"{peak:,} bytes for nine bodies of {size} MB"
        assert not list((tmp_path / "images" / "drafts").glob("synced-*"))
        assert [one.size for one in await synced.list(readers[0].shelf)] == [size << 20] * 3


async def test_whoever_waits_too_long_for_a_place_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr("tsuzuki.transfer.synced.PATIENCE_S", 0.05)
    async with a_running_app(tmp_path) as app, AsyncExitStack() as others:
        ann = await an_app_reader(app, "syncyomi")
        for _ in range(AT_ONCE):
            await others.enter_async_context(app.synced.draft())
        answer = await ask(ann, "PUT", BODY)
        assert (answer.status, answer.json()["error"]) == (503, "Too many devices are synchronising at the moment.")
        await others.aclose()
        assert (await ask(ann, "PUT", BODY)).status == 200


async def test_old_versions_make_room(tmp_path):
    async with a_running_app(tmp_path) as app:
        ann = await an_app_reader(app, "syncyomi")
        for n in range(VERSIONS + 3):
            await ask(ann, "PUT", b"%d" % n)
        assert len(list((tmp_path / "synced").glob("*.tachibk"))) == VERSIONS
        assert (await ask(ann, "GET")).body == b"%d" % (VERSIONS + 2)


async def test_others_neither_read_nor_write_it(tmp_path):
    async with a_running_app(tmp_path) as app:
        ann, ben = await an_app_reader(app, "syncyomi"), await an_app_reader(app, "syncyomi")
        fever = await an_app_reader(app, "fever")
        await ask(ann, "PUT", BODY)
        for key in ("", "wrong", fever.key):
            for method in ("GET", "PUT"):
                assert (await ask(ann, method, b"x" if method == "PUT" else None, key=key)).status == 401
        articles = await an_app_reader(app, "syncyomi", kinds="item")
        for method in ("GET", "PUT"):  # a library is of comics
            assert (await ask(articles, method, b"x" if method == "PUT" else None)).status == 403
        assert (await ask(ben, "GET")).status == 404
        assert (await ask(ann, "GET")).body == BODY


async def test_what_is_too_large_is_refused_before_it_is_stored(tmp_path):
    async with a_running_app(tmp_path) as app:
        ann = await an_app_reader(app, "syncyomi")

        async def endless():
            for _ in range(MOST_BYTES // (1 << 20) + 2):
                yield b"\0" * (1 << 20)

        with suppress(ClientError):  # the server hangs up on what it does not want to hear to its end
            assert (await ask(ann, "PUT", endless())).status == 413
        assert (await ask(ann, "GET")).status == 404
        assert not list((tmp_path / "synced").rglob("*.tachibk"))


async def test_what_apps_tell_is_heard(tmp_path):
    async with a_running_app(tmp_path) as app:
        ann = await an_app_reader(app, "syncyomi")
        said = {"event": "SYNC_STARTED", "device_name": "phone"}
        assert (await app.client.ask("POST", EVENT, headers={"x-api-token": ann.key}, json=said)).status == 200
        assert (await app.client.ask("POST", EVENT, json=said)).status == 401
