"""Room on disk, and what belongs to nothing."""

import os

import pytest

from tests.builders import (
    NOON,
    a_hash,
    a_new_chapter,
    a_new_release,
    stored_series,
    stored_series_source,
    stored_source,
)
from tests.images.builders import in_folder, q, stored_digests
from tsuzuki.db import Database, Tx
from tsuzuki.db.server_secrets import secret_tx
from tsuzuki.images.files import (
    Image,
    ImageCache,
    ImageFiles,
    NewImage,
    at_address,
    cover_of,
    find_known_tx,
    key_of,
    page_of,
    save_failure_tx,
    save_image_tx,
)
from tsuzuki.images.policy import FORGET_FAILURES_AFTER, retry_delay
from tsuzuki.images.service import known_positions_tx
from tsuzuki.ingest.chapters import upsert_chapters_tx, upsert_releases_tx
from tsuzuki.model.errors import NotAnImage, RefusedAddress
from tsuzuki.model.ids import ReleaseId
from tsuzuki.model.times import DAY, HOUR, SECOND, Millis

SIZE = 1000


@pytest.fixture
def files(tmp_path) -> ImageFiles:
    return in_folder(tmp_path / "images")


def a_room(db: Database, files: ImageFiles, size: int = 10 * SIZE, now: Millis = NOON) -> ImageCache:
    return ImageCache(db, files, lambda: now, size=size)


async def stored(db: Database, files: ImageFiles, number: int, used_at: Millis = NOON) -> Image:
    """An image of `SIZE` bytes that an article shows, on disk for a while."""
    with files.draft() as draft:
        draft.write(bytes([number]) * SIZE)
        digest = await draft.keep()
    old = (NOON - DAY) / SECOND
    os.utime(files._folder / key_of(digest), (old, old))
    new, subject = NewImage(digest, "image/png", 1, 1, SIZE), at_address(str(number))
    image = await db.with_tx(lambda tx: save_image_tx(tx, subject, new, address=None, now=used_at))
    assert await db.with_tx(lambda tx: tx.run(q.set_used, id=image.id, at=used_at))
    return image


async def left(db: Database) -> set[bytes]:
    return set(await db.read(lambda tx: tx.many(bytes, q.image_hashes)))


async def test_the_least_recently_used_go_first(db, files):
    images = [await stored(db, files, number, Millis(NOON - number * HOUR)) for number in range(12)]
    room = a_room(db, files)
    assert await room.evict() == 3
    assert await left(db) == {image.hash for image in images[:9]}
    assert await stored_digests(files) == await left(db)
    assert await room.evict() == 0


class Dying(ImageFiles):
    """The process ends where a file would be removed."""

    async def remove(self, digest: bytes, *, unless_since: float) -> bool:
        raise RuntimeError(f"killed at {digest.hex()}, {unless_since}")


async def test_a_file_is_deleted_after_its_row(db, files):
    await stored(db, files, 1)
    with pytest.raises(RuntimeError):
        await a_room(db, Dying(files._store, files._folder), size=0).evict()
    assert await left(db) == set()
    assert len(await stored_digests(files)) == 1
    assert await a_room(db, files).sweep() == 1
    assert await stored_digests(files) == set()


async def test_the_sweep_finds_files_without_rows(db, files):
    known = await stored(db, files, 1)
    for age in (0, DAY):
        with files.draft() as draft:
            draft.write(b"no row" + bytes([age > 0]))
            orphan = files._folder / key_of(await draft.keep())
        os.utime(orphan, ((NOON - age) / SECOND,) * 2)
    assert await a_room(db, files).sweep() == 1
    found = await stored_digests(files)
    assert known.hash in found
    assert len(found) == 2  # the young one may be about to get its row


