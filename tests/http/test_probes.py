import asyncio
import re
import time

import pytest
from prometheus_client.parser import text_string_to_metric_families
from starlette.types import ASGIApp
from structlog.testing import capture_logs

from tests.app import Client, in_settings, running_app, serving, serving_resources, settings_for
from tests.builders import a_public_id, stored_feed, stored_watch
from tests.servers import free_port
from tests.waiting import eventually
from tsuzuki.app import probes as probes_module
from tsuzuki.app.bootstrap import open_tsuzuki
from tsuzuki.app.opening import wall_clock
from tsuzuki.app.pipeline import QUEUES
from tsuzuki.app.probes import BuiltLater
from tsuzuki.db import Tx
from tsuzuki.db.queries import parse_queries
from tsuzuki.http import metrics as metrics_module
from tsuzuki.http.metrics import PATHS, Metrics, probes
from tsuzuki.model.times import MINUTE, SECOND, Millis
from tsuzuki.queue.tasks import enqueue_tx
from tsuzuki.queue.workers import WorkerProcess, Workers
from tsuzuki.worker.maintenance import MAINTENANCE, Due

q = parse_queries("tests", "-- name: fail\nupdate watch set consecutive_failures = 2 where priority = 2;")


async def fine() -> None:
    return None


async def broken() -> None:
    raise OSError("canary: no route to 10.0.0.1")


async def never() -> None:
    await asyncio.sleep(60)


def some_metrics() -> Metrics:
    return Metrics(version="1.2.3", engine="sqlite")


async def test_alive_needs_no_part_to_answer():
    async with serving_resources(probes({"database": broken}, some_metrics())) as client:
        answer = await client.get("/healthz")
    assert (answer.status, answer.json()) == (200, {"status": "ok"})


async def test_ready_names_each_part_that_answers():
    async with serving_resources(probes({"database": fine, "redis": fine}, some_metrics())) as client:
        answer = await client.get("/readyz")
    assert (answer.status, answer.json()) == (200, {"status": "ready", "parts": {"database": "ok", "redis": "ok"}})


async def test_a_failing_part_is_named_and_its_reason_logged(monkeypatch):
    monkeypatch.setattr(metrics_module, "PATIENCE_S", 0.05)
    with capture_logs() as logs:
        checks = {"database": broken, "redis": never, "queue": fine}
        async with serving_resources(probes(checks, some_metrics())) as client:
            answer = await client.get("/readyz")
    assert answer.status == 503
    assert answer.json() == {
        "status": "unavailable",
        "parts": {"database": "down", "redis": "down", "queue": "ok"},
    }
    assert "canary" not in answer.text
    assert {line["part"]: line["reason"] for line in logs if line["event"] == "dependency_down"} == {
        "database": "canary: no route to 10.0.0.1",
        "redis": "it does not answer in time",
    }


async def test_the_whole_server_is_ready_on_each_engine(empty_database_url, tmp_path):
    url = in_settings(empty_database_url)
    async with running_app(settings_for(tmp_path, database_url=url)) as client:
        answer = await client.get("/readyz")
        about = await client.get("/api/v1/about")
    assert (answer.status, answer.json()["parts"]) == (200, {"database": "ok", "queue": "ok", "workers": "ok"})
    assert about.json()["data"]["engine"] == ("sqlite" if url.startswith("sqlite") else "postgres")


async def test_a_server_without_database_is_alive_but_not_ready(empty_database_url, tmp_path):
    url = in_settings(empty_database_url)
    async with open_tsuzuki(settings_for(tmp_path, database_url=url)) as opened, serving(opened.app) as client:
        await opened.db.close()
        ready = await client.get("/readyz")
        alive = await client.get("/healthz")
    assert (ready.status, ready.json()["parts"]) == (503, {"database": "down", "queue": "down", "workers": "ok"})
    assert alive.status == 200


@pytest.mark.server
async def test_redis_is_asked_when_there_is_one(redis_url, tmp_path):
    async with running_app(settings_for(tmp_path, redis_url=redis_url)) as client:
        answer = await client.get("/readyz")
    assert answer.json()["parts"] == {"database": "ok", "queue": "ok", "workers": "ok", "redis": "ok"}


async def test_r40_a_missing_redis_is_shown_but_not_required(tmp_path):
    async with running_app(settings_for(tmp_path, redis_url=f"redis://127.0.0.1:{free_port()}")) as client:
        ready = await client.get("/readyz")
        alive = await client.get("/healthz")
    assert (ready.status, ready.json()["parts"]["redis"]) == (200, "down")
    assert alive.status == 200


