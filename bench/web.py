"""Pages against a bare one of the same size: `python -m bench.web [--small] [--packed]`.

The inbox, an article, the library and the feeds, over real HTTP from the app, and beside each a bare Starlette route
that renders a Jinja template of as many bytes: requests per second, the 99th percentile, and the processor's time for
each; then what ours spend their time on. Client and server share a process. At the end the aims, by computing without
client and socket, with an inbox of 150,000 entries besides (`--small`: 10,000), whose first page is asked for again and
again, and whose others are read one by one. No time makes it fail.

Neither side packs, unless `--packed` has both do it by the same means. The bare page knows nobody, reads nothing, logs
nothing and puts a hundred values into as many bytes: what lies between is what an application does.
"""

import argparse
import asyncio
import html
import os
import re
import statistics
import tempfile
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import ExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

from jinja2 import DictLoader, Environment
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse
from starlette.routing import Route
from starlette.types import ASGIApp

from bench._library import build, grow
from bench.harness import aim, say
from tests.api.people import RunningApp, a_running_app
from tests.app import Client, serving
from tests.web.sample_shelf import a_series, fill_shelf
from tsuzuki.http import middleware
from tsuzuki.http.auth import Callers
from tsuzuki.log import set_up_logging
from tsuzuki.web.renderer import Pages

ARTICLES = 200
SERIES = 60
PLAIN = {"accept": "text/html", "accept-encoding": "identity"}
PACKED = {"accept": "text/html", "accept-encoding": "gzip"}
AT_ONCE = 8
SLICES = 4
LARGE = 150_000
FIRST = 1_000_000
"""Of the ids of its items; others are there already."""
INBOX_MS, INBOX_KB, TIMES_BARE = 3, 40, 3
"""What is aimed at: computing and size of the inbox's page, and computing of any page beside a bare one of its size."""

# As many loops and escaped values as a list of entries has, so that both render rather than copy.
TEMPLATE = "<!doctype html><title>Bare</title>{% for row in rows %}<p>{{ row.title }} {{ row.text }}</p>\n{% endfor %}"


