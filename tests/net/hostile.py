"""A hostile origin: each behaviour is a path, and each has the error that it must end in."""

import asyncio
import socket
import struct
from collections.abc import Awaitable, Callable
from functools import cache, partial
from typing import NamedTuple

from tests.net.builders import SHORT, answer
from tests.net.packing import bomb, pack
from tsuzuki.model.errors import (
    Blocked,
    Gone,
    HttpStatus,
    NotAFeed,
    RateLimited,
    RedirectLoop,
    RefusedAddress,
    SourceError,
    TimedOut,
    TooLarge,
    Unreachable,
)

MIB = 1024 * 1024
FEED = b"<rss version='2.0'><channel><title>T</title></channel></rss>"
CHALLENGE = b"<html><head><title>Just a moment...</title></head><body>Checking your browser</body></html>"
HTML = "text/html; charset=utf-8"

Act = Callable[[asyncio.StreamWriter], Awaitable[None]]


class Behaviour(NamedTuple):
    act: Act
    error: type[SourceError]
    says: str


BEHAVIOURS: dict[str, Behaviour] = {}

NAMES = {
    "public.example": ["93.184.216.34"],
    "inside.example": ["10.0.0.1"],
    "mixed.example": ["93.184.216.34", "127.0.0.1"],
}


def behaves(error: type[SourceError], says: str) -> Callable[[Act], Act]:
    """Register a behaviour under its function's name."""

    def register(act: Act) -> Act:
        BEHAVIOURS[act.__name__] = Behaviour(act, error, says)
        return act

    return register


def sends(name: str, error: type[SourceError], says: str, *, response: bytes | Callable[[], bytes]) -> None:
    """Register a behaviour that is nothing but these bytes; those that take time to make are made when wanted."""

    async def act(writer: asyncio.StreamWriter) -> None:
        writer.write(response if isinstance(response, bytes) else response())

    BEHAVIOURS[name] = Behaviour(act, error, says)


def reset(writer: asyncio.StreamWriter) -> None:
    """Close with RST instead of FIN."""
    peer = writer.get_extra_info("socket")
    peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


async def forever(writer: asyncio.StreamWriter, piece: bytes, pause: float = 0.0) -> None:
    while not writer.is_closing():
        writer.write(piece)
        await writer.drain()
        await asyncio.sleep(pause)


@cache
def _bomb_in(encoding: str) -> bytes:
    return answer(200, bomb(64 * MIB, encoding), Content_Encoding=encoding)


# -- connections


@behaves(Unreachable, "closed the connection")
async def close_at_once(writer):
    writer.close()


@behaves(Unreachable, "closed the connection")
async def reset_at_once(writer):
    reset(writer)


@behaves(TimedOut, f"sent nothing for {SHORT.idle} s")
async def say_nothing(writer):
    await asyncio.sleep(60)


@behaves(TimedOut, f"more than {SHORT.total} s in all")
async def headers_never_end(writer):
    writer.write(b"HTTP/1.1 200 OK\r\n")
    await forever(writer, b"X-A: 1\r\n", 0.1)


@behaves(TimedOut, f"more than {SHORT.total} s in all")
async def head_byte_by_byte(writer):
    for byte in answer(200, FEED):
        writer.write(bytes([byte]))
        await asyncio.sleep(0.1)


@behaves(TimedOut, f"more than {SHORT.total} s in all")
async def endless_continue(writer):
    await forever(writer, b"HTTP/1.1 100 Continue\r\n\r\n", 0.01)


sends("garbage", Unreachable, "valid HTTP", response=b"\x00\x01\x02 hello\r\n\r\n")
sends("http_0_9", Unreachable, "valid HTTP", response=b"<html>no head at all</html>\r\n\r\n")
sends("mail_banner", Unreachable, "valid HTTP", response=b"220 mail.example ESMTP ready\r\n\r\n")
sends("redis_banner", Unreachable, "valid HTTP", response=b"-ERR unknown command\r\n\r\n")
sends("ssh_banner", Unreachable, "valid HTTP", response=b"SSH-2.0-OpenSSH_9.2\r\n\r\n")
sends("http_9", Unreachable, "valid HTTP", response=b"HTTP/9.9 200 OK\r\nContent-Length: 2\r\n\r\nok")
sends("status_not_a_number", Unreachable, "valid HTTP", response=b"HTTP/1.1 abc OK\r\n\r\n")


# -- headers

