"""Event streams: one look at the shelves that somebody listens to, and each reads on from its own cursor."""

import re
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator
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
_QUIET = 15.0
"""After so many seconds without news a stream says that it is still there."""
_PAGE = 100
MOST_STREAMS = 64
"""Streams of one shelf in one process: more pages than anybody opens, too few to use up everyone's connections."""

_log = structlog.stdlib.get_logger("tsuzuki.events")


class EventCursor(msgspec.Struct, frozen=True, order=True):
    """A place among the events of a shelf; what Last-Event-ID names."""

    place: int = 0
    id: int = 0

    def __str__(self) -> str:
        return f"{self.place}-{self.id}"

    @classmethod
    def read(cls, text: str) -> "EventCursor | None":
        """The place that a client names; None when it names none."""
        found = _CURSOR.fullmatch(text)
        return None if found is None else cls(int(found[1]), int(found[2]))


class Event(msgspec.Struct, frozen=True):
    """One event of a shelf; the payload is JSON."""

    place: int
    id: int
    kind: EventKind
    payload: str

    @property
    def cursor(self) -> EventCursor:
        """Where reading goes on after it."""
        return EventCursor(self.place, self.id)


class ShelfCursor(msgspec.Struct, frozen=True):
    """A shelf, and the newest of its events."""

    shelf_id: ShelfId
    place: int
    id: int


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
        self._seen: dict[ShelfId, ShelfCursor] = {}
        """Up to where the streams of each shelf were woken."""

    def refuse_one_too_many(self, shelf_id: ShelfId) -> None:
        """TooManyRequests when as many streams of this shelf are open as may be."""
        if self._is_full(shelf_id):
            raise TooManyRequests("Too many pages of this shelf are open. Close some of them.", int(_QUIET))

    async def run(self) -> None:
        """Wake the streams of shelves that have news; ends only by being cancelled."""
        with self._wakeup.listen(EVENTS_WAKEUP) as listener:
            while True:
                try:
                    await self._look()
                except Unavailable as error:
                    _log.warning("events_unavailable", reason=str(error))
                except Exception:  # noqa: BLE001  the top of a loop that all streams of this process rely on
                    _log.exception("events_poll_failed")
                await listener.wait(self._floor)

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
        return str(await self._db.read(lambda tx: newest_of_shelf_tx(tx, shelf_id)))

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
                self._seen.pop(shelf_id, None)

    # -- one look for all

    async def _look(self) -> None:
        """Wake those whose shelf has news; nothing is read while nobody listens."""
        seen = [self._seen.get(shelf_id, ShelfCursor(shelf_id, 0, 0)) for shelf_id in self._open]
        if not seen:
            return
        for found in await self._db.read(lambda tx: shelves_with_news_tx(tx, seen)):
            if found.shelf_id in self._open:
                self._seen[found.shelf_id] = found
                self._streams.wake(_name(found.shelf_id))

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
    return await tx.many(Event, q.next_events, shelf_id=shelf_id, place=after.place, id=after.id, most=most)


async def newest_of_shelf_tx(tx: Tx, shelf_id: ShelfId) -> EventCursor:
    """Where a reader begins who wants to know only what is to come."""
    return await tx.maybe(EventCursor, q.newest_of_shelf, shelf_id=shelf_id) or EventCursor()


async def is_remembered_tx(tx: Tx, shelf_id: ShelfId, cursor: EventCursor) -> bool:
    """Whether this very event is still there: then none after it has been forgotten."""
    found = await tx.maybe(int, q.find_event, shelf_id=shelf_id, place=cursor.place, id=cursor.id)
    return found is not None


async def shelves_with_news_tx(tx: Tx, seen: Iterable[ShelfCursor]) -> list[ShelfCursor]:
    """Those of these shelves that have later events, each with the newest."""
    return await tx.bulk(ShelfCursor, q.shelves_with_news, map(msgspec.structs.astuple, seen))
