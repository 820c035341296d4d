"""Clients that send several requests at once, and leave before they are answered."""

import asyncio
import logging
import socket
import struct

import pytest
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from tests.app import Client, serving_resources
from tsuzuki.app.server import run_with_uvloop
from tsuzuki.http.body import read_body
from tsuzuki.http.routing import Resource, page

GET = b"GET /%s HTTP/1.1\r\nhost: x\r\n\r\n"
POST = b"POST /swallow HTTP/1.1\r\nhost: x\r\ncontent-length: 10\r\n\r\n"

AT_ONCE = {
    "slow ones": GET % b"slow" * 5,
    "streams": GET % b"stream" * 3,
    "one behind a stream": GET % b"stream" + POST + b"0123456789",
    "a body that never ends": GET % b"slow" + POST + b"0123",
}


async def slow(_: Request) -> Response:
    await asyncio.sleep(0.05)
    return Response(b"x" * 1_000_000)


async def stream(_: Request) -> Response:
    async def parts():
        for _ in range(10):
            yield b"x" * 100_000
            await asyncio.sleep(0.01)

    return StreamingResponse(parts())


async def swallow(request: Request) -> Response:
    return Response(str(len(await read_body(request.scope, request.receive, limit=1000))))


RESOURCES = [page("/slow", slow), page("/stream", stream), Resource("/swallow", {"POST": swallow})]


async def _send_and_leave(client: Client, sent: bytes, *, resets: bool) -> None:
    connection = socket.create_connection(("127.0.0.1", int(client.base.rpartition(":")[2])))
    connection.sendall(sent)
    await asyncio.sleep(0.02)
    if resets:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()
    await asyncio.sleep(0.2)


@pytest.mark.parametrize("resets", [True, False])
@pytest.mark.parametrize("run", [asyncio.run, run_with_uvloop])
async def test_clients_that_pipeline_and_leave_log_no_traceback(caplog, run, resets):
    """On uvloop, which serves, an answer to nobody would be an error in the log; asyncio's own would warn."""

    async def serve() -> list[object]:
        strange: list[object] = []
        asyncio.get_running_loop().set_exception_handler(lambda _, context: strange.append(context))
        async with serving_resources(RESOURCES) as client:
            for sent in AT_ONCE.values():
                await _send_and_leave(client, sent, resets=resets)
        return strange

    strange: list[object] = []

    async def main() -> None:
        strange.extend(await serve())

    with caplog.at_level(logging.WARNING):
        await asyncio.to_thread(run, main())
    assert strange == []
    assert [record.getMessage() for record in caplog.records] == []


async def test_requests_sent_at_once_are_answered_in_order():
    async with serving_resources(RESOURCES) as client:
        reader, writer = await asyncio.open_connection("127.0.0.1", int(client.base.rpartition(":")[2]))
        writer.write(GET % b"slow" + POST + b"0123456789" + GET % b"nowhere")
        answered = []
        for _ in range(3):
            head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 5)
            length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
            answered.append((head.split()[1], len(await reader.readexactly(length))))
        writer.close()
    assert [status for status, _ in answered] == [b"200", b"200", b"404"]
    assert [length for _, length in answered][:2] == [1_000_000, 2]


async def test_a_slow_body_behind_another_request_is_waited_for(monkeypatch):
    """What was answered is the first; the second's body is not the rest of it."""
    monkeypatch.setattr("tsuzuki.app.server.LINGER_S", 0.1)
    async with serving_resources(RESOURCES) as client:
        reader, writer = await asyncio.open_connection("127.0.0.1", int(client.base.rpartition(":")[2]))
        writer.write(GET % b"slow" + POST + b"01234")
        head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 5)
        await reader.readexactly(1_000_000)
        await asyncio.sleep(0.3)
        writer.write(b"56789")
        second = await asyncio.wait_for(reader.read(), 5) if reader.at_eof() else await reader.readuntil(b"\r\n\r\n")
        writer.close()
    assert head.startswith(b"HTTP/1.1 200")
    assert second.startswith(b"HTTP/1.1 200")
