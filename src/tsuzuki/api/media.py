"""Audio and video of articles, proxied by this server."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Annotated

import structlog
from msgspec import Meta
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from tsuzuki.accounts.caller import Caller
from tsuzuki.accounts.current_user import CurrentUser
from tsuzuki.api.endpoints import Access, declaring
from tsuzuki.api.images import Signature, WrittenAddress
from tsuzuki.http.errors import Disconnected
from tsuzuki.http.middleware import SANDBOXED
from tsuzuki.images.media import MediaLink, MediaLinks, MediaResponse, MediaService
from tsuzuki.images.policy import ByteRange, read_range
from tsuzuki.model.errors import NotFound, SourceError, Unavailable
from tsuzuki.model.ids import ShelfId

_NOTHING_THERE = 416

Terms = Annotated[str, Meta(max_length=64)]

_log = structlog.stdlib.get_logger("tsuzuki.media")


async def play_media(
    *,
    terms: Terms,
    seal: Signature,
    medium: WrittenAddress,
    request: Request,
    caller: Caller,
    current_user: CurrentUser,
    links: MediaLinks,
    media: MediaService,
) -> Response:
    """Streams audio or video of an article, at the address used on the article's page. Range requests are passed on.

    Returns 503 with the reason if the declared type or the content is not audio or video.
    """
    link = links.read(terms, seal, medium)
    shelf = await current_user.shelf_of(caller)
    return _Passing(media, link, shelf.id, read_range(request.headers.get("range", "")))


class _Passing(Response):
    """The answer, made while it is sent: whatever is wrong before its first byte becomes an error as usual."""

    def __init__(self, media: MediaService, link: MediaLink, shelf_id: ShelfId, wanted: ByteRange | None) -> None:
        super().__init__(None)
        self._media = media
        self._link = link
        self._shelf_id = shelf_id
        self._wanted = wanted

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request (ASGI). The call to the publisher ends with the browser's."""
        is_begun = False
        try:
            async with _while_listening(receive), self._media.open(self._link, self._shelf_id, self._wanted) as playing:
                head = Response(None, playing.status, _headers(playing))
                if playing.length is None and playing.status != _NOTHING_THERE:
                    del head.headers["content-length"]
                await send({"type": "http.response.start", "status": head.status_code, "headers": head.raw_headers})
                is_begun = True
                if scope["method"] != "HEAD":
                    await self._pass_on(playing, send)
                await send({"type": "http.response.body", "body": b"", "more_body": False})
        except (SourceError, Unavailable) as error:
            if not is_begun:
                raise
            _log.warning("media_interrupted", reason=str(error))  # the server closes what was not answered to its end

    async def _pass_on(self, playing: MediaResponse, send: Send) -> None:
        async for piece in playing.pieces:
            try:
                async with asyncio.timeout(self._media.limits.unread):
                    await send({"type": "http.response.body", "body": piece, "more_body": True})
            except TimeoutError:
                raise Unavailable("The browser stopped receiving.") from None


@asynccontextmanager
async def _while_listening(receive: Receive) -> AsyncIterator[None]:
    """End the block, as Disconnected, when the browser goes away."""
    until = asyncio.timeout(None)
    leaving = asyncio.create_task(_end_when_gone(receive, until))
    try:
        async with until:
            yield
    except TimeoutError:
        if until.expired():
            raise Disconnected from None
        raise
    finally:
        leaving.cancel()
        with suppress(asyncio.CancelledError):
            await leaving


async def _end_when_gone(receive: Receive, until: asyncio.Timeout) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    until.reschedule(asyncio.get_running_loop().time())


def _headers(playing: MediaResponse) -> Mapping[str, str]:
    """Ours only: of what the publisher says, nothing but sizes goes out."""
    headers = {
        "content-disposition": "inline",
        "content-security-policy": SANDBOXED,
        "accept-ranges": "bytes" if playing.takes_ranges else "none",
    }
    if playing.media_type:
        headers["content-type"] = playing.media_type
    if playing.length is not None:
        headers["content-length"] = str(playing.length)
    if playing.part is not None:
        headers["content-range"] = str(playing.part)
    return headers


_read = declaring("images", Access.READ)

ENDPOINTS = (
    _read(
        "GET",
        "/media/{terms}/{seal}/{medium}",
        play_media,
        "Play audio or video of an article",
        errors=(NotFound, Unavailable),
    ),
)
