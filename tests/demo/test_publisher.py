"""The sample publisher is a site like any other: our own connectors read it."""

import io

import pytest
from lxml import etree
from PIL import Image

from tests.app import Client, serving
from tests.builders import NOON
from tsuzuki.demo import drawings
from tsuzuki.demo.publisher import DemoPublisher
from tsuzuki.demo.stories import BACKLOG, COMICS, JOURNALS, chapter, post


@pytest.fixture
def publisher() -> DemoPublisher:
    return DemoPublisher(lambda: NOON)


async def test_only_what_has_come_out_is_shown(publisher):
    async with serving(publisher.app) as site:
        slug = COMICS[0].slug
        assert (await site.get(f"/comics/{slug}")).body.count(b"<li><a") == BACKLOG
        assert (await site.get(f"/comics/{slug}/{BACKLOG + 1}")).status == 404
        assert publisher.release(slug) == BACKLOG + 1
        assert (await site.get(f"/comics/{slug}")).body.count(b"<li><a") == BACKLOG + 1
        assert (await site.get(f"/comics/{slug}/{BACKLOG + 1}")).status == 200
        assert publisher.released(COMICS[1].slug) == BACKLOG


async def test_every_page_of_a_demo_chapter_is_an_image(publisher):
    async with serving(publisher.app) as site:
        for comic in COMICS:
            shown = chapter(comic, 2)
            bodies = {(await site.get(f"/comics/{comic.slug}/2/{index}.png")).body for index in range(shown.pages)}
            assert len(bodies) == shown.pages
            assert {Image.open(io.BytesIO(body)).size for body in bodies} == {drawings.PAGE}
            assert (await site.get(f"/comics/{comic.slug}/2/{shown.pages}.png")).status == 404


async def test_demo_feeds_are_newest_first_with_stable_dates(publisher):
    async with serving(publisher.app) as site:
        await _assert_steady(publisher, site)


async def _assert_steady(publisher: DemoPublisher, site: Client) -> None:
    rss = await site.get("/journals/harbour-log/feed.xml")
    titles = [item.findtext("title") for item in etree.fromstring(rss.body).iter("item")]
    assert titles == [post(JOURNALS[0], number).title for number in range(BACKLOG, 0, -1)]
    before = (await site.get("/journals/small-machines/feed.json")).json()["items"]
    publisher.release("small-machines")
    assert (await site.get("/journals/small-machines/feed.json")).json()["items"][1:] == before


@pytest.mark.parametrize("path", ["/comics/none", "/journals/none/1", "/comics/none/cover.png", "/other"])
async def test_nothing_else_is_there(publisher, path):
    async with serving(publisher.app) as site:
        assert (await site.get(path)).status == 404
