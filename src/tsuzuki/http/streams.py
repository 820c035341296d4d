"""Streams of events, for as long as the client may receive them."""

import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from typing import TypeVar

from starlette.responses import StreamingResponse

from tsuzuki.model.errors import NotFound, Unavailable

T = TypeVar("T")

LONGEST_STREAM_S = 600.0
"""Seconds after which the client has to reconnect, so that an ended session does not receive events for ever."""


async def _always() -> bool:
    return True


def event_stream(
    messages: AsyncGenerator[T | None, None],
    written: Callable[[T], bytes],
    still_may: Callable[[], Awaitable[bool]] = _always,
) -> StreamingResponse:
    """A `text/event-stream` of these messages, until they end or the client has to reconnect; None is a heartbeat."""
    lines = _lines(messages, written, still_may)
    return StreamingResponse(lines, media_type="text/event-stream", headers={"x-accel-buffering": "no"})


async def _lines(
    messages: AsyncGenerator[T | None, None], written: Callable[[T], bytes], still_may: Callable[[], Awaitable[bool]]
) -> AsyncIterator[bytes]:
    ends_at = time.monotonic() + LONGEST_STREAM_S
    yield b"retry: 2000\n\n"
    async with aclosing(messages):
        try:
            async for message in messages:
                if not await still_may():
                    return
                yield b": still here\n\n" if message is None else written(message)
                if time.monotonic() >= ends_at:
                    return
        except (NotFound, Unavailable):
            return  # the client comes back, and gets its answer then
