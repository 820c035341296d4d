"""Moves the files of an area from one store to another. A run that was interrupted is simply run again."""

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from tsuzuki.files.disk import digest_of
from tsuzuki.files.stores import Area, DamagedFile, FileStore, StoredFile
from tsuzuki.model.errors import Unavailable

AT_ONCE = 8


class MovedFiles(msgspec.Struct, frozen=True):
    """What was moved, and what had to stay."""

    files: int
    bytes: int
    damaged: Sequence[str]
    """Not what their names say."""
    differing: Sequence[str]
    """In both stores, with different contents."""


class FileMove:
    """One move. A file is removed from its store once the other is known to have the same bytes."""

    def __init__(self, source: FileStore, target: FileStore, area: Area) -> None:
        self._source = source
        self._target = target
        self._area = area
        self._moved: list[int] = []
        self._damaged: list[str] = []
        self._differing: list[str] = []

    async def run(self, watch: Callable[[int, int], None]) -> MovedFiles:
        """Move every file; `watch` is called with how many are done, and the total. Unavailable stops it."""
        total = sum([len(files) async for files in self._source.pages()])
        done = 0
        async for files in self._source.pages():
            for first in range(0, len(files), AT_ONCE):
                some = files[first : first + AT_ONCE]
                await asyncio.gather(*map(self._move, some))
                done += len(some)
                watch(done, max(done, total))
        return MovedFiles(len(self._moved), sum(self._moved), sorted(self._damaged), sorted(self._differing))

    async def _move(self, file: StoredFile) -> None:
        try:
            async with self._source.local(file.key, digest=self._area.digest_of(file.key)) as copy:
                is_there = await self._copy(file.key, copy)
        except DamagedFile:
            self._damaged.append(file.key)
            return
        except OSError as error:
            raise Unavailable(f"{file.key} could not be moved: {error.strerror}.") from error
        if is_there:
            await self._source.remove(file.key, unless_since=float("inf"))
            self._moved.append(file.size)

    async def _copy(self, key: str, copy: Path) -> bool:
        """Whether the target has this file now; False when it has another file there that must not be lost."""
        try:
            digest = await asyncio.to_thread(digest_of, copy)
        except FileNotFoundError:  # removed since it was listed
            return False
        expected = self._area.digest_of(key)
        if expected not in {None, digest}:
            raise DamagedFile(f"{key} is damaged.")
        there = await self._target.digest(key)
        if there == digest:
            return True
        if there is not None and expected is None:
            self._differing.append(key)
            return False
        await self._target.put(key, copy, digest=digest)
        if await self._target.digest(key) != digest:
            raise Unavailable(f"{key} could not be read back from {self._target.name} as it was written.")
        return True
