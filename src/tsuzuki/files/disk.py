"""Files of this machine: fsync, and the hash of a whole one."""

import hashlib
import os
from pathlib import Path


def sync(path: Path) -> None:
    """A file, or the names in a folder, are on the disk when this returns."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def digest_of(path: Path) -> bytes:
    """The sha256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").digest()
