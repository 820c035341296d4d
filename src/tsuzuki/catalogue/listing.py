"""What a list found, stored: each series once, the page in the source's order."""

from collections.abc import Callable, Iterator

import msgspec

from tsuzuki.catalogue.rows import ListKey
from tsuzuki.catalogue.store import (
    listed_series_tx,
    note_source_tx,
    rest_unfollowed_tx,
    save_listing_tx,
    touch_listed_tx,
)
from tsuzuki.connectors.html.safe import valid_text
from tsuzuki.connectors.protocol import ConnectorInfo
from tsuzuki.db import Tx
from tsuzuki.db.errors import Contention
from tsuzuki.db.locks import lock_comic_matching_tx
from tsuzuki.ingest.chapters import index_series_tx
from tsuzuki.model.harvest import FoundSeries, SeriesPage
from tsuzuki.model.ids import PublicId, SeriesSourceId
from tsuzuki.model.priorities import COLD
from tsuzuki.model.times import Millis
from tsuzuki.sources.comics.following import NOBODY_FOLLOWS
from tsuzuki.sources.comics.policy import match_key
from tsuzuki.sources.comics.service import watch_mapping_tx
from tsuzuki.sources.sites.rows import Source
from tsuzuki.sources.store import add_series_source_tx, add_series_tx

LONGEST_KEY = 1000
LONGEST_URL = 2048
LONGEST_TITLE = 512
"""Bytes, and letters of a title. What is longer is no title, no address that anybody could call, and fits no index."""


class ListingWriter:
    """Puts what lists bring into the database."""

    def __init__(self, new_id: Callable[[], PublicId]) -> None:
        self._new_id = new_id

    async def shelve_tx(
        self, tx: Tx, source: Source, info: ConnectorInfo, found: SeriesPage, *, key: ListKey, now: Millis
    ) -> None:
        """A page of a list, and its series: the known ones touched, the new ones added (R60, R62)."""
        await lock_comic_matching_tx(tx)
        known = await listed_series_tx(tx, source.id, found.series)
        await touch_listed_tx(tx, ((known[each.key], each) for each in found.series if each.key in known), now)
        ids = [known.get(each.key) or await self._add_tx(tx, source, each, now) for each in found.series]
        await save_listing_tx(tx, key, list(dict.fromkeys(ids)), has_next=found.has_next, now=now)
        abilities = info.abilities
        await note_source_tx(tx, source.id, is_nsfw=info.is_nsfw, supports_latest=abilities.latest, now=now)

    async def _add_tx(self, tx: Tx, source: Source, found: FoundSeries, now: Millis) -> SeriesSourceId:
        """A series of its own: lists name no author, so nothing can be matched until its details are read."""
        key = match_key(found.title, None)
        series = await add_series_tx(tx, self._new_id(), found.title, match_key=key, now=now)
        await index_series_tx(tx, series, titles=(found.title,), description="")
        made = await add_series_source_tx(
            tx, series, source.id, source_key=found.key, url=found.url, now=now, title=found.title
        )
        if made is None:
            raise Contention("Somebody mapped this series in the same moment.")
        await touch_listed_tx(tx, [(made, found)], now)
        await watch_mapping_tx(tx, made, url=found.url, base_url=source.base_url, priority=COLD, due_at=now, now=now)
        await rest_unfollowed_tx(tx, made, reason=NOBODY_FOLLOWS, now=now)
        return made


def storable(found: SeriesPage) -> SeriesPage:
    """Each series once, with text that both engines take; what nobody could call is left out."""
    by_key: dict[str, FoundSeries] = {}
    for each in _storable(found):
        by_key.setdefault(each.key, each)
    return SeriesPage(tuple(by_key.values()), found.has_next)


def _storable(found: SeriesPage) -> Iterator[FoundSeries]:
    for each in found.series:
        key, url = valid_text(each.key), valid_text(each.url)
        if key and url and len(key.encode()) <= LONGEST_KEY and len(url.encode()) <= LONGEST_URL:
            cover = None if each.cover_url is None else valid_text(each.cover_url)
            title = valid_text(each.title)[:LONGEST_TITLE] or key[:LONGEST_TITLE]
            yield msgspec.structs.replace(each, key=key, url=url, title=title, cover_url=cover)
