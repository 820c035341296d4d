"""Images, what they show, and copies of chapters, remembered."""

from collections.abc import Iterable, Sequence

import msgspec

from tsuzuki.db import Tx, load_queries
from tsuzuki.db.locks import DOWNLOAD, check_order
from tsuzuki.images.types import (
    Copy,
    CopyStatus,
    Cover,
    Evictable,
    Image,
    ImageSubject,
    KeptChapter,
    KnownImage,
    NewImage,
    page_of,
)
from tsuzuki.model.ids import ReleaseId, SeriesSourceId, ShelfId, UserId
from tsuzuki.model.pages import PageCursor
from tsuzuki.model.times import Millis

q = load_queries("tsuzuki.images")


async def find_known_tx(tx: Tx, subject: ImageSubject) -> KnownImage | None:
    """What is known of this image; None when nobody has asked for it."""
    return await tx.maybe(
        KnownImage, q.find_known, subject=subject.key, thumbnail=subject.thumbnail, position=subject.position
    )


async def find_copied_tx(tx: Tx, subject: ImageSubject, user_id: UserId | None) -> Image | None:
    """The page in a copy that somebody keeps; without its source, only for people with a shelf that keeps it."""
    return await tx.maybe(
        Image, q.find_copied, release_id=subject.release_id, position=subject.position, user_id=user_id
    )


async def known_positions_tx(tx: Tx, release_id: ReleaseId, positions: Sequence[int], now: Millis) -> set[int]:
    """Which of these pages need not be fetched now."""
    rows = [{"position": position, "subject": page_of(release_id, position).key} for position in positions]
    return set(await tx.bulk(int, q.known_positions, rows, now=now))


async def touch_image_tx(tx: Tx, image_id: int, now: Millis) -> None:
    """It was used."""
    await tx.run(q.touch_image, id=image_id, now=now)


async def save_image_tx(tx: Tx, subject: ImageSubject, new: NewImage, *, address: str | None, now: Millis) -> Image:
    """The image, and that it is what the subject shows. A thumbnail is as current as what it was made of."""
    image = await tx.one(Image, q.add_image, **msgspec.structs.asdict(new), now=now)
    if subject.thumbnail:
        address = await tx.maybe(str, q.find_address, subject=subject.key)
    else:
        await tx.run(q.drop_thumbnails, subject=subject.key, image_id=image.id)
        if subject.series_source_id is not None:
            await tx.run(q.cover_fetched, id=subject.series_source_id, now=now)
    await tx.run(
        q.show_image,
        subject=subject.key,
        thumbnail=subject.thumbnail,
        release_id=subject.release_id,
        series_source_id=subject.series_source_id,
        image_id=image.id,
        address=address,
        now=now,
    )
    return image


async def save_failure_tx(
    tx: Tx, subject: ImageSubject, *, error: str, failures: int, retry_at: Millis, now: Millis
) -> None:
    """Why there is no image, and when to try again."""
    await tx.run(
        q.show_failure,
        subject=subject.key,
        release_id=subject.release_id,
        series_source_id=subject.series_source_id,
        error=error,
        failures=failures,
        retry_at=retry_at,
        now=now,
    )


async def find_cover_tx(tx: Tx, series_source_id: SeriesSourceId) -> Cover | None:
    """Where the cover is; None when there is no such series on a source."""
    return await tx.maybe(Cover, q.find_cover, id=series_source_id)


# -- room


async def evictable_bytes_tx(tx: Tx) -> int:
    """The size of all images that nobody keeps."""
    return await tx.one(int, q.evictable_bytes)


async def oldest_images_tx(tx: Tx, most: int) -> list[Evictable]:
    """Those that nobody keeps, the longest unused first."""
    return await tx.many(Evictable, q.oldest_images, most=most)


async def unreferenced_images_tx(tx: Tx, *, before: Millis, most: int) -> list[Evictable]:
    """Those that nothing shows any more, stored before then."""
    return await tx.many(Evictable, q.unreferenced_images, before=before, most=most)


async def forget_images_tx(tx: Tx, ids: Iterable[int]) -> list[bytes]:
    """Forget these, except what is kept by now; the hashes whose files may go."""
    return await tx.many(bytes, q.forget_images, ids=list(ids))


async def stored_hashes_tx(tx: Tx, hashes: Iterable[bytes]) -> set[bytes]:
    """Those of these hashes that are images."""
    return set(await tx.bulk(bytes, q.stored_hashes, [{"hash": one.hex()} for one in hashes]))


async def forget_failures_tx(tx: Tx, *, before: Millis, most: int) -> int:
    """Forget failures from before then; how many."""
    return await tx.run(q.forget_failures, before=before, most=most)