sends("header_of_a_mebibyte", TooLarge, "headers", response=answer(200, FEED, X_Long="x" * MIB))
sends("status_line_of_a_mebibyte", TooLarge, "headers", response=b"HTTP/1.1 200 " + b"x" * MIB + b"\r\n\r\n")
sends("five_hundred_headers", TooLarge, "headers", response=b"HTTP/1.1 200 OK\r\n" + b"X-A: 1\r\n" * 500 + b"\r\n")
sends("nul_in_a_header", Unreachable, "valid HTTP", response=answer(200, FEED, X_Nul="a\x00b"))
sends("two_lengths", Unreachable, "valid HTTP", response=answer(200, FEED, Content_Length="3"))
sends("negative_length", Unreachable, "valid HTTP", response=b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n")
sends("length_in_words", Unreachable, "valid HTTP", response=b"HTTP/1.1 200 OK\r\nContent-Length: ten\r\n\r\n")
sends("header_without_colon", Unreachable, "valid HTTP", response=b"HTTP/1.1 200 OK\r\nnonsense\r\n\r\n")


@behaves(TooLarge, "headers")
async def a_million_headers(writer):
    writer.write(b"HTTP/1.1 200 OK\r\n")
    for _ in range(1000):
        if writer.is_closing():
            return
        writer.write(b"X-A: 1\r\n" * 1000)
        await writer.drain()


# -- bodies

sends(
    "length_of_a_tebibyte",
    TooLarge,
    "larger than",
    response=b"HTTP/1.1 200 OK\r\nContent-Length: 1099511627776\r\n\r\n<rss>",
)
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


def chunks(name: str, body: bytes) -> None:
    """Chunks that lie, a moment after a head that does not."""

    async def act(writer: asyncio.StreamWriter) -> None:
        writer.write(CHUNKED)
        await writer.drain()
        await asyncio.sleep(0.05)
        writer.write(body)

    BEHAVIOURS[name] = Behaviour(act, Unreachable, "was cut off")


chunks("chunk_size_in_words", b"five\r\nhello\r\n0\r\n\r\n")
chunks("chunk_without_its_end", b"2\r\nhello\r\n0\r\n\r\n")
chunks("chunk_of_all_bytes_there_are", b"f" * 17 + b"\r\nhello\r\n")


@behaves(Unreachable, "was cut off")
async def length_longer_than_the_body(writer):
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n" + FEED)
    writer.close()


@behaves(Unreachable, "was cut off")
async def chunks_cut_off(writer):
    writer.write(CHUNKED + b"100\r\n<rss>")
    writer.close()


@behaves(Unreachable, "was cut off")
async def reset_in_the_body(writer):
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n<rss>")
    await writer.drain()
    await asyncio.sleep(0.05)
    reset(writer)


@behaves(TooLarge, "larger than")
async def endless_chunks(writer):
    writer.write(CHUNKED)
    await forever(writer, b"10000\r\n" + bytes(65536) + b"\r\n")


@behaves(TooLarge, "larger than")
async def endless_without_length(writer):
    writer.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n")
    await forever(writer, bytes(65536))


@behaves(TimedOut, f"sent nothing for {SHORT.idle} s")
async def stall_in_the_body(writer):
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n<rss>")
    await writer.drain()
    await asyncio.sleep(60)


@behaves(TimedOut, f"sent nothing for {SHORT.idle} s")
async def a_length_and_no_body(writer):
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
    await writer.drain()
    await asyncio.sleep(60)


@behaves(TimedOut, f"did not finish its answer within {SHORT.body} s")
async def body_byte_by_byte(writer):
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
    await forever(writer, b"x", 0.1)


@behaves(TimedOut, f"did not finish its answer within {SHORT.body} s")
async def chunks_byte_by_byte(writer):
    writer.write(CHUNKED)
    await forever(writer, b"1\r\nx\r\n", 0.1)


# -- encodings

for _encoding in ("gzip", "deflate", "br", "zstd", "gzip, gzip", "br, gzip"):
    _name = "bomb_in_" + _encoding.replace(", ", "_in_")
    sends(_name, TooLarge, "when decompressed", response=partial(_bomb_in, _encoding))
for _encoding in ("gzip", "deflate", "br", "zstd"):
    _half = pack(FEED, _encoding)[:-6]
    sends(
        f"{_encoding}_cut_short", Unreachable, "ended before", response=answer(200, _half, Content_Encoding=_encoding)
    )
    sends(
        f"{_encoding}_is_a_lie",
        NotAFeed,
        "decompressed",
        response=answer(200, b"\xff" + FEED, Content_Encoding=_encoding),
    )
sends("packed_three_times", NotAFeed, "3 times", response=answer(200, FEED, Content_Encoding="gzip, gzip, gzip"))
sends("packed_unknown", NotAFeed, "not supported", response=answer(200, FEED, Content_Encoding="aes128gcm"))
_broken = bytearray(pack(FEED, "gzip"))
_broken[-6] ^= 0xFF
sends("gzip_with_a_wrong_sum", NotAFeed, "decompressed", response=answer(200, bytes(_broken), Content_Encoding="gzip"))


# -- redirects


def leads(name: str, location: str, error: type[SourceError], says: str) -> None:
    sends(name, error, says, response=answer(302, b"", Location=location))


leads("loop_to_itself", "/loop_to_itself", RedirectLoop, "form a loop")
leads("loop_of_two", "/loop_of_two_b", RedirectLoop, "form a loop")
leads("loop_of_two_b", "/loop_of_two", RedirectLoop, "form a loop")
leads("to_a_fragment_of_itself", "#here", RedirectLoop, "form a loop")
leads("to_metadata", "http://169.254.169.254/latest/meta-data/", RefusedAddress, "169.254.169.254")
leads("to_a_private_address", "//10.0.0.1/x", RefusedAddress, "10.0.0.1")
leads("to_a_captive_portal", "http://192.168.1.1/login", RefusedAddress, "192.168.1.1")
leads("to_a_mapped_address", "http://[::ffff:10.0.0.1]/", RefusedAddress, "refused")
leads("to_a_number", "http://2852039166/", RefusedAddress, "number in disguise")
leads("to_a_name_of_the_inside", "http://inside.example/", RefusedAddress, "does not resolve")
leads("to_a_name_of_both", "http://mixed.example/", RefusedAddress, "does not resolve")
leads("to_a_file", "file:///etc/passwd", RefusedAddress, "only http")
leads("to_a_script", "javascript:alert(1)", RefusedAddress, "only http")
leads("to_a_user", "http://me:secret@public.example/", RefusedAddress, "user name")
leads("to_an_odd_port", "http://public.example:22/", RefusedAddress, "port 22")
leads("to_nowhere", "", HttpStatus, "without saying where")
leads("to_an_unknown_name", "http://nobody.example/", Unreachable, "cannot be resolved")
sends("without_a_location", HttpStatus, "without saying where", response=answer(301, b""))


# -- statuses


def says_status(status: int, error: type[SourceError], says: str, **headers: str) -> None:
    body = headers.pop("body", "<h1>Sorry</h1>").encode()
    name = headers.pop("name", f"status_{status}")
    sends(name, error, says, response=answer(status, body, Content_Type=HTML, **headers))


says_status(304, HttpStatus, "nothing to compare", body="")
says_status(400, HttpStatus, "400")
says_status(401, HttpStatus, "sign-in")
says_status(402, HttpStatus, "requires payment")
says_status(403, Blocked, "refuses")
says_status(404, HttpStatus, "nothing at this address")
says_status(407, HttpStatus, "proxy")
says_status(410, Gone, "gone for good")
says_status(429, RateLimited, "slow down")
says_status(429, RateLimited, "for 7,200 s", name="status_429_for_hours", Retry_After="7200", body="")
says_status(500, HttpStatus, "500")
says_status(502, HttpStatus, "502")
says_status(503, HttpStatus, "503")
says_status(503, RateLimited, "for 3,600 s", name="status_503_for_an_hour", Retry_After="3600")
says_status(504, HttpStatus, "504")
says_status(511, HttpStatus, "login page")
says_status(999, HttpStatus, "999")
says_status(200, Blocked, "only a person", name="browser_check", body=CHALLENGE.decode())
says_status(503, Blocked, "only a person", name="browser_check_503", body=CHALLENGE.decode())
says_status(429, Blocked, "only a person", name="browser_check_429", Cf_Mitigated="challenge")


async def play(head: bytes, writer: asyncio.StreamWriter) -> None:
    """The hostile origin's handler."""
    name = head.split(b" ", 2)[1].decode().strip("/")
    if name.startswith("hop"):
        writer.write(answer(302, b"", Location=f"/hop{int(name[3:]) + 1}"))
        return
    await BEHAVIOURS[name].act(writer)


BEHAVIOURS["hop0"] = Behaviour(close_at_once, RedirectLoop, "More than 5 redirects")
