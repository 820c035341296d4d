"""What happens on a shelf, as it happens: server-sent events."""

import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing

from starlette.requests import Request
from starlette.responses import StreamingResponse

from tsuzuki.accounts.caller import Caller
from tsuzuki.accounts.current_user import CurrentUser
from tsuzuki.api.declaring import declaring
from tsuzuki.api.endpoints import Access
from tsuzuki.api.shelf import ShelfQuery
from tsuzuki.delivery.counts import UnreadCounts
from tsuzuki.delivery.events.service import EventMessage, Events
from tsuzuki.model.errors import NotFound, TooManyRequests, Unavailable

_LONGEST_S = 600.0
"""Then the reader comes back, as one who still may: a session that was ended must not hear on for ever."""

_RETRY = b"retry: 2000\n\n"
_STILL_HERE = b": still here\n\n"


async def follow_events(
    *, query: ShelfQuery, caller: Caller, request: Request, current_user: CurrentUser, events: Events
) -> StreamingResponse:
    """A `text/event-stream` of `entry`, `counts` and `feed` events, and of `job` events for those who run this server.

    `Last-Event-ID` resumes without a gap; where that is no longer possible, the first `counts` says `missed`.
    """
    shelf = await query.pick(caller, current_user)
    events.refuse_one_too_many(shelf.id)
    place, with_jobs = request.headers.get("last-event-id"), caller.may("admin")
    stream = events.follow(shelf.id, place, with_jobs=with_jobs)
    lines = _lines(stream, lambda: current_user.still_has(caller, shelf))
    return StreamingResponse(lines, media_type="text/event-stream", headers={"x-accel-buffering": "no"})


async def show_counts(query: ShelfQuery, caller: Caller, current_user: CurrentUser, events: Events) -> UnreadCounts:
    """How much is unread: in all, by group, by feed, by series."""
    return await events.count((await query.pick(caller, current_user)).id)


async def _lines(
    stream: AsyncGenerator[EventMessage | None, None], still_has: Callable[[], Awaitable[bool]]
) -> AsyncIterator[bytes]:
    ends_at = time.monotonic() + _LONGEST_S
    yield _RETRY
    async with aclosing(stream):
        try:
            async for told in stream:
                if not await still_has():
                    return  # I8: it is not shared with this reader any more
                yield _STILL_HERE if told is None else _message(told)
                if time.monotonic() >= ends_at:
                    return
        except Unavailable:
            return  # the reader comes back, and is told then


def _message(told: EventMessage) -> bytes:
    """The data is JSON of ours and has no line breaks."""
    place = "" if told.id is None else f"id: {told.id}\n"
    return f"{place}event: {told.kind}\ndata: {told.data}\n\n".encode()


_read = declaring("inbox", Access.READ)

ENDPOINTS = (
    _read("GET", "/events", follow_events, "What happens, as it happens", errors=(NotFound, TooManyRequests)),
    _read("GET", "/counts", show_counts, "How much is unread", errors=(NotFound,)),
)
