"""What a store of files can do. A file is in it whole or not at all, and is read as it was written."""

import re
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Protocol

import msgspec

from tsuzuki.model.errors import Unavailable


class Area(msgspec.Struct, frozen=True):
    """A folder of the store, and which keys in it are ours."""

    name: str
    pattern: re.Pattern[str]
    is_by_hash: bool = False
    """Whether a key ends in the sha256 of its file."""

    def owns(self, key: str) -> bool:
        """Whether a file of this key is one of ours; others are left alone."""
        return self.pattern.fullmatch(key) is not None

    def digest_of(self, key: str) -> bytes | None:
        """The hash that the file of this key must have; None where any will do."""
        return bytes.fromhex(key[-64:]) if self.is_by_hash else None


IMAGES = Area("images", re.compile(r"([0-9a-f]{2})/([0-9a-f]{2})/\1\2[0-9a-f]{60}"), is_by_hash=True)
ARCHIVE = Area("archive", re.compile(r"crawl_log_\d{4}_\d{2}\.jsonl\.gz", re.ASCII))
IMPORTS = Area("imports", re.compile(r"[0-9a-f]{32}\.zip"))
SYNCED = Area("synced", re.compile(r"[0-9a-f]{32}\.tachibk"))
AREAS = (IMAGES, ARCHIVE, IMPORTS, SYNCED)


class DamagedFile(Unavailable):
    """What is stored is not what was written."""


class StoredFile(msgspec.Struct, frozen=True):
    """A file as a store lists it."""

    key: str
    size: int
    stored_at: float
    """In seconds, by the clock of the store."""


class OpenFile(Protocol):
    """A file that is read in parts; whoever opened it closes it."""

    piece: int
    """Bytes that are best read at once."""

    async def read(self, start: int, end: int) -> bytes:
        """These bytes; DamagedFile where they are not all there any more."""
        ...

    def close(self) -> None: ...


class FileStore(Protocol):
    """The files of one area by their keys. Unavailable when the store does not answer."""

    name: str
    """The name of the store for people; without credentials."""

    def read_at_once(self, key: str, size: int) -> bytes | None:
        """The whole file, if that takes no waiting: this one may be called on the event loop."""
        ...

    async def read(self, key: str, *, size: int, digest: bytes) -> bytes | None:
        """The whole file; None when it is not there or not as long. DamagedFile for another content."""
        ...

    async def open(self, key: str, *, size: int, digest: bytes) -> OpenFile | None:
        """The file, to read parts of; None as for `read`."""
        ...

    async def find(self, key: str) -> StoredFile | None:
        """The file, if it is there."""
        ...

    async def digest(self, key: str) -> bytes | None:
        """The sha256 of the file, read from its first byte to its last; None when it is not there."""
        ...

    def local(self, key: str, *, digest: bytes | None = None) -> AbstractAsyncContextManager[Path]:
        """A path with the file's content within the block, and without a file where the store has none.

        It may be the stored file itself: replace it, never change it. DamagedFile when the content is another.
        """
        ...

    async def put(self, key: str, file: Path, *, digest: bytes | None = None) -> None:
        """Store a file under this key, all at once and safe from power cuts. `file` may be gone afterwards."""
        ...

    async def remove(self, key: str, *, unless_since: float) -> bool:
        """Remove the file unless it was stored (again) since that moment; False when it stays or was not there."""
        ...

    def pages(self) -> AsyncIterator[Sequence[StoredFile]]:
        """Every file of ours, some at a time."""
        ...
