"""The client on real sockets: conditional requests, redirects, cookies, repeats, oddities that must not hurt."""

import asyncio
import ssl
import tracemalloc
from pathlib import Path

import pytest

from tests.net.builders import (
    A_COMIC,
    SHORT,
    SOMEONE,
    StubResolver,
    a_client,
    a_server,
    always,
    answer,
    by_path,
    in_turn,
)
from tests.net.packing import BOMB, bomb, pack
from tests.stopwatch import Stopwatch
from tsuzuki.model.errors import (
    Blocked,
    Gone,
    HttpStatus,
    RefusedAddress,
    TimedOut,
    TooLarge,
    Unreachable,
)
from tsuzuki.model.requests import Ask, Hop, SourceIdentity, Validators
from tsuzuki.net.guard import AddressGuard, AllowList
from tsuzuki.net.options import Deadlines

PEM = Path(__file__).with_name("self_signed.pem")
FEED = b"<rss/>"


def tls_server() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(PEM)
    return context


def tls_client() -> ssl.SSLContext:
    return ssl.create_default_context(cafile=str(PEM))


async def test_an_answer_comes_back_whole_with_plain_headers():
    response = answer(200, pack(FEED, "gzip"), Content_Encoding="gzip", ETag='W/"1"', X_Two="a", x_two="b")
    async with a_server(always(response)) as server, a_client() as client:
        reply = await client.fetch(Ask(f"{server.url}/feed?ids[]=1"), SOMEONE)
    assert (reply.status, reply.body, reply.url) == (200, FEED, f"{server.url}/feed?ids[]=1")
    assert reply.validators == Validators('W/"1"', None, reply.url)
    assert reply.headers["x-two"] == "a, b"
    head = server.heads[0].decode().lower()
    assert "user-agent: tsuzuki/" in head
    assert "accept-encoding: gzip, deflate, br, zstd\r\n" in head
    assert "cookie" not in head
    assert "via:" not in head


@pytest.mark.parametrize("etag", ['"abc"', 'W/"abc"', "abc", '"a;gzip"', '"ünï"', '"' + "x" * 8000 + '"'])
async def test_a_validator_travels_byte_for_byte(etag):
    """REL-25, R26."""
    raw = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nETag: " + etag.encode() + b"\r\n\r\n"
    async with a_server(in_turn(raw, answer(304, b""))) as server, a_client() as client:
        first = await client.fetch(Ask(server.url), SOMEONE)
        second = await client.fetch(Ask(server.url, validators=first.validators), SOMEONE)
    assert first.validators.etag == etag
    assert b"\r\nif-none-match: " + etag.encode() + b"\r\n" in server.heads[1]
    assert second.status == 304


async def test_a_validator_that_is_no_text_is_forgotten():
    """REL-25: it could not be echoed exactly, so it is not echoed at all."""
    raw = b'HTTP/1.1 200 OK\r\nContent-Length: 0\r\nETag: "\xe9"\r\nX-Name: caf\xe9\r\n\r\n'
    async with a_server(always(raw)) as server, a_client() as client:
        reply = await client.fetch(Ask(server.url), SOMEONE)
    assert reply.validators == Validators()
    assert reply.headers["x-name"] == "café"


async def test_a_304_with_a_body_does_not_stop_the_poll():
    """REL-26: the body is ignored where the connection survives it; else the next question has no condition."""

    async def handle(head, writer):
        if b"if-none-match" not in head:
            writer.write(answer(200, FEED))
            return
        writer.write(answer(304, b""))
        if b"late" in head:
            await writer.drain()
            await asyncio.sleep(0.05)
        writer.write(b"surprise")

    async with a_server(handle) as server, a_client() as client:
        late = await client.fetch(Ask(f"{server.url}/late", validators=Validators('"1"')), SOMEONE)
        at_once = await client.fetch(Ask(server.url, validators=Validators('"1"')), SOMEONE)
    assert (late.status, late.body) == (304, b"")
    assert (at_once.status, at_once.body) == (200, FEED)


