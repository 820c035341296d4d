"""Room on disk, and rows and files that belong to nothing any more.

A row goes before its file: whoever dies in between leaves a file that the sweep finds. What is kept never goes.
"""

import asyncio
from collections.abc import Callable, Iterable
from itertools import islice

import structlog

from tsuzuki.catalogue.images.files import ImageFiles
from tsuzuki.catalogue.images.policy import FORGET_FAILURES_AFTER, SWEEP_AFTER, UNREFERENCED_FOR, ceiling
from tsuzuki.catalogue.images.rows import Evictable
from tsuzuki.catalogue.images.store import (
    drop_unkept_copy_tx,
    evictable_bytes_tx,
    forget_failures_tx,
    forget_images_tx,
    lock_download_tx,
    oldest_images_tx,
    stored_hashes_tx,
    unkept_copies_tx,
    unreferenced_images_tx,
)
from tsuzuki.db import Database, Tx
from tsuzuki.model.errors import TsuzukiError
from tsuzuki.model.ids import ReleaseId
from tsuzuki.model.times import SECOND, Millis

_CHUNK = 200
_CLOCKS_DIFFER = SECOND
"""A file system's clock is a little behind. What was stored just before it was evicted is left to the sweep."""

_log = structlog.stdlib.get_logger("tsuzuki.images")


class ImageCache:
    """Sees to it that the cache stays below its size."""

    def __init__(self, db: Database, files: ImageFiles, clock: Callable[[], Millis], *, size: int) -> None:
        self._db = db
        self._files = files
        self._clock = clock
        self._size = size
        self._added = 0
        self._evicting: asyncio.Task[None] | None = None

    def stored(self, size: int) -> None:
        """So much was added: every now and then this process looks by itself, between the chores."""
        self._added += size
        is_idle = self._evicting is None or self._evicting.done()
        if self._added > self._size // 20 and is_idle:
            self._added = 0
            self._evicting = asyncio.create_task(self._evict_aside())

    async def close(self) -> None:
        """Stop making room; the next start goes on."""
        if self._evicting is not None:
            self._evicting.cancel()
            await asyncio.gather(self._evicting, return_exceptions=True)

    # -- chores

    async def tidy(self) -> dict[str, int]:
        """Evict what does not fit, and forget what belongs to nothing; how much of each."""
        return {
            "failures": await self._forget_failures(),
            "copies": await self._forget_copies(),
            "unreferenced": await self._forget_unreferenced(),
            "evicted": await self.evict(),
        }

    async def evict(self) -> int:
        """Make room, the longest unused first, when there is more than may be; how many went."""
        used = await self._db.read(evictable_bytes_tx)
        if used <= self._size:
            return 0
        count, over = 0, used - ceiling(self._size)
        while over > 0:
            oldest = await self._db.read(lambda tx: oldest_images_tx(tx, _CHUNK))
            chosen = list(_enough(oldest, over))
            gone = await self._forget(chosen)
            if not gone:
                break
            count, over = count + gone, over - sum(image.bytes for image in chosen)
        return count

    async def sweep(self) -> int:
        """Remove files that are no image of ours: of whoever died before the row was written; how many."""
        before = (self._clock() - SWEEP_AFTER) / SECOND
        count = await asyncio.to_thread(self._files.sweep, before=before)
        files = self._files.digests()
        while some := await asyncio.to_thread(lambda: list(islice(files, _CHUNK))):
            old = [digest for digest, stored_at in some if stored_at < before]
            known = await self._known(old)
            for digest in old:
                if digest not in known:
                    count += await asyncio.to_thread(self._files.remove, digest, unless_since=before)
        return count

    async def _known(self, digests: Iterable[bytes]) -> set[bytes]:
        wanted = list(digests)
        return await self._db.read(lambda tx: stored_hashes_tx(tx, wanted)) if wanted else set()

    async def _evict_aside(self) -> None:
        try:
            await self.evict()
        except (TsuzukiError, OSError) as error:
            # Somebody began to keep one of them, or the disk fails: the chore comes.
            _log.warning("images_not_evicted", reason=str(error))

    async def _forget(self, images: Iterable[Evictable]) -> int:
        ids = [image.id for image in images]
        moment = (self._clock() - _CLOCKS_DIFFER) / SECOND
        hashes = await self._db.with_tx(lambda tx: forget_images_tx(tx, ids))
        for digest in hashes:
            await asyncio.to_thread(self._files.remove, digest, unless_since=moment)
        return len(hashes)

    async def _forget_unreferenced(self) -> int:
        before, count = Millis(self._clock() - UNREFERENCED_FOR), 0
        while some := await self._db.read(lambda tx: unreferenced_images_tx(tx, before=before, most=_CHUNK)):
            gone = await self._forget(some)
            count += gone
            if not gone:
                break
        return count

    async def _forget_failures(self) -> int:
        before, count = Millis(self._clock() - FORGET_FAILURES_AFTER), 0
        while done := await self._db.with_tx(lambda tx: forget_failures_tx(tx, before=before, most=_CHUNK)):
            count += done
        return count

    async def _forget_copies(self) -> int:
        unkept = await self._db.read(lambda tx: unkept_copies_tx(tx, _CHUNK))
        return sum([await self._forget_copy(release_id) for release_id in unkept])

    async def _forget_copy(self, release_id: ReleaseId) -> bool:
        async def forget(tx: Tx) -> bool:
            await lock_download_tx(tx, release_id)
            return await drop_unkept_copy_tx(tx, release_id)

        return await self._db.with_tx(forget)


def _enough(images: Iterable[Evictable], over: int) -> Iterable[Evictable]:
    """The first of these, until so many bytes are reached."""
    for image in images:
        if over <= 0:
            return
        over -= image.bytes
        yield image
