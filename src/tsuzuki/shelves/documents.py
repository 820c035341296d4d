"""How far documents were read, for devices that synchronise through us; any file, stored as reported."""

from typing import Final

import msgspec

from tsuzuki.db import Database, Tx, load_queries
from tsuzuki.model.ids import ShelfId
from tsuzuki.model.times import Millis

q = load_queries("tsuzuki.shelves.documents")

MOST_DOCUMENTS: Final = 10_000
"""Documents of a shelf; beyond it those are forgotten that were reported longest ago."""


class DocumentProgress(msgspec.Struct, frozen=True):
    """How far a device has read a document."""

    document: str
    progress: str
    percentage: float
    device: str
    device_id: str | None
    at: Millis


class Documents:
    """The documents of shelves."""

    def __init__(self, db: Database, most: int = MOST_DOCUMENTS) -> None:
        self._db = db
        self._most = most

    async def find(self, shelf_id: ShelfId, document: str) -> DocumentProgress | None:
        """The last report on this document."""
        wanted = {"shelf_id": shelf_id, "document": document}
        return await self._db.read(lambda tx: tx.maybe(DocumentProgress, q.find_document, **wanted))

    async def report(self, shelf_id: ShelfId, place: DocumentProgress) -> None:
        """Store what a device reports, without comparing it with earlier reports."""

        async def write(tx: Tx) -> None:
            await tx.run(q.write_document, **q.write_document.values_of(place, shelf_id=shelf_id))
            # One more was just written.
            await tx.run(q.forget_documents, shelf_id=shelf_id, most=self._most - 1)

        await self._db.with_tx(write)
