"""What many ask for in the same moment is done once, and nobody waits for ever."""

import asyncio

import pytest

from tsuzuki.db.batcher import Batcher


class Doubling:
    """Answers each with its double, when it may; notes who came together."""

    def __init__(self) -> None:
        self.may_go = asyncio.Event()
        self.has_begun = asyncio.Event()
        self.groups: list[list[int]] = []

    async def do(self, asked):
        self.groups.append(list(asked))
        self.has_begun.set()
        await self.may_go.wait()
        if 13 in asked:
            raise ValueError("unlucky")
        return [None if each < 0 else each * 2 for each in asked]


async def test_waiting_requests_are_batched_and_answered_separately():
    doing = Doubling()
    together = Batcher("doubling", doing.do)
    first = asyncio.ensure_future(asyncio.gather(*map(together.ask, (1, 2))))
    await doing.has_begun.wait()
    later = asyncio.ensure_future(asyncio.gather(*map(together.ask, (3, -1, 4))))
    await asyncio.sleep(0)
    doing.may_go.set()
    assert await first == [2, 4]
    assert await later == [6, None, 8]
    assert await together.ask(5) == 10
    assert doing.groups == [[1, 2], [3, -1, 4], [5]]


async def test_a_failing_batch_is_retried_one_by_one():
    doing = Doubling()
    doing.may_go.set()
    together = Batcher("doubling", doing.do)
    assert await asyncio.gather(*map(together.ask, (1, 13))) == [None, None]
    assert await together.ask(1) == 2


async def test_whoever_no_longer_waits_is_left_out():
    doing = Doubling()
    together = Batcher("doubling", doing.do)
    first = asyncio.ensure_future(together.ask(1))
    await doing.has_begun.wait()
    gone, stays = (asyncio.ensure_future(together.ask(each)) for each in (2, 3))
    await asyncio.sleep(0)
    gone.cancel()
    doing.may_go.set()
    assert await stays == 6
    assert await first == 2
    assert doing.groups == [[1], [3]]


@pytest.mark.parametrize("turns", [1, 5])
async def test_those_who_wait_are_told_when_the_work_is_ended(turns):
    """As at the end of a process, before it began or in its midst."""
    doing = Doubling()
    together = Batcher("doubling", doing.do)
    waiting = asyncio.ensure_future(asyncio.gather(*map(together.ask, (1, 2))))
    for _ in range(turns):
        await asyncio.sleep(0)
    (work,) = [task for task in asyncio.all_tasks() if task.get_name() == "doubling"]
    work.cancel()
    assert await waiting == [None, None]
    doing.may_go.set()
    assert await together.ask(3) == 6


async def test_whoever_is_left_without_an_answer_is_told_so():
    async def only_the_first(asked):
        return list(asked)[:1]

    together = Batcher("answering one", only_the_first)
    assert await asyncio.gather(*map(together.ask, (1, 2))) == [1, None]
