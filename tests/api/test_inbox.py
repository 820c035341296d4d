"""Inbox, events and channels over a real server: whose they are, what they show, and how a stream ends and resumes."""

import asyncio
import os
from collections import Counter
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import msgspec
import pytest
from openapi_spec_validator import OpenAPIV31SpecValidator

from tests.api.people import API, Visitor
from tests.app import serving_resources
from tests.builders import CHEAPEST, NOON, stored_feed, stored_series
from tests.delivery.builders import entry_ids, follow, publish, release, subscribe, task_keys
from tests.net.builders import a_client
from tests.queue.builders import wall
from tests.shelves.builders import shelf_deps
from tests.waiting import eventually
from tsuzuki.accounts.credentials import Passwords
from tsuzuki.accounts.deps import AccountDeps
from tsuzuki.accounts.policy import FailureLimits
from tsuzuki.accounts.services import Accounts, build_accounts
from tsuzuki.accounts.sessions import Device
from tsuzuki.accounts.sharing import shelf_user
from tsuzuki.accounts.shelves import list_member_shelves_tx, set_default_shelf_tx
from tsuzuki.accounts.tokens import TokenRequest
from tsuzuki.accounts.types import SYSTEM
from tsuzuki.accounts.users import NewPerson
from tsuzuki.api import channels, inbox
from tsuzuki.api.build import build_api
from tsuzuki.api.endpoints import AccountsGate
from tsuzuki.coord.wakeup import MemoryWakeup
from tsuzuki.http.auth import Callers
from tsuzuki.inbox import events as service
from tsuzuki.inbox.events import Events
from tsuzuki.inbox.service import Inbox
from tsuzuki.inbox.store import mark_entries_tx
from tsuzuki.model.times import Millis
from tsuzuki.notifications.channels import MOST_CHANNELS, Channels
from tsuzuki.notifications.tasks import SENDS
from tsuzuki.shelves.tags import Tags

ENDPOINTS = (*inbox.ENDPOINTS, *channels.ENDPOINTS)
HOOK = {"kind": "webhook", "name": "Hook", "config": {"url": "http://127.0.0.1:9/key"}}


class DeliveryServices(msgspec.Struct, frozen=True):
    """What its handlers take."""

    inbox: Inbox
    tags: Tags
    events: Events
    channels: Channels
    accounts: Accounts


class InboxServer:
    """A server with only what delivery offers."""

    def __init__(self, db: Any, stack: AsyncExitStack) -> None:
        self.db = db
        self.wakeup = MemoryWakeup()
        self.accounts = build_accounts(
            AccountDeps(db, wall, os.urandom), FailureLimits(), passwords=Passwords(CHEAPEST)
        )
        self.events = Events(db, self.wakeup, wall)
        self._stack = stack

    async def open(self) -> "InboxServer":
        callers = Callers(self.accounts.sessions, self.accounts.tokens)
        client = await self._stack.enter_async_context(a_client())
        channels = Channels(self.db, client, self.wakeup, clock=wall)
        services = DeliveryServices(
            Inbox(self.db, wall, self.wakeup.wake), Tags(shelf_deps(self.db)), self.events, channels, self.accounts
        )
        self.api = build_api(services, version="0", gate=AccountsGate(callers), endpoints=ENDPOINTS)
        self.client = await self._stack.enter_async_context(serving_resources(self.api.resources))
        self._running = asyncio.create_task(self.events.run())
        self._stack.push_async_callback(self._stop)
        return self

    async def _stop(self) -> None:
        self.events.close()
        self._running.cancel()
        await asyncio.gather(self._running, return_exceptions=True)

    async def reader(self, *scopes: Any) -> tuple[Visitor, Any]:
        """Somebody with a tenant and a shelf of their own: by session, or by a token with these scopes."""
        tenant = await self.accounts.tenants.add(SYSTEM, "A")
        name = f"user{os.urandom(4).hex()}"
        user = await self.accounts.users.add(SYSTEM, NewPerson(username=name, tenant_id=tenant.public_id))
        [shelf] = await self.db.read(lambda tx: list_member_shelves_tx(tx, user.id))
        if scopes:
            made = await self.accounts.tokens.make_for(SYSTEM, user, TokenRequest(name="test", scopes=scopes))
            return Visitor(self.client, token=made.key), shelf.id
        return Visitor(self.client, cookie=await self._session(user)), shelf.id

    async def _session(self, user: Any) -> str:
        device, sign_in = Device("127.0.0.1", "test"), self.accounts.sign_in
        opened = await self.db.with_tx(lambda tx: sign_in.open_session_tx(tx, user, device, reason="test"))
        key: str = opened.key
        return key

    def wake(self, delivered: Any) -> None:
        self.wakeup.wake(*delivered.wakeups)


