"""A series' watches, as its followers come and go."""

from tsuzuki.db import Tx
from tsuzuki.model.ids import SeriesId
from tsuzuki.model.priorities import HOT
from tsuzuki.model.times import Millis
from tsuzuki.sources.comics.service import watch_mapping_tx
from tsuzuki.sources.pace.service import series_readers_changed_tx
from tsuzuki.sources.store import rest_series_tx, unwatched_tx, wake_series_tx

NOBODY_FOLLOWS = "nobody follows it"


async def followers_changed_tx(tx: Tx, series_id: SeriesId, now: Millis) -> None:
    """Its watches rest while nobody waits for it; else every source that has it is watched, new ones at once."""
    await series_readers_changed_tx(tx, series_id)
    if await rest_series_tx(tx, series_id, reason=NOBODY_FOLLOWS, now=now):
        return
    await wake_series_tx(tx, series_id, reason=NOBODY_FOLLOWS, now=now)


async def watch_everywhere_tx(tx: Tx, series_id: SeriesId, now: Millis) -> None:
    """Somebody follows it: what was only looked at in a catalogue is polled from now on."""
    for each in await unwatched_tx(tx, series_id):
        await watch_mapping_tx(tx, each.id, url=each.url, base_url=each.base_url, priority=HOT, due_at=now, now=now)
    await followers_changed_tx(tx, series_id, now)
