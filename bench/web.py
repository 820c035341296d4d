"""Pages against a bare one of the same size: `python -m bench.web [--small]`.

The inbox, an article and the feeds, over real HTTP from the app, and beside them a bare Starlette route that renders
a Jinja template of the same number of bytes. Requests per second and the 99th percentile. No time makes it fail.
"""

import argparse
import asyncio
import statistics
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
from jinja2 import DictLoader, Environment
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse
from starlette.routing import Route

from bench.harness import say
from tests.api.people import Town, a_town
from tests.app import Client, serving
from tests.web.stage import furnish

ARTICLES = 200
AT_ONCE = 8

# As many loops and escaped values as a list of entries has, so that both render rather than copy.
TEMPLATE = "<!doctype html><title>Bare</title>{% for row in rows %}<p>{{ row.title }} {{ row.text }}</p>\n{% endfor %}"


class Figures(msgspec.Struct, frozen=True):
    rate: float
    p99: float
    size: int


def bare_app(sizes: dict[str, int]) -> Starlette:
    """A page for each of ours, of as many bytes."""
    template = Environment(loader=DictLoader({"page": TEMPLATE}), autoescape=True).get_template("page")

    def page_of(size: int) -> Route:
        rows = [{"title": f"Title {number}", "text": "x" * max(1, size // 50 - 16)} for number in range(50)]

        async def show(_: Request) -> HTMLResponse:
            return HTMLResponse(template.render(rows=rows))

        return Route(f"/{size}", show)

    return Starlette(routes=[page_of(size) for size in set(sizes.values())])


async def measure(client: Client, path: str, cookie: str, rounds: int) -> Figures:
    """`AT_ONCE` connections, each asking again as soon as it is answered."""
    times: list[float] = []
    size = 0

    async def ask() -> None:
        nonlocal size
        began = time.perf_counter()
        answer = await client.get(path, headers={"cookie": cookie, "accept": "text/html"})
        times.append(time.perf_counter() - began)
        assert answer.status == 200, (path, answer.status)
        size = len(answer.body)

    async def go_on(count: int) -> None:
        for _ in range(count):
            await ask()

    await go_on(5)
    times.clear()
    began = time.perf_counter()
    await asyncio.gather(*(go_on(rounds // AT_ONCE) for _ in range(AT_ONCE)))
    spent = time.perf_counter() - began
    return Figures(len(times) / spent, statistics.quantiles(times, n=100)[98], size)


@asynccontextmanager
async def a_furnished_town(folder: Path) -> AsyncIterator[tuple[Town, str, dict[str, str]]]:
    async with a_town(folder, log_level="error") as town:
        user = await town.add()
        stage = await furnish(town, user, articles=ARTICLES)
        paths = {"inbox": "/", "article": f"/items/{stage.items[0]}", "feeds": "/feeds"}
        yield town, f"tsuzuki={await town.session(user)}", paths


async def main(rounds: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        async with a_furnished_town(Path(folder)) as (town, cookie, paths):
            say("measuring the pages")
            ours = {name: await measure(town.client, path, cookie, rounds) for name, path in paths.items()}
            async with serving(bare_app({name: one.size for name, one in ours.items()})) as bare:
                say("measuring the bare ones")
                other = {name: await measure(bare, f"/{one.size}", "", rounds) for name, one in ours.items()}
    print(f"\n{'':12}{'bytes':>10}{'ours /s':>10}{'p99':>10}{'bare /s':>10}{'p99':>10}{'ratio':>8}")
    for name, one in ours.items():
        beside = other[name]
        print(
            f"{name:12}{one.size:>10,}{one.rate:>10.0f}{one.p99 * 1e3:>7.1f} ms{beside.rate:>10.0f}"
            f"{beside.p99 * 1e3:>7.1f} ms{one.rate / beside.rate:>8.2f}"
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--small", action="store_true", help="fewer requests")
    asyncio.run(main(80 if parser.parse_args().small else 800))
