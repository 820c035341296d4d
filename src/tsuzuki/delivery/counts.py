"""How much a shelf has not read: counted from the entries themselves, so it is true at any moment (REL-19h)."""

from collections import Counter

import msgspec

from tsuzuki.db import Tx
from tsuzuki.delivery.store import unread_counts_tx
from tsuzuki.model.ids import PublicId, ShelfId, show_id


class UnreadCounts(msgspec.Struct, frozen=True, kw_only=True):
    """Unread entries of a shelf; by id only where there are some."""

    unread: int
    items: int
    chapters: int
    groups: dict[str, int]
    feeds: dict[str, int]
    """By the id of the shelf's subscription."""
    series: dict[str, int]


async def counts_tx(tx: Tx, shelf_id: ShelfId) -> UnreadCounts:
    """All counts of a shelf, in one statement: they agree with each other."""
    rows = await unread_counts_tx(tx, shelf_id)
    groups = Counter[PublicId]()  # by bytes: there are few, and many rows
    shown: dict[str, dict[str, int]] = {"item": {}, "chapter": {}}
    sums = {"item": 0, "chapter": 0}
    for row in rows:
        sums[row.kind] += row.unread
        if row.group_id is not None:
            groups[row.group_id] += row.unread
        if row.shown_id is not None:
            shown[row.kind][show_id(row.shown_id)] = row.unread
    return UnreadCounts(
        unread=sums["item"] + sums["chapter"],
        items=sums["item"],
        chapters=sums["chapter"],
        groups={show_id(group): unread for group, unread in groups.items()},
        feeds=shown["item"],
        series=shown["chapter"],
    )
