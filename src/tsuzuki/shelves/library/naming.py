"""Series by their public ids."""

from tsuzuki.db import Tx
from tsuzuki.model.errors import NotFound
from tsuzuki.model.ids import PublicId, SeriesId
from tsuzuki.sources.store import find_series_tx


async def known_series_tx(tx: Tx, public_id: PublicId) -> SeriesId:
    """The series with this id, or the one that it was merged into; NotFound if there is none."""
    series_id = await find_series_tx(tx, public_id)
    if series_id is None:
        raise NotFound("There is no such series.")
    return series_id
