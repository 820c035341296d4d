"""Pages are packed for who takes them so; everything else passes as it is."""

import gzip
from collections.abc import AsyncIterator

import aiohttp
import pytest
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response, StreamingResponse

from tests.app import Client, serving_resources
from tsuzuki.http.middleware import LEAST
from tsuzuki.http.routing import page

LONG = "<p>to be continued</p>" * 200


async def _long(_: Request) -> Response:
    return HTMLResponse(LONG, headers={"vary": "cookie"})


async def _short(_: Request) -> Response:
    return HTMLResponse("x" * (LEAST - 1))


async def _data(_: Request) -> Response:
    return JSONResponse({"data": LONG})


async def _kept(_: Request) -> Response:
    return HTMLResponse(LONG, headers={"etag": '"1"'})


async def _pieces(_: Request) -> Response:
    return StreamingResponse(iter([LONG, LONG]), media_type="text/html")


@pytest.fixture
async def client() -> AsyncIterator[Client]:
    handlers = {"long": _long, "short": _short, "data": _data, "kept": _kept, "pieces": _pieces}
    async with serving_resources([page(f"/{name}", handler) for name, handler in handlers.items()]) as client:
        yield client


async def _raw(client: Client, path: str, encoding: str) -> tuple[dict[str, str], bytes]:
    async with (
        aiohttp.ClientSession(auto_decompress=False) as session,
        session.get(client.base + path, headers={"accept-encoding": encoding}) as answer,
    ):
        return {name.lower(): value for name, value in answer.headers.items()}, await answer.read()


async def test_a_page_is_packed_and_says_so(client):
    headers, body = await _raw(client, "/long", "gzip, br")
    assert headers["content-encoding"] == "gzip"
    assert int(headers["content-length"]) == len(body) < len(LONG) / 10
    assert "accept-encoding" in headers["vary"].lower()
    assert "cookie" in headers["vary"]
    assert gzip.decompress(body).decode() == LONG


@pytest.mark.parametrize(
    ("path", "encoding"),
    [("/long", "identity"), ("/long", "br"), ("/short", "gzip"), ("/data", "gzip"), ("/kept", "gzip")],
)
async def test_short_opaque_or_unwanted_answers_are_not_compressed(client, path, encoding):
    headers, body = await _raw(client, path, encoding)
    assert "content-encoding" not in headers
    assert int(headers["content-length"]) == len(body) > 0


async def test_a_page_in_pieces_passes_piece_by_piece(client):
    headers, body = await _raw(client, "/pieces", "gzip")
    assert "content-encoding" not in headers
    assert body.decode() == LONG * 2


async def test_an_error_page_is_as_long_as_it_says(client):
    answer = await client.get("/nothing")
    assert answer.status == 404
    assert answer.body
