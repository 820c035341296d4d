"""Bookmarks of pages that somebody brings along."""

import asyncio
import time
from itertools import pairwise

from tests.delivery.builders import a_reader
from tests.shelves.builders import a_ground
from tsuzuki.shelves.bookmarks.nouns import NewBookmark
from tsuzuki.shelves.bookmarks.service import Bookmarks


async def test_others_are_answered_while_a_hostile_page_is_cleaned(db):
    """SEC-20: a tag with tens of thousands of attributes takes a second or more."""
    shelf = await a_reader(db)
    content = "<p " + " ".join(f"a{n}=1" for n in range(40_000)) + ">Text</p>"
    new = NewBookmark(link="https://example.org/", title="A page", content=content)
    adding = asyncio.create_task(Bookmarks(a_ground(db)).add(shelf, new))
    turns = [time.monotonic()]
    while not adding.done():
        await asyncio.sleep(0.001)
        turns.append(time.monotonic())
    assert (await adding).content == "<p>Text</p>"
    longest = max(after - before for before, after in pairwise(turns))
    assert longest < (turns[-1] - turns[0]) / 2
