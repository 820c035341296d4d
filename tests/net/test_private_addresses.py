"""SEC-01, SEC-04, SEC-07, SEC-08: every hostile address on every way out.

The suite itself stops any packet that is not for loopback, so a guard that fails here fails loudly.
"""

import asyncio

import pytest

from tests.net.builders import SOMEONE, a_client, a_server, always, answer
from tests.net.hostile import CHALLENGE, HTML
from tests.net.solver import WILLING, a_solver
from tests.net.vectors import REFUSED_ADDRESSES, REFUSED_URLS
from tsuzuki.model.errors import Blocked, RefusedAddress
from tsuzuki.model.requests import Ask, SourceIdentity
from tsuzuki.net.client import Client
from tsuzuki.net.guard import AddressGuard, AllowList

PUBLIC = "http://93.184.216.34"
LITERALS = [address.partition("%")[0] for address in REFUSED_ADDRESSES if not address.startswith("2a00:")]
HOSTILE = [*REFUSED_URLS, *(f"http://[{one}]/" if ":" in one else f"http://{one}/" for one in LITERALS)]
INSIDE = {"*": ["10.0.0.1"]}
"""Whatever has a name is inside."""


async def fetch(client: Client, url: str) -> None:
    await client.fetch(Ask(url), SOMEONE)


async def post(client: Client, url: str) -> None:
    await client.fetch(Ask(url, method="POST", body=b"{}"), SOMEONE)


async def stream(client: Client, url: str) -> None:
    async with client.stream(Ask(url), SOMEONE):
        pytest.fail("opened")


async def check(client: Client, url: str) -> None:
    await client.check(url)


async def fetch_through_a_proxy(client: Client, url: str) -> None:
    await client.fetch(Ask(url), SourceIdentity(source="s", proxy=f"{PUBLIC}:3128"))


async def use_as_a_proxy(client: Client, url: str) -> None:
    await client.fetch(Ask(f"{PUBLIC}/"), SourceIdentity(source="s", proxy=url))


@pytest.mark.parametrize("way", [fetch, post, stream, check, fetch_through_a_proxy, use_as_a_proxy])
async def test_no_way_out_leads_inside(way):
    assert len(HOSTILE) >= 90
    async with a_client(INSIDE, guard=AddressGuard()) as client:
        for url in HOSTILE:
            if url == "" and way is use_as_a_proxy:
                continue  # no proxy at all
            with pytest.raises(RefusedAddress):
                await way(client, url)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_no_redirect_leads_inside(status):
    """SEC-04. Only the redirecting server's own address is open."""
    ways = [
        url for url in HOSTILE if url.isascii() and url.isprintable() and url.startswith(("http://", "file:", "//"))
    ]
    assert len(ways) >= 80
    left = iter(ways)

    async def handle(head: bytes, writer: asyncio.StreamWriter) -> None:
        writer.write(answer(status, b"", Location=next(left)))

    only = AddressGuard(allow=AllowList.read(["127.0.0.77"]))
    async with a_server(handle, host="127.0.0.77") as server, a_client(INSIDE, guard=only) as client:
        for n in range(len(ways)):
            with pytest.raises(RefusedAddress):
                await client.fetch(Ask(f"{server.url}/{n}"), SOMEONE)


async def test_the_solver_gets_no_private_target_and_returns_none():
    """SEC-07."""
    only = AddressGuard(allow=AllowList.read(["127.0.0.77"]))
    wall = always(answer(403, CHALLENGE, Content_Type=HTML))
    async with (
        a_server(wall, host="127.0.0.77") as site,
        a_solver() as solver,
        a_client(INSIDE, guard=only, solver_url=solver.url) as client,
    ):
        for url in HOSTILE:
            solver.solution = {"url": url, "response": "canary"}
            with pytest.raises(Blocked) as blocked:
                await client.fetch(Ask(site.url), WILLING)
            assert isinstance(blocked.value.__cause__, RefusedAddress)
            assert "canary" not in str(blocked.value)
