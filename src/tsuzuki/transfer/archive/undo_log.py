"""What an import changes, noted in the same transactions, so that all of it can be undone together."""

from collections.abc import Sequence
from typing import Literal, NewType

import msgspec

from tsuzuki.db import Tx, load_queries
from tsuzuki.model.ids import FeedId, SeriesId, ShelfId

q = load_queries("tsuzuki.transfer.archive")

ImportId = NewType("ImportId", int)
Made = Literal["group", "subscription", "follow", "bookmark", "backup"]


class UndoLog(msgspec.Struct, frozen=True):
    """The log of one import; nothing is noted where there is none to undo it by, as on the command line."""

    import_id: ImportId | None = None

    async def note_made_tx(self, tx: Tx, kind: Made, of_id: int) -> None:
        """That the import put this onto the shelf."""
        if self.import_id is not None:
            await tx.run(q.note_made, import_id=self.import_id, kind=kind, of_id=of_id)

    async def keep_progress_tx(self, tx: Tx, shelf_id: ShelfId, series_id: SeriesId, *, keys: Sequence[str]) -> None:
        """How far these chapters are read now."""
        if self.import_id is not None and keys:
            rows = [[key] for key in keys]
            await tx.run(q.keep_progress, import_id=self.import_id, shelf_id=shelf_id, series_id=series_id, rows=rows)

    async def keep_entries_tx(
        self, tx: Tx, shelf_id: ShelfId, feed_id: FeedId, *, keys: Sequence[str], was_there: bool
    ) -> None:
        """How the entries of these items are now, before the import or after it; what is noted already stays noted."""
        if self.import_id is not None:
            said = {"import_id": self.import_id, "shelf_id": shelf_id, "feed_id": feed_id, "was_there": was_there}
            await tx.run(q.keep_entries, rows=[[key] for key in keys], **said)
