"""A publisher with feeds and two comic sites, each on a loopback address of its own, and where notices go to."""

import hashlib
import time
from collections import Counter, defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import msgspec
from aiohttp import web

from tests.crash.script import BACK_CATALOGUE, SHOWN, SITES, Publishers, Step

RECEIVER = "127.0.1.{}"


class Item(msgspec.Struct):
    """One installment as it is shown now."""

    number: int
    key: str
    edition: int = 0
    is_twice: bool = False


class Outlet:
    """A feed, or a comic on one site."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.items: dict[int, Item] = {}
        for number in range(BACK_CATALOGUE):
            self.add(number)

    def add(self, number: int) -> None:
        self.items.setdefault(number, Item(number, f"{self.name}-{number}"))

    def feed(self) -> bytes:
        """RSS, the newest first."""
        shown = sorted(self.items.values(), key=lambda item: -item.number)[:SHOWN]
        rows = "".join(self._item(item) * (2 if item.is_twice else 1) for item in shown)
        return f"<rss version='2.0'><channel><title>{self.name}</title>{rows}</channel></rss>".encode()

    def _item(self, item: Item) -> str:
        name = f"{self.name}-{item.number}"
        return (
            f"<item><guid isPermaLink='false'>{item.key}</guid><title>{name}</title>"
            f"<link>https://example.org/{name}</link><description>Edition {item.edition}</description></item>"
        )

    def chapters(self) -> bytes:
        """JSON, the newest first."""
        shown = sorted(self.items.values(), key=lambda item: -item.number)
        return msgspec.json.encode(
            {
                "chapters": [
                    {"number": str(item.number), "url": f"/{self.name}/{item.number}-{item.edition}"} for item in shown
                ]
            }
        )


class Publisher:
    """The ledger's own side: what was brought out, what was asked for, and which notices came."""

    def __init__(self, cast: Publishers) -> None:
        self.cast = cast
        self.feeds = {name: Outlet(name) for name in cast.feeds}
        self.comics = {(site, name): Outlet(name) for site in SITES for name in cast.comics}
        self.released: set[str] = set()
        self.told: dict[str, dict[str, Counter[str]]] = defaultdict(lambda: defaultdict(Counter))
        """By reader and installment: the ids of the deliveries, and how often each came."""
        self.calls = Counter[int]()
        self.asked: dict[str, list[float]] = defaultdict(list)
        """When each feed was asked for, by the monotonic clock."""
        self.port = 0

    # -- what it does

    def take(self, step: Step) -> None:
        """Bring out an installment, or repeat one."""
        if step.repeat is None:
            self.released.add(step.name)
            self._home(step).add(step.number)
            return
        item = self._home(step).items[step.number]
        if step.repeat == "mirrored":
            self.comics["b", step.outlet].add(step.number)
        elif step.repeat == "twice":
            item.is_twice = True
        elif step.repeat == "rekeyed":
            item.key = f"{step.name}-{item.edition + 1}-again"
            item.edition += 1
        else:
            item.edition += 1

    def _home(self, step: Step) -> Outlet:
        return self.feeds[step.outlet] if step.outlet in self.feeds else self.comics["a", step.outlet]

    # -- what it answers

    async def show_feed(self, request: web.Request) -> web.Response:
        name = request.match_info["name"]
        self.asked[name].append(time.monotonic())
        return self._answer(request, self.feeds[name].feed(), "application/rss+xml")

    async def show_comic(self, request: web.Request) -> web.Response:
        outlet = self.comics[request.match_info["site"], request.match_info["name"]]
        return self._answer(request, outlet.chapters(), "application/json")

    def _answer(self, request: web.Request, body: bytes, kind: str) -> web.Response:
        tag = f'"{hashlib.sha256(body).hexdigest()[:16]}"'
        status = 304 if request.headers.get("if-none-match") == tag else 200
        self.calls[status] += 1
        return web.Response(
            status=status, body=b"" if status == 304 else body, headers={"etag": tag}, content_type=kind
        )

    async def take_notice(self, request: web.Request) -> web.Response:
        document = msgspec.json.decode(await request.read())
        news = document["data"]
        name = f"{news['title']}-{news['number']}" if news["number"] else news["text"]
        self.told[request.match_info["reader"]][name][request.headers["webhook-id"]] += 1
        return web.Response()

    # -- where it is

    def feed_host(self, name: str) -> str:
        return f"127.0.2.{self.cast.feeds.index(name) + 1}"

    def feed_url(self, name: str) -> str:
        return f"http://{self.feed_host(name)}:{self.port}/feed/{name}"

    def site_host(self, site: str) -> str:
        return f"127.0.3.{SITES.index(site) + 1}"

    def site_url(self, site: str) -> str:
        return f"http://{self.site_host(site)}:{self.port}"

    def hook_url(self, reader: int) -> str:
        return f"http://{RECEIVER.format(reader + 1)}:{self.port}/hook/{reader}"

    def hosts(self, readers: int) -> list[str]:
        named = [self.feed_host(name) for name in self.cast.feeds] + [self.site_host(site) for site in SITES]
        return named + [RECEIVER.format(reader + 1) for reader in range(readers)]


@asynccontextmanager
async def publishing(cast: Publishers, readers: int) -> AsyncIterator[Publisher]:
    """On one port of many loopback addresses: each is a host with a pace of its own."""
    publisher = Publisher(cast)
    app = web.Application()
    app.router.add_get("/feed/{name}", publisher.show_feed)
    app.router.add_get("/{site}/{name}", publisher.show_comic)
    app.router.add_post("/hook/{reader}", publisher.take_notice)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    try:
        for host in publisher.hosts(readers):
            await web.TCPSite(runner, host, publisher.port).start()
            publisher.port = publisher.port or runner.addresses[0][1]
        yield publisher
    finally:
        await runner.cleanup()


DEFINITION = """\
id: example.site.{site}
name: Site {site}
language: en
base_url: {url}
ratelimit: 10
popular:
  reads: json
  url: /all?page={{page}}
  each: series[*]
  link: url
  title: title
chapters:
  reads: json
  each: chapters[*]
  link: url
  title: {{pick: number, template: "Part {{value}}"}}
  number: number
"""


def definition(publisher: Publisher, site: str) -> str:
    """A comic site as its operator would write it down."""
    return DEFINITION.format(site=site, url=publisher.site_url(site))
