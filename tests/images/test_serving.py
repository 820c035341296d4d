"""Images as a browser gets them."""

import asyncio
import hashlib

import pytest

from tests.images.builders import a_bomb, a_gallery, a_picture, an_animation, on_sqlite, q
from tsuzuki.images.files import at_address, cover_of, page_of
from tsuzuki.model.ids import ReleaseId, SeriesSourceId
from tsuzuki.model.times import Millis, iso
from tsuzuki.sources.watches import NewWatch, add_watch_tx


@pytest.fixture(params=["folder", "s3"])
def stored_in(request) -> dict[str, str]:
    """The setting that says where images are stored."""
    return {"files_url": request.getfixturevalue("s3_url")} if request.param == "s3" else {}


async def test_a_page_is_fetched_once_and_then_stored(tmp_path, database_url, stored_in):
    async with a_gallery(tmp_path, database_url, **stored_in) as gallery:
        picture = a_picture(noisy=True)
        gallery.show(0, picture)
        first = await gallery.reader.get(gallery.page(0))
        again = await gallery.reader.get(gallery.page(0))
        assert (first.status, first.body) == (200, picture), first.text
        assert (again.status, again.body) == (200, picture)
        tag = f'"{hashlib.sha256(picture).hexdigest()}"'
        assert again.headers["etag"] == tag
        for answer in (first, again):
            assert answer.headers["content-type"] == "image/png"
            assert answer.headers["cache-control"] == "private, max-age=604800, immutable"
            assert answer.headers["content-security-policy"].startswith("sandbox; default-src 'none'")
            assert answer.headers["x-content-type-options"] == "nosniff"
            assert answer.headers["content-disposition"] == f'inline; filename="{gallery.release_id}-000.png"'
        assert gallery.site.asked_for("/0.png") == 1

        known = await gallery.reader.get(gallery.page(0), if_none_match=f'"other", W/{tag}')
        assert (known.status, known.body, known.headers["etag"]) == (304, b"", tag)
        head = await gallery.reader.ask("HEAD", gallery.page(0))
        assert (head.status, head.headers["content-length"]) == (200, str(len(picture)))
        assert (await gallery.app.anyone.get(gallery.page(0))).status == 401
        assert (await gallery.reader.get(gallery.page(7))).status == 404
        assert (await gallery.reader.get("/chapters/999999/pages/0/image")).status == 404
        assert (await gallery.reader.get(gallery.page(0) + "?width=161")).status == 400


@on_sqlite
@pytest.mark.parametrize("size", [(60, 90), (1100, 1000)], ids=["small", "large"])
async def test_ranges_are_answered_from_the_store(tmp_path, database_url, size, stored_in):
    async with a_gallery(tmp_path, database_url, **stored_in) as gallery:
        picture = a_picture(size=size, noisy=True)
        whole = len(picture)
        gallery.show(0, picture)
        tag = f'"{hashlib.sha256(picture).hexdigest()}"'
        table = {
            "bytes=0-9": (206, picture[:10], f"bytes 0-9/{whole}"),
            "bytes=10-": (206, picture[10:], f"bytes 10-{whole - 1}/{whole}"),
            "bytes=-7": (206, picture[-7:], f"bytes {whole - 7}-{whole - 1}/{whole}"),
            f"bytes=5-{whole * 2}": (206, picture[5:], f"bytes 5-{whole - 1}/{whole}"),
            f"bytes={whole}-": (416, b"", f"bytes */{whole}"),
            "bytes=-0": (416, b"", f"bytes */{whole}"),
            "bytes=9-2": (200, picture, None),
            "bytes=0-1,4-5": (200, picture, None),
            "lines=0-1": (200, picture, None),
        }
        for wanted, (status, body, place) in table.items():  # the first one waits for the whole to come
            answer = await gallery.reader.get(gallery.page(0), range=wanted)
            assert (answer.status, answer.body, answer.headers.get("content-range")) == (status, body, place), wanted
            assert answer.headers["accept-ranges"] == "bytes"
        same = await gallery.reader.get(gallery.page(0), range="bytes=0-9", if_range=tag)
        changed = await gallery.reader.get(gallery.page(0), range="bytes=0-9", if_range='"old"')
        assert (same.status, changed.status, changed.body) == (206, 200, picture)
        assert gallery.site.asked_for("/0.png") == 1


