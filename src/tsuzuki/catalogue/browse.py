"""Browsing a source: its lists, its search filters, and its series by address."""

import hashlib
from collections.abc import Callable, Iterable, Sequence

import msgspec

from tsuzuki.accounts.types import Slice
from tsuzuki.catalogue.calls import (
    CachedAnswer,
    CachedValue,
    CacheQuery,
    Calls,
    SourceCall,
    SourceNotCallable,
    TtlCache,
)
from tsuzuki.catalogue.types import ListedSeries, ListKey, ListKind, Manga, MangaPage, SourceListing
from tsuzuki.connectors.filters import Filter, FilterValue, with_values
from tsuzuki.connectors.html.sanitiser import valid_text
from tsuzuki.connectors.protocol import ConnectorInfo, SeriesAt, Unsupported, Visit
from tsuzuki.db import Database, Tx, load_queries
from tsuzuki.db.errors import Contention
from tsuzuki.db.locks import lock_comic_matching_tx
from tsuzuki.ingest.chapters import index_series_tx
from tsuzuki.model.errors import Invalid, SourceError
from tsuzuki.model.harvest import FoundSeries, SeriesPage
from tsuzuki.model.ids import PublicId, SeriesSourceId, ShelfId, SourceId
from tsuzuki.model.priorities import COLD
from tsuzuki.model.times import Millis
from tsuzuki.sources.comics import NOBODY_FOLLOWS, watch_mapping_tx
from tsuzuki.sources.policy import match_key
from tsuzuki.sources.series import add_series_source_tx, add_series_tx
from tsuzuki.sources.sites import list_sources_tx, source_tx
from tsuzuki.sources.types import Source, SourceFilter

q = load_queries("tsuzuki.catalogue")

LONGEST_KEY = 1000
LONGEST_URL = 2048
LONGEST_TITLE = 512
"""Bytes, and letters of a title. What is longer is no title, no address that anybody could call, and fits no index."""


LONGEST_FILTERS = 1000
"""Bytes that are kept as they are: an index of PostgreSQL takes 2,700 for a whole key."""


class ListingWriter:
    """Stores what lists contain."""

    def __init__(self, new_id: Callable[[], PublicId]) -> None:
        self._new_id = new_id

    async def store_tx(
        self, tx: Tx, source: Source, info: ConnectorInfo, found: SeriesPage, *, key: ListKey, now: Millis
    ) -> None:
        """A page of a list, and its series: the known ones touched, the new ones added (R60, R62)."""
        await lock_comic_matching_tx(tx)
        known = await listed_series_tx(tx, source.id, found.series)
        await touch_listed_tx(tx, ((known[each.key], each) for each in found.series if each.key in known), now)
        ids = [known.get(each.key) or await self._add_tx(tx, source, each, now) for each in found.series]
        listed = {"series_source_ids": list(dict.fromkeys(ids)), "has_next": found.has_next}
        await tx.run(q.save_listing, **msgspec.structs.asdict(key), **listed, now=now)
        latest = info.abilities.latest
        await tx.run(q.note_source, id=source.id, is_nsfw=info.is_nsfw, supports_latest=latest, now=now)

    async def _add_tx(self, tx: Tx, source: Source, found: FoundSeries, now: Millis) -> SeriesSourceId:
        """A series of its own: lists name no author, so nothing can be matched until its details are read."""
        key = match_key(found.title, None)
        series = await add_series_tx(tx, self._new_id(), found.title, match_key=key, now=now)
        await index_series_tx(tx, series, titles=(found.title,), description="")
        made = await add_series_source_tx(
            tx, series, source.id, source_key=found.key, url=found.url, now=now, title=found.title
        )
        if made is None:
            raise Contention("Somebody else mapped this series at the same time.")
        await touch_listed_tx(tx, [(made, found)], now)
        await watch_mapping_tx(tx, made, url=found.url, base_url=source.base_url, priority=COLD, due_at=now, now=now)
        await tx.run(q.suspend_unfollowed, series_source_id=made, reason=NOBODY_FOLLOWS, now=now)
        return made


async def listed_series_tx(tx: Tx, source_id: SourceId, found: Iterable[FoundSeries]) -> dict[str, SeriesSourceId]:
    """Those of a list that are known, by their key."""
    rows = [{"key": series.key, "url": series.url} for series in found]
    listed = await tx.bulk(ListedSeries, q.listed_series, rows, source_id=source_id)
    return {each.key: each.id for each in listed if each.id is not None}


async def touch_listed_tx(tx: Tx, found: Iterable[tuple[SeriesSourceId, FoundSeries]], now: Millis) -> None:
    """Remember that they were listed, and where they are now."""
    rows = [{"id": id_, "url": each.url, "title": each.title, "cover_url": each.cover_url} for id_, each in found]
    await tx.run(q.touch_listed, rows=rows, now=now)


