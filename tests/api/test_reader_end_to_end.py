"""From an empty database to a bookmark, as a release is verified by hand; and one fetch for everyone."""

from contextlib import AsyncExitStack

import pytest

from tests.api.library import Library, Reader, a_library
from tests.api.people import PASSWORD, Visitor
from tests.app import Client, in_settings
from tests.delivery.builders import a_reader, subscribe_tx
from tests.net.builders import a_server
from tests.scale import scaled
from tests.waiting import eventually
from tsuzuki.db import Database, Tx
from tsuzuki.model.ids import FeedId, ShelfId
from tsuzuki.model.times import MINUTE
from tsuzuki.shelves.types import NewSubscription


async def signed_in(client: Client) -> Reader:
    """As a browser does it: password in, cookie out."""
    answer = await client.post("/api/v1/sessions", {"password": PASSWORD})
    assert answer.status == 200
    name, _, value = answer.headers["set-cookie"].partition(";")[0].partition("=")
    assert name == "tsuzuki"
    return Reader(Visitor(client, cookie=value))


async def test_the_release_checklist(empty_database_url, tmp_path):
    """The schema bootstraps on an empty database; sign in, create feed, refresh, search, bookmark and delete it."""
    url = in_settings(empty_database_url)
    async with a_library(tmp_path, url) as library:
        assert (await library.app.client.get("/readyz")).status == 200
        wrong = await library.app.client.post("/api/v1/sessions", {"password": "wrong"})
        assert wrong.status == 401
        me = await signed_in(library.app.client)
        feed = await me.follow(library.press.publish("/feed", "giraffe", title="The Daily"), 1)
        library.press.publish("/feed", "elephant", "giraffe", title="The Daily")
        library.app.time.pass_(MINUTE)
        await me.post(f"/feeds/{feed['id']}/refresh", expect=202)
        await me.until(f"/feeds/{feed['id']}", lambda found: found["item_count"] == 2)
        found = await me.get("/search?q=elephant")
        [hit] = found["items"]
        assert "<mark>elephant</mark>" in hit["snippet"]
        opened = await me.get(f"/items/{hit['id']}")
        assert opened["content"] == "Words of elephant"
        assert (await me.patch("/items/-/read", {"ids": [hit["id"]]}))["changed"] == 1
        assert (await me.get("/counts"))["unread"] == 1
        mark = await me.post("/bookmarks", {"item_id": hit["id"]})
        assert [one["id"] for one in await me.get("/bookmarks")] == [mark["id"]]
        await me.delete(f"/bookmarks/{mark['id']}")
        assert await me.get("/bookmarks") == []
        assert (await me.visitor.ask("DELETE", "/sessions")).status == 204
        await me.get("/feeds", expect=401)


@pytest.mark.soak
@pytest.mark.timeout(1800)
async def test_a_feed_is_fetched_once_for_all_its_followers(database_url, tmp_path):
    """R70: 1,000 shelves and 200 feeds make 200 fetches, and every shelf has its entries."""
    shelves, feeds, rounds = scaled(20, 1000), scaled(10, 200), 2
    url = in_settings(database_url)
    async with a_library(tmp_path, url, is_working=False) as library, AsyncExitStack() as stack:
        links = []
        for number in range(feeds):  # a host of its own for each: no host is called by more than two at a time
            host = f"127.1.{number // 200}.{number % 200 + 1}"
            server = await stack.enter_async_context(a_server(library.press.handle, host=host))
            library.press.publish(f"/{number}", "1")
            links.append(f"{server.url}/{number}")
        db, first = library.app.db, await a_reader(library.app.db)
        made = [await library.app.reading.subscriptions.add(first, NewSubscription(link=link)) for link in links]
        readers = [first, *[await follower(db, [one.feed_id for one in made]) for _ in range(shelves - 1)]]
        library.app.worker_loops.start()
        for round_ in range(1, rounds + 1):

            async def is_over(wanted: int = feeds * round_) -> bool:
                if sum(library.press.asked.values()) < wanted:
                    return False
                counts = [await item_counts(library, shelf) for shelf in (readers[0], readers[-1])]
                return counts == [[1] * feeds] * 2

            await eventually(is_over, within=300.0)
            assert set(library.press.asked.values()) == {round_}
            assert len(library.press.asked) == feeds
            library.app.time.pass_(40 * MINUTE)  # the interval, and by how much it may be spread
            await library.app.reading.subscriptions.refresh_all(first)  # what falls due in a lump starts bit by bit


async def follower(db: Database, feeds: list[FeedId]) -> ShelfId:
    """A shelf that follows them too, in one transaction: two hundred thousand take long one by one."""
    shelf = await a_reader(db)

    async def subscribe_all(tx: Tx) -> None:
        for feed in feeds:
            await subscribe_tx(tx, shelf, feed)

    await db.with_tx(subscribe_all)
    return shelf


async def item_counts(library: Library, shelf: ShelfId) -> list[int]:
    return [feed.item_count for feed in await library.app.reading.subscriptions.list(shelf)]
