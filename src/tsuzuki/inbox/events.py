"""Event streams: one poll of the database for all of them, and each reads on from its own cursor."""

import re
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import contextmanager

import msgspec
import structlog

from tsuzuki.coord.wakeup import MemoryWakeup, Wakeup
from tsuzuki.db import Database, Tx, load_queries
from tsuzuki.inbox.service import counts_tx
from tsuzuki.model.errors import TooManyRequests, Unavailable
from tsuzuki.model.ids import ShelfId
from tsuzuki.model.times import Millis
from tsuzuki.shelves.events import EVENTS_WAKEUP, EventKind, counts_changed_tx

q = load_queries("tsuzuki.inbox")

_CURSOR = re.compile(r"([0-9]{1,18})-([0-9]{1,18})")
_SOON = 0.05
_QUIET = 15.0
"""After so many seconds without news a stream says that it is still there."""
_PAGE = 100
_SIGHTINGS = 1_000
MOST_STREAMS = 64
"""Streams of one shelf in one process: more pages than anybody opens, too few to use up everyone's connections."""

_log = structlog.stdlib.get_logger("tsuzuki.events")


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
    """A shelf that has new events."""

    txid: int
    id: int
    shelf_id: ShelfId

    @property
    def cursor(self) -> EventCursor:
        """The cursor after this event."""
        return EventCursor(self.txid, self.id)


class EventMessage(msgspec.Struct, frozen=True):
    """One message of a stream; `data` is JSON."""

    id: str | None
    """What the reader names when it comes back; None while there is no event to name."""
    kind: EventKind
    data: str


