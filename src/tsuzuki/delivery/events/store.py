"""Events, remembered and read in the order in which they became visible."""

import re

import msgspec

from tsuzuki.db import Tx, load_queries
from tsuzuki.model.ids import ShelfId
from tsuzuki.shelves.events import EventKind

q = load_queries("tsuzuki.delivery.events")

_CURSOR = re.compile(r"([0-9]{1,18})-([0-9]{1,18})")


class EventCursor(msgspec.Struct, frozen=True, order=True):
    """A place among the events; what Last-Event-ID names."""

    txid: int = 0
    id: int = 0

    def __str__(self) -> str:
        return f"{self.txid}-{self.id}"

    @classmethod
    def read(cls, text: str) -> "EventCursor | None":
        """The place that a client names; None when it names none."""
        found = _CURSOR.fullmatch(text)
        return None if found is None else cls(int(found[1]), int(found[2]))


class Event(msgspec.Struct, frozen=True):
    """One event of a shelf; the payload is JSON."""

    txid: int
    id: int
    kind: EventKind
    payload: str

    @property
    def cursor(self) -> EventCursor:
        """Where reading goes on after it."""
        return EventCursor(self.txid, self.id)


class ShelfCursor(msgspec.Struct, frozen=True):
    """That a shelf has news."""

    txid: int
    id: int
    shelf_id: ShelfId

    @property
    def cursor(self) -> EventCursor:
        """Where looking goes on after it."""
        return EventCursor(self.txid, self.id)


async def next_events_tx(tx: Tx, shelf_id: ShelfId, after: EventCursor, *, most: int) -> list[Event]:
    """The shelf's events after this place; none is ever inserted before one that was returned."""
    horizon = await _horizon_tx(tx)
    place = {"txid": after.txid, "id": after.id}
    return await tx.many(Event, q.next_events, shelf_id=shelf_id, horizon=horizon, **place, most=most)


async def newest_of_shelf_tx(tx: Tx, shelf_id: ShelfId) -> EventCursor:
    """Where a reader begins who wants to know only what is to come."""
    horizon = await _horizon_tx(tx)
    return await tx.maybe(EventCursor, q.newest_of_shelf, shelf_id=shelf_id, horizon=horizon) or EventCursor()


async def settled_of_shelf_tx(tx: Tx, shelf_id: ShelfId) -> EventCursor:
    """The same in one statement; while something runs for long, also in another database, it is an earlier place."""
    return await tx.maybe(EventCursor, q.settled_of_shelf, shelf_id=shelf_id) or EventCursor()


async def newest_event_tx(tx: Tx) -> EventCursor:
    """The same for all shelves."""
    return await tx.maybe(EventCursor, q.newest_event, horizon=await _horizon_tx(tx)) or EventCursor()


async def is_remembered_tx(tx: Tx, shelf_id: ShelfId, cursor: EventCursor) -> bool:
    """Whether this very event is still there: then none after it has been forgotten."""
    place = {"txid": cursor.txid, "id": cursor.id}
    found = await tx.maybe(int, q.find_event, shelf_id=shelf_id, horizon=await _horizon_tx(tx), **place)
    return found is not None


async def shelves_with_news_tx(tx: Tx, after: EventCursor, *, most: int) -> list[ShelfCursor]:
    """Whom events after this place concern."""
    horizon = await _horizon_tx(tx)
    return await tx.many(ShelfCursor, q.shelves_with_news, txid=after.txid, id=after.id, horizon=horizon, most=most)


async def has_unsettled_tx(tx: Tx) -> bool:
    """Whether events are committed that wait for an older transaction to end."""
    return await tx.maybe(int, q.unsettled_event, horizon=await _horizon_tx(tx)) is not None


async def _horizon_tx(tx: Tx) -> int:
    """Asked before the events, by `Database.read` alone: within one transaction PostgreSQL looks around only once."""
    return await tx.one(int, q.horizon)
