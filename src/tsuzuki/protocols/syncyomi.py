"""SyncYomi: one file that phones share, with ETags. The apps merge it themselves; here it is kept as it came."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from tsuzuki.accounts.devices import AppUser
from tsuzuki.accounts.types import Protocol
from tsuzuki.http.body import stream_body
from tsuzuki.http.errors import BodyTooSlow, failure_of
from tsuzuki.model.errors import Forbidden, TsuzukiError, Unavailable
from tsuzuki.protocols.access import AppResource, ProtocolDeps
from tsuzuki.transfer.synced import MOST_BYTES, StaleVersion

SYNCYOMI = Protocol(name="syncyomi", title="SyncYomi", path="/syncyomi")

_TOKEN = "x-api-token"  # noqa: S105  the name of a header
_CONTENT = f"{SYNCYOMI.path}/api/sync/content"
_EVENT = f"{SYNCYOMI.path}/api/sync/event"

LONGEST_S = 180.0
"""What receiving a body may take: 64 MB at 3 Mbit/s."""

Answer = Callable[[Request, AppUser], Awaitable[Response]]


def resources(deps: ProtocolDeps) -> Sequence[AppResource]:
    """The shared file, and events about an app's work, which are accepted and ignored."""
    api = _SyncYomi(deps)
    return [
        AppResource(_CONTENT, {"GET": api.answering(api.show), "PUT": api.answering(api.store)}),
        AppResource(_EVENT, {"POST": api.answering(api.ignore_event)}),
    ]


class _SyncYomi(msgspec.Struct, frozen=True):
    deps: ProtocolDeps

    def answering(self, answer: Answer) -> Callable[[Request], Awaitable[Response]]:
        """A handler for whoever has the password; errors are JSON."""

        async def run(request: Request) -> Response:
            try:
                user = await self.deps.sign_in(request, SYNCYOMI, None, request.headers.get(_TOKEN, ""))
                if user.kind == "item":
                    raise Forbidden("This device password shows only articles.")
                return await answer(request, user)
            except StaleVersion as error:
                return _json({"error": str(error)}, status=412)
            except TsuzukiError as error:
                failure = failure_of(error, "")
                return _json({"error": failure.body.error}, status=failure.status, headers=failure.headers)

        return run

    async def show(self, request: Request, user: AppUser) -> Response:
        synced = self.deps.services.synced
        found = await synced.newest(user.shelf.id)
        if found is None:
            return _json({"error": "Nothing has been synchronised yet."}, status=404)
        headers = {"etag": found.etag}
        if found.etag in _etags(request.headers.get("if-none-match")):
            return Response(status_code=304, headers=headers)
        headers["content-length"] = str(found.size)
        pieces = await synced.pieces(found)
        return StreamingResponse(pieces, headers=headers, media_type="application/octet-stream")

    async def store(self, request: Request, user: AppUser) -> Response:
        user.must_write()
        said = request.headers.get("if-match")
        synced = self.deps.services.synced
        async with synced.draft() as draft:
            await _receive(request, draft)
            instead_of = None if said is None else _etags(said)
            stored = await synced.put(user.shelf.id, draft, instead_of=instead_of)
        return Response(headers={"etag": stored.etag})

    async def ignore_event(self, _: Request, __: AppUser) -> Response:
        return _json({})


async def _receive(request: Request, draft: Path) -> None:
    """The body, in a file; whoever sends it a byte at a time does not keep others waiting for long."""
    try:
        with draft.open("wb") as file:
            async with asyncio.timeout(LONGEST_S):
                async for piece in stream_body(request.scope, request.receive, MOST_BYTES):
                    await asyncio.to_thread(file.write, piece)
    except TimeoutError:
        raise BodyTooSlow(f"The body did not arrive within {LONGEST_S:.0f} s.") from None
    except OSError as error:
        raise Unavailable(f"The library cannot be stored: {error.strerror}.") from error


def _etags(said: str | None) -> list[str]:
    """As apps send them back, quoted or not."""
    return [] if said is None else [one.strip().removeprefix("W/").strip('"') for one in said.split(",")]


def _json(body: dict[str, Any], *, status: int = 200, headers: Any = None) -> Response:
    return Response(msgspec.json.encode(body), status, headers, "application/json")
