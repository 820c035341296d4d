"""From a local publisher into inboxes, against a bare client and bare inserts: `python -m bench.polls [--small]`.

The publisher is a process of its own. Ours is the real loop with the real client, guard, parser and ingest, on SQLite
and on PostgreSQL. Bare is aiohttp and one transaction for each answer with the same rows in it: the watch, and for new
items the items, their words in the index, and the entries. It checks no address, parses nothing, knows no lease and
enqueues nothing. Both run in one process under uvloop, in turns, with as many calls at the same time. No time makes
this fail.
"""

import argparse
import gc
import os
import tempfile
import time
from collections.abc import Awaitable
from pathlib import Path
from typing import Any

import msgspec
import uvloop

from bench._polls import AT_ONCE, EngineSetup, OnPostgres, OnSqlite, Spent, a_publisher, a_setup, parser_seconds
from bench._publisher import ITEMS, MANY, TAG
from bench.harness import a_postgres, aim, say
from tsuzuki.app.opening import wall_clock
from tsuzuki.db import DatabaseOptions, open_database
from tsuzuki.db.migrate import migrate
from tsuzuki.db.queries import parse_queries
from tsuzuki.model.times import HOUR, MINUTE, Millis
from tsuzuki.polling.outcomes import PollContext
from tsuzuki.polling.policy import PullPace
from tsuzuki.polling.service import Poller

AIM = 0.5
CPU_MS_304, OF_SQLITE, LOG_BYTES = 0.25, 0.8, 400
"""What else is aimed at: computing of a 304 on SQLite, ten new items on PostgreSQL beside SQLite's rate, and the log
(WAL) that PostgreSQL writes for a 304.
"""
KINDS = (
    ("same", "304"),
    ("mute", "200, unchanged"),
    ("stir", f"200, other bytes, {MANY} known items"),
    ("roll", f"200, {ITEMS} of {MANY} items new"),
    ("new", f"200, {ITEMS} new items"),
)


class Sizes(msgspec.Struct, frozen=True):
    rounds: int
    polls: int
    feeds: int
    mixed: int
    watches: tuple[int, ...]
    memory: int


FULL = Sizes(rounds=3, polls=1000, feeds=100, mixed=10_000, watches=(1_000, 100_000, 1_000_000), memory=30)
SMALL = Sizes(rounds=2, polls=400, feeds=40, mixed=1_000, watches=(1_000, 50_000), memory=10)

filling = parse_queries(
    "bench",
    """
-- name: add_feeds
insert into feed (link, created_at, updated_at)
with recursive n (i) as (select 1 union all select i + 1 from n where i < :count)
select 'https://example.org/' || i, 1, 1 from n;
-- name: add_watches
insert into watch (feed_id, host, priority, next_check_at, created_at)
select id, 'h' || id, 1 + id % 3, cast(:at as bigint), 1 from feed
where not exists (select 1 from watch where watch.feed_id = feed.id);
""",
)


# -- what is measured


class Best:
    """The quickest of several runs, by the clock and by the computing of this process, which others disturb less, and
    of its parsers.
    """

    def __init__(self) -> None:
        self.seconds = self.cpu = self.parsers = float("inf")

    async def run(self, work: Awaitable[float]) -> None:
        began, parsers = time.process_time(), parser_seconds()
        self.seconds = min(self.seconds, await work)
        self.cpu = min(self.cpu, time.process_time() - began)
        self.parsers = min(self.parsers, max(0.0, parser_seconds() - parsers))


async def polls(place: EngineSetup, base: str, sizes: Sizes, *, kind: str, what: str) -> float:
    """Polls a second, ours and bare; ours are returned."""
    urls = [f"{base}/{kind}/{number}" for number in range(sizes.polls)]
    new, tag = ITEMS if kind in {"new", "roll"} else 0, TAG if kind == "same" else None
    mine, theirs = Best(), Best()
    async with a_setup(place, urls) as (ours, bare, watches):
        await ours.poll_all(len(urls))  # the first harvest, and the warm-up
        for _ in range(sizes.rounds):
            gc.collect()
            await mine.run(ours.poll_all(len(urls)))
            await theirs.run(bare.poll_all(watches, tag=tag, new=new, shelves=0))
    line(what, len(urls), mine, theirs, unit="polls/s")
    if kind == "same" and isinstance(place, OnSqlite):
        each = 1e3 / len(urls)
        aim(
            "a 304, computing, SQLite", mine.cpu * each, "ms", most=CPU_MS_304, beside=("a bare one", theirs.cpu * each)
        )
    return len(urls) / mine.seconds