# -- kept chapters


async def add_copy_tx(tx: Tx, release_id: ReleaseId, now: Millis) -> Copy | None:
    """The copy of this release, made or begun anew; None when there is no such release."""
    return await tx.maybe(Copy, q.add_copy, release_id=release_id, now=now)


async def find_copy_tx(tx: Tx, copy_id: int) -> Copy | None:
    """A copy; None when nobody wants it any more."""
    return await tx.maybe(Copy, q.find_copy, id=copy_id)


async def add_kept_tx(tx: Tx, shelf_id: ShelfId, copy_id: int, now: Millis) -> None:
    """The shelf keeps this copy."""
    await tx.run(q.add_kept, shelf_id=shelf_id, copy_id=copy_id, now=now)


async def drop_kept_tx(tx: Tx, shelf_id: ShelfId, release_id: ReleaseId) -> bool:
    """The shelf keeps it no more; False when it did not."""
    return bool(await tx.run(q.drop_kept, shelf_id=shelf_id, release_id=release_id))


async def unkept_copies_tx(tx: Tx, most: int) -> list[ReleaseId]:
    """Releases with a copy that no shelf keeps."""
    return await tx.many(ReleaseId, q.unkept_copies, most=most)


async def lock_download_tx(tx: Tx, release_id: ReleaseId) -> None:
    """Let nobody else begin or cease to keep this release until the end of the transaction."""
    check_order(tx, DOWNLOAD, release_id)
    await tx.maybe(int, q.lock_download, release_id=release_id)


async def drop_unkept_copy_tx(tx: Tx, release_id: ReleaseId) -> bool:
    """Forget a copy that is held and that no shelf keeps."""
    return bool(await tx.run(q.drop_unkept_copy, release_id=release_id))


async def find_kept_tx(tx: Tx, shelf_id: ShelfId, release_id: ReleaseId) -> KeptChapter | None:
    """One of the chapters that a shelf keeps."""
    return await tx.maybe(KeptChapter, q.find_kept, shelf_id=shelf_id, release_id=release_id)


async def list_kept_tx(tx: Tx, shelf_id: ShelfId, *, after: PageCursor, most: int) -> list[KeptChapter]:
    """What a shelf keeps, the newest first."""
    return await tx.many(KeptChapter, q.list_kept, shelf_id=shelf_id, at=after.at, id=after.id, most=most)


async def count_kept_tx(tx: Tx, shelf_id: ShelfId) -> int:
    """How many chapters a shelf keeps."""
    return await tx.one(int, q.count_kept, shelf_id=shelf_id)


async def kept_among_tx(tx: Tx, shelf_id: ShelfId, release_ids: Iterable[ReleaseId]) -> list[KeptChapter]:
    """Those of these releases that the shelf keeps, whole or not yet."""
    return await tx.many(KeptChapter, q.kept_among, shelf_id=shelf_id, release_ids=list(release_ids))


async def kept_releases_tx(tx: Tx, shelf_id: ShelfId, release_ids: Iterable[ReleaseId]) -> set[ReleaseId]:
    """Those of these releases that the shelf keeps, and has whole."""
    return set(await tx.many(ReleaseId, q.kept_releases, shelf_id=shelf_id, release_ids=list(release_ids)))


async def copied_positions_tx(tx: Tx, copy_id: int) -> set[int]:
    """The pages that a copy has already."""
    return set(await tx.many(int, q.copied_positions, copy_id=copy_id))


async def pin_page_tx(tx: Tx, copy_id: int, position: int, image_id: int) -> bool:
    """Keep an image as a page of the copy; False when either is gone."""
    return bool(await tx.run(q.pin_page, copy_id=copy_id, position=position, image_id=image_id))


async def drop_surplus_copies_tx(tx: Tx, copy_id: int, total: int) -> None:
    """Drop the pages of a longer list that was read before."""
    await tx.run(q.drop_surplus_copies, copy_id=copy_id, total=total)


async def set_copy_tx(
    tx: Tx, copy_id: int, status: CopyStatus, *, now: Millis, total: int | None = None, error: str | None = None
) -> None:
    """How far a copy is."""
    await tx.run(q.set_copy, id=copy_id, status=status, total=total, error=error, now=now)


# -- secrets


async def secret_tx(tx: Tx, name: str, fresh: bytes, now: Millis) -> bytes:
    """The server's secret of this name, the same in every process; `fresh` when there was none."""
    await tx.run(q.keep_secret, name=name, value=fresh, now=now)
    return await tx.one(bytes, q.find_secret, name=name)
