"""Downloaded chapters as CBZ files in a folder, one folder for each series, as Komga and Kavita read them.

The folder says itself what of it is ours (`STATE`), so nothing else in it is ever touched. A file appears under its
name when it is whole; whoever dies in between leaves a hidden file, which the next run removes.
"""

import asyncio
import errno
import fcntl
import hashlib
import os
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import msgspec
import structlog

from tsuzuki.books.chapters import ChapterFiles
from tsuzuki.books.comic_info import ReleaseFacts, file_name
from tsuzuki.db import Database, load_queries
from tsuzuki.files.disk import sync
from tsuzuki.images.service import Images
from tsuzuki.model.errors import Conflict, TooLarge, Unavailable
from tsuzuki.model.ids import PublicId, show_id
from tsuzuki.model.times import Millis

q = load_queries("tsuzuki.books")

STATE: Final = ".tsuzuki.json"
LOCK: Final = ".tsuzuki.lock"
_TEMPORARY: Final = ".tsuzuki-writing"
_OF_THE_DISK: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO})
"""What goes wrong with one file then goes wrong with all."""
PORTION: Final = 20
"""Files that are written at a time between other maintenance."""

_log = structlog.stdlib.get_logger("tsuzuki.books")


class CopiedRelease(ReleaseFacts, frozen=True):
    """A complete download, whoever has it."""

    copy_id: int
    updated_at: Millis

    @property
    def mark(self) -> str:
        """Another one when its file would be another."""
        return hashlib.sha256(msgspec.json.encode(self)).hexdigest()[:32]


class ExportReport(msgspec.Struct):
    """What a run did."""

    written: int = 0
    removed: int = 0
    left: int = 0
    """Chapters left for the next run."""
    refused: dict[str, str] = {}
    """What was not written or not removed, and why: the others are."""