async def end_to_end(place: EngineSetup, base: str, sizes: Sizes, shelves: int) -> None:
    """Installments a second from the publisher into every inbox."""
    urls = [f"{base}/new/{number}" for number in range(sizes.feeds)]
    mine, theirs = Best(), Best()
    async with a_setup(place, urls, shelves) as (ours, bare, watches):
        for _ in range(sizes.rounds):
            gc.collect()
            await mine.run(ours.poll_all(len(urls)))
            await theirs.run(bare.poll_all(watches, tag=None, new=ITEMS, shelves=shelves))
    line(f"end to end, {shelves} inboxes each", len(urls) * ITEMS, mine, theirs, unit="installments/s")


async def logged(place: OnPostgres, base: str, sizes: Sizes) -> None:
    """What PostgreSQL writes to its log for a poll that finds nothing new, beside a bare update of the same row:
    without whole pages, without what makes the watches due, in the round that autovacuum disturbed least.
    """
    urls = [f"{base}/same/{number}" for number in range(sizes.polls)]
    mine = theirs = float("inf")
    async with a_setup(place, urls) as (ours, bare, watches):
        for _ in range(2 + sizes.rounds):  # the first touch of a page after a checkpoint logs all of it
            await ours.make_due()
            began = await place.log_bytes()
            await ours.poll_all(len(urls), are_due=True)
            middle = await place.log_bytes()
            await bare.poll_all(watches, tag=TAG, new=0, shelves=0)
            mine = min(mine, (middle - began) / len(urls))
            theirs = min(theirs, (await place.log_bytes() - middle) / len(urls))
    aim("a 304, log of PostgreSQL", mine, "B", most=LOG_BYTES, beside=("a bare update", theirs))


