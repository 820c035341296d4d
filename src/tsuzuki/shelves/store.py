"""Terms and room of a shelf."""

import msgspec

from tsuzuki.db import Tx, load_queries
from tsuzuki.model.errors import NotFound
from tsuzuki.model.ids import PublicId, SeriesId, ShelfId
from tsuzuki.sources.store import find_series_tx

q = load_queries("tsuzuki.shelves")


class Terms(msgspec.Struct, frozen=True):
    """On what terms a shelf is rented."""

    plan: str
    status: str
    is_billed: bool
    """False: TSUZUKI_BILLING is off, and neither plan nor status count."""


async def shelf_terms_tx(tx: Tx, shelf_id: ShelfId) -> Terms:
    """The shelf's terms, or NotFound."""
    return await tx.one(Terms, q.shelf_terms, shelf_id=shelf_id)


async def count_follows_tx(tx: Tx, shelf_id: ShelfId) -> int:
    """The feeds and series of a shelf."""
    return await tx.one(int, q.count_follows, shelf_id=shelf_id)


async def count_kept_chapters_tx(tx: Tx, shelf_id: ShelfId) -> int:
    """The chapters that a shelf keeps."""
    return await tx.one(int, q.count_kept_chapters, shelf_id=shelf_id)


async def desync_shelf_tx(tx: Tx, shelf_id: ShelfId) -> None:
    """What its plan says has to be applied to something new."""
    await tx.run(q.desync_shelf, shelf_id=shelf_id)


async def is_held_tx(tx: Tx, subscription_id: int) -> bool:
    """Whether a plan holds this subscription back."""
    return await tx.one(bool, q.is_held, id=subscription_id)


async def known_series_tx(tx: Tx, public_id: PublicId) -> SeriesId:
    """The series with this id, or the one that it was merged into; NotFound if there is none."""
    series_id = await find_series_tx(tx, public_id)
    if series_id is None:
        raise NotFound("There is no such series.")
    return series_id
