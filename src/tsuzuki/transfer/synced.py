"""What the clients of SyncYomi share: one backup for each shelf, in versions. It is kept as it came, and not read."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec

from tsuzuki.db import Database, Tx, load_queries
from tsuzuki.db.locks import lock_shelf_tx
from tsuzuki.files.disk import digest_of
from tsuzuki.files.stores import FileStore, OpenFile
from tsuzuki.model.errors import NotFound, TsuzukiError, Unavailable
from tsuzuki.model.ids import ShelfId
from tsuzuki.model.times import DAY, SECOND, Millis

q = load_queries("tsuzuki.transfer.synced")

MOST_BYTES = 64 * 1024 * 1024
ANY = "*"
VERSIONS = 5
"""Versions stored for each shelf, to restore what a broken client overwrote."""
AT_ONCE = 4
"""Bodies that are received at the same time, in each process; the others wait."""
PATIENCE_S = 20.0
"""How long: clients give up after thirty seconds."""
NO_VERSION = "There is no such version."


class StaleVersion(TsuzukiError):
    """Another device wrote meanwhile."""

    code = "STALE_VERSION"


class SyncedBackup(msgspec.Struct, frozen=True):
    """A version of a shelf's backup."""

    id: int
    etag: str
    file_key: str
    size: int
    sha256: bytes
    created_at: Millis


class SyncedBackups:
    """Stores what devices write, and gives it out again, byte for byte."""

    def __init__(self, db: Database, files: FileStore, clock: Callable[[], Millis], *, drafts: Path) -> None:
        self._db = db
        self._files = files
        self._clock = clock
        self._drafts = drafts
        self._places = asyncio.Semaphore(AT_ONCE)

    @asynccontextmanager
    async def draft(self) -> AsyncIterator[Path]:
        """A file for what a device writes, on the disk of our data; Unavailable while too many others write.

        A folder for temporary files may be in memory, where a few large backups would leave no room for us.
        """
        try:
            async with asyncio.timeout(PATIENCE_S):
                await self._places.acquire()
        except TimeoutError:
            raise Unavailable("Too many devices are synchronising at the moment.") from None
        path = self._drafts / f"synced-{os.urandom(16).hex()}"
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            path.touch(mode=0o600)
            yield path
        finally:
            path.unlink(missing_ok=True)
            self._places.release()

    async def newest(self, shelf_id: ShelfId) -> SyncedBackup | None:
        """The version that counts; None when no device wrote yet."""
        return await self._db.read(lambda tx: tx.maybe(SyncedBackup, q.newest, shelf_id=shelf_id))

    async def list(self, shelf_id: ShelfId) -> list[SyncedBackup]:
        """The versions that are kept, the one that counts first."""
        return await self._db.read(lambda tx: tx.many(SyncedBackup, q.list_versions, shelf_id=shelf_id))

    async def get(self, shelf_id: ShelfId, version_id: int) -> SyncedBackup:
        """A version of this shelf; NotFound."""
        wanted = {"shelf_id": shelf_id, "id": version_id}
        found = await self._db.read(lambda tx: tx.maybe(SyncedBackup, q.find_version, **wanted))
        if found is None:
            raise NotFound(NO_VERSION)
        return found

    async def restore(self, shelf_id: ShelfId, version_id: int) -> SyncedBackup:
        """Make an older version the one that counts, as a new one: devices get it when they synchronise next."""
        wanted = await self.get(shelf_id, version_id)
        pieces = await self.pieces(wanted)
        async with self.draft() as draft:
            with draft.open("wb") as file:
                async for piece in pieces:
                    await asyncio.to_thread(file.write, piece)
            return await self.put(shelf_id, draft, instead_of=None)

    async def pieces(self, backup: SyncedBackup) -> AsyncIterator[bytes]:
        """Its bytes; Unavailable, before the first, when the file is not there."""
        file = await self._files.open(backup.file_key, size=backup.size, digest=backup.sha256)
        if file is None:
            raise Unavailable("The synchronised library cannot be read at the moment.")
        return _pieces(file, backup.size)

    async def put(self, shelf_id: ShelfId, draft: Path, *, instead_of: Sequence[str] | None) -> SyncedBackup:
        """Store a new version; StaleVersion, and nothing stored, unless it replaces one of these. None is any."""
        name = os.urandom(16).hex()
        size, digest = await asyncio.to_thread(lambda: (draft.stat().st_size, digest_of(draft)))
        key = f"{name}.tachibk"
        await self._files.put(key, draft, digest=digest)

        async def store(tx: Tx) -> tuple[SyncedBackup | None, list[str]]:
            await lock_shelf_tx(tx, shelf_id)
            before = await tx.maybe(SyncedBackup, q.newest, shelf_id=shelf_id)
            if instead_of is not None and (before is None or not {before.etag, ANY} & set(instead_of)):
                return None, [key]
            said = {"etag": f"uuid={name}", "file_key": key, "size": size, "sha256": digest, "now": self._clock()}
            made = await tx.one(SyncedBackup, q.add_version, shelf_id=shelf_id, **said)
            return made, await tx.many(str, q.drop_old, shelf_id=shelf_id, most=VERSIONS)

        made, gone = await self._db.with_tx(store)
        for old in gone:
            await self._files.remove(old, unless_since=float("inf"))
        if made is None:
            raise StaleVersion("Another device has written in the meantime.")
        return made

    async def tidy(self) -> int:
        """Remove files that no version has any more; how many."""
        wanted = set(await self._db.read(lambda tx: tx.many(str, q.keys)))
        since = (self._clock() - DAY) / SECOND
        removed = 0
        async for page in self._files.pages():
            for file in page:
                if file.key not in wanted:
                    removed += await self._files.remove(file.key, unless_since=since)
        return removed


async def _pieces(file: OpenFile, size: int) -> AsyncIterator[bytes]:
    try:
        for start in range(0, size, file.piece):
            yield await file.read(start, min(size, start + file.piece))
    finally:
        file.close()
