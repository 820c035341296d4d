"""A series by an address that somebody brings along."""

from collections.abc import Callable

from tsuzuki.accounts.types import Slice
from tsuzuki.catalogue.browsing import ListingWriter, storable
from tsuzuki.catalogue.calling import Calls, NotCalled
from tsuzuki.catalogue.policy import plain_query
from tsuzuki.catalogue.store import listed_series_tx
from tsuzuki.catalogue.types import ListKey
from tsuzuki.connectors.protocol import SeriesAt
from tsuzuki.db import Database, Tx
from tsuzuki.model.errors import Invalid, SourceError
from tsuzuki.model.harvest import FoundSeries, SeriesPage
from tsuzuki.model.ids import SeriesSourceId
from tsuzuki.model.times import Millis
from tsuzuki.polling.driver import SourceCall
from tsuzuki.sources.sites import list_sources_tx
from tsuzuki.sources.types import Source, SourceFilter

MOST_SOURCES = 500


class SeriesAddresses:
    """Which series of which source an address means."""

    def __init__(self, db: Database, calls: Calls, shelver: ListingWriter, clock: Callable[[], Millis]) -> None:
        self._db = db
        self._calls = calls
        self._shelver = shelver
        self._clock = clock

    async def find(self, url: str) -> SeriesSourceId | None:
        """The series at this address, stored if it is new; None when no source of ours has one there."""
        only = SourceFilter(is_enabled=True)
        sources, _ = await self._db.read(lambda tx: list_sources_tx(tx, only, Slice(most=MOST_SOURCES)))
        for source in sources:
            found = await self._at(source, url)
            if found is not None:
                return found
        return None

    async def _at(self, source: Source, url: str) -> SeriesSourceId | None:
        try:
            call = self._calls.aside(source)
        except NotCalled:
            return None
        place = call.connector.series_at(call.config, url)
        if place is None:
            return None
        known = await self._known(source, FoundSeries(place.key, place.url, ""))
        return known or await self._learned(source, call, place)

    async def _known(self, source: Source, series: FoundSeries) -> SeriesSourceId | None:
        found = await self._db.read(lambda tx: listed_series_tx(tx, source.id, [series]))
        return found.get(series.key)

    async def _learned(self, source: Source, call: SourceCall, place: SeriesAt) -> SeriesSourceId | None:
        """Its details tell whether it is a series: other pages of the site may still be feeds."""
        if not call.connector.info.abilities.details:
            return None
        await self._calls.to(source)
        try:
            details = await call.ask(call.connector.details(call.config, place.url))
        except (Invalid, SourceError):
            return None
        listed = FoundSeries(place.key, place.url, details.title, details.cover_url)
        page = storable(SeriesPage((listed,)))
        key = ListKey(source_id=source.id, kind="search", page=1, query=plain_query(place.url))
        now = self._clock()

        async def store(tx: Tx) -> None:
            await self._shelver.shelve_tx(tx, source, call.connector.info, page, key=key, now=now)

        if page.series:
            await self._db.with_tx(store)
        return await self._known(source, listed)
