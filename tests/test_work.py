"""`tsuzuki work` as processes that share one PostgreSQL."""

import asyncio
import re
import signal
from collections import Counter

import aiohttp
import msgspec
import pytest

from tests.app import in_settings
from tests.builders import stored_feed, stored_watch
from tests.net.builders import answer
from tests.polling.builders import a_feed, a_publisher, state
from tests.test_serve import PATIENCE_S, environment, line_of, process
from tests.waiting import eventually
from tsuzuki.app.opening import wall_clock
from tsuzuki.app.pipeline import QUEUES
from tsuzuki.db.migration_steps import available
from tsuzuki.queue.workers import Workers

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
async def test_two_workers_call_nothing_twice_and_stop_cleanly(db, database_url, tmp_path):
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


@pytest.mark.parametrize("engine", ["postgres"])
async def test_r125_one_who_works_is_seen_and_tells_how_it_fares(db, database_url, tmp_path):
    """Its numbers, that it lives, and one line in the log for each poll, task and start."""
    env = environment(tmp_path, DATABASE_URL=in_settings(database_url), ALLOW_PRIVATE_NETWORKS="127.0.0.0/8")
    workers = Workers(db, wall_clock)
    async with a_publisher() as publisher:
        publisher.response = answer(200, a_feed("1"))
        watch = await stored_watch(db, await stored_feed(db, f"{publisher.url}/feed"), host="127.0.0.1")
        gone = await stored_watch(db, await stored_feed(db, "http://127.0.0.1:9/gone"), host="127.0.0.9")
        async with process("-m", "tsuzuki", "work", "--metrics-port", "0", env=env) as child:
            found = re.search(r"(http://127\.0\.0\.1:\d+)/metrics", await line_of(child))
            assert found is not None

            async def are_polled():
                states = [await state(db, each) for each in (watch, gone)]
                return states[0].last_http_status == 200 and states[1].last_error_code

            await eventually(are_polled)
            [seen] = (await workers.get()).live
            assert (seen.pid, set(seen.queues)) == (child.pid, set(QUEUES))
            async with aiohttp.ClientSession() as session:
                answers = {path: await ask(session, found[1] + path) for path in ("/healthz", "/readyz", "/metrics")}
                assert (await ask(session, found[1] + "/"))[0] == 404
            child.send_signal(signal.SIGTERM)
            _, err = await asyncio.wait_for(child.communicate(), PATIENCE_S)
    assert [status for status, _ in answers.values()] == [200, 200, 200]
    assert 'tsuzuki_poll_duration_seconds_count{outcome="changed"} 1.0' in answers["/metrics"][1]
    assert 'tsuzuki_workers{queue="poll-source"} 1.0' in answers["/metrics"][1]
    assert (await workers.get()).live == []
    lines = [msgspec.json.decode(line) for line in err.splitlines()]
    polled = {line["watch"]: line for line in lines if line["event"] == "polled"}
    assert (polled[watch]["level"], polled[watch]["outcome"], polled[watch]["found"]) == ("info", "changed", 1)
    assert (polled[gone]["level"], polled[gone]["outcome"]) == ("warning", "unreachable")
    assert polled[gone]["reason"]
    tasks = [line for line in lines if line["event"] == "task_ended"]
    assert [(line["queue"], line["outcome"]) for line in tasks] == [("item-ingest", "done")]
    [schema] = [line for line in lines if line["event"] == "schema"]
    assert schema["version"] == len(available("postgres"))
    assert {"worker_started", "worker_stopped"} <= {line["event"] for line in lines}
    assert not {"chore_done", "called"} & {line["event"] for line in lines}


async def ask(session, url):
    async with session.get(url) as response:
        return response.status, await response.text()
