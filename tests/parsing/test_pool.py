"""SEC-20: a document can take down the process that reads it, and nothing else."""

import asyncio
import gc
import os
import random
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import uvloop

from tests.parsing import parsers
from tests.stopwatch import Stopwatch
from tests.waiting import eventually
from tsuzuki.model.errors import NotAFeed, ShapeChanged, TooLarge, Unavailable
from tsuzuki.parsing.forkserver import FORK_SERVER
from tsuzuki.parsing.pool import ParsePool, PoolOptions


@asynccontextmanager
async def a_pool(**over: Any) -> AsyncIterator[ParsePool]:
    pool = ParsePool(PoolOptions(**{"processes": 1, "cpu_seconds": 0.5, "wall_seconds": 60.0} | over))
    try:
        yield pool
    finally:
        await pool.close()


async def test_values_go_in_and_come_back_with_their_types():
    async with a_pool() as pool:
        found = await pool.run(parsers.read, (b"\x00\xff", ("a", "b"), Decimal("4.5")))
        again = await pool.run(parsers.read, (b"", ("a",)))
    assert found == (parsers.Found("a", Decimal("4.5"), b"\x00\xff"), parsers.Found("b", Decimal("4.5"), b"\x00\xff"))
    assert again == (parsers.Found("a", None, b""),)


async def test_a_process_serves_many_calls_and_never_ours():
    async with a_pool() as pool:
        pids = {await pool.run(parsers.say_pid, ()) for _ in range(5)}
    assert len(pids) == 1
    assert os.getpid() not in pids


@pytest.mark.parametrize(
    ("function", "error", "says"),
    [
        (parsers.spin, NotAFeed, "0.5 s of CPU time"),
        (parsers.bloat, TooLarge, "more memory"),
        (parsers.crash, NotAFeed, "crashed its parser"),
        (parsers.leave, NotAFeed, "exit status 3"),
        (parsers.stumble, NotAFeed, "KeyError: 'no such field'"),
        (parsers.complain, ShapeChanged, "no titles any more"),
    ],
)
async def test_a_document_that_kills_its_parser_fails_alone(function, error, says):
    async with a_pool() as pool:
        with pytest.raises(error, match=says):
            await pool.run(function, ())
        assert await pool.run(parsers.say, ("still here",)) == "still here"


async def test_a_call_that_only_waits_meets_the_deadline_too():
    async with a_pool(wall_seconds=0.4) as pool:
        await pool.run(parsers.say, ("warm",))
        stopwatch = Stopwatch()
        with pytest.raises(NotAFeed, match=r"within 0\.4 s"):
            await pool.run(parsers.sleep, (60.0,))
        assert stopwatch.seconds() < 2
        assert await pool.run(parsers.say, ("next",)) == "next"


async def test_an_answer_without_end_is_refused():
    async with a_pool(answer_bytes=1000) as pool:
        with pytest.raises(TooLarge, match="expands to more"):
            await pool.run(parsers.shout, (10_000,))
        assert len(await pool.run(parsers.shout, (900,))) == 900


async def test_a_parser_that_prints_does_not_garble_its_answers():
    async with a_pool() as pool:
        assert [await pool.run(parsers.chatter, ()) for _ in range(2)] == ["quiet", "quiet"]


async def test_a_parser_writes_no_files_and_knows_no_secrets(tmp_path, monkeypatch):
    monkeypatch.setenv("TSUZUKI_PASSWORD", "canary")
    async with a_pool() as pool:
        with pytest.raises(NotAFeed, match="File too large"):
            await pool.run(parsers.write_a_file, (str(tmp_path / "x"),))
        assert "canary" not in (await pool.run(parsers.tell_environment, ())).values()


async def test_no_more_processes_than_allowed_and_calls_wait_their_turn():
    async with a_pool(processes=2, wall_seconds=10.0) as pool:
        pids = await asyncio.gather(*(pool.run(parsers.say_pid, ()) for _ in range(20)))
    assert len(set(pids)) <= 2


async def test_one_bad_call_leaves_its_neighbour_alone():
    async with a_pool(processes=2, wall_seconds=10.0) as pool:
        results = await asyncio.gather(
            pool.run(parsers.crash, ()), *(pool.run(parsers.say, (str(n),)) for n in range(10)), return_exceptions=True
        )
    assert isinstance(results[0], NotAFeed)
    assert results[1:] == [str(n) for n in range(10)]


