"""Articles' images by way of this server."""

import time

import pytest

from tests.builders import HERE
from tests.delivery.builders import publish
from tests.images.builders import a_gallery, a_picture, on_sqlite
from tsuzuki.connectors.html.sanitiser import sanitise
from tsuzuki.db.queries import parse_queries
from tsuzuki.images.articles import ArticleImages
from tsuzuki.model.errors import NotFound
from tsuzuki.shelves.types import NewSubscription

IMAGES = ArticleImages(b"s" * 32, HERE)

_q = parse_queries("tests", "-- name: set_content\nupdate item set content = :content, image_url = :image;")


def parts(url: str) -> list[str]:
    return url.removeprefix("/api/v1/images/").split("/")


def test_an_address_comes_back_as_it_was():
    for address in ("https://example.org/a.png?b=c&d=%20", "http://münchen.example/ü.jpg"):
        assert IMAGES.address(*parts(IMAGES.url(address))) == address


def test_an_address_that_we_did_not_sign_is_not_there():
    """CVE-2026-21885: nobody makes us fetch what they like."""
    signature, written = parts(IMAGES.url("https://example.org/a.png"))
    other = parts(IMAGES.url("https://example.org/b.png"))
    foreign = parts(ArticleImages(b"t" * 32, HERE).url("https://example.org/a.png"))
    for pair in (
        (signature, other[1]),
        (foreign[0], written),
        ("", written),
        (signature, "%%"),
        (signature, "é"),
        ("é", ""),
    ):
        with pytest.raises(NotFound):
            IMAGES.address(*pair)


@pytest.mark.parametrize("words", ["", "<p>long</p>" * 5_000])
async def test_only_images_of_an_article_are_proxied(words):
    html = words + sanitise(
        '<p>A <a href="https://example.org/page">page</a><img src="a.png" alt="&quot;&gt;">'
        '<picture><source srcset="b.webp 1x, c.webp 2x"></picture>'
        '<video src="film.mp4" poster="poster.jpg"></video><audio src="sound.mp3"></audio>',
        "https://example.org/",
    )
    [shown] = await IMAGES.shown_in([html])
    for name in ("a.png", "b.webp", "c.webp", "poster.jpg"):
        assert f"https://example.org/{name}" not in shown
        assert IMAGES.url(f"https://example.org/{name}") in shown
    for name in ("page", "film.mp4", "sound.mp3"):
        assert f"https://example.org/{name}" in shown
    assert "1x" in shown
    assert sanitise(shown, "https://here.example").replace("https://here.example", "") == shown  # as safe as before


async def test_what_was_stored_too_deep_is_shown_as_text():
    """To parse it would take seconds for each view, in which its parser process is ended."""
    stored = "<div>" * 27_000 + 'words<img src="https://example.org/a.png">' + "</div>" * 27_000
    started = time.process_time()
    assert await IMAGES.shown_in([stored]) == ["words"]
    assert time.process_time() - started < 1


async def test_an_article_without_images_is_left_as_it_is():
    assert await IMAGES.shown_in(["<p>Words & more</p>"]) == ["<p>Words & more</p>"]


@on_sqlite
async def test_a_shelf_that_wants_it_sees_articles_images_through_us(tmp_path, database_url):
    async with a_gallery(tmp_path, database_url) as gallery:
        app, reader, site = gallery.app, gallery.reader, gallery.site
        site.pictures["/in/a.png"] = a_picture()
        site.pictures["/in/b.png"] = b"<svg onload='alert(1)'/>"
        user = await app.add()
        reader = await app.signed_in(user)
        shelf = await app.accounts.current_user.shelf_of(user)
        feed = await app.reading.subscriptions.add(shelf.id, NewSubscription(link=f"{site.url}/feed"))
        await publish(app.db, feed.feed_id, ["1"])
        content = f'<p><img src="{site.url}/in/a.png"><img src="{site.url}/in/b.png"></p>'
        image = f"{site.url}/in/a.png"
        await app.db.with_tx(lambda tx: tx.run(_q.set_content, content=content, image=image))
        [plain] = (await reader.get("/items?content=true")).json()["data"]
        assert plain["content"] == content
        assert (await reader.get("/shelf")).json()["data"]["proxy_images"] is False

        changed = await reader.ask("PATCH", "/shelf", {"proxy_images": True})
        assert (changed.status, changed.json()["data"]["proxy_images"]) == (200, True)
        [listed] = (await reader.get("/items?content=true")).json()["data"]
        one = (await reader.get(f"/items/{listed['id']}")).json()["data"]
        assert site.url not in listed["content"]
        assert one["content"] == listed["content"]
        shown = await reader.get(one["image_url"].removeprefix("/api/v1"))
        assert (shown.status, shown.body) == (200, site.pictures["/in/a.png"])
        small = await reader.get(one["image_url"].removeprefix("/api/v1") + "?width=160")
        assert small.headers["content-type"] == "image/webp"
        await reader.post("/bookmarks", {"item_id": one["id"]})
        [bookmark] = (await reader.get("/bookmarks")).json()["data"]
        again = (await reader.get(f"/bookmarks/{bookmark['id']}")).json()["data"]
        assert again["content"] == bookmark["content"] == one["content"]
        bad = app.pictures.articles.url(f"{site.url}/in/b.png").removeprefix("/api/v1")
        assert bad in one["content"]
        refused = await reader.get(bad)
        assert (refused.status, refused.headers["content-type"]) == (503, "application/json")
        assert "SVG" in refused.json()["error"]
        assert (await app.anyone.get(bad)).status == 401


@on_sqlite
async def test_a_private_address_in_an_article_is_not_called(tmp_path, database_url):
    """SEC-01: the signature does not open what the guard closes."""
    async with a_gallery(tmp_path, database_url) as gallery:
        for address in (
            "http://10.0.0.1/a.png",
            "http://192.168.1.1/a.png",
            "file:///etc/passwd",
            "http://169.254.169.254/",
        ):
            url = gallery.app.pictures.articles.url(address).removeprefix("/api/v1")
            answer = await gallery.reader.get(url)
            assert answer.status == 400, answer.text
