"""What libraries of OPDS apps do with a running server: in Rust with pages and files, and two parsers in JavaScript."""

import pytest

from tests.clients.conftest import run
from tests.images.builders import a_gallery
from tests.images.test_downloads import fill
from tests.protocols.opds import an_opds_reader
from tests.protocols.test_pictures import follow_gallery
from tsuzuki.books.chapters import ChapterFiles

pytestmark = [pytest.mark.clients, pytest.mark.timeout(900)]

SERIES = 60


async def test_a_readers_library_gets_every_page_and_the_file(empty_database_url, tmp_path, comics_program):
    async with a_gallery(tmp_path, empty_database_url) as gallery:
        ann = await an_opds_reader(gallery.app)
        await follow_gallery(gallery, ann)
        fill(gallery)
        titles = [f"Series {number:02}" for number in range(SERIES)]
        for title in titles:
            await ann.a_series(title, 1)
        pair = f"{ann.user.username}:{ann.key}"
        await gallery.app.catalogue.chapters.pages(gallery.release_id)
        app = gallery.app
        files = ChapterFiles(app.db, app.pictures.images, app.catalogue.chapters)
        file = await files.open(gallery.release_id, ann.user.id)
        said = await run(comics_program, "opds", app.client.base, pair, "One")
        for version in ("v1.2", "v2"):
            lines = [line.partition(" ") for line in said[version]]
            assert [rest for word, _, rest in lines if word == "series"] == ["One", *titles]
            assert [rest for word, _, rest in lines if word == "chapter"] == ["One 1"]
            assert [rest for word, _, rest in lines if word == "count"] == ["3"]
            sizes = [int(rest) for word, _, rest in lines if word == "page"]
            assert len(sizes) == 3
            assert min(sizes) > 0
            assert [rest for word, _, rest in lines if word == "file"] == [str(file.archive.size)]


async def test_other_parsers_see_the_same_to_the_end(empty_database_url, tmp_path, catalogues_program):
    async with a_gallery(tmp_path, empty_database_url) as gallery:
        ann = await an_opds_reader(gallery.app)
        await follow_gallery(gallery, ann)
        for title in ("A & B <i>", "灯台の猫", "The Lighthouse Cat"):
            await ann.a_series(title, 55)
        await ann.add_feed("The Gull Letters", items=3)
        said = await run("node", str(catalogues_program), gallery.app.client.base, f"{ann.user.username}:{ann.key}")
        assert said["done"] == [""]
        assert {"A & B <i>", "灯台の猫", "The Lighthouse Cat", "Library", "Groups"} <= set(said["place"])
        assert {f"The Lighthouse Cat {number}" for number in range(1, 56)} <= set(said["file"])
        assert int(said["feeds"][0]) > 10
