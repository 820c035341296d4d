"""Does imports, and undoes them: the tasks of their queue."""

import asyncio
import re
from collections.abc import Callable, Mapping
from contextlib import aclosing, suppress
from functools import partial
from typing import Any, Final

import msgspec
import structlog

from tsuzuki.db import Tx
from tsuzuki.db.deadlines import long_deadline, with_tx_again
from tsuzuki.db.locks import lock_reading_tx, lock_series_merges_shared_tx, lock_shelf_tx
from tsuzuki.files.stores import FileStore
from tsuzuki.model.errors import NotFound, TsuzukiError, Unavailable
from tsuzuki.model.ids import PublicId, SeriesId
from tsuzuki.queue.errors import LeaseLost
from tsuzuki.queue.policy import QueueSettings, storable
from tsuzuki.queue.tasks import Queue, Task, finish_tx, skip_tx
from tsuzuki.shelves.events import EVENTS_WAKEUP, counts_changed_tx
from tsuzuki.shelves.follows import Follows
from tsuzuki.shelves.progress import entries_follow_tx
from tsuzuki.shelves.subscriptions import Subscriptions
from tsuzuki.sources.sites import Sources
from tsuzuki.transfer.archive.journal import ImportReport
from tsuzuki.transfer.archive.shelf_import import ShelfImport
from tsuzuki.transfer.archive.undo_log import ImportId, UndoLog
from tsuzuki.transfer.imports.kinds import ARCHIVE_KIND
from tsuzuki.transfer.imports.store import (
    MadeFollow,
    finish_import_tx,
    get_import_tx,
    person_tx,
    q,
    set_status_tx,
    undo_follow_tx,
    undo_rest_tx,
    undo_state_tx,
)
from tsuzuki.transfer.imports.types import ImportAccount, ImportDirection, ReportedPart, ShelfImportRow

UNEXPECTED = "Something went wrong on the server; its log has the details. You can continue, or undo the import."
_MOST_NOTES = 200
_LONGEST_ERROR = 1_000
_WRITE_EVERY = 1.0
_PLACE = re.compile(r"\A(\w+)\.jsonl(?=:)(?::(?=\d+:))?")
"""The place of a line in our archive, to be cut from notes: most readers imported something else and never saw one."""

_log = structlog.stdlib.get_logger("tsuzuki.transfer")

_WAITING: Mapping[ImportDirection, frozenset[str]] = {
    "import": frozenset({"queued", "running"}),
    "undo": frozenset({"undoing"}),
}


class ImportTask(msgspec.Struct, frozen=True):
    """Which import to do, or to undo."""

    import_id: int
    what: ImportDirection = "import"


IMPORTS_QUEUE: Final[Queue[ImportTask]] = Queue("imports", ImportTask, QueueSettings(attempts=3, concurrency=1))


