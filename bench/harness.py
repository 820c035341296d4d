"""Measuring side by side, and the table that says it."""

import contextlib
import gc
import math
import os
import random
import shutil
import statistics
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from tests.servers import Postgres, shared_folder
from tsuzuki.db import Database, DatabaseOptions, open_database

_TICK = os.sysconf("SC_CLK_TCK")

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


@contextlib.asynccontextmanager
async def opened(url: str) -> AsyncIterator[Database]:
    """The database there, closed at the end."""
    db = await open_database(DatabaseOptions(url))
    try:
        yield db
    finally:
        await db.close()


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


def aim(
    what: str,
    measured: float,
    unit: str,
    *,
    most: float | None = None,
    least: float | None = None,
    beside: tuple[str, float] | None = None,
    is_full: bool = True,
) -> str:
    """Print, and return, one line: what is aimed at, what was measured, how many times the reference that is, and
    whether the aim is met. Of a smaller case than the one that the aim is about, only the figures are said.
    """
    bound, word = (most, "at most") if most is not None else (least, "at least")
    assert bound is not None
    is_met = measured <= bound if most is not None else measured >= bound
    mark = ("ok" if is_met else "MISSED") if is_full else "smaller than the aim's case"
    ratio = "" if beside is None else f"{measured / beside[1]:.2f} of {beside[0]} ({_short(beside[1])})"
    line = f"aim: {what:76}{_short(measured):>8} {unit:13}{f'{word} {_short(bound)}':16}{ratio:44}{mark}"
    print(line, flush=True)
    return line


def _short(value: float) -> str:
    """Three digits that count."""
    if value <= 0:
        return "0"
    text = f"{value:,.{max(0, 2 - math.floor(math.log10(value)))}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def seconds_of(pids: Iterable[int]) -> float:
    """The computing of these processes so far, user and system, in seconds; of those that live."""
    found = 0.0
    for pid in pids:
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            found += (int(fields[11]) + int(fields[12])) / _TICK
    return found


def family(pid: int) -> list[int]:
    """A process and all below it."""
    try:
        below = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except (FileNotFoundError, ProcessLookupError):
        return []
    return [pid, *(each for child in below for each in family(int(child)))]


def p95(times: Sequence[float]) -> float:
    return sorted(times)[max(0, math.ceil(len(times) * 0.95) - 1)]


def _seconds(value: float) -> str:
    if value < 1e-3:
        return f"{value * 1e6:.1f} us"
    return f"{value * 1e3:.2f} ms" if value < 1 else f"{value:.2f} s"
