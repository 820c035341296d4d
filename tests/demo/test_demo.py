"""`tsuzuki demo`, without an internet and without leaving anything behind."""

import asyncio
import time
from typing import Any

import pytest

from tests.app import Answer, Client, serving
from tests.waiting import eventually
from tsuzuki.demo import server
from tsuzuki.demo.server import demo_settings, open_demo
from tsuzuki.demo.stories import COMICS, JOURNALS

PATIENCE_S = 30


@pytest.fixture
def hurried(monkeypatch):
    monkeypatch.setattr(server, "EVERY_S", 0.2)


def cookie(answer: Answer) -> dict[str, str]:
    """The header by which a browser comes back."""
    return {"cookie": answer.headers["set-cookie"].partition(";")[0]}


async def told(guest: Client, path: str, headers: dict[str, str]) -> Any:
    return (await guest.get(f"/api/v1{path}", headers=headers)).json()["data"]


async def test_a_guest_gets_something_new_of_everything_within_seconds(tmp_path, hurried):
    async with open_demo({}, tmp_path) as demo, serving(demo.app) as guest:
        welcome = await guest.get("/")
        assert (welcome.status, welcome.headers["location"]) == (303, "/")
        own = cookie(welcome)
        assert (await told(guest, "/me", own))["role"] == "reader"
        wanted = {comic.title for comic in COMICS} | {post.title for post in JOURNALS}
        deadline = time.monotonic() + PATIENCE_S
        seen: set[str] = set()
        while seen < wanted and time.monotonic() < deadline:
            await asyncio.sleep(0.2)
            feeds = {feed["id"]: feed["name"] for feed in await told(guest, "/feeds", own)}
            for entry in await told(guest, "/inbox?limit=100", own):
                is_comic = entry["kind"] == "chapter"
                seen.add(entry["chapter"]["series_title"] if is_comic else feeds[entry["item"]["feed_id"]])
        assert seen == wanted


async def test_a_suspended_demo_feed_falls_silent_alone(tmp_path, hurried):
    async with open_demo({}, tmp_path) as demo, serving(demo.app) as guest:
        own = cookie(await guest.get("/"))
        quiet, loud = [feed["id"] for feed in await told(guest, "/feeds", own)]
        changed = await guest.ask("PATCH", f"/api/v1/feeds/{quiet}", headers=own, json={"suspended": True})
        assert changed.status == 200
        await grown(guest, loud, own)  # what was under way has come
        before = await count(guest, quiet, own)
        for _ in range(2):
            await grown(guest, loud, own)
        assert await count(guest, quiet, own) == before


async def count(guest: Client, feed: str, headers: dict[str, str]) -> int:
    return int((await told(guest, f"/feeds/{feed}", headers))["item_count"])


async def grown(guest: Client, feed: str, headers: dict[str, str]) -> None:
    """Wait until this feed has something more."""
    before = await count(guest, feed, headers)

    async def more() -> bool:
        return await count(guest, feed, headers) > before

    await eventually(more)


async def test_who_has_a_session_is_not_signed_in_again(tmp_path):
    async with open_demo({}, tmp_path) as demo, serving(demo.app) as admin:
        answer = await admin.ask(
            "POST", "/api/v1/sessions", json={"username": "admin", "password": demo.admin_password}
        )
        assert answer.status == 200
        own = cookie(answer)
        assert (await admin.get("/", headers=own)).status == 200
        assert (await told(admin, "/me", own))["role"] == "admin"


async def test_a_foreign_session_cookie_does_not_keep_the_guest_out(tmp_path):
    async with open_demo({}, tmp_path) as demo, serving(demo.app) as guest:
        answer = await guest.get("/", headers={"cookie": "tsuzuki=of-another-server"})
        assert (answer.status, answer.headers["location"]) == (303, "/")
        assert (await told(guest, "/me", cookie(answer)))["role"] == "reader"


def test_the_demo_takes_only_port_and_log_from_the_environment(tmp_path):
    environ = {"TSUZUKI_PORT": "9", "TSUZUKI_DATABASE_URL": "postgresql://mine", "TSUZUKI_HOST": "0.0.0.0"}
    settings = demo_settings(environ, tmp_path, "x")
    assert (settings.port, settings.host) == (9, "127.0.0.1")
    assert settings.database_url == f"sqlite://{tmp_path}/tsuzuki.db"
