"""Images as a browser gets them."""

import hashlib

from tests.catalogue.images.builders import a_gallery, a_picture


async def test_a_page_comes_from_its_source_once_and_then_from_disk(tmp_path, database_url):
    async with a_gallery(tmp_path, database_url) as gallery:
        picture = a_picture()
        gallery.show(0, picture)
        first = await gallery.reader.get(gallery.page(0))
        again = await gallery.reader.get(gallery.page(0))
        assert (first.status, first.body) == (200, picture), first.text
        assert (again.status, again.body) == (200, picture)
        assert again.headers["etag"] == f'"{hashlib.sha256(picture).hexdigest()}"'
        assert gallery.site.asked_for("/0.png") == 1
