"""Chapters that a shelf keeps."""

import asyncio

import pytest

from tests.builders import (
    NOON,
    a_new_chapter,
    a_new_release,
    stored_series,
    stored_series_source,
    stored_shelf,
    stored_source,
)
from tests.images.builders import Gallery, a_gallery, a_picture, in_folder, on_sqlite
from tsuzuki.accounts.types import SYSTEM
from tsuzuki.coord.wakeup import MemoryWakeup
from tsuzuki.db import Database, Tx
from tsuzuki.db.queries import parse_queries
from tsuzuki.images.downloads import DOWNLOADS, Downloads, ReleaseCopy, q
from tsuzuki.images.files import ImageCache
from tsuzuki.ingest.chapters import upsert_chapters_tx, upsert_releases_tx
from tsuzuki.model.errors import LimitExceeded
from tsuzuki.model.ids import ReleaseId, ShelfId
from tsuzuki.model.pages import FROM_THE_TOP
from tsuzuki.model.times import Millis

_q = parse_queries(
    "tests",
    """
-- name: bill
insert into billing_switch (id, is_on, changed_at) values (1, true, 0);
-- name: set_plan
update shelf set plan = 'free' where id = :id;
""",
)


async def no_release_tx(tx, *_) -> None:
    """Nothing holds the source back."""


def fill(gallery: Gallery) -> list[bytes]:
    pictures = [a_picture(color=(position, 0, 0)) for position in range(gallery.site.pages)]
    for position, picture in enumerate(pictures):
        gallery.show(position, picture)
    return pictures


async def test_a_kept_chapter_outlives_cache_and_source(tmp_path, database_url):
    """R51, I9."""
    async with a_gallery(tmp_path, database_url) as gallery:
        reader, app = gallery.reader, gallery.app
        pictures = fill(gallery)
        assert (await reader.get(gallery.download)).status == 404
        begun = await reader.post(gallery.download)
        assert begun.status == 202, begun.text
        assert begun.json()["data"]["status"] == "queued"
        async with gallery.at_work():
            done = await gallery.until_kept("done")
        assert (done["done"], done["total"], done["is_available"]) == (3, 3, True)
        assert done["bytes"] == sum(map(len, pictures))
        again = await reader.post(gallery.download)
        assert (again.status, again.json()["data"]["status"]) == (202, "done")
        listed = (await reader.get(f"/manga/{gallery.manga_id}/chapters")).json()["data"]
        assert [chapter["is_downloaded"] for chapter in listed] == [True]

        gallery.site.pictures.clear()
        await gallery.evict_everything()
        await app.crawling.sources.deregister(SYSTEM, gallery.source_id, reason=None, release=no_release_tx)
        [kept] = (await reader.get("/downloads")).json()["data"]
        assert (kept["is_available"], kept["done"]) == (False, 3)
        for address, picture in zip(kept["images"], pictures, strict=True):
            shown = await reader.get(address.removeprefix("/api/v1"))
            assert (shown.status, shown.body) == (200, picture)

        small = await reader.get(gallery.page(0) + "?width=160")
        assert (small.status, small.headers["content-type"]) == (200, "image/webp")
        for tenant in (app.other_tenant, None):  # R91: nor for a neighbour
            stranger = await app.signed_in(await app.add(tenant_id=tenant))
            assert (await stranger.get(gallery.page(0))).status == 404
            assert (await stranger.get(gallery.page(0) + "?width=160")).status == 404
            assert (await stranger.get(gallery.download)).status == 404
            assert (await stranger.ask("DELETE", gallery.download)).status == 404
        assert (await reader.ask("DELETE", gallery.download)).status == 204
        assert (await reader.ask("DELETE", gallery.download)).status == 404
        assert (await reader.get(gallery.page(0))).status == 404
        await gallery.evict_everything()
        assert await gallery.count_images() == 0


async def test_one_copy_serves_every_shelf_until_the_last_lets_go(tmp_path, database_url):
    async with a_gallery(tmp_path, database_url) as gallery:
        fill(gallery)
        other = await stored_shelf(gallery.db)
        await gallery.reader.post(gallery.download)
        await gallery.app.pictures.downloads.add(other, gallery.release_id)
        async with gallery.at_work():
            await gallery.until_kept("done")
        assert gallery.site.asked_for(".png") == 3
        kept = gallery.app.pictures.downloads
        await gallery.reader.ask("DELETE", gallery.download)
        await gallery.evict_everything()
        assert await kept.downloaded_of(other, [gallery.release_id]) == {gallery.release_id}
        assert await gallery.count_images() == 3
        await kept.remove(other, gallery.release_id)
        await gallery.evict_everything()
        assert await gallery.count_images() == 0


