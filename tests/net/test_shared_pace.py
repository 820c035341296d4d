"""Two processes and one host: together they never call it faster than one may."""

import asyncio
import sys

from redis.asyncio import Redis

from tests.net.builders import a_server, answer

RATE = 10
EACH = 12


async def test_two_processes_together_keep_one_pace(redis_url):
    inside = most = 0

    async def handle(head, writer):
        nonlocal inside, most
        inside += 1
        most = max(most, inside)
        await asyncio.sleep(0.15)  # longer than the interval, so that places matter too
        inside -= 1
        writer.write(answer(200, b"ok", Connection="close"))

    async with Redis.from_url(redis_url) as redis:
        await redis.flushdb()
    async with a_server(handle) as server:
        command = (sys.executable, "-m", "tests.net.paced_process", server.url, redis_url, str(EACH), str(RATE))
        processes = [await asyncio.create_subprocess_exec(*command, stdin=asyncio.subprocess.PIPE) for _ in range(2)]
        endings = await asyncio.gather(*(process.communicate(b"\n") for process in processes))
    assert len(endings) == 2
    assert [process.returncode for process in processes] == [0, 0]
    times = server.times
    assert len(times) == 2 * EACH
    assert most <= 2
    assert times[-1] - times[0] >= (2 * EACH - 1) / RATE - 0.1
    # no second holds more than the rate; one interval is left for the scheduling of three processes
    assert all(later - earlier >= 1.0 for earlier, later in zip(times, times[RATE + 1 :], strict=False))
