"""Images as they are stored: what each shows, its row and its file, room for them, and what nothing shows any more.

A row goes before its file: whoever dies in between leaves a file that the sweep finds. What is kept never goes.
"""

import asyncio
import hashlib
import os
import secrets
import zlib
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Self

import msgspec
import structlog

from tsuzuki.db import Database, Tx, load_queries
from tsuzuki.db.locks import DOWNLOAD, check_order
from tsuzuki.files.folder import DRAFTS, TRASH
from tsuzuki.files.stores import DamagedFile, FileStore, OpenFile
from tsuzuki.images.formats import MediaType
from tsuzuki.images.policy import FORGET_FAILURES_AFTER, SWEEP_AFTER, UNREFERENCED_FOR, ceiling
from tsuzuki.model.errors import TsuzukiError
from tsuzuki.model.ids import ReleaseId, SeriesSourceId
from tsuzuki.model.times import SECOND, Millis

q = load_queries("tsuzuki.images")


# -- rows


AS_JPEG = 100_000
"""Added to the width of one that was made a JPEG; no image is so wide."""


class ImageSubject(msgspec.Struct, frozen=True):
    """What an image shows: a page, a cover, or whatever is at an address. `thumbnail` is the width of a small one."""

    key: str
    release_id: ReleaseId | None = None
    position: int = -1
    series_source_id: SeriesSourceId | None = None
    thumbnail: int = 0

    @property
    def whole(self) -> "ImageSubject":
        """The image in its original size."""
        return msgspec.structs.replace(self, thumbnail=0)

    def at(self, thumbnail: int) -> "ImageSubject":
        """The image in this width."""
        return msgspec.structs.replace(self, thumbnail=thumbnail)

    def as_jpeg(self, width: int) -> "ImageSubject":
        """This subject as JPEG, at most so wide; 0 keeps its width."""
        return msgspec.structs.replace(self, thumbnail=AS_JPEG + width)


def page_of(release_id: ReleaseId, position: int) -> ImageSubject:
    """A page, counted from 0."""
    return ImageSubject(f"page:{release_id}:{position}", release_id=release_id, position=position)


def cover_of(series_source_id: SeriesSourceId) -> ImageSubject:
    """The cover that a source shows of a series."""
    return ImageSubject(f"cover:{series_source_id}", series_source_id=series_source_id)


def at_address(url: str) -> ImageSubject:
    """The image at this address, for articles."""
    return ImageSubject(f"address:{hashlib.sha256(url.encode()).hexdigest()}")


class Image(msgspec.Struct, frozen=True):
    """A verified image."""

    id: int
    hash: bytes
    media_type: MediaType
    width: int
    height: int
    bytes: int
    used_at: Millis
    crc32: int | None
    """None where it was stored before anybody needed it."""


class NewImage(msgspec.Struct, frozen=True):
    """A verified image whose file is in its place."""

    hash: bytes
    media_type: MediaType
    width: int
    height: int
    bytes: int
    crc32: int | None = None


class KnownImage(msgspec.Struct, frozen=True):
    """What is known of an image: itself, or why there is none."""

    id: int | None
    hash: bytes | None
    media_type: MediaType | None
    width: int | None
    height: int | None
    bytes: int | None
    used_at: Millis | None
    crc32: int | None
    is_current: bool
    """False when the source shows another one there by now."""
    error: str | None
    failures: int
    retry_at: Millis | None

    @property
    def image(self) -> Image | None:
        """The image, if there is one and it is the one that the source shows."""
        return None if self.id is None or not self.is_current else msgspec.convert(self, Image, from_attributes=True)


async def find_known_tx(tx: Tx, subject: ImageSubject) -> KnownImage | None:
    """What is known of this image; None when nobody has asked for it."""
    return await tx.maybe(
        KnownImage, q.find_known, subject=subject.key, thumbnail=subject.thumbnail, position=subject.position
    )


async def save_image_tx(tx: Tx, subject: ImageSubject, new: NewImage, *, address: str | None, now: Millis) -> Image:
    """The image, and that it is what the subject shows. A thumbnail is as current as what it was made of."""
    image = await tx.one(Image, q.add_image, **msgspec.structs.asdict(new), now=now)
    if subject.thumbnail:
        address = await tx.maybe(str, q.find_address, subject=subject.key)
    else:
        await tx.run(q.drop_thumbnails, subject=subject.key, image_id=image.id)  # those of the image before
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


# -- files

_FLAGS = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
_log = structlog.stdlib.get_logger("tsuzuki.images")


def key_of(digest: bytes) -> str:
    """Under which key an image of this content is stored."""
    name = digest.hex()
    return f"{name[:2]}/{name[2:4]}/{name}"