async def test_a_broken_page_is_reported_and_retried_on_request(tmp_path, database_url):
    async with a_gallery(tmp_path, database_url) as gallery:
        fill(gallery)
        del gallery.site.pictures["/s/one/1/1.png"]
        await gallery.reader.post(gallery.download)
        async with gallery.at_work():
            failed = await gallery.until_kept("failed")
            assert failed["error"].startswith("Page 2: ")
            assert (failed["done"], failed["total"]) == (1, 3)
            gallery.show(1, a_picture())
            gallery.app.time.pass_(60_000)
            assert (await gallery.reader.post(gallery.download)).json()["data"]["status"] == "queued"
            done = await gallery.until_kept("done")
        assert (done["done"], done["error"]) == (3, None)


@on_sqlite
async def test_a_copy_that_was_interrupted_goes_on_where_it_ended(tmp_path, database_url):
    async with a_gallery(tmp_path, database_url, pages=6) as gallery:
        fill(gallery)
        is_asked = asyncio.Event()

        async def never(_: asyncio.StreamWriter) -> None:
            is_asked.set()
            await asyncio.sleep(60)

        picture = gallery.site.pictures["/s/one/1/3.png"]
        gallery.show(3, never)
        await gallery.reader.post(gallery.download)
        async with gallery.at_work(), asyncio.timeout(20):
            await is_asked.wait()
        half = (await gallery.reader.get(gallery.download)).json()["data"]
        assert (half["status"], half["done"]) == ("running", 3)
        await gallery.app.pictures.images.close()
        gallery.show(3, picture)
        async with gallery.at_work():
            await gallery.until_kept("done")
        assert [gallery.site.asked_for(f"/{position}.png") for position in range(6)] == [1, 1, 1, 2, 1, 1]


async def test_what_nobody_keeps_any_more_is_not_fetched(tmp_path, database_url):
    async with a_gallery(tmp_path, database_url) as gallery:
        fill(gallery)
        await gallery.reader.post(gallery.download)
        await gallery.reader.ask("DELETE", gallery.download)
        async with gallery.at_work():
            await gallery.until_idle(DOWNLOADS.name)
        assert gallery.site.asked_for(".png") == 0


# -- in the database alone


async def stored_releases(db: Database, count: int = 1) -> list[ReleaseId]:
    series = await stored_series(db)
    manga = await stored_series_source(db, series, await stored_source(db))

    async def add(tx: Tx) -> list[ReleaseId]:
        await upsert_chapters_tx(tx, series, [a_new_chapter(number) for number in range(count)], NOON)
        new = [a_new_release(number) for number in range(count)]
        return [release.id for release in await upsert_releases_tx(tx, series, manga, new, now=NOON)]

    return await db.with_tx(add)


async def test_the_copies_of_a_deleted_shelf_are_forgotten(db, tmp_path):
    [release] = await stored_releases(db)
    assert await db.with_tx(lambda tx: tx.maybe(ReleaseCopy, q.add_copy, release_id=release, now=NOON)) is not None
    room = ImageCache(db, in_folder(tmp_path), lambda: NOON, size=0)
    assert (await room.tidy())["copies"] == 1
    assert (await room.tidy())["copies"] == 0


async def test_concurrent_downloads_and_removals_lose_nothing(db):
    [release] = await stored_releases(db)
    kept = Downloads(db, MemoryWakeup(), lambda: NOON)
    shelves = [await stored_shelf(db) for _ in range(6)]

    async def often(shelf: ShelfId) -> None:
        for _ in range(4):
            await kept.add(shelf, release)
            await kept.remove(shelf, release)
        await kept.add(shelf, release)

    await asyncio.gather(*map(often, shelves))
    for shelf in shelves:
        assert (await kept.get(shelf, release)).release_id == release


async def test_the_list_of_downloads_is_read_page_by_page(db):
    releases, shelf = await stored_releases(db, 5), await stored_shelf(db)
    moment = iter([0, 0, 1, 1, 2])
    kept = Downloads(db, MemoryWakeup(), lambda: Millis(NOON + next(moment)))
    for release in releases:
        await kept.add(shelf, release)
    found, after = [], FROM_THE_TOP
    while True:
        page = await kept.list(shelf, after=after, most=2)
        assert page.total == 5
        found += [row.release_id for row in page.rows]
        if page.next_cursor is None:
            break
        after = page.next_cursor
    assert found == releases[::-1]


async def test_a_plan_that_is_full_keeps_no_more(db):
    releases, shelf = await stored_releases(db, 21), await stored_shelf(db)
    await db.with_tx(lambda tx: tx.run(_q.bill))
    await db.with_tx(lambda tx: tx.run(_q.set_plan, id=shelf))
    kept = Downloads(db, MemoryWakeup(), lambda: NOON)
    for release in releases[:20]:
        await kept.add(shelf, release)
    await kept.add(shelf, releases[0])  # what is kept already takes no more room
    with pytest.raises(LimitExceeded, match="20 kept chapters"):
        await kept.add(shelf, releases[20])
