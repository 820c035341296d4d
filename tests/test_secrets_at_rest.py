"""R123: a copy of the database without its key reveals no secret."""

import asyncio
import zipfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import asyncpg
import pytest
from structlog.testing import capture_logs

from tests.api.people import RunningApp, Visitor, a_running_app
from tests.app import in_settings
from tests.crawler.builders import a_source_body
from tests.databases import empty
from tests.notifications.receivers import Receiver, a_receiver
from tests.web.guests import a_guest
from tsuzuki.db import Database, DatabaseOptions, Tx
from tsuzuki.db.backup import back_up
from tsuzuki.db.copy_database import copy_database
from tsuzuki.db.queries import parse_queries
from tsuzuki.db.sqlite_file import path_of
from tsuzuki.inbox.feeds_out.hub import StoredSubscription
from tsuzuki.model.secrets import HUB
from tsuzuki.transfer.archive.shelf_export import ShelfExport

CANARY = "canary5ecret"
KEY, OTHER = "k" * 40, "z" * 40
PROXY = f"http://user:{CANARY}@127.0.0.1:9"

_q = parse_queries(
    "tests",
    """-- name: set_channel
update channel set config = :config;
-- name: set_source
update source set config = :config;
-- name: set_proxy
update feed set proxy = :proxy;
-- name: set_note
update source_meta set value = :value;
-- name: add_subscription
insert into hub_subscription (feed_out_id, format, topic, callback, callback_hash, host, secret, asked_at, created_at)
select id, 'rss', :topic, :callback, secret_hash, 'reader.example', :secret, 0, 0 from feed_out;
-- name: subscription
select id, feed_out_id, topic, callback, host, secret, lease_until, asked_mode, asked_secret, asked_lease, asked_at,
  failures
from hub_subscription;
-- name: forget_key
delete from server_secret where name = 'sealed-with';""",
)


@asynccontextmanager
async def a_server(folder: Path, url: str, **settings: object) -> AsyncIterator[tuple[RunningApp, Visitor]]:
    wanted = {"database_url": in_settings(url), "allow_private_networks": "127.0.0.0/8"} | settings
    async with a_running_app(folder / "data", **wanted) as app:
        yield app, await app.signed_in(await app.admin())


async def fill(admin: Visitor, hook: str = f"http://127.0.0.1:9/{CANARY}") -> dict[str, str]:
    """One secret of each kind."""
    config = {"url": hook, "topic": "news", "token": CANARY}
    made = [
        await admin.post("/channels", {"kind": "ntfy", "name": "Phone", "config": config}),
        await admin.post(
            "/admin/crawler/sources",
            a_source_body(
                extensionid="org.mangadex",
                config={"proxy": PROXY, "headers": {"Cookie": f"sid={CANARY}"}, "ratelimit": 2},
            ),
        ),
        await admin.post("/feeds", {"link": "http://127.0.0.1:9/feed", "proxy": PROXY}),
    ]
    assert [answer.status for answer in made] == [201, 201, 201], [answer.text for answer in made]
    found = [answer.json()["data"] for answer in made]
    ids = [str(one.get("channel", one)["id"]) for one in found]
    note = await admin.ask("PUT", f"/sources/{ids[1]}/meta", {"key": "login_token", "value": CANARY})
    assert note.status == 200, note.text
    return dict(zip(("channel", "source", "feed"), ids, strict=True))


@asynccontextmanager
async def running(app: RunningApp) -> AsyncIterator[None]:
    """With the workers."""
    app.worker_loops.start()
    try:
        yield
    finally:
        await app.worker_loops.stop()


async def arrived(receiver: Receiver) -> None:
    for _ in range(500):
        if receiver.got:
            return
        await asyncio.sleep(0.02)


async def make_plain(app: RunningApp) -> None:
    """As a version from before left it."""
    config = {"url": f"http://127.0.0.1:9/{CANARY}", "topic": "news", "token": CANARY, "priority": 3}

    async def store(tx: Tx) -> None:
        await tx.run(_q.set_channel, config=config)
        await tx.run(_q.set_source, config={"password": CANARY, "proxy": PROXY, "ratelimit": 2})
        await tx.run(_q.set_proxy, proxy=PROXY)
        await tx.run(_q.set_note, value=CANARY)
        await tx.run(_q.forget_key)

    await app.db.with_tx(store)


async def everything(url: str) -> bytes:
    """All that is stored, as somebody reads it who has the disk."""
    if url.startswith("sqlite:"):
        path = path_of(url)
        return b"".join(file.read_bytes() for file in path.parent.glob(f"{path.name}*"))
    server = await asyncpg.connect(url)
    try:
        names = await server.fetch("select tablename from pg_tables where schemaname = 'public'")
        rows = [await server.fetch(f'select t::text from "{name}" as t') for (name,) in names]
    finally:
        await server.close()
    return repr(rows).encode()


