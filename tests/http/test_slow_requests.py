"""Requests that never begin, and those that never come to an end: neither keeps a connection, nor memory."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from tests.app import Client, serving_resources
from tsuzuki.app import server as server_module
from tsuzuki.http.body import read_body
from tsuzuki.http.routing import Resource, page

SOON = 0.3


async def slow(_: Request) -> Response:
    async def parts() -> AsyncIterator[bytes]:
        for _ in range(4):
            yield b"x"
            await asyncio.sleep(SOON / 2)

    return StreamingResponse(parts())


async def swallow(request: Request) -> Response:
    return Response(str(len(await read_body(request.scope, request.receive, limit=1_000_000))))


@pytest.fixture
async def client() -> AsyncIterator[Client]:
    async with serving_resources([page("/slow", slow), Resource("/swallow", {"POST": swallow})]) as client:
        yield client


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_module, "HEAD_S", SOON)


@asynccontextmanager
async def connected(client: Client) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    reader, writer = await asyncio.open_connection("127.0.0.1", int(client.base.rpartition(":")[2]))
    try:
        async with asyncio.timeout(20):
            yield reader, writer
    finally:
        writer.close()


async def flood(writer: asyncio.StreamWriter, piece: bytes, *, most: int) -> int:
    """Send this again and again until nobody takes it any more; how many bytes that were."""
    sent = 0
    try:
        while sent < most:
            writer.write(piece)
            await writer.drain()
            sent += len(piece)
    except ConnectionError:
        pass
    return sent


@pytest.mark.parametrize("beginning", [b"GET /", b"GET / HTTP/1.1\r\nx: ", b"POST /swallow HTTP/1.1\r\nhost: a\r\n"])
async def test_a_head_without_an_end_is_refused_and_not_kept(client, beginning):
    """SEC-20: the parser knows no limit of its own."""
    piece = b"a: b\r\n" * 2_000 if beginning.endswith(b"\r\n") else b"a" * 12_000
    async with connected(client) as (reader, writer):
        writer.write(beginning)
        assert await flood(writer, piece, most=30_000_000) < 30_000_000
        with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
            await reader.readexactly(100_000)


async def test_whoever_sends_too_large_a_head_is_told(client):
    async with connected(client) as (reader, writer):
        writer.write(b"GET / HTTP/1.1\r\nx: " + b"a" * server_module.HEAD_BYTES)
        answer = await reader.read()
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert b"The request headers are too large." in answer


@pytest.mark.parametrize("never", [b"0\r\na: ", b"0\r\n", b"1;a="])
async def test_what_follows_a_body_for_ever_is_cut_off(client, never):
    piece = b"a: b\r\n" * 2_000 if never == b"0\r\n" else b"a" * 12_000
    async with connected(client) as (_, writer):
        writer.write(b"POST /swallow HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n1\r\nx\r\n" + never)
        assert await flood(writer, piece, most=30_000_000) < 30_000_000


async def test_a_body_of_many_small_pieces_is_taken(client):
    async with connected(client) as (reader, writer):
        head = b"POST /swallow HTTP/1.1\r\nhost: a\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n"
        writer.write(head + b"1\r\nx\r\n" * 100_000 + b"0\r\n\r\n")
        assert (await reader.read()).endswith(b"100000")


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("beginning", [b"", b"GET /slow HTTP/1.1\r\nhost:"])
async def test_a_connection_on_which_no_request_comes_is_closed(client, beginning):
    async with connected(client) as (reader, writer):
        writer.write(beginning)
        assert await reader.read() == b""


@pytest.mark.usefixtures("impatient")
async def test_a_byte_now_and_then_does_not_keep_a_connection(client):
    async with connected(client) as (reader, writer):
        closed = asyncio.create_task(reader.read())
        for letter in b"GET /slow HTTP/1.1":
            writer.write(bytes([letter]))
            await asyncio.sleep(SOON / 5)
            if closed.done():
                break
        assert closed.done()


@pytest.mark.usefixtures("impatient")
async def test_an_answer_that_takes_longer_is_not_cut_off(client):
    async with connected(client) as (reader, writer):
        writer.write(b"GET /slow HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n")
        answer = await reader.read()
    assert answer.startswith(b"HTTP/1.1 200 ")
    assert answer.count(b"1\r\nx\r\n") == 4
    assert answer.endswith(b"0\r\n\r\n")
