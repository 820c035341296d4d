"""Several machines with one database and one store of files: what one has stored, the others serve."""

import asyncio
import hashlib
import http.client
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

import obstore
import pytest

from tests.api.people import Visitor
from tests.app import in_settings
from tests.crawler.builders import a_crawling_app
from tests.files.builders import a_store, keys, put_raw
from tests.images.builders import a_gallery, a_picture, on_sqlite
from tsuzuki.files.s3 import S3Store
from tsuzuki.images.files import key_of
from tsuzuki.model.times import DAY


@asynccontextmanager
async def another(folder: Path, database_url: str, files_url: str) -> AsyncIterator[Visitor]:
    """A reader on a second machine, which has a disk of its own."""
    other = folder / "other"
    for name in ("sources", "secret.key"):
        await asyncio.to_thread(copy, folder / name, other / name)
    async with a_crawling_app(other, database_url, files_url=files_url) as app:
        yield await app.signed_in(await app.add())


def copy(source: Path, target: Path) -> None:
    target.parent.mkdir(exist_ok=True)
    (shutil.copytree if source.is_dir() else shutil.copy)(source, target)


async def test_one_machine_serves_what_another_downloaded(tmp_path, database_url, s3_url):
    database_url = in_settings(database_url)
    async with a_gallery(tmp_path, database_url, files_url=s3_url, pages=2) as gallery:
        pictures = [a_picture(size=size, noisy=True) for size in ((60, 90), (1100, 1000))]
        for position, picture in enumerate(pictures):
            gallery.show(position, picture)
        await gallery.reader.post(gallery.download)
        async with gallery.at_work():
            await gallery.until_kept("done")
        asked = gallery.site.asked_for(".png")
        gallery.site.pictures.clear()
        async with another(tmp_path, database_url, s3_url) as reader:
            for position, picture in enumerate(pictures):
                answer = await reader.get(gallery.page(position))
                assert (answer.status, answer.body == picture) == (200, True), answer.text
                part = await reader.get(gallery.page(position), range="bytes=10-29")
                assert (part.status, part.body) == (206, picture[10:30])
            small = await reader.get(gallery.page(1) + "?width=160")
            assert (small.status, small.headers["content-type"]) == (200, "image/webp")
            assert (await gallery.reader.get(gallery.page(1) + "?width=160")).body == small.body
        assert gallery.site.asked_for(".png") == asked
        for folder in (tmp_path, tmp_path / "other"):
            assert [path for path in (folder / "images").rglob("*") if path.is_file()] == []


@on_sqlite
async def test_an_image_damaged_in_the_store_is_fetched_again(tmp_path, database_url, s3_url):
    async with a_gallery(tmp_path, database_url, files_url=s3_url) as gallery:
        picture, store = a_picture(noisy=True), a_store(s3_url, tmp_path)
        gallery.show(0, picture)
        await gallery.reader.get(gallery.page(0))
        digest = hashlib.sha256(picture).digest()
        put_raw(store, key_of(digest), bytes(len(picture)))
        assert (await gallery.reader.get(gallery.page(0))).body == picture
        assert gallery.site.asked_for("/0.png") == 2
        assert await store.digest(key_of(digest)) == digest


@on_sqlite
async def test_a_large_damaged_image_is_cut_and_fetched_again(tmp_path, database_url, s3_url):
    async with a_gallery(tmp_path, database_url, files_url=s3_url) as gallery:
        picture, store = a_picture(size=(1100, 1000), noisy=True), a_store(s3_url, tmp_path)
        assert len(picture) > 2**20
        gallery.show(0, picture)
        await gallery.reader.get(gallery.page(0))
        digest = hashlib.sha256(picture).digest()
        put_raw(store, key_of(digest), bytes(len(picture)))
        with pytest.raises(Exception, match=r"payload|disconnected|closed"):
            await gallery.reader.get(gallery.page(0))
        assert (await gallery.reader.get(gallery.page(0))).body == picture
        assert gallery.site.asked_for("/0.png") == 2


@on_sqlite
async def test_an_unreachable_store_is_a_503_without_a_call(tmp_path, database_url, s3_url):
    async with a_gallery(tmp_path, database_url, files_url=s3_url) as gallery:
        gallery.show(0, a_picture(noisy=True))
        gallery.show(1, a_picture(noisy=True))
        assert (await gallery.reader.ask("HEAD", gallery.page(0))).status == 200
        await gallery.until_images(2)  # the next page was fetched ahead
        await asyncio.to_thread(remove_bucket, s3_url)
        for answer in (await gallery.reader.get(gallery.page(0)), await gallery.reader.get(gallery.page(2))):
            assert answer.status == 503
            assert "canary" not in (answer.text + str(answer.headers)).lower()
        assert gallery.site.asked_for("/0.png") == 1


def remove_bucket(url: str) -> None:
    """With all that is in it."""
    parts = urlsplit(url)
    store = a_store(url, Path("unused"))
    assert isinstance(store, S3Store)
    obstore.delete(store._bucket, [one["path"] for some in obstore.list(store._bucket) for one in some])
    server = http.client.HTTPConnection(urlsplit(dict(parse_qsl(parts.query))["endpoint"]).netloc)
    server.request("DELETE", f"/{parts.hostname}")
    assert server.getresponse().status == 204
    server.close()


@on_sqlite
async def test_evicted_and_orphaned_files_leave_the_store(tmp_path, database_url, s3_url):
    async with a_gallery(tmp_path, database_url, files_url=s3_url) as gallery:
        store = a_store(s3_url, tmp_path)
        gallery.show(0, a_picture(noisy=True))
        await gallery.reader.get(gallery.page(0))
        assert len(await keys(store)) == 1
        await gallery.evict_everything()
        assert len(await keys(store)) == 1  # too young to be sure by the clock of the store
        gallery.app.time.pass_(DAY)
        assert await gallery.app.pictures.room.sweep() == 1
        assert await keys(store) == []
