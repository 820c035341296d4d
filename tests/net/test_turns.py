"""Repeats, penalties, pace and places, on real sockets."""

import asyncio
import time

import pytest

from tests.net.builders import (
    FAST,
    SOMEONE,
    a_client,
    a_server,
    always,
    answer,
    in_turn,
    some_options,
    wall_millis,
)
from tsuzuki.coord.pacer import Rate
from tsuzuki.model.errors import RateLimited, Unreachable
from tsuzuki.model.requests import Ask, CallPace, RateHeaders, SourceIdentity
from tsuzuki.model.times import HOUR, Millis
from tsuzuki.net.options import Deadlines

FEED = b"<rss/>"


async def test_a_reset_is_retried_a_few_times_but_no_post():
    responses = [b"", b"", answer(200, FEED)]

    async def handle(head, writer):
        response = responses.pop(0) if responses else b""
        if response:
            writer.write(response)
        else:
            writer.transport.abort()

    async with a_server(handle) as server, a_client() as client:
        assert (await client.fetch(Ask(server.url), SOMEONE)).body == FEED
        assert len(server.heads) == 3
        with pytest.raises(Unreachable):
            await client.fetch(Ask(server.url, method="POST", body=b"{}"), SOMEONE)
        assert len(server.heads) == 4


async def test_only_a_short_retry_after_is_waited_for():
    """REL-21, REL-38."""
    short = in_turn(answer(503, b"<html>", Retry_After="0.2"), answer(429, b"", Retry_After="0"), answer(200, FEED))
    async with a_server(short) as server, a_client() as client:
        began = time.monotonic()
        assert (await client.fetch(Ask(server.url), SOMEONE)).body == FEED
        assert time.monotonic() - began >= 0.2
    async with a_server(always(answer(429, b"", Retry_After="9000"))) as server, a_client() as client:
        with pytest.raises(RateLimited) as limited:
            await client.fetch(Ask(server.url), SOMEONE)
    assert (limited.value.retry_after, limited.value.status, len(server.heads)) == (9_000_000, 429, 1)


async def test_a_retry_after_is_never_longer_than_the_ceiling():
    """R21."""
    response = answer(429, b"", Retry_After="1000000000")
    async with a_server(always(response)) as server, a_client(longest_hold=HOUR) as client:
        with pytest.raises(RateLimited) as limited:
            await client.fetch(Ask(server.url), SOMEONE)
    assert limited.value.retry_after == HOUR


async def test_one_retry_after_holds_one_watch_two_hold_all():
    """SEC-11, R21."""
    watches = [SourceIdentity(source="s", watch=f"w{n}") for n in range(3)]
    async with a_server(always(answer(429, b"", Retry_After="3600"))) as server, a_client() as client:
        for watch in (watches[0], watches[0], watches[1], watches[2]):
            with pytest.raises(RateLimited):
                await client.fetch(Ask(server.url), watch)
    assert len(server.heads) == 2  # the first again, and the third, were not even asked


async def test_calls_through_a_proxy_do_not_affect_direct_pace():
    """SEC-11: CVE-2025-68148, one user's proxy freezes a host for all."""
    async with (
        a_server(always(answer(429, b"", Retry_After="3600")), host="127.0.0.3") as proxy,
        a_server(always(answer(200, FEED))) as server,
        a_client() as client,
    ):
        for watch in ("a", "b"):
            with pytest.raises(RateLimited):
                await client.fetch(Ask(server.url), SourceIdentity(source="x", watch=watch, proxy=proxy.url))
        assert (await client.fetch(Ask(server.url), SourceIdentity(source="y", watch="c"))).body == FEED


async def test_an_exhausted_allowance_pauses_the_source():
    """The source says so in headers of its own."""
    limits = RateHeaders(reset="x-ratelimit-retry-after", unit="epoch_seconds")
    later = str(wall_millis() // 1000 + 600)
    response = answer(200, FEED, X_RateLimit_Remaining="0", X_RateLimit_Retry_After=later)
    async with a_server(always(response)) as server, a_client() as client:
        ask = Ask(server.url, rate_headers=limits)
        assert (await client.fetch(ask, SOMEONE)).body == FEED
        with pytest.raises(RateLimited, match="rate limit allows no request") as limited:
            await client.fetch(ask, SOMEONE)
    assert limited.value.retry_after is not None
    assert 590_000 < limited.value.retry_after <= 600_000


@pytest.mark.parametrize(
    ("origin", "pace"), [(SourceIdentity(source="s", ratelimit=20), None), (SOMEONE, CallPace("slow", per_second=20))]
)
async def test_the_pace_per_source_and_kind_is_kept(origin, pace):
    async with a_server(always(answer(200, FEED))) as server, a_client() as client:
        begun = time.monotonic()  # not the first arrival: a busy machine may see the first request late
        await asyncio.gather(*(client.fetch(Ask(server.url, pace=pace), origin) for _ in range(11)))
    assert server.times[-1] - begun >= 0.49


async def test_a_turn_too_far_off_is_an_error_at_once():
    async with a_server(always(answer(200, FEED))) as server, a_client(patience=Millis(100)) as client:
        origin = SourceIdentity(source="s", ratelimit=0.5)
        await client.fetch(Ask(server.url), origin)
        with pytest.raises(RateLimited, match="rate limit allows no request") as limited:
            await client.fetch(Ask(server.url), origin)
    assert limited.value.retry_after is not None
    assert 1000 < limited.value.retry_after <= 2000


async def test_concurrent_requests_to_a_host_are_limited():
    """REL-39b: at most two at a time."""
    active, most = 0, 0

    async def handle(head, writer):
        nonlocal active, most
        active += 1
        most = max(most, active)
        await asyncio.sleep(0.03)
        active -= 1
        writer.write(answer(200, FEED))

    async with a_server(handle) as server, a_client(allowed_slots=2, allowed_rate=FAST) as client:
        await asyncio.gather(*(client.fetch(Ask(server.url), SOMEONE) for _ in range(10)))
    assert most == 2


async def test_waiting_for_a_neighbour_does_not_use_the_deadline():
    """REL-35: the deadline counts the host's time, not ours."""

    async def handle(head, writer):
        await asyncio.sleep(0.4)
        writer.write(answer(200, FEED))

    deadlines = Deadlines(connect=3, idle=3, body=3, total=3)
    async with a_server(handle) as server, a_client(allowed_slots=1, deadlines=deadlines) as client:
        replies = await asyncio.gather(*(client.fetch(Ask(server.url), SOMEONE) for _ in range(9)))
    assert [reply.body for reply in replies] == [FEED] * 9


def test_the_defaults_are_polite():
    options = some_options()
    assert options.host_rate == Rate(per_second=2.0, burst=2)
    assert options.host_slots == 2
