"""The file of an archived month: gzipped JSON lines, oldest first."""

import contextlib
import gzip
import hashlib
import os
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from tsuzuki.db.disk import sync
from tsuzuki.db.errors import DatabaseError
from tsuzuki.db.log.store import StoredLogRow
from tsuzuki.model.times import Millis


class ArchivedLogLine(msgspec.Struct, frozen=True):
    """A row of the log as a line; the id in hex digits."""

    created_at: Millis
    id: str
    job_id: int
    level: str
    message: str
    meta: Any = None

    @property
    def place(self) -> tuple[Millis, str]:
        """What lines are ordered by, and known by."""
        return self.created_at, self.id


def read_archive(file: Path) -> Iterator[ArchivedLogLine]:
    """The lines of an archive."""
    decoder = msgspec.json.Decoder(ArchivedLogLine)
    with gzip.open(file, "rb") as lines:
        yield from map(decoder.decode, lines)


class LogArchiveWriter:
    """Writes beside the file and takes its place only once it is whole, on disk, and was read back."""

    def __init__(self, file: Path) -> None:
        file.parent.mkdir(parents=True, exist_ok=True)
        for left_over in file.parent.glob(f"{file.name}.*.part"):
            left_over.unlink()
        self._file = file
        self._old = read_archive(file) if file.exists() else iter(())
        self._held = next(self._old, None)
        descriptor, name = tempfile.mkstemp(prefix=f"{file.name}.", suffix=".part", dir=file.parent)
        self._part = Path(name)
        self._raw = os.fdopen(descriptor, "wb")
        self._gzip = gzip.GzipFile(filename="", fileobj=self._raw, mode="wb")
        self._digest = hashlib.sha256()

    def add(self, rows: Iterable[StoredLogRow]) -> None:
        """The next rows, later than all before; lines of the old file are put in where they belong."""
        for row in rows:
            new = ArchivedLogLine(row.created_at, row.id.hex(), row.job_id, row.level, row.message, row.meta)
            self._write_old(before=new)
            if self._held is not None and self._held.place == new.place:
                self._held = next(self._old, None)
            self._write(new)

    def finish(self) -> None:
        """Make it the archive."""
        self._write_old()
        self._gzip.close()
        self._raw.flush()
        os.fsync(self._raw.fileno())
        with gzip.open(self._part, "rb") as content:
            if hashlib.file_digest(content, "sha256").digest() != self._digest.digest():
                raise DatabaseError(f"{self._part} could not be read back as it was written")
        self._part.replace(self._file)
        sync(self._file.parent)

    def close(self) -> None:
        """Let go of everything; an unfinished file vanishes."""
        with self._raw, contextlib.suppress(OSError):  # a full disk refuses even the end of the file
            self._gzip.close()
        self._part.unlink(missing_ok=True)

    def _write_old(self, before: ArchivedLogLine | None = None) -> None:
        while self._held is not None and (before is None or self._held.place < before.place):
            self._write(self._held)
            self._held = next(self._old, None)

    def _write(self, line: ArchivedLogLine) -> None:
        data = msgspec.json.encode(line) + b"\n"
        self._digest.update(data)
        self._gzip.write(data)
