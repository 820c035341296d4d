"""Imports: a file is looked at, shown, imported by a task of the queue (runner.py), and undone as one thing.

Whatever it is, it becomes an archive of ours first (transfer/foreign.py). So one import does everything, an import
that was cut off goes on where it was, and a repeat changes nothing.
"""

import asyncio
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from tsuzuki.accounts.types import Slice
from tsuzuki.connectors.registry import Registry
from tsuzuki.db import Tx
from tsuzuki.files.stores import FileStore
from tsuzuki.model.errors import Conflict, Invalid, SourceError, TooManyRequests
from tsuzuki.model.ids import PublicId, ShelfId, UserId
from tsuzuki.model.times import DAY, SECOND, Millis
from tsuzuki.queue.policy import storable
from tsuzuki.queue.tasks import enqueue_tx
from tsuzuki.shelves.follows import Follows
from tsuzuki.shelves.subscriptions import Subscriptions
from tsuzuki.sources.sites import Sources, list_sources_tx
from tsuzuki.sources.types import SourceFilter
from tsuzuki.transfer.archive.container import ArchiveReader
from tsuzuki.transfer.foreign import ForeignLines
from tsuzuki.transfer.imports.drafts import archive_draft
from tsuzuki.transfer.imports.kinds import ARCHIVE_KIND, FileKind, kind_of
from tsuzuki.transfer.imports.runner import IMPORTS_QUEUE, ImportRunner, ImportTask
from tsuzuki.transfer.imports.store import (
    add_import_tx,
    find_import_tx,
    known_tx,
    q,
    set_status_tx,
)
from tsuzuki.transfer.imports.types import (
    ImportPreview,
    ShelfImportRow,
    file_key,
)
from tsuzuki.transfer.mihon.reader import read_backup
from tsuzuki.transfer.mihon.sources import BackupSources
from tsuzuki.transfer.servers.calls import Fetcher, ServerCalls
from tsuzuki.transfer.servers.kinds import SERVER_KINDS, ServerLogin
from tsuzuki.transfer.servers.lines import server_lines, suwayomi_backup

MOST_BYTES = 64 * 1024 * 1024
MOST_AT_ONCE = 2
"""Files or servers that one person has looked at."""
_WAIT_S = 10
LONGEST_NAME = 200
MOST_LISTED = 20
MOST_SHOWN = 5
"""Files of one shelf that wait to be imported."""
KEPT = Millis(7 * DAY)
"""A file that was shown and never imported."""
UNDOABLE = Millis(90 * DAY)
"""How long an import can be undone."""
_MOST_SOURCES = 10_000
_MOST_REASONS = 3


class LookedAt(msgspec.Struct, frozen=True):
    """What is looked at."""

    name: str
    """The name of the file, or of the server."""
    kind: str
    body: bytes = b""


