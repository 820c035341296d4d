"""When a feed is called again and why, rule by rule, as readers see it in `fetch_state`; and when it is left alone."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from datetime import datetime
from email.utils import formatdate
from typing import Any

import msgspec
import pytest

from tests.api.library import Library, Reader, a_library
from tests.app import settings_for
from tests.net.builders import a_server, answer
from tests.polling.builders import a_feed
from tests.waiting import eventually
from tsuzuki.app.opening import wall_clock
from tsuzuki.coord.wakeup import POLL_WAKEUP
from tsuzuki.model.times import MINUTE, SECOND
from tsuzuki.polling.policy import SPREAD

INTERVAL, CEILING = 1_800, 172_800
SLACK = 10.0
"""Seconds between the publisher's clock and ours."""


def ok(**headers: str) -> bytes:
    return answer(200, a_feed("1"), content_type="application/rss+xml", **headers)


def in_hours(hours: int) -> str:
    return formatdate(wall_clock() / 1000 + hours * 3_600, usegmt=True)


def broken(**headers: str) -> bytes:
    return answer(503, b"", **headers)


class Rule(msgspec.Struct, frozen=True):
    """Answers to one look after another; what the last one leaves behind."""

    says: str
    answers: list[bytes]
    wait: float
    why: str
    rest: dict[str, Any] = {}

    @property
    def is_held(self) -> bool:
        """The publisher said when to come back."""
        return b"retry-after" in self.answers[-1]


def rules() -> list[Rule]:
    """The longest of interval, Retry-After and freshness or back-off counts, and nothing beyond the ceiling."""
    interval, fresh, asked = "the pull interval", "its answer is fresh until then", "the source asked us to wait"
    return [
        Rule("an answer", [ok()], INTERVAL, interval, {"last_http_status": 200, "consecutive_failures": 0}),
        Rule("max-age", [ok(cache_control="max-age=7200")], 7_200, fresh, {"cache_control": "max-age=7200"}),
        Rule("a short max-age", [ok(cache_control="max-age=60")], INTERVAL, interval),
        Rule("Expires", [ok(expires=in_hours(3))], 3 * 3_600, fresh),
        Rule("a long max-age", [ok(cache_control="max-age=9999999")], 86_400, fresh),
        Rule("Retry-After with an answer", [ok(retry_after="7200")], 7_200, asked),
        Rule("both", [ok(retry_after="7200", cache_control="max-age=9000")], 9_000, fresh),
        Rule("nothing new", [ok(etag='"a"'), answer(304, b"")], INTERVAL, interval, {"last_http_status": 304}),
        Rule("304 keeps what it omits", [ok(etag='"a"'), answer(304, b"")], INTERVAL, interval, {"etag": '"a"'}),
        Rule("304 with freshness", [ok(etag='"a"'), answer(304, b"", cache_control="max-age=7200")], 7_200, fresh),
        Rule("one failure", [broken()], INTERVAL * 1.8, "failure 1 in a row", {"last_http_status": 503}),
        Rule("three failures", [broken()] * 3, INTERVAL * 1.8**3, "failure 3 in a row", {"consecutive_failures": 3}),
        Rule("Retry-After", [broken(retry_after="36000")], 36_000, asked),
        Rule("a small Retry-After", [broken(retry_after="600")], INTERVAL * 1.8, "failure 1 in a row"),
        Rule("an endless Retry-After", [broken(retry_after="99999999")], CEILING, asked),
        Rule("healed", [broken(), broken(), ok()], INTERVAL, interval, {"consecutive_failures": 0, "last_error": None}),
        Rule(
            "a failure keeps freshness",
            [ok(cache_control="max-age=7200", etag='"a"'), broken()],
            INTERVAL * 1.8,
            "failure 1 in a row",
            {"cache_control": "max-age=7200", "etag": '"a"'},
        ),
    ]


class Script:
    """A publisher whose feeds each live on a host of their own and answer in turn; the last answer stays."""

    def __init__(self) -> None:
        self.answers: dict[str, list[bytes]] = {}
        self.asked: Counter[str] = Counter()

    async def handle(self, head: bytes, writer: asyncio.StreamWriter) -> None:
        path = head.split(b" ", 2)[1].decode()
        self.asked[path] += 1
        rest = self.answers[path]
        writer.write(rest.pop(0) if len(rest) > 1 else rest[0])


