"""What apps are shown of an entry: chapters with their pages (R109), whole texts, and pictures and files (R104)."""

import re
from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.api.people import RunningApp, a_running_app
from tests.app import Answer, in_settings
from tests.images.builders import a_gallery, a_picture
from tests.net.builders import a_server
from tests.net.builders import answer as a_reply
from tests.protocols.people import AppReader, an_app_reader
from tests.protocols.reader_client import ReaderClient
from tests.protocols.test_pictures import follow_gallery, images_of
from tests.waiting import eventually
from tsuzuki.db.queries import parse_queries
from tsuzuki.inbox.feeds_out.types import NewFeedOut
from tsuzuki.inbox.sync import SyncFilter
from tsuzuki.model.harvest import Enclosure
from tsuzuki.model.times import DAY
from tsuzuki.shelves.types import SubscriptionChange

q = parse_queries(
    "tests",
    """
-- name: age
update entry set created_at = created_at - :age where shelf_id = :shelf_id;
""",
)
WHOLE = "more of it than yesterday"
PAGE = b"<html><body><article>" + b"<p>Wind from the west, and more of it than yesterday.</p>" * 20 + b"</article>"


@pytest.fixture
async def app(database_url, tmp_path) -> AsyncIterator[RunningApp]:
    allowed: Any = {"database_url": in_settings(database_url), "allow_private_networks": "127.0.0.0/8"}
    async with a_running_app(tmp_path, **allowed) as app:
        yield app


async def bodies_of(reader: AppReader) -> dict[str, list[str]]:
    """The texts of all items, the oldest first, as each protocol has them."""
    fever = [item["html"] for item in (await reader.fever("api&items&since_id=0"))["items"]]
    client = await ReaderClient(reader).sign_in()
    greader = await client.get("stream/contents", ("r", "o"), ("n", 100))
    answer = await reader.app.client.get("/miniflux/v1/entries?order=id", headers={"x-auth-token": reader.key})
    return {
        "fever": fever,
        "greader": [item["summary"]["content"] for item in greader["items"]],
        "miniflux": [entry["content"] for entry in answer.json()["entries"]],
    }


async def body_of(reader: AppReader) -> str:
    """That of the only item, which is the same in every protocol."""
    [[body], *others] = (await bodies_of(reader)).values()
    assert others == [[body], [body]]
    return body


# -- chapters


async def test_pages_of_a_new_chapter_are_counted_on_request(tmp_path, database_url):
    async with a_gallery(tmp_path, database_url, pages=3, is_listed=False) as gallery:
        ann = await an_app_reader(gallery.app)
        await follow_gallery(gallery, ann)
        for position in range(3):
            gallery.show(position, a_picture())
        paths = await images_of(ann)
        assert [(await gallery.app.client.get(path)).status for path in paths] == [200] * 3
        assert "All pages" not in await body_of(ann)
        assert sum(not path.endswith(".png") for path in gallery.site.asked) == 1


@pytest.mark.parametrize("why", ["old", "read", "silent"])
async def test_the_first_page_stands_for_pages_that_nobody_counted(tmp_path, database_url, why):
    async with a_gallery(tmp_path, database_url, pages=0, is_listed=False) as gallery:
        app, ann = gallery.app, await an_app_reader(gallery.app)
        await follow_gallery(gallery, ann)
        if why == "old":
            await app.db.with_tx(lambda tx: tx.run(q.age, shelf_id=ann.shelf, age=8 * DAY))
        if why == "read":
            await app.sync.mark_read(ann.shelf, SyncFilter())
        assert len(await images_of(ann)) == 1
        assert re.search(r'<p><a href="[^"]+/chapters/\d+">All pages</a></p>', await body_of(ann))
        assert bool(gallery.site.asked) == (why == "silent")
        gallery.site.pages = 3
        gallery.show(0, a_picture())
        [path] = await images_of(ann) if why != "silent" else (await images_of(ann))[:1]
        assert (await app.client.get(path)).status == 200  # which counts them
        assert len(await images_of(ann)) == 3
        assert "All pages" not in await body_of(ann)


# -- whole texts


class Publisher:
    """A site whose pages are all the same article."""

    def __init__(self) -> None:
        self.base = ""
        self.asked: list[str] = []

    async def show(self, head: bytes, writer: Any) -> None:
        self.asked.append(head.split(b" ", 2)[1].decode())
        writer.write(a_reply(200, PAGE, content_type="text/html"))


@pytest.fixture
async def publisher() -> AsyncIterator[Publisher]:
    site = Publisher()
    async with a_server(site.show) as server:
        site.base = f"http://127.0.0.1:{server.port}"
        yield site


async def until_whole(reader: AppReader) -> str:
    """The text of the only item, once it is the whole: on a busy machine the first answer does not wait for that."""

    async def look() -> bool:
        return WHOLE in (await reader.fever("api&items&since_id=0"))["items"][0]["html"]

    await eventually(look)
    return await body_of(reader)