async def test_a_cancelled_call_gives_its_place_back():
    async with a_pool(wall_seconds=30.0) as pool:
        call = asyncio.create_task(pool.run(parsers.sleep, (60.0,)))
        await asyncio.sleep(0.3)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        assert await pool.run(parsers.say, ("free",)) == "free"


async def has_begun(pool: ParsePool) -> None:
    """However long a machine that is busy takes to start a process."""
    async with asyncio.timeout(20):
        while not pool._children:  # noqa: ASYNC110  nothing tells when another process is there
            await asyncio.sleep(0.005)


def children_of_the_fork_server() -> list[int]:
    server = FORK_SERVER._process
    assert server is not None
    return [int(pid) for pid in Path(f"/proc/{server.pid}/task/{server.pid}/children").read_text().split()]


async def cancel_at_any_moment(rng: random.Random, trials: int) -> list[int]:
    """Calls that are cancelled, some of them twice, while a process starts, works or ends; those that were begun."""
    pids = []
    for trial in range(trials):
        async with a_pool(wall_seconds=30.0) as pool:
            calls = [asyncio.ensure_future(pool.run(parsers.sleep, (60.0,))) for _ in range(2)]
            if trial % 3 == 0:
                await has_begun(pool)
            await asyncio.sleep(rng.choice([0, rng.uniform(0, 0.02), rng.uniform(0, 0.4)]))
            pids += children_of_the_fork_server()
            for call in calls:
                call.cancel()
                for _ in range(rng.randrange(3)):
                    await asyncio.sleep(0)
                    call.cancel()
            await asyncio.wait(calls)
    return pids


@pytest.mark.parametrize("loop_factory", [asyncio.new_event_loop, uvloop.new_event_loop])
def test_cancelled_calls_leave_no_process_or_pipe(loop_factory):
    """What is left open is told when it is collected, and fails this test."""
    with asyncio.Runner(loop_factory=loop_factory) as runner:
        pids = runner.run(cancel_at_any_moment(random.Random(5), 12))
    gc.collect()
    assert pids
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


async def test_a_child_that_died_idle_fails_no_document():
    async with a_pool() as pool:
        pid = await pool.run(parsers.say_pid, ())
        os.kill(pid, signal.SIGKILL)
        await eventually(lambda: _is_gone(pid))
        await asyncio.sleep(0.05)  # the loop hears of it
        assert await pool.run(parsers.say, ("next",)) == "next"


async def test_an_idle_child_ends_and_is_replaced():
    async with a_pool(idle_seconds=0.1) as pool:
        pid = await pool.run(parsers.say_pid, ())
        await eventually(lambda: _is_gone(pid))
        assert await pool.run(parsers.say_pid, ()) != pid


async def test_children_that_are_used_now_and_then_stay():
    async with a_pool(idle_seconds=1.0, processes=2) as pool:
        pids = set()
        for _ in range(6):
            pids.add(await pool.run(parsers.say_pid, ()))
            await asyncio.sleep(0.25)
    assert len(pids) == 1


async def _is_gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


async def test_a_closed_pool_ends_its_processes_and_says_so():
    async with a_pool() as pool:
        pid = await pool.run(parsers.say_pid, ())
        await pool.close()
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
        with pytest.raises(Unavailable):
            await pool.run(parsers.say, ("late",))


async def test_closing_the_pool_does_not_blame_a_running_document():
    async with a_pool(processes=2, wall_seconds=30.0, cpu_seconds=30.0) as pool:
        await pool.run(parsers.say, ("one child runs, the other must start",))
        calls = [asyncio.create_task(pool.run(parsers.sleep, (60.0,))) for _ in range(3)]
        await asyncio.sleep(0)
        await pool.close()
        results = await asyncio.gather(*calls, return_exceptions=True)
    assert [type(result) for result in results] == [Unavailable] * 3


async def test_only_a_function_that_another_process_can_find_is_taken():
    async with a_pool() as pool:
        with pytest.raises(TypeError, match="module-level"):
            await pool.run(lambda: None, ())


async def test_a_long_call_is_not_taken_for_idleness():
    async with a_pool(processes=2, idle_seconds=0.1, wall_seconds=10.0) as pool:
        slow = asyncio.ensure_future(pool.run(parsers.sleep, (1.0,)))
        assert await pool.run(parsers.say, ("meanwhile",)) == "meanwhile"
        await slow