async def test_thumbnails_and_covers_are_made_once(tmp_path, database_url, stored_in):
    async with a_gallery(tmp_path, database_url, **stored_in) as gallery:
        manga, began = f"/manga/{gallery.manga_id}", iso(Millis(gallery.app.time()))
        assert (await gallery.reader.get(gallery.cover)).status == 404
        assert (await gallery.reader.get(manga)).json()["data"]["thumbnail_last_fetched"] is None
        await gallery.show_cover(a_picture("JPEG", (600, 900)))
        small, same = await asyncio.gather(*(gallery.reader.get(gallery.cover + "?width=160") for _ in range(2)))
        assert small.headers["content-type"] == "image/webp"
        assert (small.status, small.body) == (same.status, same.body) == (200, small.body)
        assert len(small.body) < 2000
        assert (await gallery.reader.get(gallery.cover)).headers["content-type"] == "image/jpeg"
        assert gallery.site.asked_for("/cover.png") == 1
        fetched = (await gallery.reader.get(manga)).json()["data"]["thumbnail_last_fetched"]
        assert began <= fetched <= iso(Millis(gallery.app.time()))

        gallery.site.pictures["/new.png"] = a_picture("PNG", (300, 300), color="blue")
        renamed = f"{gallery.site.url}/new.png"
        await gallery.db.with_tx(lambda tx: tx.run(q.set_cover, id=gallery.manga_id, url=renamed))
        other = await gallery.reader.get(gallery.cover + "?width=160")
        assert other.status == 200
        assert other.body != small.body


BAD = {
    "web page": (b"<!doctype html><html><script>alert(1)</script></html>", "web page"),
    "svg": (b'<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>', "SVG"),
    "81 megapixels": (a_bomb(), "81 megapixels"),
    "nothing": (b"", "empty"),
    "bmp": (a_picture("BMP"), "none of the supported types"),
}


@on_sqlite
async def test_what_is_no_image_is_refused_without_a_byte(tmp_path, database_url):
    """SEC-12, SEC-13, SEC-24: whatever its label says."""
    async with a_gallery(tmp_path, database_url, pages=len(BAD)) as gallery:
        for position, (data, why) in enumerate(BAD.values()):
            gallery.show(position, data)
            answer = await gallery.reader.get(gallery.page(position))
            assert answer.status == 503, answer.body
            assert answer.headers["content-type"] == "application/json"
            assert why in answer.json()["error"]
            assert int(answer.headers["retry-after"]) > 0
            assert b"alert" not in answer.body
        assert await gallery.count_images() == 0
        assert not [path for path in (tmp_path / "images").rglob("*") if path.is_file()]


async def test_a_broken_image_is_retried_after_a_while(tmp_path, database_url):
    async with a_gallery(tmp_path, database_url) as gallery:
        gallery.show(0, b"<html>")
        first = await gallery.reader.get(gallery.page(0))
        again = await gallery.reader.get(gallery.page(0))
        assert first.status == again.status == 503
        assert "tried again" in again.json()["error"]
        assert gallery.site.asked_for("/0.png") == 1
        assert await gallery.failures(page_of(gallery.release_id, 0)) == 1

        gallery.show(0, a_picture())
        assert (await gallery.reader.get(gallery.page(0))).status == 503
        assert (await gallery.reader.get(gallery.page(0) + "?refresh=true")).status == 200
        gallery.show(1, b"<html>")
        assert (await gallery.reader.get(gallery.page(1))).status == 503
        gallery.show(1, a_picture())
        gallery.app.time.pass_(31_000)
        assert (await gallery.reader.get(gallery.page(1))).status == 200


@on_sqlite
async def test_polyglots_are_images_and_nothing_else(tmp_path, database_url):
    """SEC-12: a PNG with a web page behind it, a GIF with an archive behind it."""
    async with a_gallery(tmp_path, database_url) as gallery:
        gallery.show(0, a_picture("PNG") + b"<html><script>alert(1)</script></html>")
        gallery.show(1, a_picture("GIF") + b"PK\x03\x04" + b"\0" * 100)
        for position, kind in enumerate(("image/png", "image/gif")):
            answer = await gallery.reader.get(gallery.page(position))
            assert (answer.status, answer.headers["content-type"]) == (200, kind)
            assert answer.headers["x-content-type-options"] == "nosniff"
            assert "sandbox" in answer.headers["content-security-policy"]


@on_sqlite
async def test_an_address_that_is_refused_is_asked_for_anew_once(tmp_path, database_url):
    """R66: signatures run out."""
    async with a_gallery(tmp_path, database_url, is_listed=False) as gallery:
        gallery.site.suffix = "?sig=1"
        picture = a_picture()
        gallery.site.pictures["/s/one/1/0.png?sig=1"] = a_picture(color="blue")
        gallery.site.pictures["/s/one/1/1.png?sig=2"] = picture
        assert (await gallery.reader.get(gallery.page(0))).status == 200
        gallery.site.suffix = "?sig=2"
        answer = await gallery.reader.get(gallery.page(1))
        assert (answer.status, answer.body) == (200, picture)
        assert gallery.site.asked_for("/1.png?sig=1") == gallery.site.asked_for("/1.png?sig=2") == 1

        gone = await gallery.reader.get(gallery.page(2))
        assert gone.status == 503
        assert gallery.site.asked_for("/2.png?sig=2") == 2


