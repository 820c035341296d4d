"""Flame graphs, and what they say in a table: `python -m bench.flame [CASE ...] [--out folder] [--seconds 10]`.

The cases are a poll that finds nothing new (`poll-304`), one that finds ten new items (`poll-new`), the inbox as a page
(`inbox-page`) and by the API (`inbox-api`); all of them unless some are named. Each runs in a process of its own, on
SQLite, again and again, and py-spy looks at it from outside a few hundred times a second; what was set up before is not
in the picture. `CASE.svg` is the graph: open it in a browser. The table names the areas of the code that the time was
spent in, whatever they called in libraries, and the functions that were on top most often.

py-spy is taken from the PATH, or installed from PyPI into a temporary folder. It has to be allowed to look into other
processes: of one's own user, that is so where `kernel.yama.ptrace_scope` is 0, and for root.
"""

import argparse
import asyncio
import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping, Sequence
from pathlib import Path

import uvloop

from bench._library import build, grow
from bench._polls import OnSqlite, a_publisher, a_setup
from bench.harness import family, say
from bench.web import FIRST, PLAIN, answer
from tests.api.people import a_running_app

ROOT = Path(__file__).resolve().parent.parent
RATE = 400
"""Samples a second."""
WATCHES = 400
ARTICLES = 20_000
FORMATS: Mapping[str, str] = {"flamegraph": "svg", "raw": "txt"}
AREAS, TOPS = 9, 8
WAITING = {"_worker", "_run_safe_shutdown_loop", "_write_for_ever"}
"""What threads are in that have nothing to do: some kernels do not say so of them, and graphs show them there."""
_FRAME = re.compile(r"^(?P<name>.*) \((?P<file>[^()]*?)(?::\d+)?\)$")


# -- the cases; each says that it is ready, and never ends


async def poll_304() -> None:
    await _poll("same")


async def poll_new() -> None:
    await _poll("new")


async def _poll(kind: str) -> None:
    async with a_publisher() as base:
        urls = [f"{base}/{kind}/{number}" for number in range(WATCHES)]
        async with a_setup(OnSqlite(), urls) as (ours, _, __):
            await _again(lambda: ours.poll_all(len(urls)))


async def inbox_page() -> None:
    await _ask("/")


async def inbox_api() -> None:
    await _ask("/api/v1/items?unread=true&limit=50")


async def _ask(path: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        async with a_running_app(Path(folder), log_level="error") as app:
            user = await app.add()
            shelf = (await app.accounts.current_user.shelf_of(user)).id
            await grow(app.db, await build(app.db, shelf), FIRST, FIRST + ARTICLES)
            headers = PLAIN | {"cookie": f"tsuzuki={await app.session(user)}"}
            await _again(lambda: answer(app.app, path, headers))


async def _again(do: Callable[[], Awaitable[object]]) -> None:
    for _ in range(3):
        await do()
    print("ready", flush=True)
    while True:
        await do()
        await asyncio.sleep(0)


CASES: Mapping[str, Callable[[], Coroutine[None, None, None]]] = {
    "poll-304": poll_304,
    "poll-new": poll_new,
    "inbox-page": inbox_page,
    "inbox-api": inbox_api,
}


# -- looking at them


@contextlib.contextmanager
def a_py_spy() -> Iterator[str]:
    """The program; SystemExit where it cannot be had."""
    found = shutil.which("py-spy")
    if found is not None:
        yield found
        return
    with tempfile.TemporaryDirectory(prefix="tsuzuki-bench-") as folder:
        uv = Path(sys.executable).with_name("uv")
        command = [str(uv), "pip", "install"] if uv.exists() else [sys.executable, "-m", "pip", "install"]
        said = subprocess.run([*command, "--quiet", "--target", folder, "py-spy"], check=False)
        if said.returncode:
            raise SystemExit("py-spy is not on the PATH, and could not be installed from PyPI.")
        yield str(Path(folder) / "bin" / "py-spy")


@contextlib.contextmanager
def running(case: str) -> Iterator[int]:
    """Its pid, once it is ready; it, all that it started and what it wrote are gone afterwards."""
    command = [sys.executable, "-m", "bench.flame", "--run", case]
    with tempfile.TemporaryDirectory(prefix="tsuzuki-bench-") as folder:
        env = os.environ | {"TMPDIR": folder}
        child = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, env=env)
        try:
            assert child.stdout is not None
            if child.stdout.readline() != "ready\n":
                raise SystemExit(f"{case} did not start.")
            yield child.pid
        finally:
            for pid in family(child.pid):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            child.wait()


