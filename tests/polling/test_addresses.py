"""Looking at addresses for people: as many at a time as this process can spare."""

import asyncio
from typing import Any

import pytest

from tests.builders import NOON
from tsuzuki.connectors.registry import Registry
from tsuzuki.model.errors import TimedOut, TooManyRequests
from tsuzuki.model.times import DAY, MINUTE
from tsuzuki.polling.addresses import MOST_AT_ONCE, Trier
from tsuzuki.polling.policy import PullPace


class Stuck:
    """A driver whose visits end when they are let go, and then badly."""

    def __init__(self) -> None:
        self.let_go = asyncio.Event()

    async def run(self, visit: Any, _: Any) -> Any:
        visit.close()
        await self.let_go.wait()
        raise TimedOut("It took too long.")


async def test_beyond_the_limit_people_are_asked_to_wait():
    driver: Any = Stuck()
    trier = Trier(driver, Registry([]), PullPace(interval=MINUTE, ceiling=DAY))
    looks = [trier.try_url(f"https://{n}.example.org/", NOON) for n in range(MOST_AT_ONCE)]
    looking = [asyncio.create_task(look) for look in looks]
    await asyncio.sleep(0)
    with pytest.raises(TooManyRequests):
        await trier.find_feeds("https://example.org/")
    driver.let_go.set()
    assert {type(error) for error in await asyncio.gather(*looking, return_exceptions=True)} == {TimedOut}
    with pytest.raises(TimedOut):
        await trier.find_feeds("https://example.org/")