@pytest.fixture
async def server(db):
    async with AsyncExitStack() as stack:
        yield await InboxServer(db, stack).open()


@asynccontextmanager
async def listening(server, visitor, **headers):
    """An open stream, as messages."""
    said = visitor.headers | {name.replace("_", "-"): value for name, value in headers.items()}
    async with server.client._session.get(f"{server.client.base}{API}/events", headers=said) as response:
        assert response.status == 200
        yield response, _messages(response)


async def _messages(response):
    fields: dict[str, str] = {}
    async for raw in response.content:
        line = raw.decode().rstrip("\n")
        if not line and "event" in fields:
            yield fields
            fields = {}
        elif ": " in line:
            name, _, value = line.partition(": ")
            fields[name] = value


async def some(messages, count):
    async with asyncio.timeout(10):
        return [await anext(messages) for _ in range(count)]


# -- the inbox


async def test_the_inbox_shows_items_and_chapters_page_by_page(db, server):
    visitor, shelf = await server.reader()
    feed, series = await stored_feed(db), await stored_series(db, "One")
    await subscribe(db, shelf, feed)
    await follow(db, shelf, series)
    await publish(db, feed, "ab")
    await release(db, series, [45], now=Millis(NOON + 5))
    first = (await visitor.get("/inbox?limit=2")).json()
    assert (first["meta"]["total"], [entry["kind"] for entry in first["data"]]) == (3, ["chapter", "item"])
    chapter = first["data"][0]
    assert chapter.keys() == {"id", "kind", "unread", "saved", "created_at", "chapter"}
    assert (chapter["chapter"]["series_title"], chapter["chapter"]["number"]) == ("One", "45")
    rest = (await visitor.get(f"/inbox?limit=2&before={first['meta']['next_cursor']}")).json()
    assert (rest["meta"]["next_cursor"], [entry["item"]["title"] for entry in rest["data"]]) == (None, ["Item a"])
    only = (await visitor.get("/inbox?kind=chapter&unread=true")).json()
    assert only["data"] == [chapter]
    counts = (await visitor.get("/counts")).json()["data"]
    assert (counts["unread"], counts["items"], counts["chapters"]) == (3, 2, 1)


async def test_i8_nobody_sees_the_inbox_of_another_tenant(db, server):
    _, shelf = await server.reader()
    feed = await stored_feed(db)
    await subscribe(db, shelf, feed)
    await publish(db, feed, "a")
    stranger, _ = await server.reader()
    assert (await stranger.get("/inbox")).json()["data"] == []
    assert (await Visitor(server.client).get("/inbox")).status == 401


@pytest.mark.parametrize("query", ["limit=0", "limit=101", "kind=other", "before=nonsense", "unread=maybe", "more=1"])
async def test_a_wrong_question_is_refused_by_name(server, query):
    visitor, _ = await server.reader()
    answer = await visitor.get(f"/inbox?{query}")
    assert (answer.status, answer.json()["code"]) == (400, "VALIDATION_ERROR")
    assert answer.json()["details"][0]["field"] == query.partition("=")[0]


# -- the stream


