"""The chapters of a series on its source. What a refresh finds goes through ingest, so that followers hear of it."""

from collections.abc import Awaitable, Callable, Collection, Sequence

from tsuzuki.catalogue.calling import Calls, NotCalled
from tsuzuki.catalogue.details import SWITCHED_OFF, manga_tx
from tsuzuki.catalogue.rows import ChapterTarget, ListedRelease, Manga
from tsuzuki.catalogue.store import chapter_target_tx, chapters_age_tx, chapters_fetched_tx, list_releases_tx
from tsuzuki.catalogue.ttl_cache import CachedAnswer, CachedValue, Question, TtlCache
from tsuzuki.connectors.protocol import Unsupported
from tsuzuki.coord.wakeup import AfterCommit
from tsuzuki.db import Database, Tx
from tsuzuki.delivery.fanout import NOTHING, Delivered
from tsuzuki.ingest.chapters import CHAPTERS, ChapterBatch, ChapterIngest, ReleaseFound, in_order
from tsuzuki.ingest.listings import compare_listing, record_listing
from tsuzuki.ingest.service import LARGEST_BATCH, OF_ITS_CONTENT
from tsuzuki.model.errors import NotFound, ShapeChanged
from tsuzuki.model.ids import ReleaseId, ShelfId
from tsuzuki.model.times import Millis
from tsuzuki.queue.store import enqueue_tx
from tsuzuki.sources.sites.rows import Source

Releases = list[ListedRelease]
KeptOf = Callable[[ShelfId, Sequence[ReleaseId]], Awaitable[Collection[ReleaseId]]]
"""Which of these releases a shelf keeps for reading without their source."""


async def none_kept(_shelf_id: ShelfId, _releases: Sequence[ReleaseId]) -> Collection[ReleaseId]:
    """Where nothing is kept."""
    return ()


class ChapterLists:
    """The verbs of chapter lists. `wake` wakes those who wait for what was stored."""

    def __init__(
        self,
        db: Database,
        calls: Calls,
        keeper: TtlCache,
        *,
        clock: Callable[[], Millis],
        ttl: Millis,
        after_commit: AfterCommit,
        kept_of: KeptOf = none_kept,
    ) -> None:
        self._db = db
        self._calls = calls
        self._keeper = keeper
        self._clock = clock
        self._ttl = ttl
        self._after_commit = after_commit
        self._kept_of = kept_of
        self._ingest = ChapterIngest(db, clock=clock, after_commit=lambda delivered: after_commit(*delivered.wakeups))

    async def list(self, manga_id: int, shelf_id: ShelfId, *, refresh: bool = False) -> CachedAnswer[Releases]:
        """Every release, the newest first (R11), with what the shelf has read of them."""
        manga, source = await self._db.read(lambda tx: manga_tx(tx, manga_id, shelf_id))
        question = Question(
            key=("chapters", manga.id),
            look=lambda: self._kept(manga, shelf_id),
            fetch=lambda: self._fetch(source, manga),
            ttl=self._ttl,
        )
        return await self._keeper.answer(question, refresh=refresh)

    async def kept_of(self, shelf_id: ShelfId, releases: Sequence[ListedRelease]) -> Collection[ReleaseId]:
        """Which of them the shelf keeps for reading without their source."""
        return await self._kept_of(shelf_id, [release.id for release in releases])

    async def _kept(self, manga: Manga, shelf_id: ShelfId) -> CachedValue[Releases]:
        async def look(tx: Tx) -> CachedValue[Releases]:
            fetched_at = await chapters_age_tx(tx, manga.id)
            releases = await list_releases_tx(tx, manga.id, shelf_id)
            return CachedValue(releases, fetched_at, is_there=fetched_at is not None or bool(releases))

        return await self._db.read(look)

    async def _fetch(self, source: Source, manga: Manga) -> None:
        if not manga.is_active:
            raise NotCalled(SWITCHED_OFF)
        call = await self._calls.to(source)
        info = call.connector.info
        if not info.abilities.chapters:
            raise Unsupported(f"{info.name} cannot list chapters.")
        found = in_order(await call.ask(call.connector.chapters(call.config, manga.url)))
        await self._save(manga, found)

    async def _save(self, manga: Manga, found: Sequence[ReleaseFound]) -> None:
        """Only what is new or changed, in transactions of a size that nobody has to wait for."""
        target = await self._db.read(lambda tx: _target_tx(tx, manga))
        if not found and target.has_content:
            raise ShapeChanged("The source lists no chapters, though it had some before.")  # R28
        listing = await compare_listing(self._db, manga.id, found, self._clock())
        changed = listing.changed
        is_first, harvest = target.first_harvest_at is None, f"{target.watch_id}-c{self._clock()}"
        for start in range(0, len(changed), LARGEST_BATCH):
            part = tuple(changed[start : start + LARGEST_BATCH])
            await self._store(manga, part, is_first=is_first, harvest=harvest)
        now = self._clock()
        await record_listing(self._db, manga.id, listing, now)
        await self._db.with_tx(lambda tx: chapters_fetched_tx(tx, manga.id, now))

    async def _store(self, manga: Manga, releases: tuple[ReleaseFound, ...], *, is_first: bool, harvest: str) -> None:
        """As a poll's task would be; what cannot be stored becomes such a task, is split there and given up alone."""
        now = self._clock()

        async def store(tx: Tx) -> Delivered:
            batch = _batch(await _target_tx(tx, manga), releases, is_first=is_first, harvest=harvest)
            return await self._ingest.store_tx(tx, batch, now)

        async def enqueue(tx: Tx) -> Delivered:
            target = await _target_tx(tx, manga)
            key = f"ingest-{target.watch_id}-c{now}-{releases[0].source_order}"
            batch = _batch(target, releases, is_first=is_first, harvest=harvest)
            await enqueue_tx(tx, CHAPTERS, key, batch, now=now, priority=target.priority)
            return NOTHING

        try:
            delivered = await self._db.with_tx(store)
        except OF_ITS_CONTENT:
            delivered = await self._db.with_tx(enqueue)
            self._after_commit(CHAPTERS.name)
        self._after_commit(*delivered.wakeups)


async def _target_tx(tx: Tx, manga: Manga) -> ChapterTarget:
    """Read again for each write: an operator may have moved the mapping to another series meanwhile."""
    target = await chapter_target_tx(tx, manga.id)
    if target is None:
        raise NotFound("This series is gone from its source.")
    return target


def _batch(target: ChapterTarget, releases: tuple[ReleaseFound, ...], *, is_first: bool, harvest: str) -> ChapterBatch:
    return ChapterBatch(
        watch_id=target.watch_id,
        series_id=target.series_id,
        series_source_id=target.series_source_id,
        releases=releases,
        is_first_harvest=is_first,
        harvest=harvest,
    )
