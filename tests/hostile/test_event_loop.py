"""Whatever publishers send, nobody else waits: what strangers wrote is read in other processes."""

import asyncio
import gc
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import pytest

from tests.builders import NOON, a_new_chapter, stored_feed, stored_series, stored_watch
from tests.delivery.builders import a_reader, entries_of
from tests.hostile.documents import DOCUMENTS
from tests.net.builders import answer
from tests.polling.builders import a_feed, a_publisher
from tests.scale import scaled
from tests.waiting import eventually
from tests.worker.test_pipeline import running
from tsuzuki.app.opening import wall_clock
from tsuzuki.inbox.search.service import Search
from tsuzuki.ingest.chapters import upsert_chapters_tx
from tsuzuki.model.times import Millis

LONGEST_STEP = 0.05
"""Seconds of computing that a step of the loop may take. Steps take 16 ms at most; the clock of a shared CPU counts up
to 2.8 times as much for the same work."""


class Steps:
    """What ran on the event loop, and for how long it computed."""

    def __init__(self) -> None:
        self.longest = 0.0
        self.what = ""

    def ran(self, handle: Any, seconds: float) -> None:
        if seconds > self.longest:
            task = getattr(handle._callback, "__self__", None)
            self.longest, self.what = seconds, repr(task or handle)[:500]


@contextmanager
def watched_steps(monkeypatch: pytest.MonkeyPatch) -> Iterator[Steps]:
    """Every callback of the loop, measured by the time that its thread computed.

    Garbage of all that the tests imported is collected beforehand: a server has no such heap.
    """
    steps, original = Steps(), asyncio.Handle._run
    gc.collect()
    gc.freeze()

    def run(self: asyncio.Handle) -> None:
        began = time.thread_time()
        original(self)
        steps.ran(self, time.thread_time() - began)

    with monkeypatch.context() as patched:
        patched.setattr(asyncio.Handle, "_run", run)
        yield steps


async def handle(head: bytes, writer: asyncio.StreamWriter) -> None:
    """The document that the path names by its number; any other path is a healthy feed."""
    path = head.split(b" ")[1].decode().strip("/")
    _, _, number = path.partition("hostile-")
    body = _bodies()[int(number) % len(DOCUMENTS)] if number else a_feed("2", "1", title=path)
    writer.write(answer(200, body))


@cache
def _bodies() -> list[bytes]:
    return [make() for make in DOCUMENTS.values()]


@pytest.mark.soak
@pytest.mark.timeout(600)
async def test_hostile_documents_hold_up_nothing(db, database_url, tmp_path, monkeypatch):
    """Each kind, ten times with `--soak`, beside healthy feeds that all arrive."""
    hostile, healthy = scaled(1, 10) * len(_bodies()), scaled(20, 200)  # all are made before anything is measured
    async with a_publisher(handle) as publisher:
        paths = [f"hostile-{n}" for n in range(hostile)] + [f"healthy-{n}" for n in range(healthy)]
        feeds = [await stored_feed(db, f"{publisher.url}/{path}") for path in paths]
        for feed in feeds:
            await stored_watch(db, feed, host="127.0.0.1", next_check_at=Millis(wall_clock()))
        enemy, friend = await a_reader(db, feeds=feeds[:hostile]), await a_reader(db, feeds=feeds[hostile:])

        async def have_all() -> bool:
            return len(await entries_of(db, friend)) == 2 * healthy and len(publisher.requests) >= len(paths)

        with watched_steps(monkeypatch) as steps:
            async with running(db, database_url, tmp_path) as pipeline:
                await eventually(have_all, within=300)
                found = await Search(db, pipeline.fetching.parsers).find(
                    enemy, " ".join(["gull", "item", "about"] * 30), 100
                )
    assert steps.longest < LONGEST_STEP, steps.what
    assert found.items


async def test_titles_of_chapters_hold_up_nothing(db, monkeypatch):
    """A letter that stands for eighteen, as often as a title is indexed, in every chapter of a batch."""
    series = await stored_series(db)
    chapters = [
        a_new_chapter(str(number), title="\N{ARABIC LIGATURE SALLALLAHOU ALAYHE WASALLAM}" * 300)
        for number in range(200)
    ]
    with watched_steps(monkeypatch) as steps:
        await db.with_tx(lambda tx: upsert_chapters_tx(tx, series, chapters, NOON))
    assert steps.longest < LONGEST_STEP, steps.what
