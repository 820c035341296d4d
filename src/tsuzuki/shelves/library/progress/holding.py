"""Who may write on a shelf's reading."""

from tsuzuki.db import Tx
from tsuzuki.db.locks import lock_reading_tx, lock_series_merges_shared_tx
from tsuzuki.model.ids import ShelfId


async def begin_reading_tx(tx: Tx, shelf_id: ShelfId) -> None:
    """Before anything else is locked: nobody merges or splits series, or marks chapters of this shelf, meanwhile.

    Entries and progress say the same in every transaction; two that write both, in different order, would deadlock.
    """
    await lock_series_merges_shared_tx(tx)
    await lock_reading_tx(tx, shelf_id)