@pytest.mark.parametrize(
    "response",
    [
        b"HTTP/1.0 200 OK\r\nConnection: close\r\n\r\n<rss/>",
        b"HTTP/1.1 200\r\nContent-Length: 6\r\n\r\n<rss/>",
        b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n<rss/>",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\n<rs\r\n3\r\ns/>\r\n0\r\nX-Trailer: 1\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n<rss/>HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil",
        b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\nRefresh: 0; url=http://169.254.169.254/\r\n\r\n<rss/>",
        b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\nRetry-After: 60\r\nRetry-After: 90\r\n\r\n<rss/>",
    ],
)
async def test_an_odd_but_harmless_answer_is_read(response):
    """SEC-04 too: a Refresh header leads nowhere."""

    async def handle(head, writer):
        writer.write(response)
        if b"close" in response:
            writer.close()

    async with a_server(handle) as server, a_client() as client:
        for _ in range(2):
            assert (await client.fetch(Ask(server.url), SOMEONE)).body == FEED


async def test_a_connection_that_dies_between_two_requests_does_not_show():
    """REL-35: keep-alive, and the other side went away."""

    async def handle(head, writer):
        writer.write(answer(200, FEED))
        await writer.drain()
        writer.transport.abort()

    async with a_server(handle) as server, a_client() as client:
        bodies = [(await client.fetch(Ask(server.url), SOMEONE)).body for _ in range(5)]
    assert bodies == [FEED] * 5


async def test_a_connection_idle_for_long_is_usable():
    """After a body so large that reading paused, aiohttp's timer of reads ran on, and failed the next request."""
    deadlines = Deadlines(connect=10, idle=0.5, body=20, total=20)
    response = answer(200, b"x" * 2_000_000)
    async with a_server(always(response)) as server, a_client(deadlines=deadlines, repeats=0) as client:
        for _ in range(3):
            assert len((await client.fetch(Ask(server.url), SOMEONE)).body) == 2_000_000
            await asyncio.sleep(2 * deadlines.idle)
    assert len(server.heads) == 3


async def test_redirects_are_followed_and_told():
    routes = {
        "/1": answer(301, b"", Location="2%20x?y=1#frag", Retry_After="30"),
        "/2%20x?y=1": answer(302, b"", Location="/ö 3".encode().decode("latin-1")),
        "/%C3%B6%203": answer(200, FEED),
    }
    async with a_server(by_path(routes)) as server, a_client() as client:
        reply = await client.fetch(Ask(f"{server.url}/1"), SOMEONE)
    assert reply.body == FEED
    assert reply.hops == (
        Hop(301, f"{server.url}/2%20x?y=1", retry_after="30"),
        Hop(302, f"{server.url}/%C3%B6%203"),
    )
    assert reply.url == reply.hops[-1].url


async def test_no_credential_follows_a_redirect_to_another_origin():
    """SEC-09, on the wire: Authorization, Cookie and what a source configured."""
    origin = SourceIdentity(source="s", headers={"X-Secret": "canary", "Referer": "https://a.example/"})
    async with (
        a_server(always(answer(200, FEED)), host="127.0.0.2") as other,
        a_server(always(answer(302, b"", Location=f"{other.url}/", Set_Cookie="session=canary"))) as first,
        a_client() as client,
    ):
        ask = Ask(first.url, headers={"Authorization": "Bearer canary", "Cookie": "a=canary"})
        await client.fetch(ask, origin)
    assert first.heads[0].count(b"canary") == 3
    assert b"canary" not in other.heads[0]
    assert b"referer: https://a.example/" in other.heads[0].lower()


async def test_credentials_are_never_redirected_from_https_to_http():
    """SEC-09, REL-34."""
    async with (
        a_server(always(answer(200, FEED))) as plain,
        a_server(always(answer(301, b"", Location=f"{plain.url}/", Set_Cookie="a=canary")), tls=tls_server()) as secure,
        a_client(tls=tls_client()) as client,
    ):
        url = f"https://127.0.0.1:{secure.port}/"
        for _ in range(2):
            assert (await client.fetch(Ask(url), A_COMIC)).body == FEED
        with pytest.raises(RefusedAddress, match="from https to plain http"):
            await client.fetch(Ask(url, headers={"Authorization": "s"}), SOMEONE)
    assert b"canary" in secure.heads[1]
    assert len(plain.heads) == 2
    assert not any(b"canary" in head for head in plain.heads)