async def test_a_stream_resumes_without_a_gap(db, server):
    visitor, shelf = await server.reader()
    feed = await stored_feed(db)
    await subscribe(db, shelf, feed)
    async with listening(server, visitor) as (response, messages):
        assert response.headers["content-type"].startswith("text/event-stream")
        await some(messages, 2)
        server.wake(await publish(db, feed, "a"))
        entry, counts = await some(messages, 2)
    assert (entry["event"], msgspec.json.decode(entry["data"])["count"]) == ("entry", 1)
    assert (counts["event"], msgspec.json.decode(counts["data"])["unread"]) == ("counts", 1)
    await publish(db, feed, "bc")
    ids = await entry_ids(db, shelf)
    await db.with_tx(lambda tx: mark_entries_tx(tx, shelf, ids[:1], unread=False, now=NOON))
    async with listening(server, visitor, last_event_id=entry["id"]) as (_, messages):
        first, second, last = await some(messages, 3)
    assert msgspec.json.decode(first["data"])["missed"] is False
    assert (second["event"], msgspec.json.decode(second["data"])["count"]) == ("entry", 2)
    assert msgspec.json.decode(last["data"])["unread"] == 2


async def test_a_stream_ends_when_its_shelf_is_taken_away(db, server):
    """I8: with the next message, which the reader does not get."""
    tenant = await server.accounts.tenants.add(SYSTEM, "A")
    names = [f"user{os.urandom(4).hex()}" for _ in range(2)]
    owner, other = [
        await server.accounts.users.add(SYSTEM, NewPerson(username=name, tenant_id=tenant.public_id)) for name in names
    ]
    shelf = await server.accounts.current_user.shelf_of(owner)
    await server.accounts.sharing.share(shelf_user(owner), shelf.public_id, other.username, "reader")
    await db.with_tx(lambda tx: set_default_shelf_tx(tx, other.id, shelf.id, now=NOON))
    feed = await stored_feed(db)
    await subscribe(db, shelf.id, feed)
    async with listening(server, Visitor(server.client, cookie=await server._session(other))) as (_, messages):
        await some(messages, 2)
        server.wake(await publish(db, feed, "a"))
        assert [message["event"] for message in await some(messages, 2)] == ["entry", "counts"]
        await server.accounts.sharing.remove(shelf_user(owner), shelf.public_id, other.username)
        server.wake(await publish(db, feed, "b"))
        async with asyncio.timeout(10):
            assert [message async for message in messages] == []


async def test_a_stream_needs_a_reader_and_a_scope(server):
    assert (await Visitor(server.client).get("/events")).status == 401
    visitor, _ = await server.reader("write")
    assert (await visitor.get("/events")).status == 403


async def test_a_reader_who_leaves_is_noticed(db, server):
    visitor, _ = await server.reader()
    async with listening(server, visitor) as (_, messages):
        await some(messages, 2)
        assert server.events._streams._listeners

    async def nobody_listens():
        return not server.events._streams._listeners

    await eventually(nobody_listens)


async def test_streams_end_when_the_process_stops(server):
    visitor, _ = await server.reader()
    async with listening(server, visitor) as (response, messages):
        await some(messages, 2)
        server.events.close()
        async with asyncio.timeout(5):
            assert [message async for message in messages] == []
        assert response.content.at_eof()


# -- channels


async def test_a_channel_is_made_shown_changed_tried_and_removed(db, server):
    visitor, _ = await server.reader()
    made = await visitor.post("/channels", HOOK)
    assert made.status == 201
    data = made.json()["data"]
    assert data["made"]["secret"].startswith("whsec_")
    path = f"/channels/{data['channel']['id']}"
    listed = (await visitor.get("/channels")).json()["data"]
    assert listed == [data["channel"]]
    assert listed[0]["config"] == {"url": "http://127.0.0.1:9/***", "secret": "***"}
    changed = await visitor.ask("PATCH", path, {"name": "Other", "config": listed[0]["config"], "is_enabled": False})
    assert (changed.status, changed.json()["data"]["name"], changed.json()["data"]["is_enabled"]) == (
        200,
        "Other",
        False,
    )
    off = await visitor.post(f"{path}/test")
    assert (off.status, "Turn it on first" in off.json()["error"]) == (409, True)
    await visitor.ask("PATCH", path, {"is_enabled": True})
    assert (await visitor.post(f"{path}/test")).status == 202
    assert len(await task_keys(db, SENDS.name)) == 1
    assert (await visitor.ask("DELETE", path)).status == 204
    assert (await visitor.ask("DELETE", path)).status == 404


