"""A source is called as fast as the fastest plan among those who wait for it allows, whoever comes or goes."""

from collections.abc import Sequence

from tsuzuki.accounts.activity.store import is_billed_tx
from tsuzuki.db import Tx
from tsuzuki.model.ids import FeedId, SeriesId
from tsuzuki.model.plans import list_plans
from tsuzuki.sources.pace.store import Floor, set_floors_of_feed_tx, set_floors_of_series_tx


async def feed_readers_changed_tx(tx: Tx, feed_id: FeedId) -> None:
    """Somebody came to a feed, left it, or was moved to it. Nothing while billing is off: then nobody is limited."""
    if await is_billed_tx(tx):
        await set_floors_of_feed_tx(tx, feed_id, floors(is_billed=True))


async def series_readers_changed_tx(tx: Tx, series_id: SeriesId) -> None:
    """The same for a series."""
    if await is_billed_tx(tx):
        await set_floors_of_series_tx(tx, series_id, floors(is_billed=True))


def floors(*, is_billed: bool) -> Sequence[Floor]:
    """The pace of every plan; with billing off none has a limit."""
    return [Floor(plan.id, plan.limits.fastest_poll if is_billed else None) for plan in list_plans()]
