"""Large answers of parsers are decoded in portions."""

import asyncio

import msgspec
import pytest

from tsuzuki.model.harvest import Enclosure, FeedHarvest, FoundItem
from tsuzuki.parsing.portions import PORTION, decode

ITEM = FoundItem("k", "Gulls", content="x" * 1000, categories=("a", "b"), enclosures=(Enclosure("https://e.org/1"),))
HARVEST = FeedHarvest(
    "rss", "Harbour", tuple(msgspec.structs.replace(ITEM, key=str(n)) for n in range(1000)), language="en"
)


class Renamed(msgspec.Struct, rename="camel"):
    some_words: list[str]
    left_out: int = 3


class Tagged(msgspec.Struct, tag=True):
    words: list[str]


class Positional(msgspec.Struct, array_like=True):
    words: list[str]


WORDS = ["gull" * 50] * 1000


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (HARVEST, FeedHarvest),
        (HARVEST.items, tuple[FoundItem, ...]),
        (WORDS, list[str]),
        (["gull"] * PORTION, list[str]),
        ([tuple(WORDS), ()], list[tuple[str, ...]]),
        ((7, WORDS), tuple[int, list[str]]),
        (dict.fromkeys(map(str, range(9000)), "gull"), dict[str, str]),
        ("gull" * PORTION, str),
        (Renamed(WORDS), Renamed),
        (Tagged(WORDS), Tagged),
        (Positional(WORDS), Positional),
        (None, FeedHarvest | None),
        (HARVEST, FeedHarvest | None),
    ],
)
async def test_a_large_answer_arrives_complete(value, kind):
    assert await decode(msgspec.msgpack.encode(value), kind) == value


async def test_others_are_answered_while_a_large_answer_is_decoded():
    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            await asyncio.sleep(0)
            turns += 1

    counting = asyncio.ensure_future(count())
    encoded = msgspec.msgpack.encode(HARVEST)
    await decode(encoded, FeedHarvest)
    counting.cancel()
    assert turns >= len(encoded) // PORTION


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        ([*WORDS, 7], list[str]),
        ([None] * 2 * PORTION, list[str]),
        ({"some": WORDS}, Renamed),
        ({str(n): "gull" for n in range(PORTION)}, Renamed),
        ("gull" * PORTION, Renamed),
    ],
)
async def test_a_large_answer_of_another_type_is_refused(value, kind):
    with pytest.raises(msgspec.ValidationError):
        await decode(msgspec.msgpack.encode(value), kind)


async def test_fields_that_nobody_knows_are_left_out():
    value = {"someWords": WORDS, **{str(n): n for n in range(PORTION)}}
    assert await decode(msgspec.msgpack.encode(value), Renamed) == Renamed(WORDS)
