"""The driver: what a connector yields is done, and what happens to it comes back at the same place."""

from collections.abc import AsyncIterator, Callable, Generator
from typing import Any

import pytest

from tests.net.builders import SOMEONE, a_client, a_server, answer, by_path
from tests.parsing import parsers
from tsuzuki.model.errors import HttpStatus, NotAFeed, RefusedAddress, ShapeChanged, Unreachable
from tsuzuki.model.requests import (
    Ask,
    FileEntry,
    LocalAnswer,
    Parse,
    ReadArchive,
    ReadFile,
    ReadFolder,
    ReadLocal,
    Reply,
    SourceIdentity,
)
from tsuzuki.model.times import Millis
from tsuzuki.parsing.pool import ParsePool, PoolOptions
from tsuzuki.polling.driver import MOST_WANTS, Driver


class Canned:
    """A fetcher that answers by address; an exception is raised."""

    def __init__(self, answers: dict[str, bytes | Exception]) -> None:
        self._answers = answers
        self.asked: list[tuple[str, str]] = []

    async def fetch(self, ask: Ask, origin: SourceIdentity) -> Reply:
        self.asked.append((ask.url, origin.source))
        found = self._answers[ask.url]
        if isinstance(found, Exception):
            raise found
        return Reply(ask.url, 200, {}, found, received_at=Millis(0))


class Shelf:
    """A folder in memory."""

    async def read(self, want: ReadLocal) -> LocalAnswer:
        if isinstance(want, ReadFile):
            return f"{want.path}:{want.entry}".encode()
        return (FileEntry(want.path, is_folder=isinstance(want, ReadFolder), size=1, modified_at=Millis(0)),)


@pytest.fixture
async def a_driver() -> AsyncIterator[Callable[[Any], Driver]]:
    pool = ParsePool(PoolOptions(processes=1))
    yield lambda fetcher: Driver(fetcher, pool)
    await pool.close()


async def test_a_visit_gets_its_answers_and_gives_its_result(a_driver):
    def visit() -> Generator[Any, Any, list[bytes]]:
        pages = []
        for url in ("http://a.example/1", "http://a.example/2"):
            reply = yield Ask(url)
            pages.append(reply.body)
        text = yield Parse(parsers.say, ("parsed",))
        return [*pages, text.encode()]

    fetcher = Canned({"http://a.example/1": b"one", "http://a.example/2": b"two"})
    assert await a_driver(fetcher).run(visit(), SOMEONE) == [b"one", b"two", b"parsed"]
    assert fetcher.asked == [("http://a.example/1", "someone"), ("http://a.example/2", "someone")]


async def test_a_failure_is_thrown_into_the_visit(a_driver):
    def visit() -> Generator[Any, Any, list[object]]:
        seen: list[object] = []
        for want in (Ask("http://a.example/missing"), Parse(parsers.complain, ()), Ask("http://a.example/other")):
            try:
                reply = yield want
                seen.append(reply.body)
            except (HttpStatus, ShapeChanged) as error:
                seen.append((error.code, error.status))
        return seen

    fetcher = Canned(
        {"http://a.example/missing": HttpStatus("Gone fishing.", status=404), "http://a.example/other": b"ok"}
    )
    assert await a_driver(fetcher).run(visit(), SOMEONE) == [("http_status", 404), ("shape_changed", None), b"ok"]


async def test_a_failure_that_nobody_catches_ends_the_visit(a_driver):
    closed = []

    def visit() -> Generator[Any, Any, None]:
        try:
            yield Ask("http://a.example/")
        finally:
            closed.append(True)

    error = Unreachable("No.")
    with pytest.raises(Unreachable) as raised:
        await a_driver(Canned({"http://a.example/": error})).run(visit(), SOMEONE)
    assert raised.value is error
    assert closed == [True]


async def test_what_a_connector_raises_itself_rises(a_driver):
    def visit() -> Generator[Any, Any, None]:
        yield Parse(parsers.say, ("x",))
        raise ShapeChanged("Nothing here.")

    with pytest.raises(ShapeChanged):
        await a_driver(Canned({})).run(visit(), SOMEONE)


async def test_files_are_read_only_within_the_sources_folder(a_driver):
    def visit() -> Generator[Any, Any, tuple[Any, ...]]:
        folder = yield ReadFolder("a")
        archive = yield ReadArchive("a/1.cbz")
        page = yield ReadFile("a/1.cbz", entry="1.png")
        return folder[0].name, archive[0].is_folder, page

    driver = a_driver(Canned({}))
    assert await driver.run(visit(), SOMEONE, folder=Shelf()) == ("a", False, b"a/1.cbz:1.png")
    with pytest.raises(RefusedAddress, match="has no folder"):
        await driver.run(visit(), SOMEONE)


async def test_a_visit_that_never_ends_is_ended(a_driver):
    count = 0

    def visit() -> Generator[Any, Any, None]:
        nonlocal count
        while True:
            count += 1
            yield Ask("http://a.example/")

    with pytest.raises(ShapeChanged, match="does not seem to end"):
        await a_driver(Canned({"http://a.example/": b""})).run(visit(), SOMEONE)
    assert count == MOST_WANTS


async def test_a_visit_over_a_real_client_and_a_real_pool(a_driver):
    def visit(base: str) -> Generator[Any, Any, tuple[str, str]]:
        reply = yield Ask(f"{base}/feed")
        title = yield Parse(parsers.say, (reply.body.decode(),))
        try:
            yield Ask(f"{base}/gone")
        except HttpStatus as error:
            return title, str(error)
        raise NotAFeed("unreachable")

    routes = {"/feed": answer(200, b"Tsuzuki"), "/gone": answer(404, b"")}
    async with a_server(by_path(routes)) as server, a_client() as client:
        title, sentence = await a_driver(client).run(visit(server.url), SOMEONE)
    assert title == "Tsuzuki"
    assert "nothing at this address" in sentence