class FolderExport:
    """Keeps a folder as the downloads are."""

    def __init__(self, db: Database, files: ChapterFiles, images: Images, folder: Path) -> None:
        self._db = db
        self._files = files
        self._images = images
        self._folder = folder

    async def work(self, most: int | None = PORTION) -> ExportReport:
        """Write what is missing or changed, at most so many files, and remove what was downloaded no more."""
        try:
            with self._locked():
                return await self._work(most)
        except BlockingIOError:
            raise Unavailable(f"Another process is writing the folder {self._folder}.") from None
        except OSError as error:
            raise Unavailable(f"The folder {self._folder} cannot be written: {error.strerror}.") from error

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Nobody else writes here; the lock ends with its process."""
        self._folder.mkdir(parents=True, exist_ok=True)
        with (self._folder / LOCK).open("wb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            yield

    async def _work(self, most: int | None) -> ExportReport:
        report = ExportReport()
        wanted = _named(await self._db.read(lambda tx: tx.many(CopiedRelease, q.list_copies)))
        state = await asyncio.to_thread(self._begin)
        taken = {_folded(path) for path in wanted}
        former = sorted(state.keys() - wanted.keys())
        # What differs only in case may be the same file: it goes before its successor comes, the others after theirs.
        await self._remove_all([path for path in former if _folded(path) in taken], state, report)
        try:
            await self._write_all(wanted, state, report, most)
        finally:  # also where the disk is full: something may have room then
            if not report.left:
                await self._remove_all([path for path in former if path in state], state, report)
            await asyncio.to_thread(self._remember, state)
        return report

    async def _remove_all(self, paths: Sequence[str], state: dict[str, str], report: ExportReport) -> None:
        for path in paths:
            try:
                await asyncio.to_thread(self._remove, path)
            except OSError as error:
                self._refuse(path, error, report)
                continue
            del state[path]
            report.removed += 1

    async def _write_all(
        self, wanted: Mapping[str, CopiedRelease], state: dict[str, str], report: ExportReport, most: int | None
    ) -> None:
        missing = await asyncio.to_thread(self._missing, wanted, state)
        for place, path in enumerate(missing):
            if most is not None and report.written >= most:
                report.left = len(missing) - place
                break
            try:
                await self._write(path, wanted[path], is_ours=path in state)
            except (Conflict, TooLarge, Unavailable, OSError) as error:
                self._refuse(path, error, report)
                continue
            state[path] = wanted[path].mark
            report.written += 1
            await asyncio.to_thread(self._remember, state)

    def _refuse(self, path: str, error: Exception, report: ExportReport) -> None:
        """This one stays as it is, the others do not; raises again what goes wrong with all."""
        if isinstance(error, OSError) and error.errno in _OF_THE_DISK:
            raise error
        reason = (error.strerror or "") if isinstance(error, OSError) else str(error)
        _log.warning("chapter_not_exported", path=path, reason=reason)
        report.refused[path] = reason

    def _begin(self) -> dict[str, str]:
        """What is ours, after what a crash left was removed."""
        for path in self._folder.glob(f"{_TEMPORARY}*"):
            path.unlink()
        try:
            return msgspec.json.decode((self._folder / STATE).read_bytes(), type=dict[str, str])
        except FileNotFoundError:
            return {}
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise Unavailable(f"{self._folder / STATE} cannot be read: {error}. Remove it to begin anew.") from None

    def _missing(self, wanted: Mapping[str, CopiedRelease], state: Mapping[str, str]) -> list[str]:
        """What is not there as it should be."""
        return [
            path for path, copy in wanted.items() if state.get(path) != copy.mark or not (self._folder / path).is_file()
        ]

    def _remove(self, path: str) -> None:
        file = self._folder / path
        if ".." in Path(path).parts or Path(path).is_absolute():  # somebody wrote our list
            return
        file.unlink(missing_ok=True)
        with suppress(OSError):  # while something else is in it
            file.parent.rmdir()

    def _remember(self, state: Mapping[str, str]) -> None:
        draft = self._folder / f"{_TEMPORARY}.json"
        with draft.open("wb") as file:
            file.write(msgspec.json.encode(state))
            file.flush()
            os.fsync(file.fileno())
        draft.replace(self._folder / STATE)

    async def _write(self, path: str, copy: CopiedRelease, *, is_ours: bool) -> None:
        """Conflict where another file has this name, unless it is what a crash kept us from remembering."""
        target, draft = self._folder / path, self._folder / f"{_TEMPORARY}.cbz"
        file = await self._files.open_copy(copy.copy_id, copy)
        archive = file.archive
        if not is_ours and target.exists() and target.stat().st_size != archive.size:
            raise Conflict("A file of somebody else has this name.")
        await asyncio.to_thread(target.parent.mkdir, parents=True, exist_ok=True)
        try:
            with draft.open("wb") as written:
                async for piece in archive.pieces(self._images):
                    await asyncio.to_thread(written.write, piece)
                written.flush()
                await asyncio.to_thread(os.fsync, written.fileno())
            await self._files.digest(file, target.name)  # somebody may have it on a device from now on
            await asyncio.to_thread(draft.replace, target)
        finally:
            draft.unlink(missing_ok=True)
        await asyncio.to_thread(sync, target.parent)


def _named(copies: Sequence[CopiedRelease]) -> dict[str, CopiedRelease]:
    """The copies by their paths; where several would have the same path, the later ones get more details in theirs."""
    named: dict[str, CopiedRelease] = {}
    taken: set[str] = set()
    folders = _folders(copies)
    for copy in copies:
        for name in _names(copy):
            path = f"{folders[copy.series_public_id]}/{name}"
            if _folded(path) not in taken:
                taken.add(_folded(path))
                named[path] = copy
                break
    return named


def _folded(path: str) -> str:
    """A key that is equal for paths which some file systems treat as one."""
    return unicodedata.normalize("NFC", path.casefold())


def _names(copy: CopiedRelease) -> Iterator[str]:
    name = copy.file_name.removesuffix(".cbz")
    yield f"{name}.cbz"
    if copy.group_name:
        yield file_name(f"{name} [{copy.group_name}]", ".cbz")
    yield f"{name} [{copy.release_id}].cbz"


def _folders(copies: Sequence[CopiedRelease]) -> dict[PublicId, str]:
    """The folder of each series, named after it; two of one name get their ids added."""
    found: dict[PublicId, str] = {}
    taken: set[str] = set()
    for facts in copies:
        if facts.series_public_id not in found:
            name = file_name(facts.series_title, "")
            if _folded(name) in taken:
                name = f"{name} [{show_id(facts.series_public_id)}]"
            taken.add(_folded(name))
            found[facts.series_public_id] = name
    return found