def storable(found: SeriesPage) -> SeriesPage:
    """Each series once, with text that both engines take; what nobody could call is left out."""
    by_key: dict[str, FoundSeries] = {}
    for each in found.series:
        key, url = valid_text(each.key), valid_text(each.url)
        if key and url and len(key.encode()) <= LONGEST_KEY and len(url.encode()) <= LONGEST_URL:
            cover = None if each.cover_url is None else valid_text(each.cover_url)
            title = valid_text(each.title)[:LONGEST_TITLE] or key[:LONGEST_TITLE]
            by_key.setdefault(key, msgspec.structs.replace(each, key=key, url=url, title=title, cover_url=cover))
    return SeriesPage(tuple(by_key.values()), found.has_next)


def plain_query(text: str) -> str:
    """Texts that differ by their spaces ask for the same."""
    return " ".join(text.split())


def filters_key(values: Sequence[FilterValue]) -> str:
    """R60: filters that say the same have the same key, in whatever order; empty when there are none."""
    if not values:
        return ""
    in_order = sorted(values, key=lambda value: (value.group or "", value.name))
    text = msgspec.json.encode(in_order)
    return text.decode() if len(text) <= LONGEST_FILTERS else f"sha256:{hashlib.sha256(text).hexdigest()}"


_DOES: dict[ListKind, str] = {"popular": "list popular series", "latest": "list the latest series", "search": "search"}


class ListRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Which page of which list, and for whom."""

    kind: ListKind
    shelf_id: ShelfId
    page: int = 1
    text: str = ""
    filters: tuple[FilterValue, ...] = ()
    refresh: bool = False


class BrowseService(msgspec.Struct, frozen=True):
    """Browses the lists of sources."""

    db: Database
    calls: Calls
    cache: TtlCache
    listings: ListingWriter
    clock: Callable[[], Millis]
    ttl: Millis

    async def filters(self, source_id: int) -> Sequence[Filter]:
        """What a search can be narrowed by; nothing is called for it."""
        call = self.calls.aside(await self.db.read(lambda tx: source_tx(tx, source_id)))
        return call.connector.filters(call.config)

    async def browse(self, source_id: int, request: ListRequest) -> CachedAnswer[MangaPage]:
        """One page of a list; Unsupported when the source has no such list, Invalid for filters that it has not."""
        source = await self.db.read(lambda tx: source_tx(tx, source_id))
        self._check(source, request)
        key = ListKey(
            source_id=source.id,
            kind=request.kind,
            page=request.page,
            query=plain_query(request.text),
            filters=filters_key(request.filters),
        )
        query = CacheQuery(
            key=key,
            stored=lambda: self._kept(key, request.shelf_id),
            fetch=lambda: self._fetch(source, key, request),
            ttl=self.ttl,
        )
        return await self.cache.answer(query, refresh=request.refresh)

    def _check(self, source: Source, request: ListRequest) -> None:
        """Unsupported where the connector cannot answer it; without its connector, a source answers from the cache."""
        info = self.calls.info(source)
        if info is None:
            return
        can = [kind for kind in _DOES if getattr(info.abilities, kind)]
        if request.kind not in can:
            instead = f" It has: {', '.join(can)}." if can else ""
            raise Unsupported(f"{source.name} cannot {_DOES[request.kind]}.{instead}")
        if request.filters:
            call = self.calls.aside(source)
            with_values(call.connector.filters(call.config), request.filters)

    async def _kept(self, key: ListKey, shelf_id: ShelfId) -> CachedValue[MangaPage]:
        async def read(tx: Tx) -> CachedValue[MangaPage]:
            listing = await tx.maybe(SourceListing, q.find_listing, **msgspec.structs.asdict(key))
            if listing is None:
                return CachedValue(MangaPage([], has_next=False), None, is_there=False)
            rows = [{"id": id_, "place": place} for place, id_ in enumerate(listing.series_source_ids)]
            manga = await tx.bulk(Manga, q.list_manga, rows, shelf_id=shelf_id)
            return CachedValue(MangaPage(manga, listing.has_next), listing.fetched_at)

        return await self.db.read(read)

    async def _fetch(self, source: Source, key: ListKey, request: ListRequest) -> None:
        call = await self.calls.to(source)
        found = storable(await call.ask(_visit(call, key, request.filters)))
        now = self.clock()
        await self.db.with_tx(
            lambda tx: self.listings.store_tx(tx, source, call.connector.info, found, key=key, now=now)
        )


def _visit(call: SourceCall, key: ListKey, filters: tuple[FilterValue, ...]) -> Visit[SeriesPage]:
    connector, config = call.connector, call.config
    match key.kind:
        case "popular":
            return connector.popular(config, key.page)
        case "latest":
            return connector.latest(config, key.page)
        case "search":
            return connector.search(config, key.page, text=key.query, filters=filters)


MOST_SOURCES = 500


class SeriesAddresses:
    """Finds the series at an address."""

    def __init__(self, db: Database, calls: Calls, listings: ListingWriter, clock: Callable[[], Millis]) -> None:
        self._db = db
        self._calls = calls
        self._listings = listings
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
        except SourceNotCallable:
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
        """Its details show whether it is a series: other pages of the site may still be feeds."""
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
            await self._listings.store_tx(tx, source, call.connector.info, page, key=key, now=now)

        if page.series:
            await self._db.with_tx(store)
        return await self._known(source, listed)
