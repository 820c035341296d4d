"""The poll floor: how fast the plans of those who follow something let it be polled."""

from collections.abc import Sequence

import msgspec

from tsuzuki.accounts.activity import is_billed_tx
from tsuzuki.db import Tx, load_queries
from tsuzuki.model.ids import FeedId, SeriesId, ShelfId, WatchId
from tsuzuki.model.plans import list_plans
from tsuzuki.model.times import Millis

q = load_queries("tsuzuki.sources.pace")


class PlanPollFloor(msgspec.Struct, frozen=True):
    """The shortest interval of a plan; None is without limit."""

    plan: str
    floor: Millis | None


async def set_floors_tx(tx: Tx, shelf_id: ShelfId, floors: Sequence[PlanPollFloor]) -> int:
    """Set the floors of what this shelf follows to its readers' fastest plan; how many changed."""
    feeds = await tx.bulk(WatchId, q.set_feed_floors, floors, shelf_id=shelf_id)
    return len(feeds) + len(await tx.bulk(WatchId, q.set_series_floors, floors, shelf_id=shelf_id))


async def repair_floors_tx(tx: Tx, floors: Sequence[PlanPollFloor], *, after: int, until: int) -> int:
    """The same for the watches with these ids, whoever follows them."""
    return len(await tx.bulk(WatchId, q.repair_floors, floors, after=after, until=until))


async def last_watch_tx(tx: Tx) -> int:
    """The highest id of a watch."""
    return await tx.one(int, q.last_watch)


async def feed_readers_changed_tx(tx: Tx, feed_id: FeedId) -> None:
    """Recompute the floor after the feed's readers changed. Nothing while billing is off."""
    if await is_billed_tx(tx):
        await tx.bulk(WatchId, q.set_floors_of_feed, floors(is_billed=True), feed_id=feed_id)


async def series_readers_changed_tx(tx: Tx, series_id: SeriesId) -> None:
    """The same for a series, wherever it is called."""
    if await is_billed_tx(tx):
        await tx.bulk(WatchId, q.set_floors_of_series, floors(is_billed=True), series_id=series_id)


def floors(*, is_billed: bool) -> Sequence[PlanPollFloor]:
    """The pace of every plan; with billing off none has a limit."""
    return [PlanPollFloor(plan.id, plan.limits.fastest_poll if is_billed else None) for plan in list_plans()]