class Imports:
    """Looks at files, and has them imported and undone."""

    def __init__(
        self,
        subscriptions: Subscriptions,
        follows: Follows,
        sources: Sources,
        *,
        registry: Registry,
        files: FileStore,
        client: Fetcher,
    ) -> None:
        self._client = client
        self._deps = subscriptions.deps
        self._db, self._clock, self._parsers = self._deps.db, self._deps.clock, self._deps.parsers
        self._registry = registry
        self._files = files
        self._looking = Counter[UserId]()
        self.runner = ImportRunner(subscriptions, follows, sources, files=files)

    # -- looking

    @contextmanager
    def turn(self, user_id: UserId) -> Iterator[None]:
        """For sending a file and looking at it, or at a server; TooManyRequests for more than a few at once.

        Each may take memory like the largest file.
        """
        if self._looking[user_id] >= MOST_AT_ONCE:
            raise TooManyRequests("Wait until what is being read has been read.", _WAIT_S)
        self._looking[user_id] += 1
        try:
            yield
        finally:
            self._looking[user_id] -= 1
            self._looking += Counter()  # forgets those who have none

    async def show(self, shelf_id: ShelfId, user_id: UserId, name: str, body: bytes) -> ShelfImportRow:
        """What a file is and has, without importing it; Invalid says why it cannot be."""
        if len(body) > MOST_BYTES:
            raise Invalid(f"The file is larger than {MOST_BYTES // 1024**2} MB.")
        kind, plain = await asyncio.to_thread(kind_of, name, body)
        looked_at = LookedAt(name, kind.name, plain)
        return await self.show_lines(shelf_id, user_id, looked_at, self._lines(kind, plain))

    async def show_server(self, shelf_id: ShelfId, user_id: UserId, login: ServerLogin) -> ShelfImportRow:
        """Preview what another server has: it is read now, and its password is not stored."""
        looked_at = LookedAt(urlsplit(login.url).hostname or "?", login.kind)
        return await self.show_lines(shelf_id, user_id, looked_at, self._server_lines(login))

    async def _server_lines(self, login: ServerLogin) -> AsyncIterator[ForeignLines]:
        calls = ServerCalls(self._client, login)
        if login.kind == "suwayomi":
            portions = self.backup_lines(await suwayomi_backup(calls, login))
        else:
            portions = server_lines(calls, login, self._parsers, self._clock())
        async for lines in portions:
            yield lines

    async def show_lines(
        self, shelf_id: ShelfId, user_id: UserId, looked_at: LookedAt, lines: AsyncIterator[ForeignLines]
    ) -> ShelfImportRow:
        """Preview lines that were read from a file or from another server."""
        public_id = self._deps.new_id()
        with tempfile.TemporaryDirectory(prefix="tsuzuki-import-") as folder:
            path = Path(folder) / "import.zip"
            try:
                if looked_at.kind == ARCHIVE_KIND:
                    preview = await asyncio.to_thread(_of_archive, path, looked_at.body)
                else:
                    preview = await self._drafted(shelf_id, looked_at.kind, lines, path)
            except SourceError as error:  # what somebody sent us, and no source
                raise Invalid(str(error)) from error
            if not preview.counts:
                raise Invalid(_nothing(preview))
            await self._files.put(file_key(public_id), path)
        name = storable(looked_at.name)[:LONGEST_NAME]

        async def add(tx: Tx) -> tuple[ShelfImportRow, list[PublicId]]:
            now = self._clock()
            added = await add_import_tx(tx, shelf_id, user_id, public_id, name=name, preview=preview, now=now)
            return added, await tx.many(PublicId, q.drop_shown, shelf_id=shelf_id, most=MOST_SHOWN)

        added, dropped = await self._db.with_tx(add)
        for each in dropped:
            await self._files.remove(file_key(each), unless_since=float("inf"))
        return added

    async def _drafted(
        self, shelf_id: ShelfId, kind: str, lines: AsyncIterator[ForeignLines], path: Path
    ) -> ImportPreview:
        with archive_draft() as draft:
            async for some in lines:
                await asyncio.to_thread(draft.add, some)
            known = await self._db.read(
                lambda tx: known_tx(tx, shelf_id, links=draft.links, series=draft.places, titles=draft.titles)
            )
            await asyncio.to_thread(draft.write, path, self._clock())
            return msgspec.structs.replace(draft.preview(kind), known=known)

    async def _lines(self, kind: FileKind, body: bytes) -> AsyncIterator[ForeignLines]:
        if kind.read is not None:
            yield await self._parsers.run(kind.read, (body, self._clock()))
            return
        async for lines in self.backup_lines(body):
            yield lines

    async def backup_lines(self, body: bytes) -> AsyncIterator[ForeignLines]:
        """A backup of Mihon, compared with the sources that there are here."""
        found, _ = await self._db.read(lambda tx: list_sources_tx(tx, SourceFilter(), Slice(most=_MOST_SOURCES)))
        sources = BackupSources(self._registry, found)
        async for lines in read_backup(self._parsers, body, sources, now=self._clock()):
            yield lines

    async def list(self, shelf_id: ShelfId) -> Sequence[ShelfImportRow]:
        """The shelf's imports, the newest first."""
        return await self._db.read(
            lambda tx: tx.many(ShelfImportRow, q.list_imports, shelf_id=shelf_id, most=MOST_LISTED)
        )

    async def get(self, shelf_id: ShelfId, public_id: PublicId) -> ShelfImportRow:
        """One of the shelf's; NotFound."""
        return await self._db.read(lambda tx: find_import_tx(tx, shelf_id, public_id))

    # -- doing

    async def start(self, shelf_id: ShelfId, public_id: PublicId) -> ShelfImportRow:
        """Import it, or go on with one that failed; what is done stays so. Conflict for one that was undone."""

        async def start(tx: Tx) -> ShelfImportRow:
            found = await find_import_tx(tx, shelf_id, public_id)
            if found.status in {"undoing", "undone"}:
                raise Conflict("This import was undone. Choose the file again.")
            now = self._clock()
            if found.status in {"shown", "failed"}:
                await set_status_tx(tx, found.id, "queued", before=found.status, now=now)
            if found.status != "done":
                await enqueue_tx(tx, IMPORTS_QUEUE, f"import-{found.id}", ImportTask(found.id), now=now)
            return await find_import_tx(tx, shelf_id, public_id)

        started = await self._db.with_tx(start)
        self._deps.after_commit(IMPORTS_QUEUE.name)
        return started

    async def import_now(self, shelf_id: ShelfId, public_id: PublicId) -> ShelfImportRow:
        """Import without the queue, and wait; the import as it is afterwards."""

        async def begin(tx: Tx) -> ShelfImportRow:
            found = await find_import_tx(tx, shelf_id, public_id)
            await set_status_tx(tx, found.id, "queued", before="shown", now=self._clock())
            return await find_import_tx(tx, shelf_id, public_id)

        await self.runner.do("import", await self._db.with_tx(begin))
        return await self.get(shelf_id, public_id)

    async def undo(self, shelf_id: ShelfId, public_id: PublicId) -> ShelfImportRow:
        """Undo all of it; a repeat changes nothing. Conflict for one that has not ended."""

        async def begin(tx: Tx) -> ShelfImportRow:
            found = await find_import_tx(tx, shelf_id, public_id)
            now = self._clock()
            if found.status in {"done", "failed"}:
                await set_status_tx(tx, found.id, "undoing", before=found.status, now=now)
            elif found.status not in {"undoing", "undone"}:
                raise Conflict("This import has not ended yet.")
            if found.status != "undone":
                await enqueue_tx(tx, IMPORTS_QUEUE, f"undo-{found.id}", ImportTask(found.id, "undo"), now=now)
            return await find_import_tx(tx, shelf_id, public_id)

        begun = await self._db.with_tx(begin)
        self._deps.after_commit(IMPORTS_QUEUE.name)
        return begun

    async def drop(self, shelf_id: ShelfId, public_id: PublicId) -> None:
        """Forget it: the file, its account, and how to undo it. What was imported stays."""
        found = await self.get(shelf_id, public_id)
        if not found.is_over:
            raise Conflict("This import has not ended yet.")
        if not await self._db.with_tx(lambda tx: tx.run(q.drop_import, id=found.id)):
            raise Conflict("This import has just been started.")
        await self._files.remove(found.file_key, unless_since=float("inf"))

    # -- tidying

    async def tidy(self) -> int:
        """Forget old imports and files that were never imported, and remove what no import has; how many."""
        before = Millis(self._clock() - KEPT)
        old = Millis(self._clock() - UNDOABLE)
        forgotten = await self._db.with_tx(lambda tx: tx.run(q.forget_shown, before=before))
        forgotten += await self._db.with_tx(lambda tx: tx.run(q.forget_old, before=old))
        wanted = {file_key(each) for each in await self._db.read(lambda tx: tx.many(PublicId, q.import_files))}
        since = (self._clock() - DAY) / SECOND
        async for page in self._files.pages():
            for file in page:
                if file.key not in wanted:
                    await self._files.remove(file.key, unless_since=since)
        return forgotten


def _nothing(preview: ImportPreview) -> str:
    """That there is nothing to import, and why."""
    where = "on this server" if preview.kind in SERVER_KINDS else "in this file"
    reasons = list(dict.fromkeys(one.why for one in preview.left_out))[:_MOST_REASONS]
    return " ".join([f"There is nothing {where} that can be imported.", *reasons])


def _of_archive(path: Path, body: bytes) -> ImportPreview:
    path.write_bytes(body)
    archive = ArchiveReader(path)
    try:
        archive.check(lambda *_: None)
        counts = {
            part.removesuffix(".jsonl"): said.lines for part, said in archive.manifest.parts.items() if said.lines
        }
        return ImportPreview(kind=ARCHIVE_KIND, counts=counts)
    finally:
        archive.close()