class ImportRunner:
    """Handles `imports`."""

    def __init__(self, subscriptions: Subscriptions, follows: Follows, sources: Sources, *, files: FileStore) -> None:
        self._deps = subscriptions.deps
        self._db, self._clock, self._parsers = self._deps.db, self._deps.clock, self._deps.parsers
        self._subscriptions = subscriptions
        self._follows = follows
        self._sources = sources
        self._files = files

    async def handle(self, task: Task[ImportTask]) -> None:
        """Do what the task says."""
        found = await self._db.read(lambda tx: get_import_tx(tx, ImportId(task.payload.import_id)))
        if found is None or found.status not in _WAITING[task.payload.what]:  # its worker died as it had done it
            await self._db.with_tx(lambda tx: skip_tx(tx, task, now=self._clock(), why="There is nothing to do."))
            return
        await self.do(task.payload.what, found)
        await self._db.with_tx(lambda tx: finish_tx(tx, task, now=self._clock()))

    async def do(self, what: ImportDirection, found: ShelfImportRow) -> None:
        """Import or undo. A failure is written to the import, where its reader sees it."""
        with long_deadline():
            try:
                await (self._undo(found) if what == "undo" else self._import(found))
            except (LeaseLost, Unavailable, asyncio.CancelledError):
                raise
            except TsuzukiError as error:
                said = storable(str(error))[:_LONGEST_ERROR]
                await self._fail(found, what, said)
            except Exception:
                await self._fail(
                    found, what, UNEXPECTED
                )  # whoever looks at it must not wait for ever; the queue logs why
                raise

    async def _fail(self, found: ShelfImportRow, what: ImportDirection, why: str) -> None:
        said: dict[str, Any] = {"what": what, "error": why, "now": self._clock()}
        await self._end(found, lambda tx: finish_import_tx(tx, found.id, "failed", **said))

    async def _import(self, found: ShelfImportRow) -> None:
        await self._db.with_tx(lambda tx: set_status_tx(tx, found.id, "running", before="queued", now=self._clock()))
        user = await self._db.read(lambda tx: person_tx(tx, found.user_id))
        shelf_import = ShelfImport(self._subscriptions, self._sources, self._parsers)
        async with self._files.local(found.file_key) as path, aclosing(_ProgressWriter(self, found)) as writer:
            if not await asyncio.to_thread(path.exists):
                raise NotFound("The file of this import is gone. Choose it again.")
            report = await shelf_import.run(
                path, found.shelf_id, user, writer.watch, undo_log=UndoLog(found.id), adds_sources=user.role == "admin"
            )
        said: dict[str, Any] = {"what": "import", "report": _account(report, found.kind), "now": self._clock()}
        await self._end(found, lambda tx: finish_import_tx(tx, found.id, "done", **said))
        await self._files.remove(found.file_key, unless_since=float("inf"))

    async def _undo(self, found: ShelfImportRow) -> None:
        """Undo progress and marks, then leave series and feeds one by one as their reader would, then undo the rest."""
        await self._db.with_tx(lambda tx: self._undo_state_tx(tx, found))
        said = {"id": found.id, "shelf_id": found.shelf_id}
        for follow in await self._db.read(lambda tx: tx.many(MadeFollow, q.made_follows, **said)):
            with suppress(NotFound):
                await with_tx_again(self._db, partial(self._leave_tx, found=found, follow=follow))
        for public_id in await self._db.read(lambda tx: tx.many(PublicId, q.made_subscriptions, **said)):
            with suppress(NotFound):
                await self._subscriptions.delete(found.shelf_id, public_id)

        async def undo(tx: Tx) -> None:
            await lock_shelf_tx(tx, found.shelf_id)
            await lock_series_merges_shared_tx(tx)
            await lock_reading_tx(tx, found.shelf_id)
            if await finish_import_tx(tx, found.id, "undone", what="undo", now=self._clock()):
                await undo_rest_tx(tx, found)

        await self._end(found, undo)
        await self._files.remove(found.file_key, unless_since=float("inf"))

    async def _leave_tx(self, tx: Tx, *, found: ShelfImportRow, follow: MadeFollow) -> None:
        await self._follows.leave_tx(tx, found.shelf_id, follow.public_id)
        await undo_follow_tx(tx, found, follow.series_id)

    async def _undo_state_tx(self, tx: Tx, found: ShelfImportRow) -> None:
        now = self._clock()
        await lock_series_merges_shared_tx(tx)
        series = await tx.many(SeriesId, q.touched_series, id=found.id)
        await lock_reading_tx(tx, found.shelf_id)
        await undo_state_tx(tx, found)
        for series_id in series:
            await tx.run(q.notes_follow, shelf_id=found.shelf_id, series_id=series_id, now=now)
            await entries_follow_tx(tx, found.shelf_id, series_id, now)
        await counts_changed_tx(tx, [found.shelf_id], now)

    async def _end(self, found: ShelfImportRow, work: Callable[[Tx], object]) -> None:
        await self._db.with_tx(work)  # type: ignore[arg-type]
        self._deps.after_commit(EVENTS_WAKEUP)
        _log.info("import_ended", kind=found.kind, shelf=found.shelf_id)

    async def set_progress(self, found: ShelfImportRow, part: str, done: int, total: int) -> None:
        """How far it came."""
        said = {"part": part, "done": done, "total": total, "now": self._clock()}
        await self._db.with_tx(lambda tx: tx.run(q.set_progress, id=found.id, **said))


class _ProgressWriter:
    """Writes how far an import is, once a second at most."""

    def __init__(self, runner: ImportRunner, found: ShelfImportRow) -> None:
        self._runner = runner
        self._found = found
        self._last: tuple[str, int, int] | None = None
        self._writing = asyncio.ensure_future(self._write())

    def watch(self, doing: str, done: int, total: int) -> None:
        """Called often, and from threads."""
        self._last = doing, done, total

    async def _write(self) -> None:
        written = None
        while True:
            await asyncio.sleep(_WRITE_EVERY)
            if self._last is not None and self._last != written:
                written = self._last
                with suppress(TsuzukiError):
                    await self._runner.set_progress(self._found, *written)

    async def aclose(self) -> None:
        self._writing.cancel()
        await asyncio.gather(self._writing, return_exceptions=True)


def _said_place(found: re.Match[str]) -> str:
    return f"{found[1]} " if found[0].endswith(":") else found[1]


def _account(report: ImportReport, kind: str) -> ImportAccount:
    """The report as it is shown. Only an archive has preferences: a backup's own rest travels in the same part."""
    parts = {
        part.removesuffix(".jsonl"): ReportedPart(counts.created, counts.existing, counts.left_out)
        for part, counts in report.parts.items()
        if kind == ARCHIVE_KIND or part != "person.jsonl"
    }
    notes = [_PLACE.sub(_said_place, note) for note in report.notes]
    return ImportAccount(parts=parts, notes=notes[:_MOST_NOTES], more=report.more + max(0, len(notes) - _MOST_NOTES))