@pytest.fixture
async def library(database_url, tmp_path) -> AsyncIterator[Library]:
    async with a_library(tmp_path, database_url) as library:
        yield library


def seconds(state: Any, begin: str, end: str) -> float:
    return (datetime.fromisoformat(state[end]) - datetime.fromisoformat(state[begin])).total_seconds()


async def looked(library: Library, me: Reader, feed: Any, times: int) -> Any:
    """The feed after so many looks, all but the first asked for by hand: that bypasses all but two rules (R96)."""
    path = f"/feeds/{feed['id']}"
    state: Any = {"last_checked_at": None}
    for number in range(times):
        if number:
            library.app.time.pass_(MINUTE)
            await me.post(f"{path}/refresh", expect=202)
        last = state["last_checked_at"]
        found = await me.until(path, lambda one: one["fetch_state"]["last_checked_at"] != last)  # noqa: B023  at once
        state = found["fetch_state"]
        await asyncio.sleep(0.002)  # two looks within a millisecond would look like one
    return state


async def test_r20_r21_r22_every_rule_of_the_pull_policy(library):
    me, script = await library.reader(), Script()
    async with AsyncExitStack() as stack:
        table = rules()
        for number, rule in enumerate(table):
            script.answers[f"/{number}"] = [*rule.answers]
            server = await stack.enter_async_context(a_server(script.handle, host=f"127.2.0.{number + 1}"))
            feed = await me.post("/feeds", {"link": f"{server.url}/{number}"})
            state = await looked(library, me, feed, len(rule.answers))
            wait = seconds(state, "last_checked_at", "next_check_at")
            assert rule.wait - SLACK <= wait <= min(rule.wait * (1 + SPREAD), CEILING) + SLACK, rule.says
            assert state["next_check_why"] == rule.why, rule.says
            assert {name: state[name] for name in rule.rest} == rule.rest, rule.says
            if state["retry_after_until"] is not None:
                assert seconds(state, "last_checked_at", "retry_after_until") <= CEILING, rule.says
        assert [script.asked[f"/{number}"] for number in range(len(table))] == [len(rule.answers) for rule in table]
        await only_what_is_due_is_called(library, me, script, table)


async def only_what_is_due_is_called(library: Library, me: Reader, script: Script, table: list[Rule]) -> None:
    """Not what is suspended, was asked to wait or has its next check ahead.

    A refresh calls all but those whose publisher said when to come back.
    """
    [first, *_] = await me.get("/feeds")
    await me.patch(f"/feeds/{first['id']}", {"suspended": True})
    before = Counter(script.asked)
    library.app.wakeup.wake(POLL_WAKEUP)
    library.app.time.pass_(40 * MINUTE)  # beyond the interval, short of the first back-off
    library.app.wakeup.wake(POLL_WAKEUP)
    due = Counter(f"/{number}" for number, rule in enumerate(table) if rule.wait <= INTERVAL and number)
    await calls(script, before, due)
    before = Counter(script.asked)
    await me.until("/feeds/refresh", lambda left: left == {"waiting": 0, "checking": 0})
    library.app.time.pass_(2 * MINUTE)  # R96: what was seen within the last minute is not asked for again
    free = Counter(f"/{number}" for number, rule in enumerate(table) if number and not rule.is_held)
    # One Retry-After is over by our clock, which was turned, but not by the pacer's, which was not.
    assert await me.post("/feeds/refresh", expect=202) == {"queued": free.total() + 1}
    await calls(script, before, free)
    await me.post(f"/feeds/{first['id']}/refresh", expect=202)
    await calls(script, before, free + Counter(["/0"]))


async def calls(script: Script, before: Counter[str], wanted: Counter[str]) -> None:
    """Wait until these were called, and see that nothing else was."""

    async def is_over() -> bool:
        return script.asked - before >= wanted

    await eventually(is_over)
    assert script.asked - before == wanted


def test_the_usual_pace_is_as_documented(tmp_path):
    usual = settings_for(tmp_path)
    assert (usual.pull_interval, usual.pull_max_backoff) == (INTERVAL * SECOND, CEILING * SECOND)
    assert (usual.pull_timeout, usual.pull_concurrency) == (30 * SECOND, 10)
