"""Events for open apps: a series has new chapters, or was read elsewhere."""

from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing

import msgspec
from starlette.responses import Response

from tsuzuki.accounts.types import Slice
from tsuzuki.http.auth import address_of
from tsuzuki.http.streams import event_stream
from tsuzuki.inbox.events import EventMessage
from tsuzuki.model.ids import ChapterId, show_id
from tsuzuki.protocols.access import ProtocolDeps
from tsuzuki.protocols.komga.requests import KomgaRequest, KomgaResource, resource
from tsuzuki.shelves.events import Arrived

_NOTHING = ": nothing for apps\n\n"
_MOST_NAMED = 20


def resources(deps: ProtocolDeps) -> Sequence[KomgaResource]:
    """The stream."""
    return [resource(deps, "/sse/v1/events", {"GET": _stream})]


async def _stream(asked: KomgaRequest) -> Response:
    events, devices = asked.services.events, asked.services.accounts.devices
    events.refuse_one_too_many(asked.shelf_id)
    password_id, address = asked.user.password_id, address_of(asked.request)

    async def still_may() -> bool:
        user = await devices.find(password_id, address)  # NotFound, once it is revoked, ends the stream
        return user.shelf.id == asked.shelf_id

    place = asked.request.headers.get("last-event-id")
    return event_stream(_written_out(asked, events.follow(asked.shelf_id, place)), bytes, still_may)


async def _written_out(
    asked: KomgaRequest, messages: AsyncGenerator[EventMessage | None, None]
) -> AsyncGenerator[bytes | None, None]:
    listener = _Listener(asked)
    async with aclosing(messages):
        async for event in messages:
            yield None if event is None else await listener.message(event)


class _Unread(msgspec.Struct, frozen=True):
    """The part of the counts that is compared."""

    series: dict[str, int]


class _Listener:
    """Says what happens in Komga's words. Which series was read shows in its unread chapters: they became more or
    fewer, and none came.
    """

    def __init__(self, asked: KomgaRequest) -> None:
        self._asked = asked
        self._unread: dict[str, int] | None = None
        self._arrived: set[str] = set()
        self._added: set[str] = set()
        """Series that were announced: a back-catalogue comes in batches."""

    async def message(self, event: EventMessage) -> bytes:
        """One message or several; a comment for what has no word there."""
        place = "" if event.id is None else f"id: {event.id}\n"
        said = "".join([f"event: {kind}\ndata: {data}\n\n" async for kind, data in self._said(event)])
        return f"{place}{said or _NOTHING}".encode()

    async def _said(self, event: EventMessage) -> AsyncIterator[tuple[str, str]]:
        if event.kind == "entry":
            arrived = msgspec.json.decode(event.data, type=Arrived)
            if arrived.kind == "chapter":
                self._arrived.add(arrived.id)
                where = {"seriesId": arrived.id, "libraryId": self._asked.library_id}
                is_new = arrived.available > 0 and arrived.id not in self._added
                if is_new:
                    self._added.add(arrived.id)
                yield "SeriesAdded" if is_new else "SeriesChanged", _written(**where)
                for book in await self._books(arrived):
                    yield "BookAdded", _written(bookId=str(book), **where)
        elif event.kind == "counts":
            before, now = self._unread, msgspec.json.decode(event.data, type=_Unread).series
            changed: set[str] = set() if before is None else {series for series, _ in before.items() ^ now.items()}
            for series in sorted(changed - self._arrived):
                user_id = str(self._asked.user.caller.user_id)
                yield "ReadProgressSeriesChanged", _written(seriesId=series, userId=user_id)
            self._unread, self._arrived = now, set()

    async def _books(self, arrived: Arrived) -> list[ChapterId]:
        """The newest of those that came: an app looks for all of them when one is named."""
        if not arrived.count:
            return []
        rows, _ = await self._asked.library.arrived(self._asked.shelf_id, Slice(min(arrived.count, _MOST_NAMED)))
        return [row.id for row in rows if show_id(row.series_public_id) == arrived.id]


def _written(**data: str) -> str:
    return msgspec.json.encode(data).decode()
