"""Open pages hear of what a refresh, a new feed or a resumed one puts on their shelf."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from tests.api.library import Library, Reader, a_library
from tests.api.people import API
from tests.catalogue.builders import a_browsing_app, a_site
from tests.catalogue.sample import Plan, a_sample
from tsuzuki.model.times import MINUTE

MOST = 20
"""Messages that are looked at before a test gives up."""


@pytest.fixture
async def library(database_url, tmp_path) -> AsyncIterator[Library]:
    async with a_library(tmp_path, database_url) as library:
        yield library


class Stream:
    """The messages of an open stream, one after the other."""

    def __init__(self, response: Any) -> None:
        self._content = response.content

    async def next(self) -> tuple[str, Any]:
        fields: dict[str, str] = {}
        while not ("event" in fields and "data" in fields):
            name, _, value = (await self._content.readline()).decode().rstrip("\n").partition(": ")
            fields[name] = value
        return fields["event"], json.loads(fields["data"])

    async def arrival(self, feed: Any) -> Any:
        """The next `entry` of this feed, and the counts that are told after it."""
        async with asyncio.timeout(15):
            for _ in range(MOST):
                kind, data = await self.next()
                if kind == "entry" and data["id"] == feed["id"]:
                    return data, await self.counts()
        raise AssertionError("no entry was told")

    async def told(self, wanted: str, count: int) -> list[Any]:
        """The next so many of one kind."""
        found: list[Any] = []
        async with asyncio.timeout(20):
            while len(found) < count:
                kind, data = await self.next()
                if kind == wanted:
                    found.append(data)
        return found

    async def next_but(self, kind: str) -> str:
        """The next that is of another kind."""
        async with asyncio.timeout(20):
            while True:
                found, _ = await self.next()
                if found != kind:
                    return found

    async def counts(self) -> Any:
        for _ in range(MOST):
            kind, data = await self.next()
            if kind == "counts":
                return data
        raise AssertionError("no counts were told")


@asynccontextmanager
async def listening(me: Reader, query: str = "") -> AsyncIterator[Stream]:
    """An open stream after its first counts."""
    client = me.visitor.client
    async with client._session.get(f"{client.base}{API}/events{query}", headers=me.visitor.headers) as response:
        stream = Stream(response)
        await stream.counts()
        yield stream


async def test_refreshing_a_suspended_feed_sends_an_event(library):
    me = await library.reader()
    feed = await me.post("/feeds", {"link": library.press.publish("/a", "1", "2"), "suspended": True})
    async with listening(me) as stream:
        await me.post(f"/feeds/{feed['id']}/refresh", expect=202)
        entry, counts = await stream.arrival(feed)
        assert entry["count"] == 2
        assert (counts["unread"], counts["feeds"]) == (2, {feed["id"]: 2})


async def test_a_suspended_shelf_gets_events_of_what_others_read(library):
    """What is known already comes with the refresh itself, before any look at the feed."""
    me, other = await library.reader(), await library.reader()
    link = library.press.publish("/a", "1", "2", "3")
    feed = await me.post("/feeds", {"link": link, "suspended": True})
    await other.follow(link, 3)
    await library.app.worker_loops.stop()
    async with listening(me) as stream:
        await me.post(f"/feeds/{feed['id']}/refresh", expect=202)
        entry, counts = await stream.arrival(feed)
        assert (entry["count"], entry["is_quiet"], counts["unread"]) == (3, True, 3)


@pytest.mark.parametrize("suspended", [False, True])
async def test_a_new_feed_that_is_known_is_heard_at_once(library, suspended):
    me, other = await library.reader(), await library.reader()
    link = library.press.publish("/a", "1", "2")
    await other.follow(link, 2)
    async with listening(me) as stream:
        feed = await me.post("/feeds", {"link": link, "suspended": suspended})
        entry, counts = await stream.arrival(feed)
        assert (entry["count"], counts["unread"]) == (2, 2)


async def test_a_new_feed_and_refreshing_all_send_events(library):
    me = await library.reader()
    async with listening(me) as stream:
        feed = await me.post("/feeds", {"link": library.press.publish("/a", "1")})
        entry, counts = await stream.arrival(feed)
        assert (entry["count"], counts["unread"]) == (1, 1)
        library.press.publish("/a", "2", "1")
        library.app.time.pass_(MINUTE)  # R96
        assert await me.post("/feeds/refresh", expect=202) == {"queued": 1}
        entry, counts = await stream.arrival(feed)
        assert (entry["count"], counts["unread"]) == (1, 2)


async def test_changes_to_a_feed_are_sent_as_feed_events(library):
    """In every open page of the shelf, and on no other shelf."""
    me, other = await library.reader(), await library.reader()
    async with listening(me) as stream, listening(other) as others:
        feed = await me.post("/feeds", {"link": library.press.publish("/a", "1"), "suspended": True})
        await me.patch(f"/feeds/{feed['id']}", {"name": "Mine"})
        await me.delete(f"/feeds/{feed['id']}")
        told = await stream.told("feed", 3)
        assert [(each["id"], each["change"]) for each in told] == [
            (feed["id"], "added"),
            (feed["id"], "changed"),
            (feed["id"], "left"),
        ]
        assert [each["name"] for each in told[1:]] == ["Mine", "Mine"]
        theirs = await other.post("/feeds", {"link": library.press.publish("/b", "1"), "suspended": True})
        assert [each["id"] for each in await others.told("feed", 1)] == [theirs["id"]]


async def test_those_who_run_the_server_hear_of_crawl_jobs(tmp_path, database_url):
    """As they are queued, begin and end; nobody else does, also on a shelf that is shared."""
    async with a_sample(Plan(series=2, chapters=4)) as sample, a_browsing_app(tmp_path, database_url, sample) as app:
        admin = Reader(await app.signed_in(await app.admin()))
        shelf = (await admin.get("/me"))["shelves"][0]["id"]
        user = await app.add()
        await admin.ask("PUT", f"/me/shelves/{shelf}/people/{user.username}", {"role": "reader"})
        guest, source = Reader(await app.signed_in(user)), await a_site(app, sample)
        app.worker_loops.start()
        async with listening(admin) as stream, listening(guest, f"?shelf={shelf}") as others:
            job = await admin.post("/admin/crawler/jobs", {"sourceid": source})
            told = await stream.told("job", 3)
            steps = [(job["id"], "queued"), (job["id"], "running"), (job["id"], "done")]
            assert [(each["id"], each["status"]) for each in told] == steps
            assert {(each["kind"], each["source"], each["comic"]) for each in told} == {("discovery", "Sample", None)}
            await admin.post("/feeds", {"link": f"{sample.url}/feed", "suspended": True})
            assert await others.next_but("counts") == "feed"
        await app.worker_loops.stop()