async def test_a_certificate_must_be_valid_and_for_this_name():
    async with a_server(always(answer(200, FEED)), tls=tls_server()) as server:
        names = {"secure.example": ["127.0.0.1"], "wrong.example": ["127.0.0.1"]}
        async with a_client(names) as client:
            with pytest.raises(Unreachable, match=r"certificate of secure\.example is not valid"):
                await client.fetch(Ask(f"https://secure.example:{server.port}/"), SOMEONE)
        async with a_client(names, tls=tls_client()) as client:
            assert (await client.fetch(Ask(f"https://secure.example:{server.port}/"), SOMEONE)).body == FEED
            with pytest.raises(Unreachable, match=r"certificate of wrong\.example is not valid"):
                await client.fetch(Ask(f"https://wrong.example:{server.port}/"), SOMEONE)


async def test_a_plain_port_and_a_closed_port_are_distinguished():
    async def refuse(reader, writer):
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()

    plain = await asyncio.start_server(refuse, "127.0.0.1", 0)
    port = plain.sockets[0].getsockname()[1]
    async with a_client() as client:
        with pytest.raises(Unreachable, match="No secure connection"):
            await client.fetch(Ask(f"https://127.0.0.1:{port}/"), SOMEONE)
        plain.close()
        await plain.wait_closed()
        with pytest.raises(Unreachable, match="connection refused"):
            await client.fetch(Ask(f"http://127.0.0.1:{port}/"), SOMEONE)


async def test_each_source_has_its_own_cookies():
    """SEC-10."""
    one, two = (SourceIdentity(source=name, keeps_cookies=True) for name in ("one", "two"))
    async with a_server(always(answer(200, FEED, Set_Cookie="who=me; Path=/"))) as server, a_client() as client:
        for origin in (one, one, two):
            await client.fetch(Ask(server.url), origin)
    assert [b"cookie: who=me" in head.lower() for head in server.heads] == [False, True, False]


async def test_a_redirect_that_sets_a_cookie_is_followed():
    async def handle(head, writer):
        if b"cookie: seen=1" in head.lower():
            writer.write(answer(200, FEED))
        else:
            writer.write(answer(302, b"", Location="/", Set_Cookie="seen=1"))

    async with a_server(handle) as server, a_client() as client:
        assert (await client.fetch(Ask(f"{server.url}/"), A_COMIC)).body == FEED


async def test_whoever_keeps_no_cookies_sends_none_and_takes_none():
    """R95: not even from one redirect to the next."""
    routes = {"/": answer(302, b"", Location="/feed", Set_Cookie="who=me; Path=/"), "/feed": answer(200, FEED)}
    async with a_server(by_path(routes)) as server, a_client() as client:
        for origin in (SOMEONE, SOMEONE, A_COMIC):
            await client.fetch(Ask(f"{server.url}/"), origin)
    assert [b"cookie: who=me" in head.lower() for head in server.heads] == [False] * 5 + [True]


async def test_validators_go_to_the_address_that_they_came_from_alone():
    """A redirect whose target changed does not get the old ETag."""
    target = ["/a"]

    async def handle(head, writer):
        path = head.split(b" ")[1].decode()
        if path == "/":
            writer.write(answer(302, b"", Location=target[0]))
        elif b"if-none-match" in head.lower():
            writer.write(answer(304, b""))
        else:
            writer.write(answer(200, FEED, ETag=f'"{path}"'))

    async with a_server(handle) as server, a_client() as client:
        first = await client.fetch(Ask(f"{server.url}/"), SOMEONE)
        again = await client.fetch(Ask(f"{server.url}/", validators=first.validators), SOMEONE)
        target[0] = "/b"
        other = await client.fetch(Ask(f"{server.url}/", validators=first.validators), SOMEONE)
    assert (first.status, again.status, other.status) == (200, 304, 200)
    assert other.validators == Validators('"/b"', None, f"{server.url}/b")
    sent = [b'if-none-match: "/a"' in head.lower() for head in server.heads]
    assert sent == [False, False, False, True, False, False]


