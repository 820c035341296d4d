"""Pages out of folders and archives go the same way."""

import asyncio
import zipfile
from pathlib import Path

from tests.api.people import RunningApp, Visitor
from tests.builders import NOON, a_new_chapter, a_new_release, stored_series, stored_series_source
from tests.crawler.builders import a_crawling_app
from tests.images.builders import a_picture, on_sqlite
from tsuzuki.accounts.types import SYSTEM
from tsuzuki.connectors.local import address
from tsuzuki.db import Tx
from tsuzuki.ingest.chapters import upsert_chapters_tx, upsert_releases_tx
from tsuzuki.model.ids import ReleaseId
from tsuzuki.sources.types import SourceRegistration


async def releases_of(app: RunningApp, folder: Path, *paths: str) -> list[ReleaseId]:
    """Chapters at these paths of a local source."""
    wanted = SourceRegistration(
        name="Local", slug="local", base_url="local:", connector="tsuzuki.local", config={"folder": str(folder)}
    )
    source = await app.crawling.sources.register(SYSTEM, wanted)
    series = await stored_series(app.db)
    manga = await stored_series_source(app.db, series, source.id)

    async def add(tx: Tx) -> list[ReleaseId]:
        await upsert_chapters_tx(tx, series, [a_new_chapter(number) for number in range(len(paths))], NOON)
        new = [a_new_release(number, url=address(path)) for number, path in enumerate(paths)]
        return [release.id for release in await upsert_releases_tx(tx, series, manga, new, now=NOON)]

    return await app.db.with_tx(add)


def packed(path: Path, **entries: bytes) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in entries.items():
            archive.writestr(name.replace("__", "/"), data)


async def first_page(reader: Visitor, release: ReleaseId, **headers: str):
    return await reader.get(f"/chapters/{release}/pages/0/image", **headers)


@on_sqlite
async def test_local_images_are_verified_like_those_of_any_source(tmp_path, database_url):
    """SEC-22, SEC-23: a 100 MiB entry, names that lead elsewhere, a web page called 1.png."""
    library = tmp_path / "library" / "One"
    (library / "folder").mkdir(parents=True)
    picture = a_picture(noisy=True)
    (library / "folder" / "1.png").write_bytes(picture)
    packed(library / "good.cbz", **{"1.png": picture})
    packed(library / "huge.cbz", **{"1.png": bytes(100 * 1024 * 1024)})
    packed(library / "page.cbz", **{"1.png": b"<html><script>alert(1)</script>"})
    packed(library / "slip.cbz", **{"..__..__1.png": picture})
    names = ("One/folder", "One/good.cbz", "One/huge.cbz", "One/page.cbz", "One/slip.cbz", "../elsewhere")
    async with a_crawling_app(tmp_path, database_url) as app:
        folder, good, huge, page, slip, outside = await releases_of(app, library.parent, *names)
        reader = await app.signed_in(await app.add())
        for release in (folder, good):
            assert (await first_page(reader, release)).body == picture
            part = await first_page(reader, release, range="bytes=3-7")
            assert (part.status, part.body) == (206, picture[3:8])
        answers = await asyncio.gather(*(first_page(reader, release) for release in (huge, page, slip, outside)))
        reasons = [answer.json()["error"] for answer in answers]
        assert all(answer.status in (400, 503) for answer in answers), reasons
        assert "inflate" in reasons[0]
        assert "web page" in reasons[1]
        assert "../../1.png" in reasons[2]
        assert "not a path below" in reasons[3]
