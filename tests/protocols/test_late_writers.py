"""R108: apps that go on from the last number or time they saw miss nothing of writers that commit late.

Only on PostgreSQL: SQLite has one writer.
"""

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import datetime

import asyncpg
import pytest

from tests.api.people import RunningApp, a_running_app
from tests.app import in_settings
from tests.inbox.test_sync import store
from tests.protocols.people import AppReader, an_app_reader
from tests.protocols.reader_client import READING_LIST, ReaderClient
from tsuzuki.model.ids import FeedId
from tsuzuki.model.times import SECOND

pytestmark = pytest.mark.parametrize("engine", ["postgres"])

INSERT = "insert into entry (shelf_id, feed_id, item_id, sort_at, created_at) values ($1, $2, $3, 0, $4) returning id"
HELD = 90 * SECOND
"""How long writers say that they took."""

Poll = Callable[[int], Awaitable[list[int]]]
"""The numbers that an app is told of which asks for what is above a number, or after a time."""


@pytest.fixture
async def app(empty_database_url, tmp_path) -> AsyncIterator[RunningApp]:
    async with a_running_app(tmp_path, database_url=in_settings(empty_database_url)) as app:
        yield app


@pytest.fixture
async def ann(app) -> AppReader:
    return await an_app_reader(app)


async def polls_by_number(ann: AppReader) -> dict[str, Poll]:
    """Every way in which apps go on from a number."""
    greader = await ReaderClient(ann).sign_in()

    async def fever(last: int) -> list[int]:
        return [item["id"] for item in (await ann.fever(f"api&items&since_id={last}"))["items"]]

    async def continued(last: int) -> list[int]:
        return await greader.ids(READING_LIST, ("r", "o"), ("n", 7), ("c", last))

    async def miniflux(last: int) -> list[int]:
        return await miniflux_ids(ann, f"order=id&limit=7&after_entry_id={last}")

    return {"Fever": fever, "Google Reader": continued, "Miniflux": miniflux}


async def miniflux_ids(ann: AppReader, query: str) -> list[int]:
    answer = await ann.app.client.ask("GET", f"/miniflux/v1/entries?{query}", headers={"x-auth-token": ann.key})
    return [entry["id"] for entry in answer.json()["entries"]]


async def test_apps_see_each_number_once_and_in_order(ann, empty_database_url):
    """Four writers hold their transactions open for as long as they please; three apps go on from the last they saw."""
    feeds = [await ann.add_feed(f"Feed {n}") for n in range(4)]
    items = {feed: await store(ann.app.db, feed, *(f"n{n}" for n in range(20))) for feed in feeds}
    rng = random.Random(4)

    async def write(feed: FeedId) -> None:
        writer = await asyncpg.connect(empty_database_url)
        try:
            for item in items[feed]:
                async with writer.transaction():
                    await asyncio.sleep(rng.random() * 0.01)
                    await writer.fetchval(INSERT, ann.shelf, feed, item, ann.app.time())
                    await asyncio.sleep(rng.random() * 0.05)
        finally:
            await writer.close()

    polls = await polls_by_number(ann)
    seen: dict[str, list[int]] = {name: [] for name in polls}
    writing = asyncio.gather(*(write(feed) for feed in feeds))

    async def keep_polling(name: str) -> None:
        is_over = False
        while not is_over:
            is_over = writing.done()
            while found := await polls[name](seen[name][-1] if seen[name] else 0):
                seen[name] += found

    await asyncio.gather(writing, *(keep_polling(name) for name in polls))
    for name, numbers in seen.items():
        assert len(numbers) == 80, name
        assert numbers == sorted(set(numbers)), name


async def test_an_entry_committed_after_an_apps_look_is_listed(ann, empty_database_url):
    feed, other = await ann.add_feed("One"), await ann.add_feed("Other")
    [item] = await store(ann.app.db, feed, "late")
    polls = await polls_by_time(ann)
    writer = await asyncpg.connect(empty_database_url)
    try:
        async with writer.transaction():
            late = await writer.fetchval(INSERT, ann.shelf, feed, item, ann.app.time() - HELD)
            await ann.release(other, 1)
            looked_at = ann.app.time() // SECOND
            for name, poll in polls.items():
                assert late not in await poll(0), name
        for name, poll in polls.items():
            assert late in await poll(looked_at), name
            assert late + 1 in await poll(looked_at), name
    finally:
        await writer.close()


async def polls_by_time(ann: AppReader) -> dict[str, Poll]:
    """Every way in which apps ask for what arrived since a second."""
    greader = await ReaderClient(ann).sign_in()
    return {
        "Google Reader": lambda since: greader.ids(READING_LIST, ("ot", since), ("n", 100)),
        "Miniflux, after": lambda since: miniflux_ids(ann, f"after={since}"),
        "Miniflux, changed_after": lambda since: miniflux_ids(ann, f"changed_after={since or 1}"),
    }


async def test_a_mark_committed_after_an_apps_look_is_listed(ann, empty_database_url):
    """Of another feed: who marks of one feed waits for who did before, as they count the same."""
    for name in ("One", "Other"):
        await ann.add_feed(name, items=1)
    late, other = sorted(await miniflux_ids(ann, "status=unread"))
    writer = await asyncpg.connect(empty_database_url)
    try:
        await writer.execute("update entry set created_at = created_at - 3600000")
        async with writer.transaction():
            await writer.execute("update entry set unread = false where id = $1", late)
            await writer.execute("update entry set changed_at = changed_at - $2::bigint where id = $1", late, HELD)
            await ann.app.inbox.mark_entries(ann.shelf, [other], unread=False)
            answer = await ann.app.client.ask("GET", f"/miniflux/v1/entries/{other}", headers={"x-auth-token": ann.key})
            last_seen = int(datetime.fromisoformat(answer.json()["changed_at"]).timestamp())
            assert await miniflux_ids(ann, f"changed_after={last_seen - 1}") == [other]
        assert sorted(await miniflux_ids(ann, f"changed_after={last_seen}")) == [late, other]
    finally:
        await writer.close()