class Measured:
    """One page: how long each answer took, and what all of them cost together."""

    def __init__(self, client: Client, path: str, headers: dict[str, str]) -> None:
        self._client = client
        self._path = path
        self._headers = headers
        self._times: list[float] = []
        self._spent = self._cpu = 0.0

    async def ask(self) -> int:
        """The size of the page."""
        began = time.perf_counter()
        answer = await self._client.get(self._path, headers=self._headers)
        self._times.append(time.perf_counter() - began)
        assert answer.status == 200, (self._path, answer.status)
        return len(answer.body)

    async def go_on(self, count: int) -> None:
        """So many requests over `AT_ONCE` connections, each asking again as soon as it is answered."""

        async def some() -> None:
            for _ in range(count // AT_ONCE):
                await self.ask()

        began, cpu = time.perf_counter(), time.process_time()
        await asyncio.gather(*(some() for _ in range(AT_ONCE)))
        self._spent += time.perf_counter() - began
        self._cpu += time.process_time() - cpu

    def forget(self) -> None:
        """What was warming up."""
        self._times.clear()
        self._spent = self._cpu = 0.0

    @property
    def rate(self) -> float:
        """Requests per second."""
        return len(self._times) / self._spent

    @property
    def cpu(self) -> float:
        """Seconds of a processor for each, client included: steadier than the clock on a machine that others use."""
        return self._cpu / len(self._times)

    @property
    def p99(self) -> float:
        """Seconds."""
        return statistics.quantiles(self._times, n=100)[98]


def bare_app(sizes: dict[str, int]) -> ASGIApp:
    """A page for each of ours, of as many bytes; packed as ours are for who asks for it."""
    template = Environment(loader=DictLoader({"page": TEMPLATE}), autoescape=True).get_template("page")

    def page_of(size: int) -> Route:
        rows = [{"title": f"Title {number}", "text": "x" * max(1, size // 50 - 16)} for number in range(50)]

        async def show(_: Request) -> HTMLResponse:
            return HTMLResponse(template.render(rows=rows))

        return Route(f"/{size}", show)

    return middleware.Compressed(Starlette(routes=[page_of(size) for size in set(sizes.values())]))


@asynccontextmanager
async def a_furnished_town(folder: Path) -> AsyncIterator[tuple[RunningApp, str, dict[str, str]]]:
    async with a_running_app(folder, log_level="error") as app:
        user = await app.add()
        sample_shelf = await fill_shelf(app, user, articles=ARTICLES)
        group = (await app.reading.groups.list(sample_shelf.shelf))[0].id
        for number in range(SERIES):
            await a_series(app, sample_shelf.shelf, f"Series {number}", group=group)
        paths = {"inbox": "/", "article": f"/items/{sample_shelf.items[0]}", "library": "/library", "feeds": "/feeds"}
        yield app, f"tsuzuki={await app.session(user)}", paths


async def compare(app: RunningApp, asked: dict[str, str], paths: dict[str, str], rounds: int) -> None:
    """Each page beside its bare one, slice by slice, so that whatever else the machine does falls on both."""
    ours = {name: Measured(app.client, path, asked) for name, path in paths.items()}
    sizes = {name: await one.ask() for name, one in ours.items()}
    async with serving(bare_app(sizes)) as client:
        bare = {name: Measured(client, f"/{size}", asked) for name, size in sizes.items()}
        for one in (*ours.values(), *bare.values()):
            await one.go_on(AT_ONCE)
            one.forget()
        for number in range(SLICES):
            say(f"slice {number + 1} of {SLICES}")
            for name in paths:
                await ours[name].go_on(rounds // SLICES)
                await bare[name].go_on(rounds // SLICES)
    print(
        f"\n{'':9}{'bytes':>9}{'/s':>7}{'p99':>10}{'cpu':>9}   {'bare /s':>8}{'p99':>10}{'cpu':>9}"
        f"{'ratio':>8}{'by cpu':>8}"
    )
    for name, one in ours.items():
        other = bare[name]
        print(
            f"{name:9}{sizes[name]:>9,}{one.rate:>7.0f}{one.p99 * 1e3:>7.1f} ms{one.cpu * 1e3:>6.2f} ms   "
            f"{other.rate:>8.0f}{other.p99 * 1e3:>7.1f} ms{other.cpu * 1e3:>6.2f} ms"
            f"{one.rate / other.rate:>8.2f}{other.cpu / one.cpu:>8.2f}"
        )


# -- where the time goes


class Shares:
    """Seconds by what they were spent on; what happens within something else counts as that."""

    def __init__(self) -> None:
        self.spent: dict[str, float] = defaultdict(float)
        self._is_within = False

    @contextmanager
    def spending(self, name: str) -> Iterator[None]:
        if self._is_within:
            yield
            return
        self._is_within, began = True, time.perf_counter()
        try:
            yield
        finally:
            self._is_within = False
            self.spent[name] += time.perf_counter() - began

    @contextmanager
    def of(self, owner: Any, name: str, share: str) -> Iterator[None]:
        """Within the block, calls of this function count."""
        usual: Callable[..., Any] = getattr(owner, name)

        def called(*args: Any, **named: Any) -> Any:
            with self.spending(share):
                return usual(*args, **named)

        async def awaited(*args: Any, **named: Any) -> Any:
            with self.spending(share):
                return await usual(*args, **named)

        setattr(owner, name, awaited if asyncio.iscoroutinefunction(usual) else called)
        try:
            yield
        finally:
            setattr(owner, name, usual)


async def show_shares(app: RunningApp, asked: dict[str, str], paths: dict[str, str], rounds: int) -> None:
    """One request after the other, without a socket: who it is, the database, rendering, packing, and the rest."""
    columns = ("who", "database", "rendering", "packing")
    print(f"\n{'ms':9}{'in all':>9}" + "".join(f"{column:>15}" for column in (*columns, "rest")))
    for name, path in paths.items():
        shares = Shares()
        with ExitStack() as stack:
            stack.enter_context(shares.of(Callers, "of", "who"))
            stack.enter_context(shares.of(app.db, "read", "database"))
            stack.enter_context(shares.of(Pages, "render", "rendering"))
            stack.enter_context(shares.of(Pages, "part", "rendering"))
            stack.enter_context(shares.of(middleware, "_pack", "packing"))
            began = time.perf_counter()
            for _ in range(rounds):
                await answer(app.app, path, asked | PACKED)
            spent = time.perf_counter() - began
        parts = [shares.spent[column] for column in columns]
        parts.append(spent - sum(parts))
        shown = "".join(f"{part / rounds * 1e3:>9.2f} {part / spent:>4.0%}" for part in parts)
        print(f"{name:9}{spent / rounds * 1e3:>9.2f}{shown}")


async def answer(app: ASGIApp, path: str, asked: dict[str, str]) -> bytes:
    """Ask the application itself."""
    path, _, query = path.partition("?")
    headers = [(name.encode(), value.encode()) for name, value in asked.items()]
    scope = {"type": "http", "method": "GET", "scheme": "http", "path": path, "raw_path": path.encode()}
    scope |= {
        "query_string": query.encode(),
        "headers": headers,
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 2),
    }
    statuses, body = [], []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Any) -> None:
        statuses.append(message.get("status", 200))
        body.append(message.get("body", b""))

    await app(scope, receive, send)
    assert set(statuses) == {200}, (path, statuses)
    return b"".join(body)


# -- the aims


async def aims(app: RunningApp, asked: dict[str, str], paths: dict[str, str], *, rounds: int) -> None:
    """Each page beside a bare one of its size, by computing alone, slice by slice."""
    sizes = {name: len(await answer(app.app, path, asked)) for name, path in paths.items()}
    bare = bare_app(sizes)
    spent: dict[str, list[float]] = {name: [] for name in paths}
    bare_spent: dict[str, list[float]] = {name: [] for name in paths}
    for _ in range(SLICES):
        for name, path in paths.items():
            spent[name].append(await computing(app.app, [path] * (rounds // SLICES), asked))
            bare_spent[name].append(await computing(bare, [f"/{sizes[name]}"] * (rounds // SLICES), asked))
    for name in paths:
        mine, least = min(spent[name]), min(bare_spent[name])
        aim(f"page: {name}, computing", mine, "ms", most=TIMES_BARE * least, beside=("a bare page", least))


async def large_inbox(app: RunningApp, *, rounds: int, articles: int) -> None:
    """One page of many entries, and many pages that nobody saw before."""
    user = await app.add()
    shelf = (await app.accounts.current_user.shelf_of(user)).id
    say(f"{articles:,} entries")
    await grow(app.db, await build(app.db, shelf), FIRST, FIRST + articles)
    asked = PLAIN | {"cookie": f"tsuzuki={await app.session(user)}"}
    size = len(await answer(app.app, "/", asked))
    bare, bare_path = bare_app({"inbox": size}), f"/{size}"
    again, least, pages = [], [], []
    path = "/"
    for _ in range(SLICES):
        again.append(await computing(app.app, ["/"] * (rounds // SLICES), asked))
        least.append(await computing(bare, [bare_path] * (rounds // SLICES), asked))
        for _ in range(rounds // SLICES // 2):
            began = time.process_time()
            page = await answer(app.app, path, asked)
            pages.append((time.process_time() - began) * 1e3)
            path = next_page(page)
    beside, is_full = ("a bare page", min(least)), articles >= LARGE
    what = f"inbox of {articles:,} entries"
    aim(f"{what}, size of a page", size / 1024, "KiB", most=INBOX_KB, is_full=is_full)
    aim(f"{what}, its first page, computing", min(again), "ms", most=INBOX_MS, beside=beside, is_full=is_full)
    other = statistics.median(pages)
    aim(f"{what}, a page not seen before, computing", other, "ms", most=INBOX_MS, beside=beside, is_full=is_full)


def next_page(page: bytes) -> str:
    found = re.search(rb'class="older[^"]*" href="([^"]+)"', page)
    assert found is not None, "there is no next page"
    return html.unescape(found[1].decode())


async def computing(app: ASGIApp, paths: Sequence[str], asked: dict[str, str]) -> float:
    """Milliseconds for each."""
    await answer(app, paths[0], asked)
    began = time.process_time()
    for path in paths:
        await answer(app, path, asked)
    return (time.process_time() - began) * 1e3 / len(paths)


async def main(rounds: int, headers: dict[str, str], *, articles: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        async with a_furnished_town(Path(folder)) as (app, cookie, paths):
            asked = headers | {"cookie": cookie}
            await compare(app, asked, paths, rounds)
            await show_shares(app, asked, paths, rounds // SLICES)
            print()
            await aims(app, PLAIN | {"cookie": cookie}, paths, rounds=rounds)
            await large_inbox(app, rounds=rounds, articles=articles)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--small", action="store_true", help="fewer requests")
    parser.add_argument("--packed", action="store_true", help="both pack their pages")
    wish = parser.parse_args()
    with Path(os.devnull).open("w", encoding="utf-8") as nowhere:
        set_up_logging(level="info", style="json", stream=nowhere)  # as when serving, but for nobody
        rounds, articles = (160, 10_000) if wish.small else (800, LARGE)
        asyncio.run(main(rounds, PACKED if wish.packed else PLAIN, articles=articles))
