"""Memory does not grow with the shelf: archives are streams, both ways."""

import random
import tracemalloc

import pytest

from tests.scale import scaled
from tests.transfer.archive.builders import a_feed, a_reader, an_archive, an_item, parts_of

pytestmark = pytest.mark.soak
FEW = 400
MANY = scaled(1_400, 100_000)
ROOM = 2_500_000
"""Bytes: far less than all the lines of even the smaller of the large shelves."""
LENGTH = 4_200
WORDS = " ".join(random.Random(1).choices([f"w{number}" for number in range(5_000)], k=200_000))
"""Of which each item has a stretch: the same words again and again would be packed so well that they were refused."""


def text(number: int) -> str:
    start = number * 9_973 % (len(WORDS) - LENGTH)
    return WORDS[start : start + LENGTH]


async def peak(work) -> int:
    tracemalloc.reset_peak()
    before = tracemalloc.get_traced_memory()[0]
    await work
    return tracemalloc.get_traced_memory()[1] - before


async def test_a_large_shelf_needs_no_more_memory(db, tmp_path):
    async def peaks(items: int) -> tuple[int, int]:
        feed = a_feed(f"https://example.org/{items}")
        lines = (an_item(str(n), feed, summary=text(n)) for n in range(items))
        path = an_archive(tmp_path, {"feeds.jsonl": [feed], "items.jsonl": lines})
        reader = await a_reader(db, tmp_path)
        coming = await peak(reader.import_archive(path))
        return coming, await peak(reader.export())

    tracemalloc.start()
    try:
        few, many = await peaks(FEW), await peaks(MANY)
    finally:
        tracemalloc.stop()
    assert many[0] < few[0] + ROOM, (few, many)
    assert many[1] < few[1] + ROOM, (few, many)


def test_text_is_packed(tmp_path):
    path = an_archive(tmp_path, {"items.jsonl": (an_item(str(n), summary=text(n)) for n in range(100))})
    assert path.stat().st_size < 100 * LENGTH / 2


async def test_every_line_of_many_chunks_comes_along_once(db, tmp_path):
    feeds = [a_feed(f"https://example.org/{n}") for n in range(3)]
    lines = [an_item(f"{n:04}", feed) for feed in feeds for n in range(250)]
    reader = await a_reader(db, tmp_path)
    await reader.import_archive(an_archive(tmp_path, {"feeds.jsonl": feeds, "items.jsonl": lines}))
    stored = parts_of(await reader.export())["items.jsonl"]
    assert [(item["feed"]["link"], item["key"]) for item in stored] == [(each.feed.link, each.key) for each in lines]
