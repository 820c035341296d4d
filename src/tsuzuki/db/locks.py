"""Every lock that a transaction takes, and the order in which they are taken, so that no two wait for each other.

Locks are held to the end of the transaction. PostgreSQL takes them; SQLite has one writer, and only their order is
checked there. What is held already may be taken again at any time.
"""

from collections.abc import Callable, Iterable
from functools import cache

import msgspec
import structlog

from tsuzuki.db.errors import MisuseError
from tsuzuki.db.queries import load_queries
from tsuzuki.db.tx import Tx
from tsuzuki.model.ids import FeedId, SeriesId, ShelfId, SourceId

q = load_queries("tsuzuki.db")

_log = structlog.stdlib.get_logger("tsuzuki.db")


class Lock(msgspec.Struct, frozen=True):
    """A kind of lock. Those with a smaller number are taken first; several of a kind by their ids."""

    number: int
    """Also what PostgreSQL knows an advisory lock by. There is room between them for a new one."""
    name: str
    what: str
    """What nobody else changes meanwhile."""
    is_row: bool = False
    """The row itself is locked, by a query of its area."""


PEOPLE = Lock(10, "people", "people, and who has which shelf")
FAILURES = Lock(20, "failures", "failed sign-ins of one address or name", is_row=True)
USER = Lock(30, "user", "a person's tokens", is_row=True)
ACCOUNT = Lock(40, "account", "what a tenant pays", is_row=True)
SHELF = Lock(50, "shelf", "a shelf's plan, and how much is on it", is_row=True)
SERIES_MERGES = Lock(60, "series_merges", "which series are one; shared by everyone who writes on chapters")
COMIC_MATCHING = Lock(70, "comic_matching", "which comic a listed series is")
SERIES = Lock(80, "series", "a series: storing, delivering, following and leaving")
READING = Lock(90, "reading", "what a shelf has read")
ITEMS = Lock(100, "items", "the items of a feed")
FEED = Lock(110, "feed", "who subscribes to a feed; shared by those who store and deliver")
SOURCE = Lock(120, "source", "a source, before its jobs", is_row=True)
ALERTS = Lock(130, "alerts", "alerts of one source")
DOWNLOAD = Lock(140, "download", "a downloaded chapter", is_row=True)
DEAD_LETTER = Lock(150, "dead_letter", "a dead letter", is_row=True)
FEED_OUT = Lock(160, "feed_out", "the address and the subscribers of a feed out", is_row=True)
EVENTS = Lock(170, "events", "the places of events on a shelf; taken at the very end", is_row=True)

ORDER = (
    PEOPLE,
    FAILURES,
    USER,
    ACCOUNT,
    SHELF,
    SERIES_MERGES,
    COMIC_MATCHING,
    SERIES,
    READING,
    ITEMS,
    FEED,
    SOURCE,
    ALERTS,
    DOWNLOAD,
    DEAD_LETTER,
    FEED_OUT,
    EVENTS,
)


def refuse(held: Lock, wanted: Lock) -> None:
    """Make tests fail when a lock is taken out of order."""
    raise MisuseError(f"the lock {wanted.name} was taken while {held.name} was held: see the order in db/locks.py")


@cache  # once for each pair
def warn(held: Lock, wanted: Lock) -> None:
    """Log it, in production: two transactions may deadlock, and one is tried again."""
    _log.warning("locks_out_of_order", held=held.name, wanted=wanted.name)


on_disorder: Callable[[Lock, Lock], None] = warn


def check_order(tx: Tx, lock: Lock, key: int | str = 0, *, is_shared: bool = False) -> None:
    """Note that this is taken now; to be called right before the query that locks a row."""
    held = tx.locks
    place = (lock.number, key)
    if (known := held.get(place)) is not None and (is_shared or not known[1]):
        return
    if held and place <= (last := next(reversed(held))):  # the last one that was taken is the highest
        on_disorder(held[last][0], lock)
    held[place] = (lock, is_shared)


async def _take_tx(tx: Tx, lock: Lock, ids: Iterable[int] = (0,), *, is_shared: bool = False) -> None:
    ordered = sorted(ids)
    for each in ordered:
        check_order(tx, lock, each, is_shared=is_shared)
    if ordered and tx.engine == "postgres":
        await tx.run(q.take_shared_locks if is_shared else q.take_locks, number=lock.number, ids=ordered)


async def lock_people_tx(tx: Tx) -> None:
    """Lock people and memberships: one process sets up first, and the last administrator stays."""
    await _take_tx(tx, PEOPLE)


async def lock_shelf_tx(tx: Tx, shelf_id: ShelfId) -> None:
    """Lock the shelf against whoever adds to it or changes its plan; NotFound if there is none."""
    check_order(tx, SHELF, shelf_id)
    await tx.one(ShelfId, q.lock_shelf, shelf_id=shelf_id)


async def lock_series_merges_tx(tx: Tx) -> None:
    """Lock all chapters while series are merged or split."""
    await _take_tx(tx, SERIES_MERGES)


async def lock_series_merges_shared_tx(tx: Tx) -> None:
    """Keep series from being merged or split; taken by whoever writes on chapters."""
    await _take_tx(tx, SERIES_MERGES, is_shared=True)


async def lock_comic_matching_tx(tx: Tx) -> None:
    """Lock matching and mapping, so that two discoveries do not make one comic twice."""
    await _take_tx(tx, COMIC_MATCHING)


async def lock_series_tx(tx: Tx, series_id: SeriesId) -> None:
    """Who follows waits for a batch that is being stored and delivered, and the next batch for the follow (REL-19d)."""
    await _take_tx(tx, SERIES, (series_id,))


async def lock_reading_tx(tx: Tx, *shelves: ShelfId) -> None:
    """Lock what these shelves have read."""
    await _take_tx(tx, READING, shelves)


async def lock_items_tx(tx: Tx, *feeds: FeedId) -> None:
    """Lock items of these feeds: two batches with the same rows would deadlock (REL-19d)."""
    await _take_tx(tx, ITEMS, feeds)


async def lock_feed_tx(tx: Tx, feed_id: FeedId) -> bool:
    """Nobody else subscribes to a feed, leaves or drops it, or stores and delivers its items; False when it is gone.

    Not its row: a poll that is saved has locked the watch and then writes what the feed says of itself, while those who
    take this go on to the watch.
    """
    await _take_tx(tx, FEED, (feed_id,))
    return await tx.maybe(FeedId, q.has_feed, id=feed_id) is not None  # whoever was waited for may have dropped it


async def lock_feeds_tx(tx: Tx, feeds: Iterable[FeedId]) -> None:
    """Lock several feeds, in the order of their ids."""
    await _take_tx(tx, FEED, feeds)


async def lock_feeds_shared_tx(tx: Tx, feeds: Iterable[FeedId]) -> None:
    """Together with others who deliver, apart from those who subscribe: an item and a subscription that are not yet
    committed cannot see each other, and the entry would be lost.
    """
    await _take_tx(tx, FEED, feeds, is_shared=True)


async def lock_alerts_tx(tx: Tx, source_id: SourceId) -> None:
    """Lock alerts of a source: of two series that break at once, a reader gets one notice."""
    await _take_tx(tx, ALERTS, (source_id,))