async def test_a_slowly_dripping_head_times_out():
    """Each byte is within `idle`; all of them are not within `head`."""

    async def drip(_, writer):
        for byte in answer(200, FEED):
            writer.write(bytes([byte]))
            await asyncio.sleep(0.05)

    deadlines = Deadlines(connect=10, head=0.6, idle=10, body=20, total=20)
    async with a_server(drip) as server, a_client(deadlines=deadlines) as client:
        with pytest.raises(TimedOut, match="did not begin its answer"):
            await client.fetch(Ask(server.url), SOMEONE)


async def test_a_body_below_the_slowest_pace_ends():
    async def drip(head, writer):
        piece = 5 if b" /slow" in head else 2_000
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/xml\r\nConnection: close\r\n\r\n")
        for _ in range(16):
            writer.write(b"x" * piece)
            await asyncio.sleep(0.1)
        writer.close()

    deadlines = Deadlines(connect=10, head=10, idle=10, body=20, total=20, grace=0.5, slowest=1000)
    async with a_server(drip) as server, a_client(deadlines=deadlines) as client:
        with pytest.raises(TimedOut, match="less than 1000 bytes a second"):
            await client.fetch(Ask(f"{server.url}/slow"), SOMEONE)
        assert len((await client.fetch(Ask(f"{server.url}/quick"), SOMEONE)).body) == 32_000


async def test_a_connector_may_read_a_status_itself():
    routes = {"/404": answer(404, b"{}"), "/302": answer(302, b"", Location="/404"), "/410": answer(410, b"")}
    async with a_server(by_path(routes)) as server, a_client() as client:
        reply = await client.fetch(Ask(f"{server.url}/404", accept_statuses=frozenset({404})), SOMEONE)
        moved = await client.fetch(Ask(f"{server.url}/302", accept_statuses=frozenset({302})), SOMEONE)
        with pytest.raises(Gone):
            await client.fetch(Ask(f"{server.url}/410", accept_statuses=frozenset({404})), SOMEONE)
    assert (reply.status, reply.body) == (404, b"{}")
    assert moved.status == 302


async def test_a_post_sends_its_body_and_a_head_has_none():
    async with a_server(always(answer(200, b"", content_length="1000"))) as server, a_client() as client:
        assert (await client.fetch(Ask(server.url, method="HEAD"), SOMEONE)).body == b""
    async with a_server(always(answer(200, FEED, Connection="close"))) as server, a_client() as client:
        reply = await client.fetch(Ask(server.url, method="POST", body=b"{}", headers={"Content-Type": "a/b"}), SOMEONE)
    assert reply.body == FEED
    assert b"content-type: a/b\r\n" in server.heads[0].lower()
    assert b"content-length: 2\r\n" in server.heads[0].lower()


async def test_a_body_can_be_passed_on_as_it_comes():
    """The seam for page images: pieces, under the same caps and deadlines."""
    body = bytes(range(256)) * 4000
    async with a_server(always(answer(200, body, Content_Type="image/png"))) as server, a_client() as client:
        async with client.stream(Ask(server.url), SOMEONE) as image:
            assert (image.status, image.headers["content-type"]) == (200, "image/png")
            pieces = [piece async for piece in image.chunks(10**7)]
        assert len(pieces) > 1
        assert b"".join(pieces) == body
        async with client.stream(Ask(server.url), SOMEONE) as image:
            with pytest.raises(TooLarge):
                await anext(image.chunks(1000))


async def test_a_stream_of_a_failing_answer_never_opens():
    async with a_server(always(answer(403, b"no"))) as server, a_client() as client:
        with pytest.raises(Blocked):
            async with client.stream(Ask(server.url), SOMEONE):
                pytest.fail("opened")


