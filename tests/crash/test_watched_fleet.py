"""A web process, two workers, PostgreSQL and Redis: each is killed, stopped and hung for longer than its lease.

Metrics, readiness, the admin page and the log tell what happens while it happens, and polls go on where they can.
"""

import asyncio
import os
import re
import signal
import time
from collections import Counter
from contextlib import asynccontextmanager

import aiohttp
import msgspec
import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.app import Client
from tests.builders import stored_feed, stored_watch
from tests.crash.fleet import LEASE_S, many_processes
from tests.net.builders import answer
from tests.polling.builders import a_feed, a_publisher
from tests.scale import SOAK
from tests.web.guests import Guest
from tsuzuki.app.opening import wall_clock
from tsuzuki.db import DatabaseOptions, open_database
from tsuzuki.queue.workers import LOST_AFTER

FEEDS = 12
TOLD_WITHIN = LOST_AFTER / 1000 + 20
"""Seconds: one falls silent, and that is noticed."""
READY_WITHIN = 3.0
PASSWORD = "canary of the crash test"

pytestmark = [
    pytest.mark.soak,
    pytest.mark.timeout(1200),
    pytest.mark.skipif(not os.environ.get(SOAK), reason="takes minutes: one that hangs is noticed after half a minute"),
]


class Calls:
    """A publisher that notes who is called."""

    def __init__(self) -> None:
        self.paths: Counter[str] = Counter()

    async def handle(self, head, writer) -> None:
        self.paths[head.split(b" ", 2)[1].decode()] += 1
        writer.write(answer(200, a_feed("1")))


class Watcher:
    """Looks at a fleet as its operator does."""

    def __init__(self, fleet, session, calls) -> None:
        self._fleet = fleet
        self._session = session
        self._calls = calls
        self._guest: Guest | None = None

    @property
    def web(self) -> Client:
        return Client(self._session, address_in(self._fleet.said[self._fleet.server.pid]))

    def worker(self, place) -> Client:
        return Client(self._session, address_in(self._fleet.said[self._fleet.workers[place].pid]))

    async def ready(self, client=None):
        """Status and body; it never takes longer than it may."""
        began = time.monotonic()
        told = await (client or self.web).get("/readyz")
        assert time.monotonic() - began < READY_WITHIN + 0.5
        return told.status, told.json()

    async def number(self, name, client=None, **labels) -> float:
        text = (await (client or self.web).get("/metrics")).text
        for family in text_string_to_metric_families(text):
            for sample in family.samples:
                if sample.name == name and labels.items() <= sample.labels.items():
                    return sample.value
        raise AssertionError(f"{name} {labels} is not among the metrics")

    async def workers(self) -> tuple[float, float]:
        """How many work, and how many were lost."""
        live = await self.number("tsuzuki_workers", queue="poll-source")
        return live, await self.number("tsuzuki_workers_lost")

    async def page(self) -> str:
        if self._guest is None or self._guest.client.base != self.web.base:
            self._guest = Guest(self.web)
            signed_in = await self.web.post("/api/v1/sessions", {"username": "admin", "password": PASSWORD})
            assert signed_in.status in {200, 201}, signed_in.text
            self._guest._keep(signed_in.headers["set-cookie"])
        shown = await self._guest.see("/admin")
        assert shown.status == 200
        [section] = re.findall(r'aria-labelledby="workers">(.*?)</section>', shown.text, re.DOTALL)
        return re.sub(r"<[^>]+>", " ", section)

    async def polls_go_on(self) -> None:
        """Every feed is called again."""
        before = self._calls.paths.copy()
        await self.until(lambda: self._are_called_since(before), "every feed is called again", within=60)

    async def _are_called_since(self, before) -> bool:
        return all(self._calls.paths[f"/{n}"] > before[f"/{n}"] for n in range(FEEDS))

    @staticmethod
    async def until(look, what, *, within=TOLD_WITHIN) -> None:
        deadline = time.monotonic() + within
        while not await look():
            assert time.monotonic() < deadline, f"not within {within} s: {what}"
            await asyncio.sleep(0.5)

    async def until_workers_are(self, live, lost) -> None:
        async def is_so() -> bool:
            return await self.workers() == (live, lost)

        await self.until(is_so, f"{live} workers, {lost} lost")

    def logged(self, event) -> list[dict[str, object]]:
        lines = self._fleet.log.read_bytes().splitlines()
        return [line for line in map(msgspec.json.decode, lines) if line["event"] == event]


def address_in(line) -> str:
    found = re.search(r"http://127\.0\.0\.1:\d+", line)
    assert found is not None, line
    return found[0]


@asynccontextmanager
async def a_watched_fleet(folder):
    calls = Calls()
    async with (
        a_publisher(calls.handle) as publisher,
        many_processes(folder, 2) as (fleet, deps),
        aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(60)) as session,
    ):
        fleet.log_level, fleet.work_options = "info", ("--metrics-port", "0")
        db = await open_database(DatabaseOptions(fleet.database_url))
        for number in range(FEEDS):
            feed = await stored_feed(db, f"{publisher.url}/{number}")
            await stored_watch(db, feed, host=f"h{number % 4}", next_check_at=wall_clock())
        await db.close()
        await fleet.start()
        yield fleet, deps, Watcher(fleet, session, calls)


async def test_whatever_befalls_a_fleet_is_told_while_it_happens(tmp_path):
    async with a_watched_fleet(tmp_path) as (fleet, deps, watch):
        await watch.until_workers_are(2, 0)
        assert (await watch.ready())[0] == 200
        await watch.polls_go_on()
        await kill_a_worker(fleet, watch)
        await stop_a_worker(fleet, watch)
        await hang_a_worker(fleet, watch)
        await lose_all_workers(fleet, watch)
        await lose_the_web_process(fleet, watch)
        await lose_redis(deps, watch)
        await lose_postgres(deps, watch)
        assert fleet.exits == []
        assert set(await fleet.stop()) == {0}


