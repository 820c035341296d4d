"""Connectors over the real client, the real process pool and local servers."""

import http.server
import threading
from decimal import Decimal
from functools import partial
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import msgspec
import pytest

from tests.connectors.local.builders import PNG, an_archive
from tests.connectors.mangadex.entities import CAT, a_chapter, a_chapter_id, a_list, a_manga, an_error, at_home
from tests.net.builders import a_server, answer
from tsuzuki.connectors.config import SourceConfig
from tsuzuki.connectors.local import LocalConfig, LocalFolder
from tsuzuki.connectors.mangadex.connector import MangaDex, MangaDexConfig
from tsuzuki.connectors.registry import SAMPLE
from tsuzuki.connectors.selectors.connector import SelectorsSource
from tsuzuki.connectors.selectors.reader import load_definition
from tsuzuki.connectors.selectors.trial import try_source
from tsuzuki.model.errors import HttpStatus, RateLimited
from tsuzuki.model.requests import SourceIdentity
from tsuzuki.net.localfiles import LocalFiles

ROOT = Path(__file__).parents[2]
ORIGIN = SourceIdentity(source="test")


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *args):
        pass


@pytest.fixture
def sample_site():
    """The command of the guide, on a free port."""
    handler = partial(Quiet, directory=str(ROOT / "docs" / "sample-site"))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


async def test_the_guides_sample_works_from_list_to_image(sample_site, driver, client):
    text = (ROOT / "src/tsuzuki/connectors/examples" / SAMPLE).read_text("utf-8")
    source = SelectorsSource(load_definition(text.replace("http://127.0.0.1:8765", sample_site), SAMPLE))
    trial = await driver.run(try_source(source, SourceConfig()), ORIGIN)
    assert trial.failures == {}
    assert trial.is_good
    assert [chapter.number for chapter in trial.chapters or ()] == [Decimal(3), Decimal("2.5"), Decimal(2), Decimal(1)]
    assert trial.pages is not None
    image = await client.fetch(source.image(SourceConfig(), str(trial.pages[0].image_url)), ORIGIN)
    assert image.body.startswith(b"\x89PNG")


def a_mangadex(chapters: int):
    """A MangaDex with one series, so many chapters and one node."""
    entities = [a_chapter(number) for number in range(chapters)]

    def route(path: str) -> tuple[int, object]:
        parts = urlsplit(path)
        query = parse_qs(parts.query)
        if parts.path == f"/manga/{CAT}":
            return 200, {"result": "ok", "data": a_manga()}
        if parts.path == "/manga":
            return 200, a_list([a_manga()], total=1)
        if parts.path == f"/manga/{CAT}/feed":
            offset = int(query["offset"][0])
            return 200, a_list(entities[offset : offset + 500], total=chapters, limit=500, offset=offset)
        if parts.path == f"/at-home/server/{a_chapter_id(5)}":
            return 200, at_home()
        return 404, an_error(404, "Not Found", "Nothing here")

    async def handle(head, writer):
        status, body = route(head.split(b" ", 2)[1].decode())
        writer.write(answer(status, msgspec.json.encode(body), content_type="application/json"))

    return handle


async def test_mangadex_is_read_over_the_wire(driver):
    async with a_server(a_mangadex(1100)) as server:
        dex, config = MangaDex(api=server.url), MangaDexConfig()
        listed = await driver.run(dex.search(config, 1, text="cat & light"), ORIGIN)
        series = listed.series[0]
        details = await driver.run(dex.details(config, series.url), ORIGIN)
        chapters = await driver.run(dex.chapters(config, series.url), ORIGIN)
        pages = await driver.run(dex.pages(config, f"https://mangadex.org/chapter/{a_chapter_id(5)}"), ORIGIN)
        with pytest.raises(HttpStatus, match="Nothing here"):
            await driver.run(dex.pages(config, f"https://mangadex.org/chapter/{a_chapter_id(6)}"), ORIGIN)
    assert details.title == "The Lighthouse Cat"
    assert len(chapters) == 1100
    assert pages[0].image_url == "https://node.mangadex.network/data/abc123/1-x.png"
    heads = b"".join(server.heads).lower()
    assert b"user-agent: tsuzuki" in heads
    assert b"\r\nvia:" not in heads


async def test_mangadex_says_in_its_own_header_when_to_come_back(driver):
    async def refuse(head, writer):
        limits = {"x_ratelimit_remaining": "0", "x_ratelimit_retry_after": "4000000000"}
        writer.write(answer(429, msgspec.json.encode(an_error(429, "Too Many", "slow down")), **limits))

    async with a_server(refuse) as server:
        with pytest.raises(RateLimited) as caught:
            await driver.run(MangaDex(api=server.url).popular(MangaDexConfig(), 1), ORIGIN)
    assert caught.value.retry_after is not None
    assert caught.value.retry_after > 0


async def test_a_folder_is_read_through_the_same_driver(driver, tmp_path):
    an_archive(tmp_path / "The Cat" / "c001.cbz", "1.png")
    local, config, folder = LocalFolder(), LocalConfig(folder=str(tmp_path)), LocalFiles(tmp_path)
    listed = await driver.run(local.popular(config, 1), ORIGIN, folder=folder)
    (chapter,) = await driver.run(local.chapters(config, listed.series[0].url), ORIGIN, folder=folder)
    (page,) = await driver.run(local.pages(config, chapter.url), ORIGIN, folder=folder)
    assert chapter.number == Decimal(1)
    assert await folder.read(local.image(config, str(page.image_url))) == PNG


async def test_a_folder_of_very_many_chapters_is_read_whole(driver, tmp_path):
    for number in range(1, 551):
        an_archive(tmp_path / "Long" / f"{number}.cbz", "1.png", info="<ComicInfo/>")
    config = LocalConfig(folder=str(tmp_path))
    chapters = await driver.run(LocalFolder().chapters(config, "local:Long"), ORIGIN, folder=LocalFiles(tmp_path))
    assert [chapter.number for chapter in chapters] == [Decimal(number) for number in range(550, 0, -1)]
