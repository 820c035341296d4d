"""Batches calls: what is asked for while others are answered is answered together."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from itertools import chain, repeat
from typing import Generic, TypeVar

import structlog

_log = structlog.stdlib.get_logger("tsuzuki.polling")

A = TypeVar("A")
R = TypeVar("R")


class Batcher(Generic[A, R]):
    """What is asked while others are answered is answered together. Used from one event loop.

    `do` has one answer for each, in their order; None, or a `do` that failed, sends whoever asked to do it alone.
    """

    def __init__(self, what: str, do: Callable[[Sequence[A]], Awaitable[Sequence[R | None]]]) -> None:
        self._what = what
        self._do = do
        self._waiting: list[_Waiting[A, R]] = []
        self._doing: asyncio.Task[None] | None = None

    async def ask(self, one: A) -> R | None:
        """The answer; None when there is none, for whatever reason."""
        waiting: _Waiting[A, R] = _Waiting(one)
        self._waiting.append(waiting)
        if self._doing is None:
            self._begin()
        return await waiting.answer

    def _begin(self) -> None:
        self._doing = asyncio.create_task(self._do_all(), name=self._what)
        self._doing.add_done_callback(self._end)

    def _end(self, doing: asyncio.Task[None]) -> None:
        self._doing = None
        if doing.cancelled():
            waiting, self._waiting = self._waiting, []
            _resolve(waiting, [])
        elif self._waiting:
            self._begin()

    async def _do_all(self) -> None:
        while self._waiting:
            together, self._waiting = self._waiting, []
            if wanted := [each for each in together if not each.answer.done()]:
                await self._do_some(wanted)

    async def _do_some(self, together: "list[_Waiting[A, R]]") -> None:
        answers: Sequence[R | None] = ()
        try:
            answers = await self._do([each.one for each in together])
        except Exception as error:  # noqa: BLE001  whose fault it is shows when each is done alone
            _log.warning("batch_failed", what=self._what, count=len(together), reason=str(error))
        finally:
            _resolve(together, answers)


class _Waiting(Generic[A, R]):
    """What is asked, and the future of its answer."""

    __slots__ = ("answer", "one")

    def __init__(self, one: A) -> None:
        self.one = one
        self.answer: asyncio.Future[R | None] = asyncio.get_running_loop().create_future()


def _resolve(waiting: "list[_Waiting[A, R]]", answers: Sequence[R | None]) -> None:
    """Resolve every future: whoever has no answer gets None."""
    for each, answer in zip(waiting, chain(answers, repeat(None)), strict=False):
        if not each.answer.done():
            each.answer.set_result(answer)
