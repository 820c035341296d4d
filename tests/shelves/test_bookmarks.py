"""Bookmarks of pages that somebody brings along."""

import asyncio
import time
from itertools import pairwise

import pytest

from tests.builders import stored_watch
from tests.delivery.builders import a_followed_feed, a_reader, entries_of, events_of, publish
from tests.shelves.builders import shelf_deps
from tests.shelves.library_builders import library_deps
from tsuzuki.model.errors import Conflict
from tsuzuki.model.ids import ItemId
from tsuzuki.parsing.pool import ParsePool, PoolOptions
from tsuzuki.shelves.bookmarks import Bookmarks, NewBookmark


async def test_others_are_answered_while_a_hostile_page_is_cleaned(db):
    """SEC-20: tens of thousands of pictures that only count readers take a second or more."""
    shelf = await a_reader(db)
    content = "<p>Text</p>" + '<img src="/x" width="1">' * 30_000
    new = NewBookmark(link="https://example.org/", title="A page", content=content)
    async with ParsePool(PoolOptions()) as parsers:
        bookmarks = Bookmarks(shelf_deps(db, parsers=parsers))
        adding = asyncio.create_task(bookmarks.add(shelf, new))
        turns = [time.monotonic()]
        while not adding.done():
            await asyncio.sleep(0.001)
            turns.append(time.monotonic())
        assert (await adding).content == "<p>Text</p>"
    longest = max(after - before for before, after in pairwise(turns))
    assert longest < (turns[-1] - turns[0]) / 2


async def test_saving_sends_events_and_refusals_do_not(db):
    """So two browsers of one person stay in step."""
    feed, [shelf] = await a_followed_feed(db)
    await stored_watch(db, feed)
    await publish(db, feed, "a")
    [entry] = await entries_of(db, shelf)
    item = ItemId(entry.of_id)
    bookmarks = Bookmarks(library_deps(db))

    async def told() -> int:
        return [event.kind for event in await events_of(db, shelf)].count("counts")

    before = await told()
    await bookmarks.add_item(shelf, item)
    with pytest.raises(Conflict):
        await bookmarks.add_item(shelf, item)
    assert await told() == before + 1
    await bookmarks.delete_of_item(shelf, item)
    assert await told() == before + 2
