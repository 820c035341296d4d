"""The outside ledger: what the publisher brought out against what is in every inbox and what every reader was told."""

from collections import Counter
from collections.abc import Iterable

import msgspec

from tests.builders import stored_feed, stored_series, stored_source, stored_watch
from tests.crash.fleet import Fleet
from tests.crash.publisher import Publisher, definition
from tests.crash.script import BACK_CATALOGUE, SITES
from tests.delivery.builders import a_reader
from tests.notifications.receivers import a_notifier
from tsuzuki.app.opening import wall_clock
from tsuzuki.db import Database, Tx
from tsuzuki.db.queries import parse_queries
from tsuzuki.model.ids import ShelfId
from tsuzuki.sources.series import add_series_source_tx
from tsuzuki.sources.watches import NewWatch, add_watch_tx

q = parse_queries(
    "tests",
    """
-- name: entries
select entry.shelf_id, item.title as name from entry join item on item.id = entry.item_id
union all
select entry.shelf_id, series.title || '-' || chapter.number from entry
join chapter on chapter.id = entry.chapter_id join series on series.id = chapter.series_id;
-- name: unharvested
select count(*) from watch where first_harvest_at is null;
-- name: unfinished
select count(*) from task where status in ('queued', 'running') and queue <> 'maintenance';
-- name: told_twice
select key from task where queue = 'channel-sends' and status = 'done' group by key having count(*) > 1;
-- name: held_by
select count(*) from task where status = 'running' and worker like :worker;
-- name: portions
select count(*) from task where queue = 'delivery';
-- name: lost
select coalesce(sum(losses), 0) from task;
-- name: open_outages
select count(*) from outage where healed_at is null;
-- name: silence
update subscription set notify = false where shelf_id = :shelf_id;
-- name: silence_follows
update follow set notify = false where shelf_id = :shelf_id;
-- name: drop_key
alter table item drop constraint item_feed_id_key_key;
""",
)


class Placed(msgspec.Struct, frozen=True):
    shelf_id: ShelfId
    name: str


class Count(msgspec.Struct, frozen=True):
    """What the ledger finds."""

    expected: int
    lost: tuple[str, ...]
    doubled: tuple[str, ...]
    unexpected: tuple[str, ...]

    @property
    def is_clean(self) -> bool:
        return not (self.lost or self.doubled or self.unexpected)


class Ledger:
    """Readers who follow everything; the last of them does not want to be told."""

    def __init__(self, db: Database, publisher: Publisher, readers: int) -> None:
        self.db = db
        self.publisher = publisher
        self.readers = readers
        self.shelves: list[ShelfId] = []

    async def set_up(self, fleet: Fleet) -> None:
        """Feeds, comics on two sites, readers, their channels; the sites as definitions in the data folder."""
        (fleet.data_dir / "sources").mkdir()
        for site in SITES:
            text = definition(self.publisher, site)
            (fleet.data_dir / "sources" / f"{site}.yaml").write_text(text, "utf-8")
        own_feeds = [await self._add_feed(name) for name in self.publisher.cast.feeds]
        sources = {
            site: await stored_source(
                self.db,
                connector=f"example.site.{site}",
                base_url=self.publisher.site_url(site),
                config={"ratelimit": 50},
            )
            for site in SITES
        }
        own_series = []
        for name in self.publisher.cast.comics:
            series = await stored_series(self.db, name)
            own_series.append(series)
            for site, source in sources.items():
                await self._add_mapping(series, source, site, name)
        for _ in range(self.readers):
            self.shelves.append(await a_reader(self.db, feeds=own_feeds, series=own_series))
        async with a_notifier(self.db) as notifier:
            for reader, shelf in enumerate(self.shelves):
                await notifier.webhook(shelf, self.publisher.hook_url(reader))
        silent = {"shelf_id": self.shelves[-1]}
        await self.db.with_tx(lambda tx: tx.run(q.silence, **silent))
        await self.db.with_tx(lambda tx: tx.run(q.silence_follows, **silent))

    async def _add_feed(self, name):
        feed = await stored_feed(self.db, self.publisher.feed_url(name))
        await stored_watch(self.db, feed, host=self.publisher.feed_host(name), next_check_at=wall_clock())
        return feed

    async def _add_mapping(self, series, source, site: str, name: str) -> None:
        url = f"{self.publisher.site_url(site)}/{site}/{name}"

        async def add(tx: Tx) -> None:
            now = wall_clock()
            mapped = await add_series_source_tx(tx, series, source, source_key=name, url=url, now=now)
            # A host of its own for the scheduler: the site's pace is not what is tested here.
            new = NewWatch(series_source_id=mapped, host=f"{site}-{name}.example", next_check_at=now)
            await add_watch_tx(tx, new, now)

        await self.db.with_tx(add)

    async def drop_key(self) -> None:
        """Let an item be stored twice: one of the faults that the ledger must see."""
        await self.db.with_tx(lambda tx: tx.run(q.drop_key))

    # -- counting

    async def is_harvested(self) -> bool:
        return not await self.db.read(lambda tx: tx.one(int, q.unharvested))

    async def is_idle(self) -> bool:
        return not await self.db.read(lambda tx: tx.one(int, q.unfinished))

    async def held_by(self, pid: int) -> int:
        return await self.db.read(lambda tx: tx.one(int, q.held_by, worker=f"%:{pid}"))

    async def portions(self) -> int:
        """How many are still known: the oldest of more than a thousand are forgotten."""
        return await self.db.read(lambda tx: tx.one(int, q.portions))

    async def losses(self) -> int:
        return await self.db.read(lambda tx: tx.one(int, q.lost))

    async def entries(self) -> Count:
        placed = await self.db.read(lambda tx: tx.many(Placed, q.entries))
        found = Counter(f"{each.shelf_id}: {each.name}" for each in placed)
        old = {f"{feed}-{number}" for feed in self.publisher.cast.feeds for number in range(BACK_CATALOGUE)}
        names = self.publisher.released | old
        return _count({f"{shelf}: {name}" for shelf in self.shelves for name in names}, found)

    async def notices(self) -> Count:
        """By delivery: a repeat under the same id is allowed on the way out, and only there."""
        told = self.publisher.told
        found = Counter(
            {f"{reader}: {name}": len(ids) for reader, names in told.items() for name, ids in names.items()}
        )
        wanted = {f"{reader}: {name}" for reader in range(self.readers - 1) for name in self.publisher.released}
        count = _count(wanted, found)
        twice = await self.db.read(lambda tx: tx.many(str, q.told_twice))
        return msgspec.structs.replace(count, doubled=(*count.doubled, *twice))

    def repeats(self) -> int:
        """How often a receiver got what it had: allowed, under the same id."""
        told = self.publisher.told.values()
        return sum(count - 1 for names in told for ids in names.values() for count in ids.values())

    def is_told(self, name: str) -> bool:
        return all(name in self.publisher.told[str(reader)] for reader in range(self.readers - 1))


def _count(wanted: Iterable[str], found: Counter[str]) -> Count:
    expected = set(wanted)
    return Count(
        expected=len(expected),
        lost=tuple(sorted(expected - found.keys())),
        doubled=tuple(sorted(name for name, times in found.items() if times > 1)),
        unexpected=tuple(sorted(found.keys() - expected)),
    )
