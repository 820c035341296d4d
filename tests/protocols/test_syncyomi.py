"""SyncYomi: phones share one file, byte for byte, and none overwrites what it has not seen."""

import asyncio
from contextlib import suppress

from aiohttp import ClientError

from tests.api.people import a_running_app
from tests.app import in_settings
from tests.protocols.people import an_app_reader
from tsuzuki.transfer.synced import MOST_BYTES, VERSIONS

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
