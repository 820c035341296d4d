"""R93: a feed that gives several items the same key, polled for real: none is lost, none comes twice."""

import msgspec
import pytest

from tests.builders import NOON, store_items_tx, stored_feed, stored_watch
from tests.net.builders import answer
from tests.polling.builders import Clock, Publisher, item_batches, poll_one, q
from tsuzuki.connectors.feed import parse_anyhow
from tsuzuki.connectors.feed.identity import content_key
from tsuzuki.connectors.feed.parser import read_fast
from tsuzuki.db import Database
from tsuzuki.db.queries import parse_queries
from tsuzuki.ingest.items import new_item
from tsuzuki.model.ids import FeedId
from tsuzuki.model.times import MINUTE
from tsuzuki.polling.service import Poller

CONSTANT = "https://example.org/"
mine = parse_queries(
    "tests",
    """
-- name: keys
select key from item where feed_id = :id order by id;
-- name: prune
delete from item where feed_id = :id and key = :key;
""",
)


def part(number: int, guid: str, *, words: str = "") -> str:
    return (
        f"<item><title>Part {number}{words}</title><link>{CONSTANT}</link>{guid}"
        f"<description>Words {number}</description>"
        f"<pubDate>0{number} Mar 2024 10:00:00 GMT</pubDate>"
        f'<enclosure url="https://cdn.example/{number}.mp3" type="audio/mpeg" length="9"/></item>'
    )


def document(*items: str) -> bytes:
    return f"<rss version='2.0'><channel><title>A feed</title>{''.join(items)}</channel></rss>".encode()


GUIDS = {"no guid": "", "one guid": "<guid isPermaLink='false'>0</guid>"}


class Reader:
    """Polls a feed again and again, and stores what is handed on."""

    def __init__(self, db: Database, feed: FeedId, poller: Poller, publisher: Publisher, clock: Clock) -> None:
        self._db, self.feed, self._poller, self._publisher, self._clock = db, feed, poller, publisher, clock

    async def read(self, body: bytes) -> list[str]:
        """The titles of what a poll hands on."""
        self._publisher.response = answer(200, body)
        await poll_one(self._poller)
        found = [item for batch in await item_batches(self._db) for item in batch.items]
        await self._db.with_tx(lambda tx: store_items_tx(tx, self.feed, [new_item(item, NOON) for item in found], NOON))
        self._clock.turn(30 * MINUTE)
        return [item.title for item in found]

    async def stored(self) -> list[str]:
        return sorted(await self._db.read(lambda tx: tx.many(str, q.titles, id=self.feed)))

    async def keys(self) -> list[str]:
        return await self._db.read(lambda tx: tx.many(str, mine.keys, id=self.feed))

    async def had(self, body: bytes, key: str, *, is_read_otherwise: bool = False) -> None:
        """As it was stored when all items of a key were one; perhaps by a reader that made something else of it."""
        (found,) = parse_anyhow(body, f"{CONSTANT}feed").items
        over = {"content_hash": b"?" * 16} if is_read_otherwise else {}
        row = msgspec.structs.replace(new_item(found, NOON), key=key, **over)
        await self._db.with_tx(lambda tx: store_items_tx(tx, self.feed, [row], NOON))


@pytest.fixture
async def reader(db, poller, publisher, clock):
    feed = await stored_feed(db, f"{publisher.url}/feed")
    await stored_watch(db, feed, host="127.0.0.1")
    return Reader(db, feed, poller, publisher, clock)


@pytest.mark.parametrize("guid", GUIDS.values(), ids=GUIDS.keys())
async def test_items_of_one_key_all_arrive_and_come_once(reader, guid):
    assert sorted(await reader.read(document(*(part(n, guid) for n in (3, 2, 1))))) == ["Part 1", "Part 2", "Part 3"]
    assert await reader.read(document(*(part(n, guid) for n in (4, 3, 2)))) == ["Part 4"]
    assert await reader.read(document(*(part(n, guid) for n in (2, 4, 3)))) == []
    assert await reader.stored() == ["Part 1", "Part 2", "Part 3", "Part 4"]


@pytest.mark.parametrize("guid", GUIDS.values(), ids=GUIDS.keys())
async def test_the_last_of_a_shared_key_is_no_new_item(reader, guid):
    await reader.read(document(part(2, guid), part(1, guid)))
    before = await reader.keys()
    assert await reader.read(document(part(2, guid))) == []
    assert await reader.read(document(part(2, guid, words=" again"))) == ["Part 2 again"], "a change, stored as such"
    assert await reader.read(document(part(3, guid))) == ["Part 3"]
    assert await reader.read(document(part(4, guid), part(3, guid), part(2, guid, words=" again"))) == ["Part 4"]
    assert await reader.stored() == ["Part 1", "Part 2 again", "Part 3", "Part 4"]
    assert (await reader.keys())[:2] == before


@pytest.mark.parametrize("guid", GUIDS.values(), ids=GUIDS.keys())
@pytest.mark.parametrize("is_read_otherwise", [False, True])
async def test_what_had_collapsed_before_is_not_repeated(reader, guid, is_read_otherwise):
    """One row stood for all; it is recognised by all it says, or else by its title and date."""
    key = "0" if guid else CONSTANT
    await reader.had(document(part(2, guid)), key, is_read_otherwise=is_read_otherwise)
    told = await reader.read(document(*(part(n, guid) for n in (3, 2, 1))))
    assert sorted(told) == ["Part 1", *(["Part 2"] if is_read_otherwise else []), "Part 3"], "the second as a change"
    assert await reader.stored() == ["Part 1", "Part 2", "Part 3"]
    assert key not in await reader.keys()
    assert await reader.read(document(*(part(n, guid) for n in (4, 3, 2, 1)))) == ["Part 4"]
    assert await reader.read(document(part(2, guid))) == []
    assert await reader.stored() == ["Part 1", "Part 2", "Part 3", "Part 4"]


async def test_a_collapsed_item_that_scrolled_off_stays(reader):
    await reader.had(document(part(1, "")), CONSTANT)
    assert sorted(await reader.read(document(part(3, ""), part(2, "")))) == ["Part 2", "Part 3"]
    assert await reader.stored() == ["Part 1", "Part 2", "Part 3"]


async def test_own_guids_and_one_constant_link_make_no_item_another(reader):
    """REL-27 took a new item for one that had left the list, for their page is the same."""

    def own(*numbers: int) -> bytes:
        return document(*(part(n, f"<guid isPermaLink='false'>own-{n}</guid>") for n in numbers))

    await reader.read(own(3, 2, 1))
    assert await reader.read(own(4, 3, 2)) == ["Part 4"]
    assert await reader.read(own(5)) == ["Part 5"]
    assert await reader.stored() == [f"Part {n}" for n in range(1, 6)]


async def test_one_guid_and_no_link_repeats_nothing_it_had(reader):
    """Such items were known by a hash of all they say; an edit made each a new one."""

    def bare(*numbers: int, words: str = "") -> bytes:
        return document(
            *(
                f"<item><guid>0</guid><title>Part {n}</title><description>{n}{words}</description></item>"
                for n in numbers
            )
        )

    raw = read_fast(bare(2, 1), f"{CONSTANT}feed")
    assert raw is not None
    for number, item in zip((2, 1), raw.items, strict=True):
        await reader.had(bare(number), content_key(item))
    assert await reader.read(bare(3, 2, 1)) == ["Part 3"]
    assert sorted(await reader.read(bare(3, 2, 1, words=", edited"))) == ["Part 1", "Part 2", "Part 3"]
    assert await reader.stored() == ["Part 1", "Part 2", "Part 3"]