async def test_no_secret_is_stored_as_it_is(tmp_path, database_url):
    async with a_server(tmp_path, database_url) as (_, admin):
        await fill(admin)
        assert CANARY.encode() not in await everything(database_url)
    assert CANARY.encode() not in await everything(database_url)
    assert (tmp_path / "data" / "secret.key").stat().st_mode & 0o777 == 0o600


async def test_secrets_are_used_and_shown_as_ever(tmp_path, database_url):
    """After a restart too: a channel is told with its token, and a proxy leads to the same feed."""
    async with a_receiver() as receiver:
        async with a_server(tmp_path, database_url) as (_, admin):
            ids = await fill(admin, f"{receiver.url}/{CANARY}")
        async with a_server(tmp_path, database_url) as (app, admin):
            source = (await admin.get(f"/admin/crawler/sources/{ids['source']}")).json()["data"]
            assert source["config"]["proxy"] == "http://user:***@127.0.0.1:9"
            assert source["config"]["headers"] == {"Cookie": "***"}
            stored = await app.crawling.sources.get(int(ids["source"]))
            assert (stored.config["proxy"], stored.config["headers"]) == (PROXY, {"Cookie": f"sid={CANARY}"})
            again = await admin.post("/feeds", {"link": "http://127.0.0.1:9/feed", "proxy": PROXY})
            assert again.status == 409
            async with running(app):
                assert (await admin.post(f"/channels/{ids['channel']}/test")).status == 202
                await arrived(receiver)
    assert receiver.got[0].headers["authorization"] == f"Bearer {CANARY}"


async def test_what_was_stored_plainly_is_sealed_at_the_start(tmp_path, database_url):
    async with a_server(tmp_path, database_url) as (app, admin):
        ids = await fill(admin)
        await make_plain(app)
        assert CANARY.encode() in await everything(database_url)
    for _ in range(2):
        async with a_server(tmp_path, database_url) as (app, admin):
            stored = await app.crawling.sources.get(int(ids["source"]))
            assert stored.config == {"password": CANARY, "proxy": PROXY, "ratelimit": 2}
            feed = (await admin.get(f"/feeds/{ids['feed']}")).json()["data"]
            assert feed["proxy"] == "http://user:***@127.0.0.1:9"
        assert CANARY.encode() not in await everything(database_url)


async def test_a_new_key_in_front_of_the_old_takes_over(tmp_path, database_url):
    async with a_server(tmp_path, database_url, secret_key=KEY) as (_, admin):
        ids = await fill(admin)
    async with a_server(tmp_path, database_url, secret_key=f"{OTHER},{KEY}"):
        pass
    async with a_server(tmp_path, database_url, secret_key=OTHER) as (app, admin):
        assert (await app.crawling.sources.get(int(ids["source"]))).config["proxy"] == PROXY
        again = await admin.post("/feeds", {"link": "http://127.0.0.1:9/feed", "proxy": PROXY})
        assert again.status == 409


async def test_a_feed_out_keeps_its_address_until_replaced(tmp_path, database_url):
    """Its readers are served under any key; a new key in front takes over what the hub knows too."""
    topic = f"http://tsuzuki.example/out/{CANARY}.rss"
    async with a_server(tmp_path, database_url, secret_key=KEY) as (app, admin):
        made = (await admin.post("/feeds-out", {"name": "Out"})).json()["data"]
        await app.db.with_tx(
            lambda tx: tx.run(_q.add_subscription, topic=tx.vault.seal(topic, HUB), callback=CANARY, secret=CANARY)
        )
    with capture_logs() as logs:
        async with a_server(tmp_path, database_url, secret_key=OTHER) as (app, admin):
            [shown] = (await admin.get("/feeds-out")).json()["data"]
            assert shown["paths"] == {}
            assert (await app.client.ask("GET", made["paths"]["rss"])).status == 200
            page = (await (await a_guest(app, await app.admin())).see("/account/feeds-out")).text
            assert ("Replace it." in page, "enc:v1:" in page) == (True, False)
    (told,) = [line for line in logs if line["event"] == "secrets_unreadable"]
    assert (told["feeds_out"], told["hub_subscriptions"]) == (["Out"], ["reader.example"])
    async with a_server(tmp_path, database_url, secret_key=f"{OTHER},{KEY}") as (_, admin):
        [shown] = (await admin.get("/feeds-out")).json()["data"]
        assert shown["paths"] == made["paths"]
    assert CANARY.encode() not in await everything(database_url)
    async with a_server(tmp_path, database_url, secret_key=OTHER) as (app, admin):
        assert [one["paths"] for one in (await admin.get("/feeds-out")).json()["data"]] == [made["paths"]]
        stored = await app.db.read(lambda tx: tx.one(StoredSubscription, _q.subscription))
        assert (stored.topic, stored.callback, stored.secret) == (topic, CANARY, CANARY)


