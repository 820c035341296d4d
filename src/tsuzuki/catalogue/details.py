"""The details of one series at its source."""

from collections.abc import Callable
from typing import get_args

import msgspec

from tsuzuki.catalogue.calls import CachedAnswer, CachedValue, CacheQuery, Calls, SourceNotCallable, TtlCache
from tsuzuki.catalogue.merges.store import end_series_tx, find_series_tx
from tsuzuki.catalogue.types import Manga
from tsuzuki.connectors.html.sanitiser import valid_text
from tsuzuki.db import Database, Tx, load_queries
from tsuzuki.db.locks import SERIES, check_order, lock_series_merges_shared_tx, lock_series_merges_tx
from tsuzuki.ingest.chapters import index_series_tx, series_of_tx
from tsuzuki.model.errors import NotFound
from tsuzuki.model.harvest import SeriesDetails, UpdateStrategy
from tsuzuki.model.ids import SeriesId, SeriesSourceId, ShelfId
from tsuzuki.model.times import Millis
from tsuzuki.polling.policy import COMPLETE
from tsuzuki.sources.comics import NOBODY_FOLLOWS, followers_changed_tx, matching_comic_tx
from tsuzuki.sources.policy import is_matchable, match_key
from tsuzuki.sources.sites import find_source_tx
from tsuzuki.sources.types import Source

q = load_queries("tsuzuki.catalogue")

NO_MANGA = "There is no such series."
UPDATE_STRATEGIES = frozenset(get_args(UpdateStrategy))
SWITCHED_OFF = "This series is switched off at this source."


class DetailsService(msgspec.Struct, frozen=True):
    """Shows the details of a series."""

    db: Database
    calls: Calls
    cache: TtlCache
    clock: Callable[[], Millis]
    ttl: Millis

    async def show(self, manga_id: int, shelf_id: ShelfId, *, refresh: bool = False) -> CachedAnswer[Manga]:
        """The series with its details; while the source does not answer, as its list showed it (R64)."""
        manga, source = await self.db.read(lambda tx: manga_tx(tx, manga_id, shelf_id))
        info = self.calls.info(source)
        has_details = info is None or info.abilities.details
        query = CacheQuery(
            key=("details", manga.id),
            stored=lambda: self._kept(manga.id, shelf_id, has_details=has_details),
            fetch=lambda: self._fetch(source, manga),
            ttl=self.ttl if has_details else None,
        )
        return await self.cache.answer(query, refresh=refresh and has_details)

    async def _kept(self, manga_id: SeriesSourceId, shelf_id: ShelfId, *, has_details: bool) -> CachedValue[Manga]:
        manga, _ = await self.db.read(lambda tx: manga_tx(tx, manga_id, shelf_id))
        # A source without details has only what its list showed.
        return CachedValue(manga, manga.details_fetched_at if has_details else manga.listed_at or Millis(0))

    async def _fetch(self, source: Source, manga: Manga) -> None:
        if not manga.is_active:
            raise SourceNotCallable(SWITCHED_OFF)
        call = await self.calls.to(source)
        found = _storable(await call.ask(call.connector.details(call.config, manga.url)))
        now = self.clock()
        await self.db.with_tx(lambda tx: _save_tx(tx, source, manga, found, now=now))


async def manga_tx(tx: Tx, manga_id: int, shelf_id: ShelfId | None) -> tuple[Manga, Source]:
    """A series and its source, or NotFound."""
    manga = await tx.maybe(Manga, q.find_manga, id=manga_id, shelf_id=shelf_id)
    source = None if manga is None else await find_source_tx(tx, manga.source_id)
    if manga is None or source is None:
        raise NotFound(NO_MANGA)
    return manga, source


async def _save_tx(tx: Tx, source: Source, manga: Manga, found: SeriesDetails, *, now: Millis) -> None:
    title = found.title or manga.title
    key = match_key(title, found.author)
    # Only with its first details: what readers know by its series stays there.
    may_move = not manga.is_initialized and is_matchable(key)
    await (lock_series_merges_tx if may_move else lock_series_merges_shared_tx)(tx)
    own = await series_of_tx(tx, manga.id)
    if own is None:
        raise NotFound(NO_MANGA)
    genres = {"has_genres": bool(found.genres), "genres": list(found.genres)}
    await tx.run(q.save_details, **q.save_details.values_of(found, id=manga.id, now=now, **genres))
    if found.update_strategy == "ALWAYS_UPDATE" and manga.update_strategy == "ONLY_FETCH_ONCE":
        await tx.run(
            q.replace_rest_reason, id=manga.id, reason=COMPLETE, by=NOBODY_FOLLOWS
        )  # I5: it is not complete after all
        await followers_changed_tx(tx, own, now)
    home = await _joined_tx(tx, source, manga.id, own, key=key, now=now) if may_move else own
    await tx.run(q.describe_series, **q.describe_series.values_of(found, id=home, match_key=key, now=now))
    if home == own:
        description = found.description or manga.description or ""
        await index_series_tx(tx, own, titles=(title, *found.alt_titles), description=description)


async def _joined_tx(
    tx: Tx, source: Source, manga_id: SeriesSourceId, own: SeriesId, *, key: str, now: Millis
) -> SeriesId:
    """The series that we know by this title and author, as long as nothing hangs on its own yet; else its own."""
    known = await matching_comic_tx(tx, source.id, key)
    if known is None or not await _lock_unshared_series_tx(tx, own, manga_id):
        return own
    await end_series_tx(tx, await find_series_tx(tx, own), known, [manga_id], now=now)
    await followers_changed_tx(tx, known, now)  # who follows the work gets chapters of this source too
    return known


async def _lock_unshared_series_tx(tx: Tx, series_id: SeriesId, series_source_id: SeriesSourceId) -> bool:
    """Whether nothing hangs on this series but this one source's row; it stays so to the end of the transaction."""
    check_order(tx, SERIES, series_id)
    return await tx.maybe(SeriesId, q.lock_unshared_series, id=series_id, series_source_id=series_source_id) is not None


def _storable(found: SeriesDetails) -> SeriesDetails:
    """With text that both engines take, and a status and a strategy that we know (R10, R24)."""
    texts = {name: valid_text(text) for name, text in msgspec.structs.asdict(found).items() if isinstance(text, str)}
    lists = {
        "alt_titles": tuple(map(valid_text, found.alt_titles)),
        "genres": tuple(map(valid_text, found.genres)),
        "status": found.status if 0 <= found.status <= 6 else 0,
        "update_strategy": found.update_strategy if found.update_strategy in UPDATE_STRATEGIES else None,
    }
    return msgspec.structs.replace(found, **texts | lists)