class ImageFiles:
    """The store of images, and the folder of this machine in which they are written first."""

    def __init__(self, store: FileStore, folder: Path) -> None:
        self._store = store
        self._folder = folder
        self._damaged: set[bytes] = set()
        """Not here for anyone, until they are stored again."""

    def draft(self) -> "Draft":
        """A new file that is nobody's image yet."""
        return Draft(self, self._folder / DRAFTS / secrets.token_hex(16))

    async def open(self, digest: bytes, size: int) -> "ImageReader | None":
        """The file, to be read piece by piece; None when it is not here, or not as long as it was."""
        if digest in self._damaged:
            return None
        file = await self._store.open(key_of(digest), size=size, digest=digest)
        return None if file is None else ImageReader(file, digest, size, damaged=self._note_damage)

    def read_at_once(self, digest: bytes, size: int) -> bytes | None:
        """The whole file, if that takes no waiting: this one may be called on the event loop."""
        return None if digest in self._damaged else self._store.read_at_once(key_of(digest), size)

    async def read(self, digest: bytes, size: int) -> bytes | None:
        """The whole file; None as for `open`, and when it is damaged."""
        if digest in self._damaged:
            return None
        try:
            return await self._store.read(key_of(digest), size=size, digest=digest)
        except DamagedFile:
            self._note_damage(digest)
            return None

    async def has(self, digest: bytes, size: int) -> bool:
        """Whether the file is stored here with this length."""
        found = None if digest in self._damaged else await self._store.find(key_of(digest))
        return found is not None and found.size == size

    @asynccontextmanager
    async def local(self, digest: bytes) -> AsyncIterator[str]:
        """The path of the image on this machine, within the block."""
        try:
            async with self._store.local(key_of(digest), digest=digest) as path:
                yield str(path)
        except DamagedFile:
            self._note_damage(digest)
            raise

    async def remove(self, digest: bytes, *, unless_since: float) -> bool:
        """Remove the file unless it was stored (again) since that moment; False when it stays or was not there."""
        return await self._store.remove(key_of(digest), unless_since=unless_since)

    async def digests(self) -> AsyncIterator[list[tuple[bytes, float]]]:
        """Every file with the moment at which it was stored, some at a time."""
        async for files in self._store.pages():
            yield [(bytes.fromhex(file.key[-64:]), file.stored_at) for file in files]

    def sweep(self, *, before: float) -> int:
        """Remove what was begun on this machine before that moment and never became an image; how many."""
        count = 0
        for folder in (DRAFTS, TRASH):
            for path in (self._folder / folder).glob("*"):
                with suppress(FileNotFoundError):
                    if path.stat().st_mtime < before:
                        path.unlink()
                        count += 1
        return count

    async def adopt(self, draft: Path, digest: bytes) -> None:
        """Make a draft the image of this content."""
        await self._store.put(key_of(digest), draft, digest=digest)
        self._damaged.discard(digest)

    def _note_damage(self, digest: bytes) -> None:
        _log.error("image_damaged", key=key_of(digest), why="it is not what was stored, and will be fetched again")
        self._damaged.add(digest)


class ImageReader:
    """A large image that is read piece by piece; whoever got it closes it."""

    def __init__(self, file: OpenFile, digest: bytes, size: int, *, damaged: Callable[[bytes], None]) -> None:
        self._file = file
        self._digest = digest
        self._size = size
        self._damaged = damaged

    async def pieces(self, start: int, end: int) -> AsyncGenerator[bytes, None]:
        """These bytes. DamagedFile when they are not what was stored; of the whole image, before its last piece."""
        read = hashlib.sha256()
        for place in range(start, end, self._file.piece):
            upto = min(place + self._file.piece, end)
            piece = await self._file.read(place, upto)
            if end - start == self._size:
                await asyncio.to_thread(read.update, piece)
                if upto == end and read.digest() != self._digest:
                    self._damaged(self._digest)
                    raise DamagedFile("A stored image is damaged.")
            yield piece

    def close(self) -> None:
        """Close the file."""
        self._file.close()


class Draft:
    """A file that is being written; gone at the end of its block unless it was kept.

    It is begun with its first bytes: one trip to the disk instead of two before anything is shown.
    """

    def __init__(self, files: ImageFiles, path: Path) -> None:
        self._files = files
        self.path = path
        self.size = 0
        self.crc32 = 0
        self._hash = hashlib.sha256()
        self.descriptor: int | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.descriptor is not None:
            os.close(self.descriptor)
            with suppress(FileNotFoundError):
                self.path.unlink()

    def write(self, data: bytes) -> None:
        """Append."""
        if self.descriptor is None:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self.descriptor = os.open(self.path, _FLAGS, 0o600)
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(self.descriptor, rest) :]
        self._hash.update(data)
        self.crc32 = zlib.crc32(data, self.crc32)
        self.size += len(data)

    async def keep(self) -> bytes:
        """Make it an image, safe from power cuts; the hash of its content."""
        digest = self._hash.digest()
        await self._files.adopt(self.path, digest)
        return digest


