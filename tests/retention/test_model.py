"""Random lives of readers and publishers under retention, beside a model that knows what must be there."""

import random

import pytest

from tests.retention.builders import SimulatedServer
from tests.scale import scaled
from tsuzuki.model.ids import ItemId, ShelfId
from tsuzuki.model.times import DAY, HOUR, Millis
from tsuzuki.retention.policy import RetentionRules
from tsuzuki.shelves.types import SubscriptionChange

LINKS = [f"https://{name}.example/feed" for name in "abc"]
KEEP = Millis(20 * DAY)
REMEMBERED = Millis(360 * DAY)
"""What left its feed's document so long ago may be new when it is listed again: tombstones go after 400 days."""


class Model:
    """What each shelf was given, and in which state it is. Written apart from the code."""

    def __init__(self) -> None:
        self.given: dict[ShelfId, dict[tuple[str, str], str]] = {}
        """By feed and key: unread, read or saved."""
        self.read_at: dict[tuple[ShelfId, str, str], Millis] = {}

    def must_have(self, shelf: ShelfId, now: Millis, keep: Millis) -> set[tuple[str, str]]:
        """Unread, saved, or read so lately that it stays."""
        return {
            place
            for place, state in self.given[shelf].items()
            if state != "read" or now - self.read_at[shelf, *place] <= keep
        }


class RandomRun:
    """Acts at random, and compares after each act."""

    def __init__(self, server: SimulatedServer, seed: int) -> None:
        self.server, self.rng, self.model = server, random.Random(seed), Model()
        self.shelves: list[ShelfId] = []
        self.made = 0
        self.retired: dict[str, dict[str, Millis]] = {link: {} for link in LINKS}
        """By feed and key: when it left the document."""

    async def begin(self) -> None:
        for link in LINKS:
            self.server.publish(link, *self._new(70))
        for _ in range(2):
            shelf = await self.server.reader(*LINKS)
            self.shelves.append(shelf)
            self.model.given[shelf] = {}
        await self.poll()

    def _new(self, count: int) -> list[str]:
        self.made += count
        return [f"k{number:05}" for number in range(self.made - count, self.made)]

    async def act(self) -> None:
        acts = (self.publish, self.relist, self.read, self.unread, self.save, self.unsave, self.night, self.wait)
        await self.rng.choice(acts)()
        await self.compare()

    # -- publishers

    async def publish(self) -> None:
        """Something new; the document may lose its oldest."""
        link = self.rng.choice(LINKS)
        before = self._listed(link)
        self.server.publish(link, *self._new(self.rng.randint(1, 30)), listing=self.rng.choice([20, 60, 200]))
        self.retired[link] |= dict.fromkeys(sorted(before - self._listed(link)), self.server.clock.now)
        await self.poll()

    async def relist(self) -> None:
        """What was listed before is listed again, with other words sometimes."""
        link = self.rng.choice(LINKS)
        since = self.server.clock.now - REMEMBERED
        known = sorted({key for key, left_at in self.retired[link].items() if left_at > since} - self._listed(link))
        words = self.rng.choice(["Words of", "Other words of"])
        again = self.rng.sample(known, min(len(known), 15))
        self.server.press.listed[link] += [(key, f"{words} {key}") for key in again]
        await self.poll()

    def _listed(self, link: str) -> set[str]:
        return {key for key, _ in self.server.press.listed[link]}

    async def poll(self) -> None:
        await self.server.poll()
        names = await self._names()
        for shelf in self.shelves:
            given = self.model.given[shelf]
            known = set(given)
            for row in await self.server.rows(shelf):
                place = (names[shelf, row.feed_id], row.key)
                if place not in known:
                    assert row.unread, "what comes is unread"
                    given[place] = "unread"

    # -- readers

    async def _pick(self, *states: str) -> tuple[ShelfId, list[ItemId], list[tuple[str, str]]]:
        shelf = self.rng.choice(self.shelves)
        names = await self._names()
        rows = {(names[shelf, row.feed_id], row.key): row.id for row in await self.server.rows(shelf)}
        wanted = sorted(place for place in rows if self.model.given[shelf][place] in states)
        places = self.rng.sample(wanted, min(len(wanted), self.rng.choice([1, 5, 50])))
        return shelf, [rows[place] for place in places], places

    async def read(self) -> None:
        shelf, ids, places = await self._pick("unread")
        await self.server.inbox.mark_items(shelf, ids, unread=False)
        for place in places:
            self.model.given[shelf][place] = "read"
            self.model.read_at[shelf, *place] = self.server.clock.now

    async def unread(self) -> None:
        shelf, ids, places = await self._pick("read")
        await self.server.inbox.mark_items(shelf, ids, unread=True)
        for place in places:
            self.model.given[shelf][place] = "unread"

    async def save(self) -> None:
        shelf, ids, places = await self._pick("read")
        for item, place in list(zip(ids, places, strict=True))[:3]:
            await self.server.bookmarks.add_item(shelf, item)
            self.model.given[shelf][place] = "saved"

    async def unsave(self) -> None:
        shelf, ids, places = await self._pick("saved")
        for item, place in list(zip(ids, places, strict=True))[:1]:
            await self.server.bookmarks.delete_of_item(shelf, item)
            self.model.given[shelf][place] = "read"

    # -- time

    async def wait(self) -> None:
        self.server.clock.turn(self.rng.choice([HOUR, 3 * DAY, 15 * DAY, 45 * DAY]))

    async def night(self) -> None:
        self.server.clock.turn(DAY)
        await self.server.night()

    async def compare(self) -> None:
        names = await self._names()
        for shelf in self.shelves:
            rows = await self.server.rows(shelf)
            places = [(names[shelf, row.feed_id], row.key) for row in rows]
            assert len(places) == len(set(places))
            assert set(places) <= set(self.model.given[shelf])
            missing = self.model.must_have(shelf, self.server.clock.now, KEEP) - set(places)
            assert not missing, "unread, saved or just read, and gone"
            for place, row in zip(places, rows, strict=True):
                state = self.model.given[shelf][place]
                assert row.unread == (state == "unread"), "came back as new"
                assert row.saved == (state == "saved")
            assert await self.server.is_tallied(shelf)

    async def _names(self) -> dict[tuple[ShelfId, int], str]:
        return {
            (shelf, feed.feed_id): feed.link
            for shelf in self.shelves
            for feed in await self.server.subscriptions.list(shelf)
        }


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(scaled(2, 40)))
async def test_random_lives_lose_nothing_and_get_nothing_twice(db, seed):
    """What is unread, saved or just read stays; what was removed does not come back while it is remembered."""
    server = SimulatedServer(db, RetentionRules(keep_read=KEEP))
    life = RandomRun(server, seed)
    await life.begin()
    for _ in range(scaled(60, 300)):
        await life.act()
    for _ in range(20):
        await life.read()  # enough that articles go too, not only entries
    for _ in range(3):
        server.clock.turn(60 * DAY)
        await server.night()
        await life.relist()
        await life.compare()
    assert server.pruned["entries"] > 0
    assert server.pruned["items"] > 0
    [feed, *_] = await server.subscriptions.list(life.shelves[0])
    await server.subscriptions.change(life.shelves[0], feed.public_id, SubscriptionChange(retention=Millis(DAY)))
    await server.night()
    await life.compare()
