"""Somebody who imports files: a shelf, the sources of a server, and a worker for the queue."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from tests.builders import HERE, NOON
from tests.shelves.builders import shelf_deps
from tests.transfer.archive.builders import Reader, a_reader, parts_of, vet
from tsuzuki.accounts.types import Actor
from tsuzuki.connectors.mangadex.connector import MangaDex
from tsuzuki.connectors.registry import Registry, builtin
from tsuzuki.coord.cache import MemoryCache
from tsuzuki.coord.wakeup import MemoryWakeup
from tsuzuki.crawler.service import CrawlerWrites
from tsuzuki.db import Database
from tsuzuki.files.folder import FolderStore
from tsuzuki.files.stores import IMPORTS
from tsuzuki.model.requests import Parsers
from tsuzuki.model.times import Millis
from tsuzuki.queue.leases import WorkerContext
from tsuzuki.queue.worker import Worker
from tsuzuki.shelves.follows import Follows
from tsuzuki.shelves.subscriptions import Subscriptions
from tsuzuki.sources.sites import Sources
from tsuzuki.sources.types import SourceRegistration
from tsuzuki.transfer.imports.runner import IMPORTS_QUEUE
from tsuzuki.transfer.imports.service import Imports
from tsuzuki.transfer.imports.types import ShelfImportRow

SOMEBODY = Actor(b"\0" * 16, "somebody")  # type: ignore[arg-type]


class Importer(msgspec.Struct, frozen=True):
    """A reader with files to import."""

    reader: Reader
    imports: Imports
    sources: Sources
    clock: Callable[[], Millis]

    @property
    def db(self) -> Database:
        return self.reader.db

    async def show(self, name: str, body: bytes) -> ShelfImportRow:
        return await self.imports.show(self.reader.shelf_id, self.reader.user.id, name, body)

    async def import_file(self, name: str, body: bytes) -> ShelfImportRow:
        """Looked at and imported; its row when that is over."""
        return await self.import_shown(await self.show(name, body))

    async def import_shown(self, shown: ShelfImportRow) -> ShelfImportRow:
        await self.imports.start(self.reader.shelf_id, shown.public_id)
        return await self.finished(shown)

    async def undo(self, row: ShelfImportRow) -> ShelfImportRow:
        await self.imports.undo(self.reader.shelf_id, row.public_id)
        return await self.finished(row)

    async def finished(self, row: ShelfImportRow, *, within: float = 120.0) -> ShelfImportRow:
        """The row once a worker has done what there was to do, or was stopped after so many seconds."""
        worker_context = WorkerContext(db=self.db, wakeup=MemoryWakeup(), clock=self.clock, name="test")
        working = asyncio.create_task(Worker(worker_context, IMPORTS_QUEUE, self.imports.runner).run())
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(within):
                    wait = 0.01
                    while not (await self.row(row)).is_over:
                        await asyncio.sleep(wait)
                        wait = min(wait * 1.2, 1.0)  # as a page looks: a long import is not slowed down by it
        finally:
            working.cancel()
            await asyncio.gather(working, return_exceptions=True)
        return await self.row(row)

    async def row(self, row: ShelfImportRow) -> ShelfImportRow:
        return await self.imports.get(self.reader.shelf_id, row.public_id)

    async def shelf(self) -> dict[str, list[dict[str, Any]]]:
        """All that is on it, as an archive says it."""
        return parts_of(await self.reader.export())

    async def add_mangadex(self) -> None:
        await self.sources.register(
            SOMEBODY,
            SourceRegistration(
                name="MangaDex", slug="mangadex", base_url="https://mangadex.org", connector=MangaDex().info.id
            ),
        )


async def an_importer(
    db: Database,
    folder: Path,
    parsers: Parsers = HERE,
    client: Any = None,
    clock: Callable[[], Millis] = lambda: NOON,
) -> Importer:
    """Somebody on a server without sources."""
    deps = shelf_deps(db, clock, vet=vet, parsers=parsers)
    registry = Registry(builtin())
    sources = Sources(
        db,
        registry,
        lambda: NOON,
        is_callable=lambda url: url.startswith("https://"),
        cache=MemoryCache(CrawlerWrites(db)),
        after_commit=lambda *_: None,
    )
    imports = Imports(
        Subscriptions(deps),
        Follows(deps),
        sources,
        registry=registry,
        files=FolderStore(folder / "imports", IMPORTS),
        client=client,
    )
    return Importer(await a_reader(db, folder), imports, sources, clock)
