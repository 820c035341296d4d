"""A process of its own that fetches one address so many times, at a pace shared through Redis."""

import asyncio
import sys

from redis.asyncio import Redis

from tests.net.builders import a_client, monotonic_micros
from tsuzuki.coord.redis_client import RedisPacer
from tsuzuki.model.requests import Ask, SourceIdentity
from tsuzuki.model.times import MINUTE


async def main(url: str, redis_url: str, count: int, rate: float) -> None:
    origin = SourceIdentity(source="shared", ratelimit=rate)
    async with Redis.from_url(redis_url) as redis:
        pacer = RedisPacer(redis, monotonic_micros)
        async with a_client(pacer=pacer, allowed_slots=2, patience=MINUTE) as client:
            sys.stdin.readline()  # both begin together
            await asyncio.gather(*(client.fetch(Ask(url), origin) for _ in range(count)))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4])))