async def test_metrics_count_requests_by_route_template(tmp_path):
    async with running_app(settings_for(tmp_path)) as client:
        for path in ("/api/v1/about", "/api/v1/about", "/nope/1", "/nope/2", "/static/tsuzuki.css"):
            await client.get(path)
        await client.ask("PROPFIND", "/")
        answer = await client.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain")
    samples = {
        (sample.name, *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(answer.text)
        for sample in family.samples
    }
    assert samples["tsuzuki_http_requests_total", "GET", "/api/v1/about", "200"] == 2
    assert samples["tsuzuki_http_requests_total", "GET", "none", "404"] == 2
    assert samples["tsuzuki_http_requests_total", "GET", "/static/{name:path}", "200"] == 1
    assert samples["tsuzuki_http_requests_total", "other", "/", "405"] == 1
    assert samples["tsuzuki_http_request_duration_seconds_count", "GET", "/api/v1/about"] == 2
    assert "nope" not in answer.text
    assert any(name[0] == "tsuzuki_build_info" for name in samples)
    assert samples["process_resident_memory_bytes",] > 0


async def test_r58_metrics_have_a_histogram_of_task_durations_per_queue(tmp_path):
    """A chore that is due at the start is a task like any other."""

    async def done() -> bool:
        text = (await client.get("/metrics")).text
        return 'tsuzuki_task_duration_seconds_bucket{le="+Inf",outcome="done",queue="maintenance"}' in text

    async with open_tsuzuki(settings_for(tmp_path)) as opened, serving(opened.app) as client:
        assert not await done()
        due = Due("statistics")
        await opened.db.with_tx(lambda tx: enqueue_tx(tx, MAINTENANCE, "now", due, now=wall_clock()))
        opened.worker_loops.start()
        await eventually(done)
        await opened.worker_loops.stop()


async def test_probes_are_answered_before_anything_else_is_built(tmp_path):
    built = []

    def build() -> ASGIApp:
        built.append("pages")
        return probe_app

    async with open_tsuzuki(settings_for(tmp_path)) as opened:
        probe_app = opened.probe_app
        async with serving(BuiltLater(probe_app, build)) as client:
            assert [(await client.get(path)).status for path in PATHS] == [200, 200, 200]
            assert built == []
            assert {(await client.get("/inbox")).status for _ in range(3)} == {404}
            assert built == ["pages"]


async def test_concurrent_first_requests_build_one_app(tmp_path):
    built = []

    def build() -> ASGIApp:
        time.sleep(0.05)
        built.append("pages")
        return probe_app

    async with open_tsuzuki(settings_for(tmp_path)) as opened:
        probe_app = opened.probe_app
        async with serving(BuiltLater(probe_app, build)) as client:
            answers = await asyncio.gather(*(client.get("/inbox") for _ in range(5)))
    assert ({answer.status for answer in answers}, built) == ({404}, ["pages"])


async def test_metrics_count_transactions_by_how_they_ended(tmp_path):
    async def nothing(_: Tx) -> None:
        return None

    async with open_tsuzuki(settings_for(tmp_path)) as opened, serving(opened.app) as client:
        before = await _committed(client)
        await opened.db.with_tx(nothing)
        assert await _committed(client) == before + 1


def samples_of(text: str) -> dict[tuple[str, ...], float]:
    return {
        (sample.name, *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


async def test_r125_readiness_says_when_nobody_works(database_url, tmp_path, monkeypatch):
    """Not at once: workers may be started after the server."""
    settings = settings_for(tmp_path, database_url=in_settings(database_url))
    async with open_tsuzuki(settings) as opened, serving(opened.app) as client:
        assert (await client.get("/readyz")).status == 200
        monkeypatch.setattr(probes_module, "FIRST_WORKER_WITHIN", 0)
        nobody = await client.get("/readyz")
        assert (nobody.status, nobody.json()["parts"]["workers"]) == (503, "down")
        assert nobody.json()["reasons"]["workers"].startswith("No worker is running")
        other = WorkerProcess(id=a_public_id(), host="box", pid=7, queues=QUEUES, doing={}, started_at=wall_clock())
        workers = Workers(opened.db, wall_clock)
        await workers.beat(other, {})
        assert (await client.get("/readyz")).status == 200
        hanging = Workers(opened.db, lambda: Millis(wall_clock() - MINUTE))
        await hanging.beat(other, {})
        lost = await client.get("/readyz")
        assert (lost.status, "The last was box:7." in lost.json()["reasons"]["workers"]) == (503, True)
        assert samples_of((await client.get("/metrics")).text)["tsuzuki_workers_lost",] == 1
        opened.worker_loops.start()
        assert (await client.get("/readyz")).status == 200
        await opened.worker_loops.stop()


async def test_metrics_tell_how_polling_fares(database_url, tmp_path):
    """What is due, how late, what fails, by class and as a queue; and who works on it."""
    settings = settings_for(tmp_path, database_url=in_settings(database_url))
    async with open_tsuzuki(settings) as opened, serving(opened.app) as client:
        now = wall_clock()
        for priority, late in ((1, 60), (1, 600), (2, -3600)):
            due = Millis(now - late * SECOND)
            await stored_watch(opened.db, await stored_feed(opened.db), priority=priority, next_check_at=due)
        await opened.db.with_tx(lambda tx: tx.run(q.fail))
        samples = samples_of((await client.get("/metrics")).text)
    assert samples["tsuzuki_watches_due", "hot"] == 2
    assert 600 <= samples["tsuzuki_watches_oldest_due_seconds", "hot"] < 660
    assert (samples["tsuzuki_watches_total", "warm"], samples["tsuzuki_watches_due", "warm"]) == (1, 0)
    assert (samples["tsuzuki_watches_failing", "warm"], samples["tsuzuki_watches_failing_ratio", "warm"]) == (1, 1)
    assert samples["tsuzuki_watches_oldest_due_seconds", "cold"] == 0
    assert samples["tsuzuki_queue_due", "poll-source"] == 2
    assert 600 <= samples["tsuzuki_queue_oldest_seconds", "poll-source"] < 660
    assert samples["tsuzuki_workers", "poll-source"] == 0


async def _committed(client: Client) -> float:
    text = (await client.get("/metrics")).text
    found = re.search(
        r'^tsuzuki_db_transaction_duration_seconds_count\{outcome="committed"\} (\S+)$', text, re.MULTILINE
    )
    return float(found[1]) if found else 0.0