async def a_short_feed(ann: AppReader, publisher: Publisher) -> None:
    """It has one article of two words, and its reader wants the whole."""
    feed = await ann.add_feed("The Gull Letters")
    await ann.release(feed, 1, link=f"{publisher.base}/1", content="<p>Only this</p>", summary="")
    [one] = await ann.app.sync.feeds(ann.shelf, None)
    change = SubscriptionChange(full_text=True)
    await ann.app.reading.subscriptions.change(ann.shelf, one.public_id, change)


async def test_apps_get_the_whole_text_where_the_reader_wants_it(app, publisher):
    ann = await an_app_reader(app)
    await a_short_feed(ann, publisher)
    assert "Only this" not in await until_whole(ann)
    assert publisher.asked == ["/1"]


async def test_full_texts_of_old_items_are_not_fetched(app, publisher):
    ann = await an_app_reader(app)
    await a_short_feed(ann, publisher)
    await app.db.with_tx(lambda tx: tx.run(q.age, shelf_id=ann.shelf, age=8 * DAY))
    assert "Only this" in await body_of(ann)
    assert publisher.asked == []
    [item] = (await ann.fever("api&items&since_id=0"))["items"]
    opened = f"/miniflux/v1/entries/{item['id']}/fetch-content"
    assert (await app.client.get(opened, headers={"x-auth-token": ann.key})).status == 200
    assert WHOLE in await body_of(ann)
    assert publisher.asked == ["/1"]


async def test_feeds_out_have_the_whole_text_where_they_are_full(app, publisher):
    ann = await an_app_reader(app)
    await a_short_feed(ann, publisher)
    full, short = [
        await app.feeds_out.add(ann.shelf, ann.user.id, NewFeedOut(name="Out", is_full=is_full))
        for is_full in (True, False)
    ]
    said = (await app.client.get(short.path("json"))).json()["items"][0]
    assert (said["content_text"], "content_html" in said) == ("Only this", False)
    assert publisher.asked == []
    first = await app.client.get(full.path("json"))

    async def changed() -> Answer | None:
        again = await app.client.get(full.path("json"), headers={"if-none-match": first.headers["etag"]})
        return again if again.status == 200 else None

    again = await eventually(changed)  # the text came after the first was compared
    assert again is not None
    assert WHOLE in again.json()["items"][0]["content_html"]
    known = await app.client.get(full.path("json"), headers={"if-none-match": again.headers["etag"]})
    assert (known.status, known.body) == (304, b"")
    assert publisher.asked == ["/1"]


# -- pictures and files


async def test_r104_apps_show_what_came_beside_an_article(app):
    """As our own page does: its pictures, its recordings with their durations, and what pictures say when hovered."""
    ann = await an_app_reader(app)
    feed = await ann.add_feed("The Gull Letters")
    site = "https://gull.example"
    files = [
        Enclosure(f"{site}/pier&quay.jpg", "image/jpeg", title='The "pier"'),
        Enclosure(f"{site}/in-the-text-already.png", "image/png"),
        Enclosure(f"{site}/talk.mp3", "audio/mpeg", 1234, "A <talk>", 3723),
        Enclosure("javascript:alert(1)", "text/html"),
    ]
    text = f'<p>Wind</p><p><img src="{site}/in-the-text-already.png" title="It was a long winter" alt=""></p>'
    await ann.release(feed, 1, content=text, enclosures=files, image_url=f"{site}/thumbnail.jpg")
    body = await body_of(ann)
    assert f'<p><a href="{site}/talk.mp3">A &lt;talk&gt;</a> (1:02:03)</p>' in body
    quoted = "The &quot;pier&quot;"
    pier = f'<img src="{site}/pier&amp;quay.jpg" alt="{quoted}"><figcaption>{quoted}</figcaption>'
    assert f"<figure>{pier}</figure>" in body
    assert body.count("in-the-text-already.png") == 1
    assert "<figcaption>It was a long winter</figcaption>" in body
    assert "javascript:" not in body
    assert "thumbnail.jpg" not in body
    out = await app.feeds_out.add(ann.shelf, ann.user.id, NewFeedOut(name="Out", is_full=True))
    [item] = (await app.client.get(out.path("json"))).json()["items"]
    assert item["content_html"] == body


async def test_r104_a_thumbnail_and_comic_pages_are_an_item_without_text(app):
    ann = await an_app_reader(app)
    feed = await ann.add_feed("Harbour Strip")
    await ann.release(feed, 1, content="", image_url="https://strip.example/thumb.png")
    pages = ["https://strip.example/1.png", "https://strip.example/2.png"]
    await ann.release(feed, 1, prefix="comic", content="", page_urls=pages)
    [thumb, comic] = (await bodies_of(ann))["fever"]
    assert thumb == '<figure><img src="https://strip.example/thumb.png" alt=""></figure>'
    assert re.findall(r'src="([^"]+)"', comic) == pages
    shelf = await app.accounts.current_user.shelf_of(ann.user)
    await app.accounts.current_user.proxy_images(shelf, wanted=True)
    [thumb, comic] = (await bodies_of(ann))["fever"]
    assert "strip.example" not in thumb + comic
    assert (thumb + comic).count(f'src="{app.client.base}/pictures/') == 3
