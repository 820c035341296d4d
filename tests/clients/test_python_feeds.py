"""What the Python libraries do with a running server, while articles arrive and others are marked.

With a few hundred articles in `make test`, with five thousand in `make clients`.
"""

import asyncio
import time
from collections.abc import Callable

import miniflux
import msgspec
import pytest
from freshrss_api import FreshRSSAPI  # type: ignore[import-untyped]  # it has no types

from tests.api.people import a_running_app
from tests.app import in_settings
from tests.clients.test_feeds import LIST, arrived_after, disturb, numbers
from tests.net.builders import a_server, always, answer
from tests.protocols.people import an_app_reader
from tsuzuki.inbox.sync import LARGEST

pytestmark = pytest.mark.timeout(900)


class AppVisit(msgspec.Struct, frozen=True):
    """What an app saw: every entry, those that it marked as read, the one that it saved, and when it marked all."""

    seen: list[int]
    read: set[int]
    saved: int
    all_at: int | None = None
    """In milliseconds; None where the library cannot."""


Visit = Callable[[str, str, str, str], AppVisit]


def by_miniflux(base: str, name: str, key: str, new: str) -> AppVisit:
    """With Miniflux's own library."""
    client = miniflux.Client(f"{base}/miniflux", api_key=key)
    assert client.me()["username"] == name
    assert len(client.get_feeds()) == 12
    categories = client.get_categories()
    seen: list[int] = []
    while page := client.get_entries(order="id", direction="asc", limit=100, after_entry_id=seen[-1] if seen else 0)[
        "entries"
    ]:
        seen += [entry["id"] for entry in page]
    client.update_entries(seen[:10], "read")
    client.update_entries(seen[:1], "unread")
    states = [client.get_entry(number)["status"] for number in seen[:10]]
    assert states == ["unread"] + ["read"] * 9
    client.toggle_bookmark(seen[10])
    assert client.get_entry(seen[10])["starred"]
    for category in categories:
        client.mark_category_entries_as_read(category["id"])
    all_at = time.time_ns() // 10**6
    other = client.create_category("From an app")
    feed = client.create_feed(new, category_id=categories[0]["id"])
    changed = client.update_feed(feed, title="Renamed", category_id=other["id"])
    assert (changed["title"], changed["category"]["title"]) == ("Renamed", "From an app")
    assert client.update_category(other["id"], "Other")["title"] == "Other"
    client.delete_feed(feed)
    client.delete_category(other["id"])
    assert len(client.get_feeds()) == 12
    return AppVisit(seen, set(seen[1:10]), seen[10], all_at)


def by_freshrss(base: str, name: str, key: str, _: str) -> AppVisit:
    """By Fever; this library cannot mark all, and the protocol cannot subscribe."""
    client = FreshRSSAPI(host=base, username=name, password=key)
    assert len(client.get_feeds()["feeds"]) == 12
    assert len(client.get_groups()["groups"]) == 3
    seen = [item.id for item in client.get_items_from_dates(since=1, until=LARGEST)]
    unread = [item.id for item in client.get_unreads()]
    assert len(unread) == len(set(unread))
    for number in seen[:10]:
        client.set_mark("read", number)
    for _again in range(2):
        client.set_mark("saved", seen[10])
    assert [item.id for item in client.get_saved()] == [seen[10]]
    client.set_mark("saved", seen[11])
    client.set_mark("unsaved", seen[11])
    return AppVisit(seen, set(seen[:10]), seen[10])


@pytest.mark.parametrize("count", [400, pytest.param(5_000, marks=pytest.mark.clients)])
@pytest.mark.parametrize("visit", [by_miniflux, by_freshrss])
async def test_a_python_library_loses_and_repeats_nothing(visit: Visit, count, empty_database_url, tmp_path):
    settings = {"database_url": in_settings(empty_database_url), "allow_private_networks": "127.0.0.0/8"}
    async with (
        a_server(always(answer(200, LIST, content_type="application/rss+xml"))) as site,
        a_running_app(tmp_path, **settings) as app,
    ):
        await (await an_app_reader(app)).add_feed("Another's", items=2)  # FreshRSS's library begins above 1
        ann = await an_app_reader(app)
        for place in range(10):
            await ann.add_feed(f"Feed {place}", items=count // 10, group="Letters" if place % 2 else None)
        await ann.add_series("The Lighthouse Cat", group="Comics")
        late = await ann.add_feed("Late")
        before, over = await numbers(ann), asyncio.Event()
        disturbing = asyncio.create_task(disturb(ann, late, over))
        new = f"http://127.0.0.1:{site.port}/feed.xml"
        try:
            found = await asyncio.to_thread(visit, app.client.base, ann.user.username, ann.key, new)
        finally:
            over.set()
        assert await disturbing > 0
        assert len(found.seen) == len(set(found.seen))
        assert set(before) <= set(found.seen)
        unread, saved = set(await numbers(ann, unread=True)), await numbers(ann, saved=True)
        assert not found.read & unread
        assert saved == [found.saved]
        if found.all_at is not None:
            assert not set(before[: count // 5]) & unread
            assert await arrived_after(ann, found.all_at) <= unread
