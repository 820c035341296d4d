"""Chapter lists and the pages of a release."""

from collections import OrderedDict
from collections.abc import Awaitable, Callable, Collection, Sequence

import msgspec

from tsuzuki.catalogue.calls import (
    CachedAnswer,
    CachedValue,
    CacheQuery,
    Calls,
    Freshness,
    SourceCall,
    SourceNotCallable,
    TtlCache,
    is_fresh,
)
from tsuzuki.catalogue.details import SWITCHED_OFF, manga_tx
from tsuzuki.catalogue.types import CatalogueRelease, ChapterTarget, ListedRelease, Manga, PageRow
from tsuzuki.connectors.html.sanitiser import valid_text
from tsuzuki.connectors.protocol import Unsupported
from tsuzuki.coord.wakeup import AfterCommit
from tsuzuki.db import Database, Tx, load_queries
from tsuzuki.delivery.fanout import NOTHING, Delivered
from tsuzuki.ingest.chapters import CHAPTERS, ChapterBatch, ReleaseFound, in_order, save_pages_tx, store_chapters_tx
from tsuzuki.ingest.listings import compare_listing, record_listing
from tsuzuki.ingest.service import LARGEST_BATCH, OF_ITS_CONTENT
from tsuzuki.model.errors import Conflict, NotFound, ShapeChanged
from tsuzuki.model.harvest import FoundPage
from tsuzuki.model.ids import ReleaseId, ShelfId
from tsuzuki.model.requests import Want
from tsuzuki.model.times import MINUTE, Millis
from tsuzuki.queue.tasks import enqueue_tx
from tsuzuki.sources.sites import source_tx
from tsuzuki.sources.types import Source

q = load_queries("tsuzuki.catalogue")

Releases = list[ListedRelease]
DownloadedOf = Callable[[ShelfId, Sequence[ReleaseId]], Awaitable[Collection[ReleaseId]]]
"""Which of these releases a shelf keeps for reading without their source."""


async def none_downloaded(_shelf_id: ShelfId, _releases: Sequence[ReleaseId]) -> Collection[ReleaseId]:
    """Used where chapters cannot be downloaded: nothing is."""
    return ()


class ChapterLists:
    """Lists the chapters of a series. `after_commit` wakes those who wait for what was stored."""

    def __init__(
        self,
        db: Database,
        calls: Calls,
        cache: TtlCache,
        *,
        clock: Callable[[], Millis],
        ttl: Millis,
        after_commit: AfterCommit,
        downloaded_of: DownloadedOf = none_downloaded,
    ) -> None:
        self._db = db
        self._calls = calls
        self._cache = cache
        self._clock = clock
        self._ttl = ttl
        self._after_commit = after_commit
        self._downloaded_of = downloaded_of

    async def list(self, manga_id: int, shelf_id: ShelfId, *, refresh: bool = False) -> CachedAnswer[Releases]:
        """Every release, the newest first (R11), with what the shelf has read of them."""
        manga, source = await self._db.read(lambda tx: manga_tx(tx, manga_id, shelf_id))
        query = CacheQuery(
            key=("chapters", manga.id),
            stored=lambda: self._kept(manga, shelf_id),
            fetch=lambda: self._fetch(source, manga),
            ttl=self._ttl,
        )
        return await self._cache.answer(query, refresh=refresh)

    async def downloaded_of(self, shelf_id: ShelfId, releases: Sequence[ListedRelease]) -> Collection[ReleaseId]:
        """Which of them the shelf has downloaded."""
        return await self._downloaded_of(shelf_id, [release.id for release in releases])

    async def _kept(self, manga: Manga, shelf_id: ShelfId) -> CachedValue[Releases]:
        async def read(tx: Tx) -> CachedValue[Releases]:
            fetched_at = await tx.maybe(Millis, q.chapters_age, id=manga.id)
            releases = await tx.many(ListedRelease, q.list_releases, series_source_id=manga.id, shelf_id=shelf_id)
            return CachedValue(releases, fetched_at, is_there=fetched_at is not None or bool(releases))

        return await self._db.read(read)

    async def _fetch(self, source: Source, manga: Manga) -> None:
        if not manga.is_active:
            raise SourceNotCallable(SWITCHED_OFF)
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
        await self._db.with_tx(lambda tx: _fetched_tx(tx, manga, now))

    async def _store(self, manga: Manga, releases: tuple[ReleaseFound, ...], *, is_first: bool, harvest: str) -> None:
        """Store it like a poll's task; what cannot be stored becomes one, to be split and given up alone."""
        now = self._clock()

        async def store(tx: Tx) -> Delivered:
            batch = _batch(await _target_tx(tx, manga), releases, is_first=is_first, harvest=harvest)
            return await store_chapters_tx(tx, batch, now)

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
    target = await tx.maybe(ChapterTarget, q.chapter_target, id=manga.id)
    if target is None:
        raise NotFound("This series no longer exists at its source.")
    return target


