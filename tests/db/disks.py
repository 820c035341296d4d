"""A disk that remembers what was written and synced, can refuse, and can be cut off at any moment."""

import random
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import apsw
import msgspec

SECTOR = 512


class Write(msgspec.Struct, frozen=True):
    file: str
    offset: int
    data: bytes


class Truncate(msgspec.Struct, frozen=True):
    file: str
    size: int


class Sync(msgspec.Struct, frozen=True):
    file: str


class Note(msgspec.Struct, frozen=True):
    """Something that happened above the disk at this moment: `ran` or `answered`."""

    what: str
    number: int


Event = Write | Truncate | Sync | Note


class Disk:
    """What happened, in order. `refuse` may raise for an event; then it does not happen."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.refuse: Callable[[Event], None] = lambda _: None
        self._lock = threading.Lock()

    def note(self, event: Event) -> None:
        with self._lock:
            self.events.append(event)

    def allow(self, event: Event) -> None:
        self.refuse(event)

    def syncs(self, ending: str) -> int:
        return sum(isinstance(event, Sync) and event.file.endswith(ending) for event in self.events)


@contextmanager
def watched() -> Iterator[tuple[Disk, str]]:
    """A disk, and the name of the VFS that writes through it to the real one."""
    disk = Disk()
    name = f"watched-{id(disk)}"
    vfs = _WatchedVFS(name, disk)
    try:
        yield disk, name
    finally:
        vfs.unregister()


class _WatchedVFS(apsw.VFS):
    def __init__(self, name: str, disk: Disk) -> None:
        self._disk = disk
        super().__init__(name, "")

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> apsw.VFSFile:  # noqa: N802  SQLite's name
        return _WatchedFile(name, flags, self._disk)


class _WatchedFile(apsw.VFSFile):
    def __init__(self, name: str | apsw.URIFilename | None, flags: list[int], disk: Disk) -> None:
        path = name.filename() if isinstance(name, apsw.URIFilename) else name
        self._name = Path(path or "temporary").name
        self._disk = disk
        super().__init__("", name, flags)

    def xWrite(self, data: Any, offset: int) -> None:  # noqa: N802
        event = Write(self._name, offset, bytes(data))
        self._disk.allow(event)
        super().xWrite(data, offset)
        self._disk.note(event)

    def xTruncate(self, newsize: int) -> None:  # noqa: N802
        event = Truncate(self._name, newsize)
        self._disk.allow(event)
        super().xTruncate(newsize)
        self._disk.note(event)

    def xSync(self, flags: int) -> None:  # noqa: N802
        event = Sync(self._name)
        self._disk.allow(event)
        super().xSync(flags)
        self._disk.note(event)


class AfterPowerCut:
    """The files as a machine may find them when the power went after the first `moment` events.

    What was synced is there. Of what was not, any part is, in any order, each write torn at any sector; a file that was
    never synced may be missing.
    """

    def __init__(self, before: dict[str, bytes], events: Sequence[Event]) -> None:
        self._before = before
        self._events = events

    def write(self, folder: Path, moment: int, rng: random.Random) -> None:
        files: dict[str, bytearray] = {name: bytearray(data) for name, data in self._before.items()}
        unsynced: dict[str, list[Write | Truncate]] = {}
        for event in self._events[:moment]:
            if isinstance(event, Sync):
                for change in unsynced.pop(event.file, []):
                    _apply(files.setdefault(event.file, bytearray()), change)
            elif not isinstance(event, Note):
                unsynced.setdefault(event.file, []).append(event)
        for name, changes in unsynced.items():
            if name in files or rng.random() < 0.8:
                _apply_some(files.setdefault(name, bytearray()), changes, rng)
        for name, data in files.items():
            (folder / name).write_bytes(data)


def _apply(data: bytearray, change: Write | Truncate) -> None:
    if isinstance(change, Truncate):
        data[change.size :] = b""
        return
    if len(data) < change.offset:
        data.extend(bytes(change.offset - len(data)))
    data[change.offset : change.offset + len(change.data)] = change.data


def _apply_some(data: bytearray, changes: list[Write | Truncate], rng: random.Random) -> None:
    """All, none, the first few, or any of them in any order; and each whole or torn."""
    how = rng.choice(("all", "none", "first", "any", "any"))
    if how == "none":
        return
    if how == "first":
        changes = changes[: rng.randint(0, len(changes))]
    elif how == "any":
        changes = rng.sample(changes, rng.randint(0, len(changes)))
    for change in changes:
        for piece in _torn(change, rng) if rng.random() < 0.3 else (change,):
            _apply(data, piece)


def _torn(change: Write | Truncate, rng: random.Random) -> Iterator[Write | Truncate]:
    """Some of the write's sectors; a truncation is whole."""
    if isinstance(change, Truncate):
        yield change
        return
    end = change.offset + len(change.data)
    start = change.offset
    while start < end:
        stop = min(end, (start // SECTOR + 1) * SECTOR)
        if rng.random() < 0.5:
            yield Write(change.file, start, change.data[start - change.offset : stop - change.offset])
        start = stop
