"""Measuring side by side, and the table that says it."""

import contextlib
import gc
import random
import shutil
import statistics
import sys
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence

import msgspec

from tests.servers import Postgres, shared_folder

Case = Callable[[], Awaitable[object]]


class Line(msgspec.Struct, frozen=True):
    """A comparison: the first figure against the second, or a figure alone."""

    what: str
    ours: float
    """Seconds."""
    other: float | None = None
    ratio: float | None = None
    target: str = ""
    met: bool | None = None


async def interleaved(cases: Mapping[str, Case], rounds: int) -> dict[str, list[float]]:
    """Seconds of each case in each round. All are run in every round, in another order each time, after a warm-up."""
    times: dict[str, list[float]] = {name: [] for name in cases}
    for case in cases.values():
        await case()
    for number in range(rounds):
        order = list(cases)
        random.Random(number).shuffle(order)
        for name in order:
            gc.collect()
            began = time.perf_counter()
            await cases[name]()
            times[name].append(time.perf_counter() - began)
    return times


async def compare(what: str, ours: Case, bare: Case, *, rounds: int, calls: int, most: float) -> Line:
    """Ours against the bare driver, by the best round of each: noise only ever adds."""
    times = await interleaved({"ours": ours, "bare": bare}, rounds)
    ratio = min(times["ours"]) / min(times["bare"])
    return Line(what, min(times["ours"]) / calls, min(times["bare"]) / calls, ratio, f"at most {most}", ratio <= most)


def median(times: Sequence[float]) -> float:
    return statistics.median(times)


@contextlib.contextmanager
def a_postgres(*, memory: str = "64MB") -> Iterator[Postgres]:
    """A PostgreSQL of its own that syncs every commit, gone afterwards."""
    folder = shared_folder()
    server = Postgres(folder, durable=True, memory=memory).start()
    try:
        yield server
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)


def say(text: str) -> None:
    """Progress, apart from the result."""
    print(text, file=sys.stderr, flush=True)


def show(title: str, columns: tuple[str, str], lines: Sequence[Line]) -> None:
    """The table; a target that was missed is marked, and nothing fails by a time."""
    print(f"\n{title}\n{'':44}{columns[0]:>12}{columns[1]:>12}{'ratio':>9}  target")
    for line in lines:
        other = _seconds(line.other) if line.other is not None else ""
        ratio = f"{line.ratio:.2f}" if line.ratio is not None else ""
        mark = {None: "", True: "ok", False: "MISSED"}[line.met]
        print(f"{line.what:44}{_seconds(line.ours):>12}{other:>12}{ratio:>9}  {line.target:16}{mark}")


def _seconds(value: float) -> str:
    if value < 1e-3:
        return f"{value * 1e6:.1f} us"
    return f"{value * 1e3:.2f} ms" if value < 1 else f"{value:.2f} s"