def record(py_spy: str, case: str, out: Path, seconds: int) -> Path:
    """The graph, and the stacks that it was made of."""
    with running(case) as pid:
        for kind, suffix in FORMATS.items():
            target = out / f"{case}.{suffix}"
            look = ["--pid", str(pid), "--duration", str(seconds), "--rate", str(RATE), "--function"]
            said = subprocess.run(
                [py_spy, "record", *look, "--format", kind, "--output", str(target)], check=False, capture_output=True
            )
            if said.returncode:
                raise SystemExit(f"py-spy could not look at {case}: {said.stderr.decode().strip()}")
    return out / f"{case}.txt"


# -- what they say


def parse_stacks(text: str) -> list[tuple[list[tuple[str, str]], int]]:
    """The frames of each stack, outermost first, as (function, file); and how often it was seen."""
    found = []
    for line in text.splitlines():
        frames, _, count = line.rpartition(" ")
        parts = [_FRAME.match(frame) for frame in frames.split(";")]
        found.append(([(part["name"], part["file"]) for part in parts if part is not None], int(count)))
    return found


def area_of(frames: Sequence[tuple[str, str]]) -> str:
    """The area of ours that was at work, whatever it called; or, where none was, the library."""
    for _, file in reversed(frames):
        _, is_ours, below = file.rpartition("tsuzuki/")
        if is_ours:
            return f"tsuzuki/{below.partition('/')[0]}"
        if file.endswith((".html", ".svg")) or file == "<template>":
            return "templates"
    _, _, below = frames[-1][1].rpartition("site-packages/") if frames else ("", "", "")
    return below.partition("/")[0] or "the rest"


def show(case: str, stacks: Sequence[tuple[list[tuple[str, str]], int]]) -> None:
    areas, tops = Counter[str](), Counter[str]()
    for frames, count in stacks:
        if frames and frames[-1][0].rpartition(".")[2] in WAITING:
            continue
        areas[area_of(frames)] += count
        if frames:
            tops[f"{frames[-1][0]} ({frames[-1][1]})"] += count
    total = sum(areas.values()) or 1
    print(f"\n{case}: {total:,} samples")
    print("  " + ", ".join(f"{name} {count / total:.0%}" for name, count in areas.most_common(AREAS)))
    for name, count in tops.most_common(TOPS):
        print(f"  {count / total:>6.1%}  {name}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", metavar="CASE", help=", ".join(CASES))
    parser.add_argument("--out", type=Path, help="where graphs go; a new temporary folder otherwise")
    parser.add_argument("--seconds", type=int, default=10, help="for each of a case's two recordings")
    parser.add_argument("--run", choices=CASES, help="run this case until it is ended, for another profiler")
    chosen = parser.parse_args()
    if chosen.run:
        uvloop.run(CASES[chosen.run]())
        return
    if unknown := set(chosen.cases) - set(CASES):
        parser.error(f"there is no case {', '.join(sorted(unknown))}; there are {', '.join(CASES)}")
    out = chosen.out or Path(tempfile.mkdtemp(prefix="tsuzuki-flame-"))
    out.mkdir(parents=True, exist_ok=True)
    with a_py_spy() as py_spy:
        for case in chosen.cases or CASES:
            say(case)
            show(case, parse_stacks(record(py_spy, case, out, chosen.seconds).read_text("utf-8")))
    print(f"\nGraphs are in {out}")


if __name__ == "__main__":
    main()
