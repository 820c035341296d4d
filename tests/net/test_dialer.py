"""SEC-01, SEC-02, SEC-06: the address that is dialled is the address that was judged."""

import socket
from ipaddress import ip_address

import aiohttp
import pytest
from structlog.testing import capture_logs

from tests.net.builders import LOOPBACK, SOMEONE, StubResolver, a_client, a_server, always, answer, some_options
from tsuzuki.model.errors import RefusedAddress, Unreachable
from tsuzuki.model.requests import Ask, SourceIdentity
from tsuzuki.net.dialer import Dialer, RefusedDial, Route, VettingResolver, is_own_address, make_socket_factory
from tsuzuki.net.failures import explained
from tsuzuki.net.guard import AddressGuard, AllowList, Lane
from tsuzuki.net.urls import parse

ONLY_TWO = AddressGuard(allow=AllowList.read(["127.0.0.2/32"]))
"""127.0.0.2 stands for the public internet here, 127.0.0.1 for what must stay out of reach."""


async def test_a_rebound_name_is_refused_and_never_dialled():
    """SEC-02: DNS rebinding between the check and the connection."""
    names = {"rebind.example": [["127.0.0.2"], ["127.0.0.1"]]}
    async with (
        a_server(always(answer(200))) as inside,
        a_client(names, guard=ONLY_TWO) as client,
    ):
        with pytest.raises(RefusedAddress, match="is refused"):
            await client.fetch(Ask(f"http://rebind.example:{inside.port}/"), SOMEONE)
    assert inside.heads == []


async def test_every_new_connection_is_judged_again():
    """SEC-02: the first answer was good, and stays in use; the next connection is judged by its own."""
    names = {"rebind.example": [["127.0.0.2"], ["127.0.0.2"], ["127.0.0.2"], ["127.0.0.1"]]}
    async with (
        a_server(always(answer(200, b"ok", Connection="close")), host="127.0.0.2") as outside,
        a_client(names, guard=ONLY_TWO) as client,
    ):
        url = f"http://rebind.example:{outside.port}/"
        assert (await client.fetch(Ask(url), SOMEONE)).status == 200
        with pytest.raises(RefusedAddress):
            await client.fetch(Ask(url), SOMEONE)
    assert len(outside.heads) == 1


async def test_without_an_allow_list_the_connection_itself_is_judged():
    """SEC-02: nothing is looked up beforehand, so nothing can change in between."""
    resolver = StubResolver({"a.example": ["127.0.0.1"], "b.example": ["93.184.216.34", "10.0.0.1"]})
    async with a_client(resolver, guard=AddressGuard()) as client:
        for host in ("a.example", "b.example"):
            with pytest.raises(RefusedAddress):
                await client.fetch(Ask(f"http://{host}/"), SOMEONE)
    assert resolver.asked == ["a.example", "b.example"]


@pytest.mark.parametrize("guard", [AddressGuard(), ONLY_TWO], ids=["open", "with an allow-list"])
async def test_a_refusal_names_no_resolved_address_but_the_log_does(guard):
    """Else a reader could map the network that the server stands in, name by name."""
    with capture_logs() as log:
        async with a_client({"nas.example": ["10.1.2.3"]}, guard=guard) as client:
            for ask in (client.check, client.vet, lambda url: client.fetch(Ask(url), SOMEONE)):
                with pytest.raises(RefusedAddress) as refused:
                    await ask("http://nas.example/")
                assert "10.1.2.3" not in str(refused.value)
                assert "nas.example" in str(refused.value)
    assert [("10.1.2.3" in line["reason"], line["host"]) for line in log] == [(True, "nas.example")] * 3


async def test_a_refused_dial_names_no_address_either():
    """Past the resolver: an address that is this machine's own."""
    error = aiohttp.ClientConnectorError(a_connection_key(), RefusedDial("The address 10.1.2.3 is refused."))
    assert "10.1.2.3" not in str(explained(error, "nas.example"))
    several = OSError("Multiple exceptions: [Errno 111] Connect call failed ('10.1.2.3', 80), [Errno 111] ...")
    silent = explained(aiohttp.ClientConnectorError(a_connection_key(), several), "nas.example")
    assert str(silent) == "nas.example cannot be reached (none of its addresses answers)."


def a_connection_key():
    return aiohttp.client_reqrep.ConnectionKey("nas.example", 80, False, True, None, None, None)


async def test_the_socket_is_judged_too_since_literals_meet_no_resolver():
    """SEC-01: past every other check, no socket is made."""
    async with a_server(always(answer(200))) as server:
        dialer = Dialer(some_options(guard=AddressGuard()), resolver=StubResolver())
        session = dialer.session(Route(lane=Lane.PUBLIC, way=Lane.PUBLIC))
        with pytest.raises(aiohttp.ClientConnectorError) as refused:
            await session.get(server.url)
        await dialer.close()
    assert isinstance(refused.value.os_error, RefusedDial)
    assert server.heads == []


@pytest.mark.parametrize("address", ["127.0.0.1", "10.0.0.1", "::1", "169.254.169.254", "fe80::1%lo"])
def test_no_socket_is_made_for_a_forbidden_address(address):
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    target = (address, 80, 0, 0) if ":" in address else (address, 80)
    with pytest.raises(RefusedDial):
        make_socket_factory(AddressGuard(), Lane.PUBLIC)((family, socket.SOCK_STREAM, 6, "", target))