# -- room

_CHUNK = 200
_CLOCKS_DIFFER = SECOND
"""A file system's clock is a little behind. What was stored just before it was evicted is left to the sweep."""


class Evictable(msgspec.Struct, frozen=True):
    """An image that nobody keeps."""

    id: int
    hash: bytes
    bytes: int


class ImageCache:
    """Keeps the image cache below its size."""

    def __init__(self, db: Database, files: ImageFiles, clock: Callable[[], Millis], *, size: int) -> None:
        self._db = db
        self._files = files
        self._clock = clock
        self._size = size
        self._added = 0
        self._evicting: asyncio.Task[None] | None = None

    def stored(self, size: int) -> None:
        """So much was added; now and then this evicts, between the chores."""
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
        """Evict what does not fit, and delete what nothing shows; how much of each."""
        return {
            "failures": await self._forget_failures(),
            "copies": await self._forget_copies(),
            "unreferenced": await self._forget_unreferenced(),
            "evicted": await self.evict(),
        }

    async def evict(self) -> int:
        """Make room, the longest unused first, when there is more than may be; how many went."""
        used = await self._db.read(lambda tx: tx.one(int, q.evictable_bytes))
        if used <= self._size:
            return 0
        count, over = 0, used - ceiling(self._size)
        while over > 0:
            oldest = await self._db.read(lambda tx: tx.many(Evictable, q.oldest_images, most=_CHUNK))
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
        async for some in self._files.digests():
            old = [digest for digest, stored_at in some if stored_at < before]
            rows = [{"hash": digest.hex()} for digest in old]
            known = set(await self._db.read(lambda tx: tx.bulk(bytes, q.stored_hashes, rows)))  # noqa: B023  awaited
            for digest in old:
                if digest not in known:
                    count += await self._files.remove(digest, unless_since=before)
        return count

    async def _evict_aside(self) -> None:
        try:
            await self.evict()
        except (TsuzukiError, OSError) as error:
            # Somebody began to keep one of them, or the disk fails: the chore comes.
            _log.warning("images_not_evicted", reason=str(error))

    async def _forget(self, images: Iterable[Evictable]) -> int:
        ids = [image.id for image in images]
        moment = (self._clock() - _CLOCKS_DIFFER) / SECOND
        hashes = await self._db.with_tx(lambda tx: tx.many(bytes, q.forget_images, ids=ids))
        for digest in hashes:
            await self._files.remove(digest, unless_since=moment)
        return len(hashes)

    async def _forget_unreferenced(self) -> int:
        before, count = Millis(self._clock() - UNREFERENCED_FOR), 0
        while some := await self._db.read(
            lambda tx: tx.many(Evictable, q.unreferenced_images, before=before, most=_CHUNK)
        ):
            gone = await self._forget(some)
            count += gone
            if not gone:
                break
        return count

    async def _forget_failures(self) -> int:
        before, count = Millis(self._clock() - FORGET_FAILURES_AFTER), 0
        while done := await self._db.with_tx(lambda tx: tx.run(q.forget_failures, before=before, most=_CHUNK)):
            count += done
        return count

    async def _forget_copies(self) -> int:
        unkept = await self._db.read(lambda tx: tx.many(ReleaseId, q.unused_copies, most=_CHUNK))
        return sum([await self._forget_copy(release_id) for release_id in unkept])

    async def _forget_copy(self, release_id: ReleaseId) -> bool:
        async def forget(tx: Tx) -> bool:
            await lock_download_tx(tx, release_id)
            return await drop_unused_copy_tx(tx, release_id)

        return await self._db.with_tx(forget)


def _enough(images: Iterable[Evictable], over: int) -> Iterable[Evictable]:
    """The first of these, until so many bytes are reached."""
    for image in images:
        if over <= 0:
            return
        over -= image.bytes
        yield image


async def lock_download_tx(tx: Tx, release_id: ReleaseId) -> None:
    """Let nobody else begin or cease to keep this release until the end of the transaction."""
    check_order(tx, DOWNLOAD, release_id)
    await tx.maybe(int, q.lock_download, release_id=release_id)


async def drop_unused_copy_tx(tx: Tx, release_id: ReleaseId) -> bool:
    """Forget a locked copy that no shelf keeps; False when one does."""
    return bool(await tx.run(q.drop_unused_copy, release_id=release_id))
