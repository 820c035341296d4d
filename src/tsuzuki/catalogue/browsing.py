"""A source's lists, and what a search of it can be narrowed by."""

from collections.abc import Callable, Sequence

import msgspec

from tsuzuki.catalogue.calling import Calls
from tsuzuki.catalogue.listing import ListingWriter, storable
from tsuzuki.catalogue.policy import filters_key, plain_query
from tsuzuki.catalogue.rows import ListKey, ListKind, MangaPage
from tsuzuki.catalogue.store import find_listing_tx, list_manga_tx
from tsuzuki.catalogue.ttl_cache import CachedAnswer, CachedValue, Question, TtlCache
from tsuzuki.connectors.filters import Filter, FilterValue, with_values
from tsuzuki.connectors.protocol import Abilities, ConnectorInfo, Unsupported, Visit
from tsuzuki.db import Database, Tx
from tsuzuki.model.errors import NotFound
from tsuzuki.model.harvest import SeriesPage
from tsuzuki.model.ids import ShelfId
from tsuzuki.model.times import Millis
from tsuzuki.polling.driver import SourceCall
from tsuzuki.sources.sites.rows import Source
from tsuzuki.sources.sites.service import NO_SOURCE
from tsuzuki.sources.sites.store import find_source_tx

_DOES: dict[ListKind, str] = {
    "popular": "list popular series",
    "latest": "list the latest series",
    "search": "search",
}


class ListWish(msgspec.Struct, frozen=True, kw_only=True):
    """Which page of which list, and for whom."""

    kind: ListKind
    shelf_id: ShelfId
    page: int = 1
    text: str = ""
    filters: tuple[FilterValue, ...] = ()
    refresh: bool = False


class Browsing:
    """The verbs of lists."""

    def __init__(
        self,
        db: Database,
        calls: Calls,
        keeper: TtlCache,
        shelver: ListingWriter,
        *,
        clock: Callable[[], Millis],
        ttl: Millis,
    ) -> None:
        self._db = db
        self._calls = calls
        self._keeper = keeper
        self._shelver = shelver
        self._clock = clock
        self._ttl = ttl

    async def filters(self, source_id: int) -> Sequence[Filter]:
        """What a search can be narrowed by; nothing is called for it."""
        call = self._calls.aside(await self._source(source_id))
        return call.connector.filters(call.config)

    async def browse(self, source_id: int, wish: ListWish) -> CachedAnswer[MangaPage]:
        """One page of a list; Unsupported when the source has no such list, Invalid for filters that it has not."""
        source = await self._source(source_id)
        self._check(source, wish)
        key = ListKey(
            source_id=source.id,
            kind=wish.kind,
            page=wish.page,
            query=plain_query(wish.text),
            filters=filters_key(wish.filters),
        )
        question = Question(
            key=key,
            look=lambda: self._kept(key, wish.shelf_id),
            fetch=lambda: self._fetch(source, key, wish),
            ttl=self._ttl,
        )
        return await self._keeper.answer(question, refresh=wish.refresh)

    async def _source(self, source_id: int) -> Source:
        source = await self._db.read(lambda tx: find_source_tx(tx, source_id))
        if source is None:
            raise NotFound(NO_SOURCE)
        return source

    def _check(self, source: Source, wish: ListWish) -> None:
        """As far as that can be known: what is not installed answers from the cache."""
        info = self._calls.info(source)
        if info is None:
            return
        if not _can(info.abilities, wish.kind):
            raise Unsupported(f"{source.name} cannot {_DOES[wish.kind]}.{_instead(info)}")
        if wish.filters:
            call = self._calls.aside(source)
            with_values(call.connector.filters(call.config), wish.filters)

    async def _kept(self, key: ListKey, shelf_id: ShelfId) -> CachedValue[MangaPage]:
        async def look(tx: Tx) -> CachedValue[MangaPage]:
            listing = await find_listing_tx(tx, key)
            if listing is None:
                return CachedValue(MangaPage([], has_next=False), None, is_there=False)
            manga = await list_manga_tx(tx, listing.series_source_ids, shelf_id)
            return CachedValue(MangaPage(manga, listing.has_next), listing.fetched_at)

        return await self._db.read(look)

    async def _fetch(self, source: Source, key: ListKey, wish: ListWish) -> None:
        call = await self._calls.to(source)
        found = storable(await call.ask(_visit(call, key, wish.filters)))
        now = self._clock()
        await self._db.with_tx(
            lambda tx: self._shelver.shelve_tx(tx, source, call.connector.info, found, key=key, now=now)
        )


def _can(abilities: Abilities, kind: ListKind) -> bool:
    can: bool = getattr(abilities, kind)
    return can


def _instead(info: ConnectorInfo) -> str:
    others = [kind for kind in _DOES if _can(info.abilities, kind)]
    return f" It has: {', '.join(others)}." if others else ""


def _visit(call: SourceCall, key: ListKey, filters: tuple[FilterValue, ...]) -> Visit[SeriesPage]:
    connector, config = call.connector, call.config
    match key.kind:
        case "popular":
            return connector.popular(config, key.page)
        case "latest":
            return connector.latest(config, key.page)
        case "search":
            return connector.search(config, key.page, text=key.query, filters=filters)
