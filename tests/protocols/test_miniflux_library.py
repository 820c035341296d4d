"""The official Python library, all of it, against a running server."""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import miniflux
import pytest

from tests.api.people import RunningApp, a_running_app
from tests.app import in_settings
from tests.net.builders import a_server, always, answer
from tests.protocols.miniflux import BASE, MinifluxReader, a_miniflux_reader
from tsuzuki.model.harvest import Enclosure

FEED = b"""<rss version="2.0"><channel><title>New here</title><link>https://example.org/</link>
<item><guid>1</guid><title>One</title><link>https://example.org/1</link></item></channel></rss>"""
PAGE = b"<html><body><article>" + b"<p>Wind from the west, and more of it than yesterday.</p>" * 20
OPML = '<opml><body><outline text="Sea"><outline xmlUrl="http://127.0.0.1/a"/></outline></body></opml>'
REFUSED = {
    "create_api_key": 404,
    "create_user": 404,
    "delete_api_key": 404,
    "delete_user": 404,
    "get_api_keys": 404,
    "get_feed_icon": 404,
    "get_icon": 404,
    "get_icon_by_feed_id": 404,
    "get_user_by_id": 404,
    "get_user_by_username": 404,
    "get_users": 404,
    "import_entry": 405,
    "save_entry": 400,
    "update_entry": 400,
    "update_user": 404,
}
"""What this server does not have; all else works."""


@pytest.fixture
async def app(empty_database_url, tmp_path) -> AsyncIterator[RunningApp]:
    settings = {"allow_private_networks": "127.0.0.0/8"}
    async with a_running_app(tmp_path, database_url=in_settings(empty_database_url), **settings) as app:
        yield app


class Trial:
    """Calls every method of a client once, and notes what came of it."""

    def __init__(self, client: miniflux.Client) -> None:
        self._client = client
        self.answers: dict[str, Any] = {}
        self.refused: dict[str, int] = {}

    def __call__(self, name: str, *said: Any, **named: Any) -> Any:
        call: Callable[..., Any] = getattr(self._client, name)
        try:
            self.answers[name] = call(*said, **named)
        except miniflux.ClientError as error:
            reason = error.get_error_reason()
            assert not reason.startswith("status_code"), f"{name} was not told why"
            self.refused[name] = error.status_code
        return self.answers.get(name)


def call_all(client: miniflux.Client, url: str) -> Trial:
    trial = Trial(client)
    me, [feed] = trial("me"), trial("get_feeds")
    call_entries(trial, feed)
    call_feeds(trial, feed, url)
    trial("mark_user_entries_as_read", me["id"])
    call_what_is_elsewhere(trial, me["id"])
    return trial


def call_entries(trial: Trial, feed: Any) -> None:
    entry = trial("get_entries", status=["read", "unread"], limit=1, order="id", direction="desc")["entries"][0]
    number, entry_id, category_id = feed["id"], entry["id"], feed["category"]["id"]
    enclosure = entry["enclosures"][0]["id"]
    trial("get_entry", entry_id)
    trial("get_feed_entry", number, entry_id)
    trial("get_feed_entries", number, starred=False)
    trial("get_category_entry", category_id, entry_id)
    trial("get_category_entries", category_id, search="gull")
    trial("get_enclosure", enclosure)
    trial("update_enclosure", enclosure, media_progression=61)
    trial("fetch_entry_content", entry_id)
    trial("update_entries", [entry_id], "read")
    trial("toggle_bookmark", entry_id)
    trial("save_entry", entry_id)
    trial("update_entry", entry_id, title="x", content="y")
    trial("import_entry", number, url="https://example.org/x")


def call_feeds(trial: Trial, feed: Any, url: str) -> None:
    number, category_id = feed["id"], feed["category"]["id"]
    trial("get_feed", number)
    trial("get_category_feeds", category_id)
    trial("get_feed_counters")
    for name in ("get_feed_icon", "get_icon", "get_icon_by_feed_id"):
        trial(name, number)
    trial("update_feed", number, title="Gulls", crawler=False)
    trial("refresh_feed", number)
    trial("refresh_all_feeds")
    trial("refresh_category", category_id)
    trial("mark_feed_entries_as_read", number)
    trial("mark_category_entries_as_read", category_id)
    trial("discover", url)
    made = trial("create_feed", url)
    trial("delete_feed", made)
    category = trial("create_category", "Comics")
    trial("get_categories")
    trial("update_category", category["id"], "Strips")
    trial("delete_category", category["id"])
    trial("import_feeds", OPML)
    trial("export")
    trial("export_feeds")


def call_what_is_elsewhere(trial: Trial, me: int) -> None:
    trial("get_integrations_status")
    trial("get_version")
    trial("flush_history")
    trial("get_users")
    trial("get_user_by_id", me)
    trial("get_user_by_username", "ann")
    trial("create_user", "bob", "correct horse battery")
    trial("update_user", me, theme="dark")
    trial("delete_user", me)
    trial("get_api_keys")
    trial("create_api_key", "x")
    trial("delete_api_key", 1)


def a_client(ann: MinifluxReader, *, with_token: bool) -> miniflux.Client:
    base = ann.app.client.base + BASE
    if with_token:
        return miniflux.Client(base, api_key=ann.key)
    return miniflux.Client(base, username=ann.user.username, password=ann.key)


async def test_the_library_signs_in_by_name_and_password(app):
    ann = await a_miniflux_reader(app)
    with a_client(ann, with_token=False) as client:
        me = await asyncio.to_thread(client.me)
    assert me["username"] == ann.user.username


async def test_all_of_the_library_works_or_is_told_why_not(app):
    ann = await a_miniflux_reader(app)
    async with (
        a_server(always(answer(200, FEED, content_type="application/rss+xml"))) as site,
        a_server(always(answer(200, PAGE, content_type="text/html"))) as pages,
    ):
        feed = await ann.add_feed("The Gull Letters")
        url, page = f"http://127.0.0.1:{site.port}/feed.xml", f"http://127.0.0.1:{pages.port}/1"
        await ann.release(feed, 1, link=page, enclosures=(Enclosure("https://gull.example/a.mp3", "audio/mpeg"),))
        with a_client(ann, with_token=True) as client:
            trial = await asyncio.to_thread(call_all, client, url)
    public = {name for name, one in vars(miniflux.Client).items() if callable(one) and name[0] != "_"} - {"close"}
    assert trial.answers.keys() | trial.refused.keys() == public
    assert trial.refused == REFUSED
    assert trial.answers["get_categories"][-1]["title"] == "Comics"
    assert trial.answers["update_feed"]["title"] == "Gulls"
    assert await ann.ids("status=unread&feed_id=" + str(trial.answers["get_feed"]["id"])) == []