class Events:
    """The streams of one process. `run` wakes them; without it they still look, some times a minute."""

    def __init__(self, db: Database, wakeup: Wakeup, clock: Callable[[], Millis], *, floor: float = 1.0) -> None:
        """`floor` is how many seconds news wait at most when a wake-up is lost."""
        self._floor = floor
        self._db = db
        self._wakeup = wakeup
        self._clock = clock
        self._streams = MemoryWakeup()
        self._is_closed = False
        self._open: Counter[ShelfId] = Counter()

    def refuse_one_too_many(self, shelf_id: ShelfId) -> None:
        """TooManyRequests when as many streams of this shelf are open as may be."""
        if self._is_full(shelf_id):
            raise TooManyRequests("Too many pages of this shelf are open. Close some of them.", int(_QUIET))

    async def run(self) -> None:
        """Wake the streams of shelves that have news; ends only by being cancelled."""
        seen: EventCursor | None = None
        pause = self._floor
        with self._wakeup.listen(EVENTS_WAKEUP) as listener:
            while True:
                try:
                    # Asked before the look: what settles between the two is seen by it. The other way round it would
                    # be missed until the floor.
                    is_waiting = await self._db.read(has_unsettled_tx)
                    seen = await self._look(seen)
                    pause = min(pause * 2, self._floor) if is_waiting else self._floor
                except Unavailable as error:
                    _log.warning("events_unavailable", reason=str(error))
                except Exception:  # noqa: BLE001  the top of a loop that all streams of this process rely on
                    _log.exception("events_poll_failed")
                if await listener.wait(pause):
                    pause = _SOON / 2

    def close(self) -> None:
        """End every stream: the process stops, and their readers come back elsewhere."""
        self._is_closed = True
        self._streams.wake_all()

    async def follow(
        self, shelf_id: ShelfId, last_event_id: str | None, *, with_jobs: bool = False
    ) -> AsyncGenerator[EventMessage | None, None]:
        """The shelf's events from where the reader left off, until `close`; at first, and after a change, the counts.

        No event is missed and none is repeated; `missed` in the first counts says that the place is no longer known.
        None comes from time to time while nothing happens. `with_jobs` is for those who run this server: who shares a
        shelf with them gets no events of crawl jobs.
        """
        if self._is_full(shelf_id):
            return  # several came at the same moment
        with self._counted(shelf_id), self._streams.listen(_name(shelf_id)) as listener:
            cursor, has_missed = await self._place(shelf_id, last_event_id)
            yield await self._counts(shelf_id, cursor, has_missed=has_missed)
            while not self._is_closed:
                page = await self._next(shelf_id, cursor)
                for event in page:
                    cursor = event.cursor
                    if event.kind != "counts" and (with_jobs or event.kind != "job"):
                        yield EventMessage(str(cursor), event.kind, event.payload)
                if any(event.kind in {"counts", "entry"} for event in page):
                    yield await self._counts(shelf_id, cursor)
                if not page and not await listener.wait(_QUIET):
                    yield None

    async def place(self, shelf_id: ShelfId) -> str:
        """The Last-Event-ID for a new reader of the shelf, who gets the events from now on."""
        return str(await self._db.read(lambda tx: settled_of_shelf_tx(tx, shelf_id)))

    def _is_full(self, shelf_id: ShelfId) -> bool:
        return self._open.get(shelf_id, 0) >= MOST_STREAMS

    @contextmanager
    def _counted(self, shelf_id: ShelfId) -> Iterator[None]:
        self._open[shelf_id] += 1
        try:
            yield
        finally:
            self._open[shelf_id] -= 1
            if not self._open[shelf_id]:
                del self._open[shelf_id]

    # -- one look for all

    async def _look(self, seen: EventCursor | None) -> EventCursor:
        if seen is None:
            return await self._db.read(newest_event_tx)
        while sightings := await self._sightings(seen):
            self._streams.wake(*{_name(each.shelf_id) for each in sightings})
            seen = sightings[-1].cursor
        return seen

    async def _sightings(self, after: EventCursor) -> list[ShelfCursor]:
        return await self._db.read(lambda tx: shelves_with_news_tx(tx, after, most=_SIGHTINGS))

    # -- one stream

    async def _next(self, shelf_id: ShelfId, after: EventCursor) -> list[Event]:
        return await self._db.read(lambda tx: next_events_tx(tx, shelf_id, after, most=_PAGE))

    async def _place(self, shelf_id: ShelfId, last_event_id: str | None) -> tuple[EventCursor, bool]:
        """Where to read on, and whether something may have been missed."""
        named = EventCursor.read(last_event_id or "")
        if named is not None and await self._db.read(lambda tx: is_remembered_tx(tx, shelf_id, named)):
            return named, False
        newest = await self._db.read(lambda tx: newest_of_shelf_tx(tx, shelf_id))
        if newest == EventCursor():
            await self._add_first_event(shelf_id)
        if named == EventCursor():
            return named, False  # there was no event yet when this reader looked: all are sent
        return newest, bool(last_event_id)

    async def _add_first_event(self, shelf_id: ShelfId) -> None:
        """Add an event, so that the cursor is one: only then can it be seen that later ones were pruned."""
        await self._db.with_tx(lambda tx: counts_changed_tx(tx, [shelf_id], self._clock()))
        self._wakeup.wake(EVENTS_WAKEUP)

    async def _counts(self, shelf_id: ShelfId, cursor: EventCursor, *, has_missed: bool = False) -> EventMessage:
        """Counted now, after the change was committed: a number in the event's row could be old."""
        counts = await self._db.read(lambda tx: counts_tx(tx, shelf_id))
        data = msgspec.json.encode(msgspec.structs.asdict(counts) | {"missed": has_missed}).decode()
        return EventMessage(None if cursor == EventCursor() else str(cursor), "counts", data)


def _name(shelf_id: ShelfId) -> str:
    return f"shelf {shelf_id}"


# -- the rows, in the order in which they became visible


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
    """The newest settled position, in one statement; earlier while any transaction, in any database, runs long."""
    return await tx.maybe(EventCursor, q.settled_of_shelf, shelf_id=shelf_id) or EventCursor()


async def newest_event_tx(tx: Tx) -> EventCursor:
    """The newest event of any shelf."""
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
