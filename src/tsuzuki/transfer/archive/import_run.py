"""What the parts of an import share: the shelf, the archive's reader, and how lines become rows."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Hashable, Iterator, Sequence
from functools import partial
from itertools import groupby
from typing import Any, Protocol

import msgspec

from tsuzuki.db import Tx
from tsuzuki.db.deadlines import with_tx_again
from tsuzuki.db.errors import ForeignKeyViolation, UniqueViolation
from tsuzuki.ingest.service import OF_ITS_CONTENT
from tsuzuki.model.errors import SourceError
from tsuzuki.model.ids import FeedId, GroupId, SeriesId, ShelfId, SourceId
from tsuzuki.model.requests import Parsers
from tsuzuki.model.times import MINUTE, SECOND, Millis
from tsuzuki.shelves.deps import ShelfDeps
from tsuzuki.transfer.archive.container import ArchiveReader, NumberedLine, Watch
from tsuzuki.transfer.archive.format import PARTS, FeedKey
from tsuzuki.transfer.archive.journal import ImportJournal, LineCounts
from tsuzuki.transfer.archive.sanitiser import clean_lines
from tsuzuki.transfer.archive.store import has_shelf_tx
from tsuzuki.transfer.archive.undo_log import UndoLog
from tsuzuki.transfer.clean_rows import clean_rows

CHUNK = 200

_SOON = 2 * MINUTE
_APART = 10 * SECOND
_SPREAD = 30 * MINUTE
"""How long the first checks of all take at most, however many there are."""

Run = Sequence[NumberedLine]


class Work(Protocol):
    """Writes a run of lines, and remembers nothing outside of its transaction."""

    def __call__(self, tx: Tx, run: Run) -> Coroutine[Any, Any, LineCounts]:
        """How many came."""
        ...


class KnownNames(msgspec.Struct):
    """The archive's names, resolved to what is here."""

    default_group: GroupId
    groups: dict[str, GroupId] = {}
    feeds: dict[FeedKey, FeedId] = {}
    sources: dict[str, SourceId] = {}
    series: dict[str, SeriesId] = {}

    def group(self, name: str | None) -> GroupId:
        """The group of this name; the default group if there is none."""
        return self.default_group if name is None else self.groups.get(name, self.default_group)


class ImportRun:
    """One import."""

    def __init__(
        self,
        deps: ShelfDeps,
        shelf_id: ShelfId,
        archive: ArchiveReader,
        *,
        parsers: Parsers,
        journal: ImportJournal,
        watch: Watch,
        undo_log: UndoLog,
    ) -> None:
        self.deps = deps
        self.undo_log = undo_log
        self.shelf_id = shelf_id
        self.archive = archive
        self.journal = journal
        self._parsers = parsers
        self._watch = watch
        self._placed = 0
        self._places = max(1, sum(archive.manifest.parts[name].lines for name in ("feeds.jsonl", "series.jsonl")))

    def due(self) -> Millis:
        """When the next new watch is first polled; they are spread over half an hour."""
        self._placed += 1
        return Millis(self.deps.clock() + _SOON + min(_APART * self._placed, _SPREAD * self._placed // self._places))

    async def chunks(self, part: str, of: Callable[[Any], Hashable] = id) -> AsyncIterator[list[NumberedLine]]:
        """The cleaned lines of a part, those of one thing together; what cannot be stored is reported."""
        chunks = _chunks(self.archive.lines(part), of)
        total = self.archive.manifest.parts[part].lines
        while chunk := await asyncio.to_thread(next, chunks, None):
            yield await self._cleaned(chunk, part)
            self.journal.part, self.journal.line = part, chunk[-1].number
            self._watch(f"bring {part}", chunk[-1].number, total)

    async def store(self, part: str, work: Work, of: Callable[[Any], Hashable] = lambda _: None) -> None:
        """Let `work` write all lines of a part, those of one thing together, a transaction for each run of them."""
        async for chunk in self.chunks(part, of):
            for _, run in groupby(chunk, key=lambda each: of(each.line)):
                await self.attempt(part, list(run), work)

    async def attempt(self, part: str, run: Run, work: Work) -> bool:
        """Write these; where they cannot be written together, each by itself, so that one of them is left out alone.

        False when none was written. ForeignKeyViolation when there is no shelf any more.
        """
        try:
            counts = await with_tx_again(self.deps.db, partial(work, run=run))
        except (*OF_ITS_CONTENT, UniqueViolation) as error:
            if isinstance(error, ForeignKeyViolation) and not await self.has_shelf():
                raise  # no line can be stored any more
            if len(run) == 1:
                self.journal.leave_out(run[0], f"it cannot be stored: {error}")
                return False
            return any([await self.attempt(part, [each], work) for each in run])
        self.journal.count(part, counts)
        return True

    async def has_shelf(self) -> bool:
        """Whether the shelf still exists."""
        return await self.deps.db.read(partial(has_shelf_tx, shelf_id=self.shelf_id))

    async def _cleaned(self, chunk: Run, part: str) -> list[NumberedLine]:
        kept = []
        lines = [msgspec.msgpack.encode(each.line) for each in chunk]
        cleaned = await clean_rows(self._parsers, clean_lines, lines, part, self.deps.db.engine)
        for each, (_, clean) in zip(chunk, cleaned, strict=True):
            why = str(clean) if isinstance(clean, SourceError) else clean.why
            if isinstance(clean, SourceError) or why is not None:
                self.journal.leave_out(each, why or "")
                continue
            line = msgspec.msgpack.decode(clean.line, type=PARTS[part])
            if each.was_cleaned or line != each.line:
                self.journal.note(each, "unsafe content in it was removed.")
            kept.append(msgspec.structs.replace(each, line=line, words=clean.words))
        return kept


def _chunks(lines: Iterator[NumberedLine], of: Callable[[Any], Hashable]) -> Iterator[list[NumberedLine]]:
    chunk: list[NumberedLine] = []
    for each in lines:
        # Lines of one thing stay together, unless there are so many that memory would not be bounded.
        if len(chunk) >= CHUNK and (len(chunk) >= 2 * CHUNK or of(each.line) != of(chunk[-1].line)):
            yield chunk
            chunk = []
        chunk.append(each)
    if chunk:
        yield chunk