@on_sqlite
async def test_addresses_that_expire_are_stored_nowhere(tmp_path, database_url):
    """R66."""
    definition = "\nimage_urls_expire: true\n"
    async with a_gallery(tmp_path, database_url, is_listed=False, definition=definition) as gallery:
        gallery.site.suffix = "?sig=1"
        gallery.show(0, a_picture())
        for _ in range(2):
            assert (await gallery.reader.get(gallery.page(0))).status == 200
        assert await gallery.db.read(lambda tx: tx.many(str, q.stored_addresses)) == []
        assert gallery.site.asked_for("/0.png?sig=1") == 1


@on_sqlite
async def test_however_many_ask_the_source_is_called_once(tmp_path, database_url):
    """R65."""
    async with a_gallery(tmp_path, database_url) as gallery:
        gallery.show(0, a_picture(noisy=True))
        answers = await asyncio.gather(*(gallery.reader.get(gallery.page(0)) for _ in range(20)))
        assert {(answer.status, len(answer.body)) for answer in answers} == {(200, len(answers[0].body))}
        assert gallery.site.asked_for("/0.png") == 1


@on_sqlite
async def test_a_row_without_its_file_is_a_miss(tmp_path, database_url):
    """Several processes may share a database and not the folder."""
    async with a_gallery(tmp_path, database_url) as gallery:
        picture = a_picture()
        gallery.show(0, picture)
        await gallery.reader.get(gallery.page(0))
        [path] = [path for path in (tmp_path / "images").rglob("*") if path.is_file()]
        for spoil in (path.unlink, lambda: path.write_bytes(b"half")):
            spoil()
            answer = await gallery.reader.get(gallery.page(0))
            assert (answer.status, answer.body) == (200, picture)
        assert gallery.site.asked_for("/0.png") == 3


async def test_a_page_whose_address_changed_is_fetched_anew(tmp_path, database_url):
    async with a_gallery(tmp_path, database_url) as gallery:
        gallery.show(0, a_picture(color="red"))
        old = await gallery.reader.get(gallery.page(0))
        gallery.site.suffix = "?v=2"
        gallery.show(0, a_picture(color="blue"))
        await gallery.reader.get(f"/chapters/{gallery.release_id}/pages?refresh=true")
        new = await gallery.reader.get(gallery.page(0))
        assert new.status == 200
        assert new.body != old.body


@on_sqlite
async def test_the_next_pages_are_fetched_ahead_and_no_further(tmp_path, database_url):
    async with a_gallery(tmp_path, database_url, pages=8) as gallery:
        for position in range(8):
            gallery.show(position, a_picture(color=(position, 0, 0)))
        await gallery.reader.get(gallery.page(0))
        await gallery.until_images(4)
        await asyncio.sleep(0.1)
        assert await gallery.count_images() == 4
        asked = len(gallery.site.asked)
        assert (await gallery.reader.get(gallery.page(2))).status == 200
        await gallery.until_images(6)
        assert len(gallery.site.asked) == asked + 2


@on_sqlite
async def test_a_too_long_animation_is_cut_and_not_cached(tmp_path, database_url):
    async with a_gallery(tmp_path, database_url) as gallery:
        gallery.show(0, an_animation(700))
        with pytest.raises(Exception, match=r"payload|TransferEncoding"):
            await gallery.reader.get(gallery.page(0))
        assert await gallery.count_images() == 0
        answer = await gallery.reader.get(gallery.page(0))
        assert answer.status == 503
        assert "700 frames" in answer.json()["error"]


def test_subjects_of_different_kinds_are_never_the_same():
    pages = {page_of(ReleaseId(1), 2).key, page_of(ReleaseId(12), 0).key}
    covers = {cover_of(SeriesSourceId(1)).key, cover_of(SeriesSourceId(12)).key}
    assert len(pages | covers | {at_address("https://example.org/1").key}) == 5


async def test_r99_an_image_that_comes_closes_its_sources_breaker(tmp_path, database_url):
    async with a_gallery(tmp_path, database_url) as gallery:
        new = NewWatch(series_source_id=gallery.manga_id, host="127.0.0.1", next_check_at=gallery.app.time())
        await gallery.db.with_tx(lambda tx: add_watch_tx(tx, new, gallery.app.time()))
        await gallery.db.with_tx(lambda tx: tx.run(q.break_watches))
        gallery.show(0, a_picture())
        assert (await gallery.reader.get(gallery.page(0))).status == 200
        assert await gallery.db.read(lambda tx: tx.one(int, q.watch_failures)) == 1
