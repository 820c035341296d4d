"""fsync."""

import os
from pathlib import Path


def sync(path: Path) -> None:
    """A file, or the names in a folder, are on the disk when this returns."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