async def test_a_server_with_another_key_reports_what_is_lost(tmp_path, database_url):
    """Secrets are typed again one by one; with the right key all is as before."""
    async with a_server(tmp_path, database_url, secret_key=KEY) as (_, admin):
        ids = await fill(admin)
    with capture_logs() as logs:
        async with a_server(tmp_path, database_url, secret_key=OTHER) as (app, admin):
            await says_what_is_unreadable(app, admin, ids)
    (told,) = [line for line in logs if line["event"] == "secrets_unreadable"]
    assert (told["channels"], len(told["sources"]), told["feeds"], told["notes"]) == (
        *(["Phone"], 1, ["http://127.0.0.1:9/feed"], ["login_token"]),
    )
    async with a_server(tmp_path, database_url, secret_key=KEY) as (app, _):
        assert (await app.crawling.sources.get(int(ids["source"]))).config["proxy"] == PROXY


async def says_what_is_unreadable(app: RunningApp, admin: Visitor, ids: dict[str, str]) -> None:
    where = f"/admin/crawler/sources/{ids['source']}"
    shown = (await admin.get(where)).json()["data"]
    assert shown["config"] == {"proxy": "***", "headers": {"Cookie": "***"}, "ratelimit": 2}
    assert (await admin.ask("PATCH", where, {"isenabled": False})).status == 200
    kept = await admin.ask("PATCH", where, {"config": shown["config"]})
    assert {one["field"] for one in kept.json()["details"]} == {"config.proxy", "config.headers.Cookie"}
    assert "Enter it again" in kept.json()["error"]
    (channel,) = (await admin.get("/channels")).json()["data"]
    assert set(channel["config"].values()) == {"***"}
    async with running(app):
        await admin.post(f"/channels/{ids['channel']}/test")
        await admin.post(f"/feeds/{ids['feed']}/refresh")
        feed: dict[str, Any] = {}
        for _ in range(500):
            (channel,) = (await admin.get("/channels")).json()["data"]
            feed = (await admin.get(f"/feeds/{ids['feed']}")).json()["data"]
            if channel["last_error"] and feed["fetch_state"]["last_error"]:
                break
            await asyncio.sleep(0.02)
    assert "secret key" in channel["last_error"]
    operator = await a_guest(app, await app.admin())
    for page in (f"/admin/sources/{ids['source']}/edit", "/notifications", f"/feeds/{ids['feed']}"):
        shown_page = await operator.see(page)
        assert (shown_page.status, "enc:v1:" in shown_page.text) == (200, False), page
    assert (feed["proxy"], "secret key" in feed["fetch_state"]["last_error"]) == ("***", True)


async def _no_index(_: Database) -> None:
    return None


@pytest.mark.parametrize("engine", ["sqlite"])
async def test_a_backup_and_a_copy_open_with_the_same_key(tmp_path, database_url, postgres_url):
    async with a_server(tmp_path, database_url, secret_key=KEY) as (_, admin):
        ids = await fill(admin)
    backup = tmp_path / "backup.db"
    back_up(path_of(database_url), backup)
    assert CANARY.encode() not in backup.read_bytes()
    async with empty(postgres_url) as target:
        await copy_database(
            DatabaseOptions(database_url), DatabaseOptions(target), now=0, index=_no_index, watch=lambda *_: None
        )
        for number, url in enumerate((f"sqlite://{backup}", target)):
            async with a_server(tmp_path / str(number), url, secret_key=KEY) as (app, _):
                assert (await app.crawling.sources.get(int(ids["source"]))).config["proxy"] == PROXY
            assert CANARY.encode() not in await everything(url)


async def test_an_archive_holds_no_secret_and_no_sealed_text(tmp_path, database_url):
    async with a_server(tmp_path, database_url) as (app, admin):
        await fill(admin)
        user = await app.admin()
        shelf = await app.accounts.current_user.shelf_of(user)
        export = ShelfExport(app.db, app.time)
        await export.write(tmp_path / "shelf.zip", shelf.id, user.id, lambda *_: None)
    with zipfile.ZipFile(tmp_path / "shelf.zip") as archive:
        written = "".join(archive.read(name).decode() for name in archive.namelist())
    assert "http://127.0.0.1:9/feed" in written
    assert CANARY not in written
    assert "enc:v1:" not in written
