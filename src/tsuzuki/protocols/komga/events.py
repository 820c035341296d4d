"""What open apps are told: that a series has changed."""

from collections.abc import Sequence

import msgspec
from starlette.responses import Response

from tsuzuki.http.auth import address_of
from tsuzuki.http.streams import event_stream
from tsuzuki.inbox.events import EventMessage
from tsuzuki.protocols.access import ProtocolDeps
from tsuzuki.protocols.komga.requests import KomgaRequest, KomgaResource, resource
from tsuzuki.shelves.events import Arrived


def resources(deps: ProtocolDeps) -> Sequence[KomgaResource]:
    """The stream."""
    return [resource(deps, "/sse/v1/events", {"GET": _stream})]


async def _stream(asked: KomgaRequest) -> Response:
    """New chapters change their series. Marks made elsewhere are not told: our events do not say of which series."""
    events, devices = asked.services.events, asked.services.accounts.devices
    events.refuse_one_too_many(asked.shelf_id)
    password_id, address = asked.user.password_id, address_of(asked.request)

    async def still_may() -> bool:
        user = await devices.find(password_id, address)  # NotFound, once it is revoked, ends the stream
        return user.shelf.id == asked.shelf_id

    place = asked.request.headers.get("last-event-id")
    return event_stream(events.follow(asked.shelf_id, place), lambda told: _message(told, asked.library_id), still_may)


def _message(told: EventMessage, library_id: str) -> bytes:
    """In Komga's words; a comment for what has none there."""
    place = "" if told.id is None else f"id: {told.id}\n"
    if told.kind == "entry":
        arrived = msgspec.json.decode(told.data, type=Arrived)
        if arrived.kind == "chapter":
            said = msgspec.json.encode({"seriesId": arrived.id, "libraryId": library_id}).decode()
            return f"{place}event: SeriesChanged\ndata: {said}\n\n".encode()
    return f"{place}: nothing for apps\n\n".encode()