async def shares(place: EngineSetup, base: str, sizes: Sizes, *, kind: str, what: str) -> None:
    """Where the time of one poll goes, one after the other."""
    urls = [f"{base}/{kind}/{number}" for number in range(sizes.polls // 4)]
    async with a_setup(place, urls) as (ours, _, __):
        await ours.poll_all(len(urls))
        parts: dict[str, Spent] = {"HTTP": ours.client, "parsing": ours.parsing, "SQL": ours.timed_db}
        before = {name: part.seconds for name, part in parts.items()}
        await ours.make_due()
        claimed = await ours.poller.claim(len(urls), {})
        began = time.perf_counter()
        for watch in claimed:
            await ours.poller.poll(watch)
        took = time.perf_counter() - began
        spent = {name: part.seconds - before[name] for name, part in parts.items()}
        spent["the rest"] = took - sum(spent.values())
        told = ", ".join(f"{name} {seconds / took:.0%}" for name, seconds in spent.items())
        print(f"{what:36}{took / len(claimed) * 1000:>8.2f} ms a poll, alone: {told}")


async def mixed(place: EngineSetup, base: str, sizes: Sizes) -> None:
    """As at noon: nine in ten have nothing new."""
    urls = [f"{base}/{'new' if number % 10 == 0 else 'tiny'}/{number}" for number in range(sizes.mixed)]
    async with a_setup(place, urls) as (ours, _, __):
        await ours.poll_all(len(urls))
        took = await ours.poll_all(len(urls))
    mark = "" if sizes.mixed != FULL.mixed else "  (aim: within 60 s) " + ("ok" if took < 60 else "MISSED")
    print(f"{sizes.mixed:,} watches, 90 % with a 304{'':6}{took:>8.1f} s{mark}")


async def among(place: EngineSetup, base: str, sizes: Sizes) -> None:
    """What a poll costs does not grow with the number of watches that wait for another day."""
    urls = [f"{base}/same/{number}" for number in range(sizes.polls // 2)]
    for count in sizes.watches:
        async with a_setup(place, urls) as (ours, _, __):
            await ours.db.with_tx(lambda tx, count=count: tx.run(filling.add_feeds, count=count))  # type: ignore[misc]  # mypy sees no default
            await ours.db.with_tx(lambda tx: tx.run(filling.add_watches, at=2**50))
            await ours.poll_all(len(urls))
            best = Best()
            for _ in range(sizes.rounds):
                await best.run(ours.poll_all(len(urls)))
        where, each = f"{place.name}, poll among {count:,} watches", 1e6 / len(urls)
        print(f"{where:44}{best.seconds * each:>8.0f} us a poll, 304; {best.cpu * each:.0f} us of computing")


async def claims(sizes: Sizes) -> None:
    """The cost of a claim does not grow with what is due."""
    for count in sizes.watches:
        with tempfile.TemporaryDirectory() as folder:
            options = DatabaseOptions(f"sqlite://{Path(folder) / 'claims.db'}")
            await migrate(options, now=0)
            db = await open_database(options)
            await db.with_tx(lambda tx, count=count: tx.run(filling.add_feeds, count=count))  # type: ignore[misc]  # mypy sees no default
            await db.with_tx(lambda tx: tx.run(filling.add_watches, at=1))
            missing: Any = None
            context = PollContext(PullPace(Millis(30 * MINUTE), Millis(48 * HOUR)), wall_clock, lambda: 0.5)
            poller = Poller(db, missing, missing, context, folder_of=missing)
            times = []
            for _ in range(30):
                began = time.perf_counter()
                claimed = await poller.claim(AT_ONCE, {})
                times.append((time.perf_counter() - began) / len(claimed))
            await db.close()
        print(f"claim among {count:>9,} due watches{'':5}{sorted(times)[len(times) // 2] * 1e6:>8.0f} us a watch")


async def memory(place: EngineSetup, base: str, sizes: Sizes) -> None:
    """What many polls of the same watches leave behind, after a warm-up: objects that the collector knows, and MB."""
    for kind, what in KINDS:
        urls = [f"{base}/{kind}/{number}" for number in range(100)]
        async with a_setup(place, urls, 1) as (ours, _, __):
            for _ in range(sizes.memory):
                await ours.poll_all(len(urls))
            gc.collect()
            before, objects = resident(), len(gc.get_objects())
            for _ in range(sizes.memory):
                await ours.poll_all(len(urls))
            gc.collect()
            grown, left = resident() - before, len(gc.get_objects()) - objects
        polled = sizes.memory * len(urls)
        print(f"{what:36}{polled:>8,} more polls left {left:>5,} objects and {grown:>5.1f} MB; {before:.0f} MB before")


def line(what: str, count: int, mine: Best, theirs: Best, *, unit: str) -> None:
    ratio = theirs.seconds / mine.seconds
    mark = "ok" if ratio >= AIM else "MISSED"
    each = f"{mine.cpu / count * 1e3:.2f} and in parsers {mine.parsers / count * 1e3:.2f} ms each"
    rates = f"{count / mine.seconds:>10,.0f}{count / theirs.seconds:>10,.0f}"
    print(
        f"{what:36}{rates} {unit:16}{ratio:>6.2f}  aim {AIM} {mark:7} of computing {theirs.cpu / mine.cpu:.2f}: {each}"
    )


def resident() -> float:
    """MB of this process."""
    with open("/proc/self/statm", encoding="utf-8") as memory:  # noqa: PTH123  not a file on any disk
        return int(memory.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


async def measure(place: EngineSetup, base: str, sizes: Sizes) -> dict[str, float]:
    """Our polls a second, by their kind."""
    print(f"\n{place.name:36}{'ours':>10}{'bare':>10}{'':17}{'ratio':>6}")
    rates = {}
    for kind, what in KINDS:
        say(f"{place.name}: polls, {what}")
        rates[kind] = await polls(place, base, sizes, kind=kind, what=what)
    for shelves in (1, 10, 100):
        say(f"{place.name}: end to end, {shelves}")
        await end_to_end(place, base, sizes, shelves)
    for kind, what in KINDS:
        await shares(place, base, sizes, kind=kind, what=what)
    say(f"{place.name}: mixed, and among many")
    await mixed(place, base, sizes)
    return rates


async def main(sizes: Sizes, server_url: str) -> None:
    async with a_publisher() as base:
        say("memory")
        await memory(OnSqlite(), base, sizes)
        on_sqlite = await measure(OnSqlite(), base, sizes)
        on_postgres = await measure(OnPostgres(server_url), base, sizes)
        what, found = f"{ITEMS} new items, PostgreSQL, one worker", on_postgres["new"]
        aim(what, found, "polls/s", least=OF_SQLITE * on_sqlite["new"], beside=("SQLite", on_sqlite["new"]))
        await logged(OnPostgres(server_url), base, sizes)
        print()
        for place in (OnSqlite(), OnPostgres(server_url)):
            await among(place, base, sizes)
    await claims(sizes)
    print(f"resident after all of this{'':10}{resident():>8.0f} MB")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--small", action="store_true", help="two minutes instead of many")
    chosen = SMALL if parser.parse_args().small else FULL
    with a_postgres() as server:
        uvloop.run(main(chosen, server.url))
