"""The least that a web server of this kind is: `python -m bench._bare_server` prints where it is.

Starlette under uvicorn and uvloop, as ours, in a process of its own. `/` is a sentence, `/json/N` is N bytes that are
encoded for each request. It knows nobody, reads nothing, compresses nothing and writes no log.
"""

import contextlib
import socket
from collections.abc import AsyncIterator
from typing import Any

import msgspec
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

FIELDS = 20
"""Of each object in an answer, about as many as an entry has."""


async def hello(_: Request) -> PlainTextResponse:
    return PlainTextResponse("Here.")


async def some_json(request: Request) -> Response:
    size = int(request.path_params["size"])
    filling = "x" * max(1, size // FIELDS - len('"field00":"",'))
    body = msgspec.json.encode({f"field{number:02}": filling for number in range(FIELDS)})
    return Response(body, media_type="application/json")


def main() -> None:
    listening = socket.create_server(("127.0.0.1", 0), backlog=1024)

    @contextlib.asynccontextmanager
    async def started(_: Any) -> AsyncIterator[None]:
        print(f"http://127.0.0.1:{listening.getsockname()[1]}", flush=True)
        yield

    app = Starlette(routes=[Route("/", hello), Route("/json/{size:int}", some_json)], lifespan=started)
    uvicorn.Server(uvicorn.Config(app, log_level="critical", loop="uvloop")).run(sockets=[listening])


if __name__ == "__main__":
    main()
