"""A store that is a folder."""

import asyncio
import hashlib
import math
import os
import secrets
import shutil
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from itertools import islice
from pathlib import Path

from tsuzuki.files.disk import digest_of, sync
from tsuzuki.files.stores import Area, DamagedFile, StoredFile

DRAFTS, TRASH = "drafts", "trash"
"""Beside the files: what is being written, and what is being removed."""

_PAGE = 200
_PIECE = 256 * 1024
_NO_WAITING: int | None = getattr(os, "RWF_NOWAIT", None)  # Linux has it


class FolderStore:
    """The files of an area below a folder; a file's key is its path there."""

    def __init__(self, root: Path, area: Area) -> None:
        self.name = str(root)
        self._root = root
        self._area = area

    def path_of(self, key: str) -> Path:
        """Where the file is, or would be."""
        return self._root / key

    def read_at_once(self, key: str, size: int) -> bytes | None:
        """As `FileStore` says. By its length alone: what is in memory was compared when it was written or read."""
        if _NO_WAITING is None:
            return None
        try:
            descriptor = os.open(self.path_of(key), os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return None
        try:
            data = bytearray(size + 1)
            read = os.preadv(descriptor, [data], 0, _NO_WAITING)
        except OSError:  # not in memory, or the file system cannot say
            return None
        finally:
            os.close(descriptor)
        return bytes(data[:size]) if read == size else None

    async def read(self, key: str, *, size: int, digest: bytes) -> bytes | None:
        """As `FileStore` says."""

        def read() -> bytes | None:
            descriptor = self._opened(key, size)
            if descriptor is None:
                return None
            with os.fdopen(descriptor, "rb", buffering=0) as file:
                data = file.readall()
            if hashlib.sha256(data).digest() != digest:
                raise DamagedFile("A stored file is damaged.")
            return data

        return await asyncio.to_thread(read)

    async def open(self, key: str, *, size: int, digest: bytes) -> "_OpenFile | None":
        """As `FileStore` says. Whoever has begun reads on while the file is removed."""
        del digest  # a part cannot be checked by it
        opening = asyncio.ensure_future(asyncio.to_thread(self._opened, key, size))
        try:
            descriptor = await asyncio.shield(opening)
        except asyncio.CancelledError:  # the thread opens it all the same
            opening.add_done_callback(_close_unused)
            raise
        return None if descriptor is None else _OpenFile(descriptor)

    async def find(self, key: str) -> StoredFile | None:
        """As `FileStore` says."""
        return await asyncio.to_thread(self._found, key)

    async def digest(self, key: str) -> bytes | None:
        """As `FileStore` says."""
        try:
            return await asyncio.to_thread(digest_of, self.path_of(key))
        except FileNotFoundError:
            return None

    @asynccontextmanager
    async def local(self, key: str, *, digest: bytes | None = None) -> AsyncIterator[Path]:
        """The file itself."""
        del digest  # what is read on this machine is checked by whoever reads it
        yield self.path_of(key)

    async def put(self, key: str, file: Path, *, digest: bytes | None = None) -> None:
        """As `FileStore` says. Whoever stored the same before loses nothing: the content is the same."""
        del digest
        await asyncio.to_thread(self._put, key, file)

    async def remove(self, key: str, *, unless_since: float) -> bool:
        """As `FileStore` says."""
        return await asyncio.to_thread(self._remove, self.path_of(key), unless_since)

    async def pages(self) -> AsyncIterator[list[StoredFile]]:
        """As `FileStore` says, by their names."""
        files = self._walk()
        while some := await asyncio.to_thread(lambda: list(islice(files, _PAGE))):
            yield some

    def _opened(self, key: str, size: int) -> int | None:
        try:
            descriptor = os.open(self.path_of(key), os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            return None
        if os.fstat(descriptor).st_size != size:
            os.close(descriptor)
            return None
        return descriptor

    def _found(self, key: str) -> StoredFile | None:
        try:
            about = self.path_of(key).stat()
        except FileNotFoundError:
            return None
        return StoredFile(key, about.st_size, about.st_mtime)

    def _put(self, key: str, file: Path) -> None:
        target = self.path_of(key)
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not file.is_relative_to(self._root):  # it may be on another disk, where nothing can be renamed to ours
            part = target.with_name(f"{target.name}.{secrets.token_hex(8)}.part")
            part.touch(0o600)
            shutil.copyfile(file, part)
            file = part
        sync(file)
        if file != target:
            file.replace(target)
        sync(target.parent)

    def _remove(self, path: Path, unless_since: float) -> bool:
        if unless_since == math.inf:
            is_there = path.exists()
            path.unlink(missing_ok=True)
            return is_there
        trash = self._root / TRASH / secrets.token_hex(16)
        trash.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            path.rename(trash)
        except FileNotFoundError:
            return False
        is_old = trash.stat().st_mtime < unless_since
        if not is_old:
            with suppress(FileExistsError):
                path.hardlink_to(trash)
        trash.unlink()
        return is_old

    def _walk(self) -> Iterator[StoredFile]:
        for folder, inner, names in os.walk(self._root):
            inner.sort()
            place = Path(folder).relative_to(self._root)
            for key in sorted((place / name).as_posix() for name in names):
                found = self._found(key) if self._area.owns(key) else None
                if found is not None:
                    yield found


def _close_unused(opening: asyncio.Future[int | None]) -> None:
    descriptor = None if opening.cancelled() or opening.exception() else opening.result()
    if descriptor is not None:
        os.close(descriptor)


class _OpenFile:
    """A descriptor."""

    piece = _PIECE

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    async def read(self, start: int, end: int) -> bytes:
        data = await asyncio.to_thread(os.pread, self._descriptor, end - start, start)
        if len(data) != end - start:
            raise DamagedFile("A stored file became shorter while it was read.")
        return data

    def close(self) -> None:
        os.close(self._descriptor)