async def kill_a_worker(fleet, watch) -> None:
    pid = await fleet.kill(fleet.workers[0])
    await watch.polls_go_on()
    await watch.until_workers_are(1, 1)
    page = await watch.page()
    assert re.search(rf":{pid}\s.*Lost, last seen", page, re.DOTALL)
    assert (await watch.ready())[0] == 200
    await fleet.start_worker(0)
    await watch.until_workers_are(2, 1)


async def stop_a_worker(fleet, watch) -> None:
    worker = fleet.workers[0]
    worker.terminate()
    assert await worker.wait() == 0
    fleet._ours.add(worker.pid)
    await watch.until_workers_are(1, 1)
    assert any(str(line["worker"]).endswith(f":{worker.pid}") for line in watch.logged("worker_stopped"))
    assert f":{worker.pid}" not in await watch.page()
    await fleet.start_worker(0)
    await watch.until_workers_are(2, 1)


async def hang_a_worker(fleet, watch) -> None:
    """For longer than its lease: others have its work, and it is one of them again when it goes on."""
    worker = fleet.workers[0]
    worker.send_signal(signal.SIGSTOP)
    await asyncio.sleep(2 * LEASE_S)
    await watch.polls_go_on()
    await watch.until_workers_are(1, 2)
    assert re.search(rf":{worker.pid}\s.*Lost, last seen", await watch.page(), re.DOTALL)
    worker.send_signal(signal.SIGCONT)
    await watch.until_workers_are(2, 1)
    assert (await watch.worker(0).get("/healthz")).status == 200
    await watch.polls_go_on()


async def lose_all_workers(fleet, watch) -> None:
    """One dies, one hangs: nothing is polled, and readiness, metrics and the page say so."""
    await fleet.kill(fleet.workers[0])
    fleet.workers[1].send_signal(signal.SIGSTOP)

    async def is_told() -> bool:
        return bool((await watch.ready())[0] == 503)

    await watch.until(is_told, "nobody works, and readiness says so")
    status, body = await watch.ready()
    assert (status, body["parts"]["workers"], body["parts"]["database"]) == (503, "down", "ok")
    assert "nothing is polled or delivered" in body["reasons"]["workers"]
    assert "No worker is running" in await watch.page()
    late = max([await watch.number("tsuzuki_watches_oldest_due_seconds", **{"class": one}) for one in ("hot", "warm")])
    assert late > LOST_AFTER / 1000 / 2
    assert await watch.number("tsuzuki_queue_due", queue="poll-source") == FEEDS
    fleet.workers[1].send_signal(signal.SIGCONT)
    await fleet.start_worker(0)
    await watch.polls_go_on()
    await watch.until_workers_are(2, 2)
    assert (await watch.ready())[0] == 200


async def lose_the_web_process(fleet, watch) -> None:
    """It hangs, is killed and is stopped; work goes on, and workers tell how."""
    fleet.server.send_signal(signal.SIGSTOP)
    await asyncio.sleep(2 * LEASE_S)
    await watch.polls_go_on()
    assert await watch.number("tsuzuki_workers", watch.worker(1), queue="poll-source") == 2
    fleet.server.send_signal(signal.SIGCONT)
    assert (await watch.ready())[0] == 200
    await fleet.kill(fleet.server)
    await watch.polls_go_on()
    assert (await watch.ready(watch.worker(0)))[0] == 200
    await fleet.start_server()
    assert (await watch.ready())[0] == 200
    fleet.server.terminate()
    assert await fleet.server.wait() == 0
    fleet._ours.add(fleet.server.pid)
    await watch.polls_go_on()
    await fleet.start_server()


async def lose_redis(deps, watch) -> None:
    """R40: it is shown, and can be done without."""
    for lose, have in ((deps.redis.hang, deps.redis.resume), (deps.redis.stop, deps.redis.start)):
        await asyncio.to_thread(lose)
        await asyncio.sleep(LEASE_S)
        status, body = await watch.ready()
        assert (status, body["parts"]["redis"]) == (200, "down")
        await watch.polls_go_on()
        await asyncio.to_thread(have)

        async def is_back() -> bool:
            return bool((await watch.ready())[1]["parts"]["redis"] == "ok")

        await watch.until(is_back, "Redis is back")
    await deps.restart_redis()
    await watch.polls_go_on()


async def lose_postgres(deps, watch) -> None:
    """It hangs for longer than a lease: told within 3 s by every process; all goes on when it answers again."""
    await watch.page()
    deps.postgres.hang()
    for client in (watch.web, watch.worker(0), watch.worker(1)):
        status, body = await watch.ready(client)
        assert (status, body["parts"]["database"]) == (503, "down")
    began = time.monotonic()
    told = await watch.web.get("/api/v1/groups", headers={"authorization": "Bearer tsz_nobody"})
    assert (told.status, told.json()["code"]) == (503, "SERVICE_UNAVAILABLE")
    assert time.monotonic() - began < 25
    assert (await watch.web.get("/healthz")).status == 200
    deps.postgres.resume()
    await is_well(watch)
    assert watch.logged("dependency_down")
    await deps.restart_postgres()
    await is_well(watch)
    await asyncio.to_thread(deps.postgres.stop)
    assert (await watch.ready())[0] == 503
    await asyncio.to_thread(deps.postgres.start)
    await is_well(watch)


async def is_well(watch) -> None:
    async def is_ready() -> bool:
        return bool((await watch.ready())[0] == 200)

    await watch.until(is_ready, "ready again")
    await watch.polls_go_on()
    await watch.until_workers_are(2, 2)
