"""How much a shelf has not read: counted from the entries themselves, so it is true at any moment (REL-19h)."""

from collections import Counter

import msgspec

from tsuzuki.db import Tx
from tsuzuki.delivery.store import UnreadRow, unread_counts_tx
from tsuzuki.model.ids import PublicId, ShelfId, show_id


class Counts(msgspec.Struct, frozen=True, kw_only=True):
    """Unread entries of a shelf; by id only where there are some."""

    unread: int
    items: int
    chapters: int
    groups: dict[str, int]
    feeds: dict[str, int]
    """By the id of the shelf's subscription."""
    series: dict[str, int]


async def counts_tx(tx: Tx, shelf_id: ShelfId) -> Counts:
    """All counts of a shelf, in one statement: they agree with each other."""
    rows = await unread_counts_tx(tx, shelf_id)
    feeds = [row for row in rows if row.kind == "item"]
    series = [row for row in rows if row.kind == "chapter"]
    groups = Counter[str]()
    for row in rows:
        if row.group_id is not None:
            groups[show_id(row.group_id)] += row.unread
    return Counts(
        unread=sum(row.unread for row in rows),
        items=sum(row.unread for row in feeds),
        chapters=sum(row.unread for row in series),
        groups=dict(groups),
        feeds=_by_id(feeds),
        series=_by_id(series),
    )


def _by_id(rows: list[UnreadRow]) -> dict[str, int]:
    shown: list[tuple[PublicId, int]] = [(row.shown_id, row.unread) for row in rows if row.shown_id is not None]
    return {show_id(public_id): unread for public_id, unread in shown}
