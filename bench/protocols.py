"""What reader apps ask for, against our own API: `python -m bench.protocols [--small] [--postgres]`.

Ten thousand unread articles of two hundred feeds, on SQLite or a PostgreSQL of its own. A first sync fetches all of
them with their texts, as apps do that speak each protocol; the next one finds ten new articles. Each line: requests,
megabytes, processor time of the server, PostgreSQL and client together, and its ratio to the API's in the same round.
Then what an app may ask for at once of 150,000 entries, each in at most 250 ms. No time makes it fail.
"""

import argparse
import asyncio
import os
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable
from contextlib import nullcontext
from itertools import cycle
from pathlib import Path
from typing import Any

from bench.harness import a_postgres, family, say, seconds_of
from tests.api.people import API, RunningApp, Visitor, a_running_app
from tests.app import Answer, in_settings
from tests.protocols.people import AppReader, an_app_reader
from tests.protocols.reader_client import READ, READING_LIST, ReaderClient
from tests.protocols.test_fever import fill
from tsuzuki.db.statistics import refresh_statistics
from tsuzuki.log import set_up_logging

FEEDS = 200
GREADER = "/api/greader.php"
NEW = 10
AT_ONCE = 10_000


class Calls:
    """Requests to the server, counted."""

    def __init__(self, app: RunningApp, headers: dict[str, str] | None = None) -> None:
        self._client = app.client
        self._headers = headers or {}
        self.requests = self.bytes = 0

    async def ask(self, method: str, path: str, **options: Any) -> Answer:
        answer = await self._client.ask(method, path, headers=self._headers, **options)
        assert answer.status == 200, (path, answer.text[:200])
        self.requests += 1
        self.bytes += len(answer.body)
        return answer


Sync = Callable[[AppReader, Visitor, int], Awaitable[tuple[Calls, int]]]
"""Fetches what is above a number; the calls that it took, and how many articles came."""


async def by_api(reader: AppReader, visitor: Visitor, above: int) -> tuple[Calls, int]:
    """Pages of our own API, the newest first, until what is known."""
    calls, found, cursor = Calls(reader.app, visitor.headers), 0, ""
    await calls.ask("GET", f"{API}/feeds")
    limit = 100 if above == 0 else NEW
    while True:
        page = (await calls.ask("GET", f"{API}/items?limit={limit}&content=true{cursor}")).json()
        found += len(page["data"])
        if above or not page["meta"]["next_cursor"]:
            return calls, found
        cursor = f"&before={page['meta']['next_cursor']}"


async def by_fever(reader: AppReader, _: Visitor, above: int) -> tuple[Calls, int]:
    """Fifty at a time, upwards."""
    calls, found, last = Calls(reader.app), 0, above
    key = {"api_key": reader.fever_key}
    for what in ("groups", "feeds", "unread_item_ids", "saved_item_ids"):
        await calls.ask("POST", f"/fever/?api&{what}", data=key)
    while True:
        items = (await calls.ask("POST", f"/fever/?api&items&since_id={last}", data=key)).json()["items"]
        found += len(items)
        if len(items) < 50:
            return calls, found
        last = items[-1]["id"]


async def _greader(reader: AppReader) -> Calls:
    said = {"Email": reader.user.username, "Passwd": reader.key}
    answer = await reader.app.client.ask("POST", f"{GREADER}/accounts/ClientLogin", data=said)
    token = answer.text.strip().splitlines()[-1].removeprefix("Auth=")
    calls = Calls(reader.app, {"authorization": f"GoogleLogin auth={token}"})
    for what in ("tag/list", "subscription/list"):
        await calls.ask("GET", f"{GREADER}/reader/api/0/{what}?output=json")
    return calls


async def by_numbers(reader: AppReader, _: Visitor, above: int) -> tuple[Calls, int]:
    """As NetNewsWire, ReadYou and Capy: numbers first, then their contents."""
    calls, found = await _greader(reader), 0
    listed = f"{GREADER}/reader/api/0/stream/items/ids?s={READING_LIST}&xt={READ}&n=10000&output=json"
    refs = (await calls.ask("GET", listed)).json()["itemRefs"]
    wanted = [ref["id"] for ref in refs if int(ref["id"]) > above]
    for start in range(0, len(wanted), 250):
        form = [("i", number) for number in wanted[start : start + 250]]
        page = await calls.ask("POST", f"{GREADER}/reader/api/0/stream/items/contents?output=json", data=form)
        found += len(page.json()["items"])
    return calls, found


async def by_stream(reader: AppReader, _: Visitor, above: int) -> tuple[Calls, int]:
    """As NewsFlash, FeedFlow and RSS Guard: the whole stream, a thousand at a time."""
    calls, found, page = await _greader(reader), 0, ""
    count = 1000 if above == 0 else NEW
    while True:
        listed = f"{GREADER}/reader/api/0/stream/contents/{READING_LIST}?n={count}&output=json{page}"
        answer = (await calls.ask("GET", listed)).json()
        found += len(answer["items"])
        if above or "continuation" not in answer:
            return calls, found
        page = f"&c={answer['continuation']}"