async def _fetched_tx(tx: Tx, manga: Manga, now: Millis) -> None:
    """Record that the whole chapter list was fetched."""
    await tx.run(q.chapters_fetched, id=manga.id, now=now)
    await tx.run(q.harvested, series_source_id=manga.id, now=now)


def _batch(target: ChapterTarget, releases: tuple[ReleaseFound, ...], *, is_first: bool, harvest: str) -> ChapterBatch:
    return ChapterBatch(
        watch_id=target.watch_id,
        series_id=target.series_id,
        series_source_id=target.series_source_id,
        releases=releases,
        is_first_harvest=is_first,
        harvest=harvest,
    )


NO_CHAPTER = "There is no such chapter."
REMEMBERED_FOR = Millis(5 * MINUTE)
"""R66: addresses that expire, in memory; MangaDex's are good for about a quarter of an hour."""
MOST_REMEMBERED = 256

Pages = tuple[PageRow, ...]


class PagesAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The pages of a release. `expires` means that no image address in it may be stored (R66)."""

    release: CatalogueRelease
    source: Source
    pages: Pages
    expires: bool
    freshness: Freshness


class PageImage(msgspec.Struct, frozen=True):
    """How to get one image: give `want` to the driver or the client, as `call.origin`, with `call.folder`.

    `want` is an `Ask` with the headers that the image's host wants to see, or a `ReadFile` below the source's folder.
    """

    call: SourceCall
    image_url: str
    want: Want


class Chapters:
    """Lists the pages of a release, and says how to fetch each image."""

    def __init__(self, db: Database, calls: Calls, cache: TtlCache, clock: Callable[[], Millis]) -> None:
        self._db = db
        self._calls = calls
        self._cache = cache
        self._clock = clock
        self._expiring: OrderedDict[ReleaseId, CachedValue[Pages]] = OrderedDict()

    async def pages(self, release_id: int, *, refresh: bool = False) -> PagesAnswer:
        """The page list, stored once it is whole (R63); Conflict for a release that can only be read at its source."""
        release, source = await self._db.read(lambda tx: _release_tx(tx, release_id))
        if not release.is_readable:
            raise Conflict(f"This chapter can only be read at its source: {release.real_url or release.url}")
        info = self._calls.info(source)
        expires = info is not None and info.image_urls_expire
        query = CacheQuery(
            key=("pages", release.id),
            stored=lambda: self._remembered(release) if expires else self._stored(release),
            fetch=lambda: self._fetch(release, source),
            ttl=REMEMBERED_FOR if expires else None,
        )
        answered = await self._cache.answer(query, refresh=refresh)
        return PagesAnswer(
            release=release, source=source, pages=answered.value, expires=expires, freshness=answered.freshness
        )

    async def image(self, answer: PagesAnswer, position: int) -> PageImage:
        """How to get a page's image; NotFound beyond the last page. Asks the source where its list had no address."""
        if not 0 <= position < len(answer.pages):
            raise NotFound(f"This chapter has only {len(answer.pages)} pages.")
        page = answer.pages[position]
        call = await self._calls.to(answer.source)
        url = page.image_url
        if url is None:
            found = FoundPage(page.position, page.url, None)
            url = valid_text(await call.ask(call.connector.image_url(call.config, found)))
            if not answer.expires:
                place = {"release_id": answer.release.id, "position": position}
                await self._db.with_tx(lambda tx: tx.run(q.resolve_image, **place, image_url=url))
        return PageImage(call, url, call.connector.image(call.config, url))

    async def _stored(self, release: CatalogueRelease) -> CachedValue[Pages]:
        async def read(tx: Tx) -> CachedValue[Pages]:
            now = await tx.maybe(CatalogueRelease, q.find_release, id=release.id)
            pages = tuple(await tx.many(PageRow, q.list_pages, release_id=release.id))
            fetched_at = None if now is None or not pages else now.pages_fetched_at
            return CachedValue(pages, fetched_at, is_there=fetched_at is not None)

        return await self._db.read(read)

    async def _remembered(self, release: CatalogueRelease) -> CachedValue[Pages]:
        """Never older than it may be: an address that has expired shows nothing."""
        kept = self._expiring.get(release.id)
        if kept is None or not is_fresh(kept.fetched_at, REMEMBERED_FOR, self._clock()):
            return CachedValue((), None, is_there=False)
        return kept

    async def _fetch(self, release: CatalogueRelease, source: Source) -> CachedValue[Pages]:
        call = await self._calls.to(source)
        info = call.connector.info
        if not info.abilities.pages:
            raise Unsupported(f"{info.name} cannot list pages.")
        found = await call.ask(call.connector.pages(call.config, release.url))
        now = self._clock()
        if not found:
            raise ShapeChanged("The source lists no pages of this chapter.")
        valid = _valid(found)
        # What the chapter list declared counts until a whole list was seen; a list that has shrunk since has shrunk.
        missing = lack(valid, release.page_count if release.pages_fetched_at is None else -1)
        pages = tuple(PageRow(place, page.url, page.image_url) for place, page in enumerate(valid))
        if missing is not None:
            return CachedValue(pages, now, error=missing)
        if info.image_urls_expire:
            return self._remember(release.id, CachedValue(pages, now))
        await self._db.with_tx(lambda tx: save_pages_tx(tx, release.id, valid, now))
        return CachedValue(pages, now)

    def _remember(self, release_id: ReleaseId, kept: CachedValue[Pages]) -> CachedValue[Pages]:
        self._expiring[release_id] = kept
        self._expiring.move_to_end(release_id)
        while len(self._expiring) > MOST_REMEMBERED:
            self._expiring.popitem(last=False)
        return kept


def _valid(found: Sequence[FoundPage]) -> list[FoundPage]:
    """In reading order, with text that both engines take."""
    in_order = sorted(found, key=lambda page: page.index)
    return [
        FoundPage(page.index, valid_text(page.url), None if page.image_url is None else valid_text(page.image_url))
        for page in in_order
    ]


def lack(found: Sequence[FoundPage], declared: int) -> str | None:
    """R63: why a page list is not whole; None when it is. `declared` is the chapter list's own count, or -1."""
    if [page.index for page in found] != list(range(len(found))):
        return "The source leaves pages out of its list."
    if len(found) < declared:
        return f"The source lists {len(found)} of {declared} pages."
    return None


async def _release_tx(tx: Tx, release_id: int) -> tuple[CatalogueRelease, Source]:
    release = await tx.maybe(CatalogueRelease, q.find_release, id=release_id)
    if release is None:
        raise NotFound(NO_CHAPTER)
    return release, await source_tx(tx, release.source_id)
