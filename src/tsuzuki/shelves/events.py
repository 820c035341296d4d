"""Events of a shelf: written in the transaction of what they report, streamed by the inbox (decision 0014)."""

from collections.abc import Iterable
from typing import Literal, TypeAlias

import msgspec

from tsuzuki.db import Tx, load_queries
from tsuzuki.db.locks import EVENTS, check_order
from tsuzuki.model.harvest import FeedChange, Kind
from tsuzuki.model.ids import ShelfId
from tsuzuki.model.times import Millis

q = load_queries("tsuzuki.shelves")

EVENTS_WAKEUP = "events"

EventKind = Literal["entry", "counts", "feed", "job"]


class Arrived(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """`entry`: something came into the inbox, or (R8) is there to be read without having come into it."""

    kind: Kind
    id: str
    """The public id of the shelf's subscription, or of the series."""
    name: str
    count: int = 0
    """How many entries."""
    newest: str | None = None
    """The entry with the highest id."""
    available: int = 0
    """How many chapters of a back-catalogue."""
    is_quiet: bool = False
    """True for what is no news: a first harvest, or the items of a feed that was known before."""


class CountsChanged(msgspec.Struct, frozen=True):
    """`counts`: entries were marked or saved. Unread entries are counted when it is sent, so it is never outdated."""


class WatchChanged(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """`feed`: a source broke or healed."""

    kind: Kind
    id: str
    name: str
    is_broken: bool
    reason: str = ""


class SubscriptionChanged(msgspec.Struct, frozen=True, kw_only=True):
    """`feed`: the shelf follows a feed from now on, has changed what it calls it or where it stands, or has left it."""

    kind: Kind = "item"
    id: str
    name: str
    change: FeedChange


class JobChanged(msgspec.Struct, frozen=True, kw_only=True):
    """`job`: a crawl job was queued, began or is over. For those who run this server."""

    id: str
    kind: str
    status: str
    source: str
    comic: str | None


News = Arrived | CountsChanged | WatchChanged | SubscriptionChanged | JobChanged

_KINDS: dict[type[News], EventKind] = {
    Arrived: "entry",
    CountsChanged: "counts",
    WatchChanged: "feed",
    SubscriptionChanged: "feed",
    JobChanged: "job",
}


_Row: TypeAlias = tuple[ShelfId, EventKind, str, Millis]


class NewEvent(msgspec.Struct, frozen=True):
    """An event for one shelf."""

    shelf_id: ShelfId
    news: News

    @property
    def kind(self) -> EventKind:
        """The name of the event in the stream."""
        return _KINDS[type(self.news)]


async def add_events_tx(tx: Tx, events: Iterable[NewEvent], now: Millis) -> None:
    """Write events in the transaction of what they report. Wake `EVENTS_WAKEUP` after the commit.

    PostgreSQL writes them at its end: whoever has something for the same shelf waits no longer than for the commit, and
    no two transactions wait for each other.
    """
    rows = [(event.shelf_id, event.kind, msgspec.json.encode(event.news).decode(), now) for event in events]
    if rows and tx.engine == "postgres":
        tx.at_end(_write_last_tx, rows)
    elif rows:
        await _write_tx(tx, rows)


async def _write_last_tx(tx: Tx, rows: list[_Row]) -> None:
    check_order(tx, EVENTS)
    await _write_tx(tx, rows)


async def _write_tx(tx: Tx, rows: list[_Row]) -> None:
    numbered = [(*row[:3], nth) for nth, row in enumerate(rows)]
    await tx.run(q.add_events, rows=numbered, now=max(now for *_, now in rows))


async def counts_changed_tx(tx: Tx, shelves: Iterable[ShelfId], now: Millis) -> None:
    """Entries of these shelves were marked, saved or taken away: open pages count again."""
    await add_events_tx(tx, [NewEvent(shelf_id, CountsChanged()) for shelf_id in shelves], now)


async def notify_admins_tx(tx: Tx, news: News, now: Millis) -> None:
    """An event on the shelf that each administrator reads from."""
    shelves = await tx.many(ShelfId, q.admin_shelves)
    await add_events_tx(tx, [NewEvent(shelf_id, news) for shelf_id in shelves], now)


async def prune_events_tx(tx: Tx, *, before: Millis, most: int) -> int:
    """Forget up to `most` events that are older."""
    return await tx.run(q.prune_events, before=before, most=most)
