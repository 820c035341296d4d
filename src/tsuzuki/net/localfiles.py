"""Reads folders, files and archives below one root, and nothing else.

Names come from addresses and from archives that strangers packed. Every part of a path is opened by itself, without
following links, from the root's own descriptor, so that neither `..` nor a link that appears in between leads out
(SEC-23). What an archive says of its sizes is checked before, and counted while, it is inflated (SEC-22).
"""

import asyncio
import errno
import os
import re
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from tsuzuki.model.documents import partial_md5
from tsuzuki.model.errors import NotAFeed, RefusedAddress, SourceError, TooLarge, Unreachable
from tsuzuki.model.requests import DigestFile, FileEntry, LocalAnswer, ReadArchive, ReadFile, ReadFolder, ReadLocal
from tsuzuki.model.times import Millis

MAX_FILES = 20_000
MAX_ENTRIES = 5000
MAX_RATIO = 100
MAX_TOTAL = 2 * 1024**3
MAX_DIRECTORY = 8 * 1024 * 1024
"""Bytes of an archive's table of contents, which is read as a whole."""
SMALL = 1024
"""Below this an entry counts as this large: a few bytes may be packed as well as they like."""
CHUNK = 64 * 1024
MAX_DEPTH = 32

_END = struct.Struct("<4s4H2LH")
_END_MARK, _ZIP64_MARK = b"PK\x05\x06", b"PK\x06\x07"
_ZIP64_SIZE = 20
_BROKEN = (zipfile.BadZipFile, zlib.error, EOFError, struct.error, ValueError, RuntimeError, OverflowError)
_FOREIGN = re.compile(r"[\x00-\x1f\x7f\\\ud800-\udfff]")
_METHODS = frozenset({zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED})
_FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
"""Non-blocking, or the opening of a pipe would wait for its other end."""


