"""What an app's own library does with a running server, while articles arrive and others are marked."""

import asyncio
import random

import pytest

from tests.api.people import a_running_app
from tests.app import in_settings
from tests.clients.conftest import run
from tests.net.builders import a_server, always, answer
from tests.protocols.people import AppReader, an_app_reader
from tsuzuki.inbox.sync import LARGEST, SyncFilter
from tsuzuki.model.ids import EntryId, FeedId
from tsuzuki.model.times import Millis

pytestmark = [pytest.mark.clients, pytest.mark.timeout(900)]

ITEMS = 5_000
SEEN_S = 2
"""How long ago an app looked that marks all."""
LIST = b"""<rss version="2.0"><channel><title>New here</title><link>http://example.org/</link>
<item><guid>1</guid><title>One</title><link>http://example.org/1</link></item></channel></rss>"""


async def numbers(reader: AppReader, **wanted) -> list[EntryId]:
    found = await reader.app.sync.refs(reader.shelf, SyncFilter(**wanted), most=LARGEST)
    return [ref.id for ref in found]


async def arrived_after(reader: AppReader, moment: int) -> set[EntryId]:
    """Those that came after a moment in milliseconds: whoever marked all at that time had not seen them."""
    return set(await numbers(reader, arrived_from=Millis(moment + 1)))


async def disturb(reader: AppReader, feed: FeedId, until: asyncio.Event) -> int:
    """Articles arrive, and somebody marks others by the pages; how many arrived."""
    rng, arrived = random.Random(5), 0
    before = await numbers(reader)
    while not until.is_set():
        await reader.release(feed, 5, prefix=f"late{arrived}-")
        arrived += 5
        ids = rng.sample(before[len(before) // 5 :], 3)
        await reader.app.inbox.mark_entries(reader.shelf, ids, unread=rng.random() < 0.5)
        await asyncio.sleep(0.05)
    return arrived


@pytest.mark.parametrize("protocol", ["fever", "greader", "miniflux"])
async def test_an_apps_library_loses_and_repeats_nothing(protocol, empty_database_url, tmp_path, feeds_program):
    async with (
        a_server(always(answer(200, LIST, content_type="application/rss+xml"))) as site,
        a_running_app(
            tmp_path, database_url=in_settings(empty_database_url), allow_private_networks="127.0.0.0/8"
        ) as app,
    ):
        ann = await an_app_reader(app, protocol)
        for place in range(10):
            await ann.add_feed(f"Feed {place}", items=ITEMS // 10, group="Letters" if place % 2 else None)
        await ann.add_series("The Lighthouse Cat", group="Comics")
        late = await ann.add_feed("Late")
        before = await numbers(ann)
        await asyncio.sleep(SEEN_S + 1)  # what is marked beside it has all arrived before that
        over = asyncio.Event()
        disturbing = asyncio.create_task(disturb(ann, late, over))
        new = f"http://127.0.0.1:{site.port}/feed.xml"
        said = await run(feeds_program, protocol, app.client.base, ann.user.username, ann.key, new)
        over.set()
        assert await disturbing > 0
        seen = [int(number) for number in said["seen"]]
        assert len(seen) == len(set(seen))
        assert set(before) <= set(seen)
        assert said["valid"] == ["true"]
        assert said["feeds"][0] == "12"
        assert said["marked"] == ["9"]  # ten were read, and one of them made unread again
        assert len(await numbers(ann, saved=True)) == 1  # saved twice is saved
        unread = set(await numbers(ann, unread=True))
        assert not set(before[:1000]) & unread
        came_later = await arrived_after(ann, int(said["all"][0]))
        assert came_later <= unread
        assert came_later or protocol == "miniflux"  # which marks what is there when it asks
        if protocol != "fever":
            assert len(said["moved"]) == 1
            assert said["moved"][0] == "Renamed From an app"
            assert said["exported"] == ["true"]
            assert said["feeds"][-1] == "12"