async def test_a_lane_for_named_hosts_serves_no_other_name():
    guard = AddressGuard(allow=AllowList.read(["nas.lan"]))
    resolver = VettingResolver(StubResolver({"nas.lan": ["10.0.0.5"], "evil.example": ["10.0.0.5"]}), guard, Lane.HOST)
    assert [answer["host"] for answer in await resolver.resolve("nas.lan", 80)] == ["10.0.0.5"]
    with pytest.raises(RefusedAddress):
        await resolver.resolve("evil.example", 80)


async def test_each_lane_and_proxy_has_its_own_session():
    """A kept-alive connection of one never serves another."""
    dialer = Dialer(some_options(), resolver=StubResolver())
    routes = [
        Route(lane=Lane.PUBLIC, way=Lane.PUBLIC),
        Route(lane=Lane.NETWORK, way=Lane.NETWORK),
        await dialer.route_to(parse("http://127.0.0.1/"), "http://127.0.0.2:3128"),
        await dialer.route_to(parse("http://127.0.0.1/"), "http://127.0.0.3:3128"),
    ]
    sessions = {id(dialer.session(route)) for route in routes}
    assert len(sessions) == 4
    assert dialer.session(routes[2]) is dialer.session(routes[2])
    await dialer.close()


def test_this_machine_knows_its_own_address():
    """SEC-06: what would not leave the machine, by the routing table alone."""
    assert is_own_address(ip_address("127.0.0.1"))
    assert is_own_address(ip_address("127.0.0.1")) is not is_own_address(ip_address("127.0.0.250"))


# -- proxies


async def test_a_proxy_is_told_its_own_credentials():
    async with a_server(always(answer(200, b"through"))) as proxy, a_client({"a.example": ["127.0.0.9"]}) as client:
        origin = SourceIdentity(source="s", proxy=f"http://me:s%40crt@127.0.0.1:{proxy.port}")
        reply = await client.fetch(Ask("http://a.example/x"), origin)
    assert reply.body == b"through"
    assert proxy.heads[0].startswith(b"GET http://a.example/x HTTP/1.1\r\n")
    assert b"proxy-authorization: basic bwu6c0bjcnq=\r\n" in proxy.heads[0].lower()


async def test_a_tunnel_request_has_proxy_credentials_and_our_name():
    async with a_server(always(answer(403, b""))) as proxy, a_client({"a.example": ["127.0.0.9"]}) as client:
        origin = SourceIdentity(
            source="s", proxy=f"http://me:secret@127.0.0.1:{proxy.port}", headers={"X-Key": "canary"}
        )
        with pytest.raises(Unreachable, match="did not connect"):
            await client.fetch(Ask("https://a.example:8443/x"), origin)
    head = proxy.heads[0].lower()
    assert head.startswith(b"connect a.example:8443 http/1.1\r\n")
    assert b"proxy-authorization: basic " in head
    assert b"user-agent: tsuzuki/" in head
    assert b"canary" not in head


@pytest.mark.parametrize(
    "target", ["http://10.0.0.1/", "http://inside.example/", "http://localhost/", "http://both.example/"]
)
async def test_a_target_is_checked_before_using_a_proxy(target):
    """SEC-01: pinning cannot reach through a proxy, so name and answers are judged first."""
    names = {"inside.example": ["10.0.0.1"], "both.example": ["93.184.216.34", "127.0.0.1"], "localhost": ["127.0.0.1"]}
    guard = AddressGuard(allow=AllowList.read(["127.0.0.2/32"]))
    async with a_server(always(answer(200)), host="127.0.0.2") as proxy, a_client(names, guard=guard) as client:
        with pytest.raises(RefusedAddress):
            await client.fetch(Ask(target), SourceIdentity(source="s", proxy=proxy.url))
    assert proxy.heads == []


@pytest.mark.parametrize(
    "proxy",
    [
        "http://10.0.0.1:3128",
        "http://localhost:3128",
        "http://169.254.169.254",
        "http://inside.example:3128",
        "socks5://127.0.0.1:1080",
        "127.0.0.1:3128",
        "http://user:canary@10.0.0.1:3128",
        "file:///etc/passwd",
    ],
)
async def test_a_proxy_must_have_an_allowed_address(proxy):
    """SEC-01: a source's proxy is a way to reach inside, too."""
    names = {"inside.example": ["10.0.0.1"], "localhost": ["127.0.0.1"]}
    async with a_client(names, guard=AddressGuard()) as client:
        with pytest.raises(RefusedAddress) as refused:
            await client.fetch(Ask("http://93.184.216.34/"), SourceIdentity(source="s", proxy=proxy))
    assert "canary" not in str(refused.value)


async def test_a_proxy_that_is_down_or_says_no_is_named():
    async with a_client({"a.example": ["127.0.0.9"]}) as client:
        with pytest.raises(Unreachable, match="proxy cannot be reached"):
            await client.fetch(Ask("http://a.example/"), SourceIdentity(source="s", proxy="http://127.0.0.1:1111"))
        async with a_server(always(answer(407, b""))) as proxy:
            with pytest.raises(Unreachable, match="proxy did not connect"):
                await client.fetch(Ask("https://a.example/"), SourceIdentity(source="s", proxy=proxy.url))


def test_loopback_is_what_these_tests_open():
    assert LOOPBACK.lane_of_literal(ip_address("127.9.9.9")) is Lane.NETWORK