class LocalFiles:
    """The reader of one source's folder. The root itself may be a link: the operator chose it."""

    def __init__(self, root: Path) -> None:
        self._root = root

    async def read(self, want: ReadLocal) -> LocalAnswer:
        """What a connector wants, read in a thread. `SourceError`s only."""
        return await asyncio.to_thread(self.answer, want)

    def answer(self, want: ReadLocal) -> LocalAnswer:
        """The same for who is in a thread already."""
        try:
            match want:
                case ReadFolder(path=path):
                    return self._folder(path)
                case ReadArchive(path=path):
                    return self._archive(path)
                case DigestFile(path=path):
                    with self._opened_file(path) as file:
                        return partial_md5(file)
                case ReadFile(path=path, entry=None, max_bytes=cap):
                    return self._file(path, cap)
                case ReadFile(path=path, entry=entry, max_bytes=cap):
                    return self._entry(path, str(entry), cap)
        except OSError as error:
            raise _named(want.path, error) from error

    def _folder(self, path: str) -> tuple[FileEntry, ...]:
        with self._opened_folder(_parts(path)) as folder, os.scandir(folder) as entries:
            found = []
            for entry in entries:
                listed = _listed(entry)
                found += [listed] if listed else []
                if len(found) > MAX_FILES:
                    raise TooLarge(f"{path or 'The folder'} has more than {MAX_FILES} files.")
        return tuple(found)

    def _file(self, path: str, cap: int) -> bytes:
        with self._opened_file(path) as file:
            data = file.read(cap + 1)
        if len(data) > cap:
            raise TooLarge(f"{path} is larger than {cap} bytes.")
        return data

    def _archive(self, path: str) -> tuple[FileEntry, ...]:
        with self._opened_file(path) as file, _opened_archive(path, file) as archive:
            return tuple(
                FileEntry(entry.filename.rstrip("/"), entry.is_dir(), entry.file_size, modified_at=Millis(0))
                for entry in archive.infolist()
            )

    def _entry(self, path: str, name: str, cap: int) -> bytes:
        with self._opened_file(path) as file, _opened_archive(path, file) as archive:
            found = next((entry for entry in archive.infolist() if entry.filename == name), None)
            if found is None or found.is_dir():
                raise Unreachable(f"There is no {name!r} in {path}.")
            return _inflated(archive, found, cap)

    @contextmanager
    def _opened_folder(self, parts: tuple[str, ...]) -> Iterator[int]:
        """Walked part by part; each is opened from the one before it."""
        current = os.open(self._root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            for part in parts:
                inner = os.open(part, _FOLDER_FLAGS, dir_fd=current)
                os.close(current)
                current = inner
            yield current
        finally:
            os.close(current)

    @contextmanager
    def _opened_file(self, path: str) -> Iterator[BinaryIO]:
        parts = _parts(path)
        if not parts:
            raise RefusedAddress("A folder is not a file.")
        with self._opened_folder(parts[:-1]) as folder:
            descriptor = os.open(parts[-1], _FILE_FLAGS, dir_fd=folder)
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise RefusedAddress(f"{path} is not a plain file.")
        with os.fdopen(descriptor, "rb") as file:
            yield file


def _parts(path: str) -> tuple[str, ...]:
    """The parts of a path below the root; `RefusedAddress` for one that could mean something else."""
    parts = tuple(part for part in path.split("/") if part)
    if path.startswith("/") or len(parts) > MAX_DEPTH or not all(_is_plain(part) for part in parts):
        raise RefusedAddress(f"{path[:200]!r} is not a path below the source's folder.")
    return parts


def _is_plain(part: str) -> bool:
    """No way up, no control characters, nothing that another system would read as a drive or a separator."""
    has_drive = len(part) > 1 and part[1] == ":" and part[0].isalpha()
    return part not in {".", ".."} and not _FOREIGN.search(part) and not has_drive


def _named(path: str, error: OSError) -> SourceError:
    if isinstance(error, FileNotFoundError):
        return Unreachable(f"{path or 'The folder'} does not exist (any more).")
    if isinstance(error, PermissionError):
        return Unreachable(f"{path or 'The folder'} cannot be read: this server lacks permission.")
    if isinstance(error, NotADirectoryError) or error.errno == errno.ELOOP:
        return RefusedAddress(f"{path or 'The folder'} is a link, or not what it should be.")
    return Unreachable(f"{path or 'The folder'} cannot be read: {error.strerror}.")


def _listed(entry: os.DirEntry[str]) -> FileEntry | None:
    """None for links, pipes and devices, and for names that no address can carry."""
    if entry.is_symlink() or not _is_plain(entry.name):
        return None
    try:
        about = entry.stat(follow_symlinks=False)
    except OSError:  # it went away while we looked
        return None
    is_folder = stat.S_ISDIR(about.st_mode)
    if not is_folder and not stat.S_ISREG(about.st_mode):
        return None
    return FileEntry(
        entry.name, is_folder=is_folder, size=about.st_size, modified_at=Millis(about.st_mtime_ns // 10**6)
    )


@contextmanager
def _opened_archive(path: str, file: BinaryIO) -> Iterator[zipfile.ZipFile]:
    """The archive, its table of contents within its limits; `NotAFeed` for what is broken."""
    size = os.fstat(file.fileno()).st_size
    try:
        _check_directory_size(path, file, size)
        with zipfile.ZipFile(file) as archive:
            _check_entries(path, archive.infolist(), size)
            yield archive
    except _BROKEN as error:
        raise NotAFeed(f"{path} is not a readable archive: {error}.") from error


def _check_directory_size(path: str, file: BinaryIO, size: int) -> None:
    """Before `zipfile` reads the whole table of contents into memory."""
    tail_size = min(size, _END.size + 65535 + _ZIP64_SIZE)
    file.seek(size - tail_size)
    tail = file.read(tail_size)
    end = tail.rfind(_END_MARK)
    if end < 0 or len(tail) < end + _END.size:
        raise zipfile.BadZipFile("it has no end")
    _, _, _, _, count, directory, _, _ = _END.unpack_from(tail, end)
    is_zip64 = tail[max(0, end - _ZIP64_SIZE) : end].startswith(_ZIP64_MARK)
    if is_zip64 or count > MAX_ENTRIES or directory > MAX_DIRECTORY:
        raise TooLarge(f"{path} has more than {MAX_ENTRIES} entries.")
    file.seek(0)


def _check_entries(path: str, entries: list[zipfile.ZipInfo], size: int) -> None:
    names = set()
    for entry in entries:
        _check_entry(path, entry)
        name = entry.filename.rstrip("/")
        if name in names:
            raise NotAFeed(f"{path} has two entries named {entry.filename!r}.")
        names.add(name)
        if entry.file_size > MAX_RATIO * max(SMALL, min(entry.compress_size, size)):
            raise TooLarge(f"{entry.filename!r} in {path} would inflate more than {MAX_RATIO} times.")
    if len(entries) > MAX_ENTRIES or sum(entry.file_size for entry in entries) > MAX_TOTAL:
        raise TooLarge(f"{path} has more than {MAX_ENTRIES} entries or {MAX_TOTAL} bytes.")


def _check_entry(path: str, entry: zipfile.ZipInfo) -> None:
    """`orig_filename`, because `zipfile` cuts a name at its NUL and so hides what it was."""
    name = entry.orig_filename
    parts = name.removesuffix("/").split("/")
    if name.startswith("/") or len(parts) > MAX_DEPTH or not all(part and _is_plain(part) for part in parts):
        raise RefusedAddress(f"{path} has an entry with the name {name[:200]!r}.")
    if stat.S_ISLNK(entry.external_attr >> 16):
        raise RefusedAddress(f"{path} has a link in it: {name!r}.")
    if entry.flag_bits & 1 or entry.compress_type not in _METHODS:
        raise NotAFeed(f"{path} is encrypted, or its compression is not supported.")


def _inflated(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, cap: int) -> bytes:
    """The entry, counted as it grows: what it said of its size is not believed."""
    size = os.fstat(archive.fp.fileno()).st_size if archive.fp else 0
    most = min(cap, MAX_RATIO * max(SMALL, min(entry.compress_size, size)))
    chunks, total = [], 0
    with archive.open(entry) as stream:
        while chunk := stream.read(CHUNK):
            total += len(chunk)
            if total > most:
                raise TooLarge(f"{entry.filename!r} is larger than {most} bytes.")
            chunks.append(chunk)
    return b"".join(chunks)