async def test_an_image_that_nothing_shows_any_more_is_forgotten(db, files):
    series = await stored_series(db)
    manga = await stored_series_source(db, series, await stored_source(db))
    new = NewImage(a_hash("cover"), "image/png", 1, 1, SIZE)
    await db.with_tx(lambda tx: save_image_tx(tx, cover_of(manga), new, address="https://a", now=NOON))
    await db.with_tx(lambda tx: save_image_tx(tx, cover_of(manga).at(160), new, address=None, now=NOON))
    assert (await a_room(db, files, now=Millis(NOON + HOUR)).tidy())["unreferenced"] == 0
    other = NewImage(a_hash("another"), "image/png", 1, 1, SIZE)
    await db.with_tx(lambda tx: save_image_tx(tx, cover_of(manga), other, address="https://b", now=NOON))
    assert await db.read(lambda tx: find_known_tx(tx, cover_of(manga).at(160))) is None  # made of the old one
    assert (await a_room(db, files, now=NOON).tidy())["unreferenced"] == 0  # too young to be sure
    assert (await a_room(db, files, now=Millis(NOON + HOUR)).tidy())["unreferenced"] == 1
    assert await left(db) == {other.hash}


async def test_failures_are_forgotten_after_a_month_and_hide_nothing(db, files):
    subject, new = at_address("1"), NewImage(a_hash("1"), "image/png", 1, 1, SIZE)

    async def fail() -> None:
        await db.with_tx(lambda tx: save_failure_tx(tx, subject, error="Broken.", failures=1, retry_at=NOON, now=NOON))

    await fail()
    known = await db.read(lambda tx: find_known_tx(tx, subject))
    assert known is not None
    assert (known.error, known.failures, known.image) == ("Broken.", 1, None)
    later = Millis(NOON + FORGET_FAILURES_AFTER + 1)
    assert (await a_room(db, files, now=later).tidy())["failures"] == 1
    await db.with_tx(lambda tx: save_image_tx(tx, subject, new, address=None, now=NOON))
    await fail()
    known = await db.read(lambda tx: find_known_tx(tx, subject))
    assert known is not None
    assert known.image is not None


async def test_who_adds_much_makes_room_without_waiting_for_the_chore(db, files):
    for number in range(12):
        await stored(db, files, number)
    room = a_room(db, files)
    room.stored(SIZE // 2)
    assert len(await left(db)) == 12
    room.stored(SIZE)
    assert room._evicting is not None
    await room._evicting
    assert len(await left(db)) == 9


async def test_stored_or_broken_pages_are_not_prefetched(db):
    series = await stored_series(db)
    manga = await stored_series_source(db, series, await stored_source(db))

    async def add(tx: Tx) -> ReleaseId:
        await upsert_chapters_tx(tx, series, [a_new_chapter(1)], NOON)
        [release] = await upsert_releases_tx(tx, series, manga, [a_new_release(1)], now=NOON)
        new = NewImage(a_hash("page"), "image/png", 1, 1, SIZE)
        await save_image_tx(tx, page_of(release.id, 1), new, address=None, now=NOON)
        for position, retry_at in ((2, NOON + 1), (3, NOON - 1)):
            subject = page_of(release.id, position)
            await save_failure_tx(tx, subject, error="x", failures=1, retry_at=Millis(retry_at), now=NOON)
        return release.id

    release = await db.with_tx(add)
    assert await db.read(lambda tx: known_positions_tx(tx, release, range(1, 6), NOON)) == {1, 2}
    assert await db.read(lambda tx: known_positions_tx(tx, release, [], NOON)) == set()


async def test_two_processes_that_store_the_same_image_share_it(db, files):
    first, second = await stored(db, files, 1), await stored(db, files, 1)
    assert first.id == second.id
    assert len(await stored_digests(files)) == 1


async def test_the_servers_secret_is_made_once(db):
    first = await db.with_tx(lambda tx: secret_tx(tx, "a", b"1" * 32, NOON))
    again = await db.with_tx(lambda tx: secret_tx(tx, "a", b"2" * 32, NOON))
    other = await db.with_tx(lambda tx: secret_tx(tx, "b", b"3" * 32, NOON))
    assert (first, again, other) == (b"1" * 32, b"1" * 32, b"3" * 32)


def test_a_broken_image_waits_longer_up_to_a_day():
    waits = [retry_delay(failures, NotAnImage("x")) for failures in range(1, 60)]
    assert waits[0] == 30 * SECOND
    assert waits == sorted(waits)
    assert waits[-1] == DAY
    assert retry_delay(1, RefusedAddress("x")) == DAY
    assert retry_delay(1, NotAnImage("x", retry_after=HOUR)) == HOUR
    assert retry_delay(1, NotAnImage("x", retry_after=9 * DAY)) == DAY