@pytest.mark.soak
@pytest.mark.parametrize("encoding", ["gzip", "br", "gzip, gzip"])
async def test_a_bomb_over_the_wire_costs_at_most_its_cap(encoding):
    """REL-36: what is kept does not grow with the bomb."""
    response = answer(200, bomb(BOMB, encoding), Content_Encoding=encoding)
    async with a_server(always(response)) as server, a_client() as client:
        tracemalloc.start()
        try:
            with pytest.raises(TooLarge):
                await client.fetch(Ask(server.url), SOMEONE)
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert peak < 32 * 1024 * 1024


async def test_an_allowed_network_permits_any_port_also_by_name():
    names = {
        "komga.example": ["127.0.0.1"],
        "localhost": ["127.0.0.1", "::1"],
        "both.example": ["127.0.0.1", "1.1.1.1"],
    }
    async with a_server(always(answer(200, FEED))) as server, a_client(names) as client:
        for host in ("127.0.0.1", "komga.example", "localhost"):
            assert (await client.fetch(Ask(f"http://{host}:{server.port}/"), SOMEONE)).body == FEED
        with pytest.raises(RefusedAddress):
            await client.fetch(Ask(f"http://both.example:{server.port}/"), SOMEONE)


async def test_an_allow_listed_host_is_called_wherever_it_is():
    guard = AddressGuard(allow=AllowList.read(["nas.lan"]))
    async with (
        a_server(always(answer(200, FEED))) as server,
        a_client({"nas.lan": ["127.0.0.1"], "other.lan": ["127.0.0.1"]}, guard=guard) as client,
    ):
        assert (await client.fetch(Ask(f"http://nas.lan:{server.port}/"), SOMEONE)).body == FEED
        for refused in ("other.lan", "127.0.0.1"):
            with pytest.raises(RefusedAddress):
                await client.fetch(Ask(f"http://{refused}:{server.port}/"), SOMEONE)
    assert len(server.heads) == 1


async def test_a_check_resolves_the_name_and_gives_the_canonical_address():
    """For what is called later or by somebody else: a webhook, a source's base URL."""
    async with a_client({"a.example": ["127.0.0.1"], "b.example": ["10.0.0.1"]}) as client:
        assert await client.check("HTTP://A.example.:80/x/../y") == "http://a.example/y"
        with pytest.raises(RefusedAddress):
            await client.check("http://b.example/")
        with pytest.raises(Unreachable, match="cannot be resolved"):
            await client.check("http://c.example/")


async def test_a_resolver_that_hangs_meets_the_deadline():
    class Slow(StubResolver):
        async def resolve(self, *_, **__):
            await asyncio.sleep(60)
            return []

    async with a_client(Slow(), deadlines=SHORT) as client:
        stopwatch = Stopwatch()
        with pytest.raises(TimedOut):
            await client.fetch(Ask("http://a.example/"), SOMEONE)
    assert stopwatch.seconds() < SHORT.total + 2


async def test_headers_cannot_be_smuggled_through_an_ask():
    async with a_server(always(answer(200, FEED))) as server, a_client() as client:
        hostile = {"X-A": "1\r\nX-Evil: 1", "Host": "internal", "Content-Length": "99", "X-Fine": "1"}
        await client.fetch(Ask(server.url, headers=hostile), SOMEONE)
    head = server.heads[0].lower()
    assert b"evil" not in head
    assert b"internal" not in head
    assert b"x-fine: 1" in head


async def test_the_environment_has_no_say(monkeypatch):
    """SEC-09: neither proxies nor .netrc from outside."""
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1/")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:1/")
    async with a_server(always(answer(200, FEED))) as server, a_client() as client:
        assert (await client.fetch(Ask(server.url), SOMEONE)).body == FEED


async def test_an_unasked_304_is_an_error():
    """REL-26."""
    async with a_server(always(answer(304, b""))) as server, a_client() as client:
        with pytest.raises(HttpStatus, match="304"):
            await client.fetch(Ask(server.url), SOMEONE)
