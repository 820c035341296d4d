"""Events for open apps: a series has new chapters, or was read elsewhere."""

from collections.abc import Iterator, Sequence

import msgspec
from starlette.responses import Response

from tsuzuki.http.auth import address_of
from tsuzuki.http.streams import event_stream
from tsuzuki.inbox.events import EventMessage
from tsuzuki.protocols.access import ProtocolDeps
from tsuzuki.protocols.komga.requests import KomgaRequest, KomgaResource, resource
from tsuzuki.shelves.events import Arrived

_NOTHING = ": nothing for apps\n\n"


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
    listener = _Listener(asked.library_id, str(asked.user.caller.user_id))
    return event_stream(events.follow(asked.shelf_id, place), listener.message, still_may)


class _Unread(msgspec.Struct, frozen=True):
    """The part of the counts that is compared."""

    series: dict[str, int]


class _Listener:
    """Says what happens in Komga's words. Which series was read shows in its unread chapters: they became more or
    fewer, and none came.
    """

    def __init__(self, library_id: str, user_id: str) -> None:
        self._library_id = library_id
        self._user_id = user_id
        self._unread: dict[str, int] | None = None
        self._arrived: set[str] = set()

    def message(self, event: EventMessage) -> bytes:
        """One message or several; a comment for what has no word there."""
        place = "" if event.id is None else f"id: {event.id}\n"
        said = "".join(f"event: {kind}\ndata: {data}\n\n" for kind, data in self._said(event))
        return f"{place}{said or _NOTHING}".encode()

    def _said(self, event: EventMessage) -> Iterator[tuple[str, str]]:
        if event.kind == "entry":
            arrived = msgspec.json.decode(event.data, type=Arrived)
            if arrived.kind == "chapter":
                self._arrived.add(arrived.id)
                yield "SeriesChanged", _written(seriesId=arrived.id, libraryId=self._library_id)
        elif event.kind == "counts":
            before, now = self._unread, msgspec.json.decode(event.data, type=_Unread).series
            changed: set[str] = set() if before is None else {series for series, _ in before.items() ^ now.items()}
            for series in sorted(changed - self._arrived):
                yield "ReadProgressSeriesChanged", _written(seriesId=series, userId=self._user_id)
            self._unread, self._arrived = now, set()


def _written(**data: str) -> str:
    return msgspec.json.encode(data).decode()
