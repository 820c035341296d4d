"""Images on disk, by the hash of their content: `ab/cd/abcd...`. Several processes may share the folder.

A file is written beside, synced and renamed, so that under its name there is a whole image or none, whatever dies. A
file goes by way of `trash/`: whoever removes one looks once more there, and puts back what somebody has stored anew in
the same moment. All of this blocks, and is called in threads.
"""

import hashlib
import os
import secrets
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Self

from tsuzuki.db.disk import sync

_DRAFTS, _TRASH = "drafts", "trash"
_NAME_LENGTH = 64
_NO_WAITING: int | None = getattr(os, "RWF_NOWAIT", None)  # Linux has it
_FLAGS = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC


class ImageFiles:
    """The folder."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def path_of(self, digest: bytes) -> Path:
        """Where an image of this content is, or would be."""
        name = digest.hex()
        return self._root / name[:2] / name[2:4] / name

    def draft(self) -> "Draft":
        """A new file that is nobody's image yet."""
        return Draft(self, self._made(_DRAFTS) / secrets.token_hex(16))

    def open(self, digest: bytes, size: int) -> int | None:
        """A descriptor of the file; None when it is not here, or not as long as it was."""
        try:
            descriptor = os.open(self.path_of(digest), os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            return None
        if os.fstat(descriptor).st_size != size:
            os.close(descriptor)
            return None
        return descriptor

    def read_at_once(self, digest: bytes, size: int) -> bytes | None:
        """The whole file, if that takes no waiting for the disk: this one may be called on the event loop."""
        if _NO_WAITING is None:
            return None
        try:
            descriptor = os.open(self.path_of(digest), os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return None
        try:
            data = bytearray(size + 1)
            read = os.preadv(descriptor, [data], 0, _NO_WAITING)
        except OSError:  # not in memory, or a file system that cannot tell
            return None
        finally:
            os.close(descriptor)
        return bytes(data[:size]) if read == size else None

    def read(self, digest: bytes, size: int) -> bytes | None:
        """The whole file; None as for `open`."""
        descriptor = self.open(digest, size)
        if descriptor is None:
            return None
        with os.fdopen(descriptor, "rb", buffering=0) as file:
            return file.readall()

    def has(self, digest: bytes, size: int) -> bool:
        """Whether the file is here, and as long as it was."""
        try:
            return self.path_of(digest).stat().st_size == size
        except FileNotFoundError:
            return False

    def remove(self, digest: bytes, *, unless_since: float) -> bool:
        """Remove the file unless it was stored (again) since that moment; False when it stays or was not there."""
        trash = self._made(_TRASH) / secrets.token_hex(16)
        path = self.path_of(digest)
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

    def digests(self) -> Iterator[tuple[bytes, float]]:
        """Every file with the moment at which it was stored."""
        for first in sorted(self._folders(self._root)):
            for second in sorted(self._folders(first)):
                yield from self._stored(second)

    def sweep(self, *, before: float) -> int:
        """Remove what was begun before that moment and never became an image; how many."""
        count = 0
        for folder in (_DRAFTS, _TRASH):
            for path in self._entries(self._root / folder):
                with suppress(FileNotFoundError):
                    if path.stat().st_mtime < before:
                        path.unlink()
                        count += 1
        return count

    def adopt(self, draft: Path, digest: bytes) -> None:
        """Give a synced draft its name. Whoever stored the same before loses nothing: the content is the same."""
        path = self.path_of(digest)
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        draft.replace(path)
        sync(path.parent)

    def _made(self, name: str) -> Path:
        folder = self._root / name
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return folder

    @staticmethod
    def _entries(folder: Path) -> list[Path]:
        try:
            return list(folder.iterdir())
        except FileNotFoundError:
            return []

    def _folders(self, folder: Path) -> list[Path]:
        return [path for path in self._entries(folder) if len(path.name) == 2 and path.is_dir()]

    def _stored(self, folder: Path) -> Iterator[tuple[bytes, float]]:
        for path in self._entries(folder):
            with suppress(ValueError, FileNotFoundError):
                if len(path.name) == _NAME_LENGTH:
                    yield bytes.fromhex(path.name), path.stat().st_mtime


class Draft:
    """A file that is being written; gone at the end of its block unless it was kept."""

    def __init__(self, files: ImageFiles, path: Path) -> None:
        self._files = files
        self.path = path
        self.size = 0
        self._hash = hashlib.sha256()
        self.descriptor = os.open(path, _FLAGS, 0o600)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Write no more; what was not kept is gone."""
        os.close(self.descriptor)
        with suppress(FileNotFoundError):
            self.path.unlink()

    def write(self, data: bytes) -> None:
        """Append."""
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(self.descriptor, rest) :]
        self._hash.update(data)
        self.size += len(data)

    def keep(self) -> bytes:
        """Make it an image, safe from power cuts; the hash of its content."""
        os.fsync(self.descriptor)
        digest = self._hash.digest()
        self._files.adopt(self.path, digest)
        return digest


class Drafted:
    """A draft that is begun with its first bytes: one trip to the disk instead of two before anything is shown."""

    def __init__(self, files: ImageFiles) -> None:
        self._files = files
        self._draft: Draft | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._draft is not None:
            self._draft.close()

    @property
    def draft(self) -> Draft:
        """The draft, once something was written."""
        assert self._draft is not None
        return self._draft

    def write(self, data: bytes) -> Draft:
        """Append."""
        if self._draft is None:
            self._draft = self._files.draft()
        self._draft.write(data)
        return self._draft
