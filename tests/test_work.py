"""`tsuzuki work` as processes that share one PostgreSQL."""

import asyncio
import signal
from collections import Counter

import pytest

from tests.app import in_settings
from tests.builders import stored_feed, stored_watch
from tests.net.builders import answer
from tests.polling.builders import a_feed, a_publisher, state
from tests.test_serve import PATIENCE_S, environment, line_of, process
from tests.waiting import eventually

FEEDS = 12


class Slow:
    """Answers when it may, and notes who called."""

    def __init__(self) -> None:
        self.calls: Counter[str] = Counter()
        self.may_go = asyncio.Event()

    async def handle(self, head: bytes, writer: asyncio.StreamWriter) -> None:
        path = head.split(b" ", 2)[1].decode()
        self.calls[path] += 1
        await self.may_go.wait()
        writer.write(answer(200, a_feed("1")))

    async def is_called(self) -> bool:
        return self.calls.total() > 1


@pytest.mark.parametrize("engine", ["postgres"])
async def test_two_who_work_call_nothing_twice_and_finish_what_they_began_when_asked_to_stop(
    db, database_url, tmp_path
):
    slow = Slow()
    env = environment(tmp_path, DATABASE_URL=in_settings(database_url), ALLOW_PRIVATE_NETWORKS="127.0.0.0/8")
    async with a_publisher(slow.handle) as publisher:
        watches = {}
        for number in range(FEEDS):
            feed = await stored_feed(db, f"{publisher.url}/{number}")
            watches[f"/{number}"] = await stored_watch(db, feed, host=f"h{number}")
        command = ("-m", "tsuzuki", "work", "--concurrency", "3")
        async with process(*command, env=env) as one, process(*command, env=env) as other:
            for child in (one, other):
                assert (await line_of(child)).startswith("Working on ")
            await eventually(slow.is_called)
            for child in (one, other):
                child.send_signal(signal.SIGTERM)
            slow.may_go.set()
            for child in (one, other):
                await asyncio.wait_for(child.communicate(), PATIENCE_S)
            assert (one.returncode, other.returncode) == (0, 0)
        called = {path for path in watches if (await state(db, watches[path])).last_http_status == 200}
    assert slow.calls == Counter(dict.fromkeys(called, 1))