async def by_miniflux(reader: AppReader, _: Visitor, above: int) -> tuple[Calls, int]:
    """A hundred at a time, upwards."""
    calls, found, last = Calls(reader.app, {"x-auth-token": reader.key}), 0, above
    for what in ("categories", "feeds"):
        await calls.ask("GET", f"/miniflux/v1/{what}")
    while True:
        listed = f"/miniflux/v1/entries?order=id&direction=asc&limit=100&after_entry_id={last}"
        entries = (await calls.ask("GET", listed)).json()["entries"]
        found += len(entries)
        if len(entries) < 100:
            return calls, found
        last = entries[-1]["id"]


WAYS: dict[str, Sync] = {
    "our own API": by_api,
    "Fever": by_fever,
    "Google Reader, by numbers": by_numbers,
    "Google Reader, by stream": by_stream,
    "Miniflux": by_miniflux,
}


def processor_time() -> float:
    """Seconds of this process, and of those of PostgreSQL."""
    return time.process_time() + seconds_of(family(os.getpid())[1:])


async def measure(reader: AppReader, visitor: Visitor, above: int, *, rounds: int, expected: int) -> None:
    """A line for each way, all of them in turn in each round."""
    seconds: dict[str, list[float]] = {name: [] for name in WAYS}
    calls_of: dict[str, Calls] = {}
    for _ in range(rounds):
        for name, sync in WAYS.items():
            began = processor_time()
            calls_of[name], found = await sync(reader, visitor, above)
            seconds[name].append(processor_time() - began)
            assert found == expected, (name, found)
    own = statistics.median(seconds["our own API"])
    print(f"{'':28}{'requests':>9}{'MB':>9}{'CPU s':>9}{'ratio':>8}")
    for name, calls in calls_of.items():
        spent = statistics.median(seconds[name])
        print(f"{name:28}{calls.requests:>9}{calls.bytes / 1e6:>9.2f}{spent:>9.3f}{spent / own:>8.2f}")


async def everything_at_once(reader: AppReader, count: int) -> None:
    """The most that apps ask for in one request."""
    feed = await reader.add_feed("Everything")
    await fill(reader.app, reader.shelf, feed, count)
    await refresh_statistics(reader.app.db)
    app = await ReaderClient(reader).sign_in()
    ids = await app.ids(READING_LIST, ("n", AT_ONCE))
    states = cycle("ar")
    asked: dict[str, Callable[[], Awaitable[object]]] = {
        f"Google Reader, {AT_ONCE} numbers": lambda: app.ids(READING_LIST, ("n", AT_ONCE), ("xt", READ)),
        f"Google Reader, {len(ids)} marks": lambda: app.post(
            "edit-tag", *[("i", number) for number in ids], (next(states), READ)
        ),
        "Fever, all unread numbers": lambda: reader.fever("api&unread_item_ids"),
    }
    print(f"\nOf {count} entries{'':16}{'ms':>9}{'ratio to 250':>15}")
    for name, ask in asked.items():
        times = []
        for _ in range(5):
            began = time.perf_counter()
            await ask()
            times.append(time.perf_counter() - began)
        print(f"{name:30}{min(times) * 1e3:>9.0f}{min(times) * 4:>15.2f}")


async def main(count: int, rounds: int, url: str | None) -> None:
    set_up_logging(level="warning")
    with tempfile.TemporaryDirectory() as folder:
        async with a_running_app(Path(folder), **({"database_url": in_settings(url)} if url else {})) as app:
            reader = await an_app_reader(app)
            visitor = await app.signed_in(reader.user)
            say(f"{count} articles of {FEEDS} feeds")
            feeds = [await reader.add_feed(f"Feed {place}", items=count // FEEDS) for place in range(FEEDS)]
            print(f"First sync of {count} unread articles")
            await measure(reader, visitor, 0, rounds=rounds, expected=count)
            last = (await reader.fever("api&unread_item_ids"))["unread_item_ids"].rpartition(",")[2]
            await reader.release(feeds[0], NEW, prefix="new")
            print(f"\nThe next one, with {NEW} new articles")
            await measure(reader, visitor, int(last), rounds=rounds * 5, expected=NEW)
            await everything_at_once(await an_app_reader(app), count * 15)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--small", action="store_true", help="a tenth of it")
    parser.add_argument("--postgres", action="store_true", help="not on SQLite")
    said = parser.parse_args()
    with a_postgres() if said.postgres else nullcontext() as server:
        asyncio.run(main(1_000 if said.small else 10_000, 3, server.url if server else None))