async def test_a_duplicate_or_forbidden_channel_is_refused(server):
    visitor, _ = await server.reader()
    inside = HOOK | {"config": {"url": "http://169.254.169.254/latest"}}
    refused = await visitor.post("/channels", inside)
    assert (refused.status, refused.json()["details"][0]["field"]) == (400, "config.url")
    await visitor.post("/channels", HOOK)
    again = await visitor.post("/channels", HOOK)
    assert (again.status, again.json()["code"]) == (409, "CONFLICT")


async def test_a_channel_is_tried_only_so_often(db, server):
    """Each try is a call to somebody else's server: ten a minute for a shelf, whichever channel it is."""
    visitor, _ = await server.reader()
    ids = [(await visitor.post("/channels", HOOK | {"name": n})).json()["data"]["channel"]["id"] for n in ("a", "b")]
    tried = [await visitor.post(f"/channels/{ids[n % 2]}/test") for n in range(11)]
    assert [answer.status for answer in tried] == [202] * 10 + [429]
    assert tried[-1].json()["code"] == "RATE_LIMITED"
    assert 0 < int(tried[-1].headers["retry-after"]) <= 60
    assert len(await task_keys(db, SENDS.name)) <= 10
    other, _ = await server.reader()
    made = (await other.post("/channels", HOOK)).json()["data"]["channel"]["id"]
    assert (await other.post(f"/channels/{made}/test")).status == 202


async def test_i8_a_channel_of_another_tenant_is_not_there(server):
    owner, _ = await server.reader()
    path = f"/channels/{(await owner.post('/channels', HOOK)).json()['data']['channel']['id']}"
    stranger, _ = await server.reader()
    assert (await stranger.ask("PATCH", path, {"name": "Mine"})).status == 404
    assert (await stranger.ask("DELETE", path)).status == 404
    assert (await stranger.post(f"{path}/test")).status == 404
    assert (await stranger.get("/channels")).json()["data"] == []


async def test_a_token_that_only_reads_changes_no_channel(server):
    visitor, _ = await server.reader("read")
    assert (await visitor.get("/channels")).status == 200
    assert (await visitor.post("/channels", HOOK)).status == 403


async def test_what_is_declared_is_valid_openapi(server):
    OpenAPIV31SpecValidator(server.api.document()).validate()


async def test_a_shelf_has_so_many_channels_and_no_more(server):
    """Also not when they are added at once."""
    visitor, _ = await server.reader()
    asked = [visitor.post("/channels", HOOK | {"name": str(number)}) for number in range(MOST_CHANNELS + 5)]
    answers = await asyncio.gather(*asked)
    assert Counter(answer.status for answer in answers) == {201: MOST_CHANNELS, 422: 5}
    assert {answer.json()["code"] for answer in answers if answer.status == 422} == {"LIMIT_EXCEEDED"}
    assert len((await visitor.get("/channels")).json()["data"]) == MOST_CHANNELS


async def test_one_page_too_many_is_told_to_wait(server, monkeypatch):
    monkeypatch.setattr(service, "MOST_STREAMS", 1)
    visitor, _ = await server.reader()
    async with listening(server, visitor) as (_, messages):
        await anext(messages)
        refused = await visitor.get("/events")
        assert (refused.status, refused.json()["code"], refused.headers["retry-after"]) == (429, "RATE_LIMITED", "15")
