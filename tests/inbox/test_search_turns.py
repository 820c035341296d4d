"""Searches of one shelf wait for one another, and for no other shelf's; no text keeps a hit from being shown."""

import asyncio
import tracemalloc
from typing import Any

import pytest

from tests.builders import HERE, NOON, a_new_item, a_public_id, store_items_tx, stored_feed
from tests.delivery.builders import a_reader, deliver_items_tx
from tests.inbox.builders import an_inbox
from tests.shelves.builders import shelf_deps
from tsuzuki.inbox.feeds_out.service import FeedsOut
from tsuzuki.inbox.feeds_out.types import FeedOut, FeedOutId
from tsuzuki.inbox.search.service import Search
from tsuzuki.inbox.search.turns import MOST_WAITING, SearchTurns
from tsuzuki.inbox.sync import SyncFilter, SyncInbox
from tsuzuki.model.errors import NotAFeed, TooManyRequests
from tsuzuki.model.ids import ShelfId
from tsuzuki.shelves.bookmarks import Bookmarks


class Slow:
    """Parsers that answer when they are let."""

    def __init__(self) -> None:
        self.calls = 0
        self.may_end = asyncio.Event()

    async def run(self, function, arguments):
        self.calls += 1
        await self.may_end.wait()
        return function(*arguments)


class Broken:
    """Parsers that a text brings down."""

    async def run(self, _function, _arguments):
        raise NotAFeed("The document crashed its parser.")


async def a_shelf(db, content="<p>words</p>", count=1):
    feed = await stored_feed(db)
    shelf = await a_reader(db, feeds=[feed])
    items = [a_new_item(str(number), title="A gull", content=content) for number in range(count)]

    async def store(tx):
        stored = await store_items_tx(tx, feed, items, NOON)
        await deliver_items_tx(tx, feed, [one.id for one in stored], is_first_harvest=True, now=NOON)

    await db.with_tx(store)
    return shelf


async def test_a_shelf_has_one_search_under_way_and_others_wait(db):
    parsers, shelf, other = Slow(), await a_shelf(db), await a_shelf(db)
    search = Search(db, parsers)
    searches = [asyncio.create_task(search.find(shelf, "gull", 10)) for _ in range(MOST_WAITING)]
    neighbour = asyncio.create_task(search.find(other, "gull", 10))
    async with asyncio.timeout(20):
        while parsers.calls < 2:  # noqa: ASYNC110  the parsers wake nobody
            await asyncio.sleep(0.01)
    await asyncio.sleep(0.1)
    assert parsers.calls == 2  # one of each shelf
    with pytest.raises(TooManyRequests):
        await search.find(shelf, "gull", 10)
    parsers.may_end.set()
    assert [len(found.items) for found in await asyncio.gather(*searches, neighbour)] == [1] * (MOST_WAITING + 1)
    assert len((await search.find(shelf, "gull", 10)).items) == 1


async def test_searches_of_apps_and_feeds_out_share_the_turn(db):
    shelf, turns = await a_shelf(db), SearchTurns()
    apps = SyncInbox(db, an_inbox(db), Bookmarks(shelf_deps(db)), turns)
    nothing: Any = None  # is fetched here
    published = FeedsOut(
        db, lambda: NOON, new_id=a_public_id, after_commit=lambda *_: None, turns=turns, articles=nothing
    )

    def asked(search: str | None) -> list[asyncio.Task[Any]]:
        feed = a_feed_out(shelf, search)
        return [
            asyncio.create_task(apps.refs(shelf, SyncFilter(search=search), most=10)),
            asyncio.create_task(published.entries(feed, 10)),
        ]

    async with turns.take(shelf):
        searches = asked("gull")
        await asyncio.gather(*asked(None))  # what searches nothing waits for nobody
        assert not any(search.done() for search in searches)
    assert [len(found) for found in await asyncio.gather(*searches)] == [1, 1]


def a_feed_out(shelf: ShelfId, search: str | None) -> FeedOut:
    return FeedOut(
        id=FeedOutId(1),
        public_id=a_public_id(),
        shelf_id=shelf,
        shelf_public_id=a_public_id(),
        name="Gulls",
        kind=None,
        state="all",
        of_feed=None,
        of_group=None,
        of_series=None,
        of_tag=None,
        search=search,
        is_full=True,
        secret="",
        created_at=NOON,
        updated_at=NOON,
        fetched_at=None,
    )


async def test_a_hit_with_an_unreadable_text_shows_none(db):
    [found] = (await Search(db, Broken()).find(await a_shelf(db), "gull", 10)).items
    assert (found.hit.title, found.snippet) == ("A gull", "")
    [found] = (await Search(db, HERE).find(await a_shelf(db), "gull", 10)).items
    assert found.snippet == "words"


@pytest.mark.parametrize("text", ["gull", "is:unread", "feed:example"])
async def test_a_snippet_reads_only_the_text_it_needs(db, text):
    """Twenty texts of a megabyte each: a search takes a beginning of those that it shows."""
    shelf = await a_shelf(db, "<p>" + "words " * 170_000 + "</p>", count=20)
    search = Search(db, HERE)
    await search.find(shelf, text, 20)  # what is made at the first time is not what is measured
    tracemalloc.start()
    try:
        found = await search.find(shelf, text, 20)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(found.items) == 20
    assert found.items[0].snippet.startswith("words words")
    assert most < 10_000_000
