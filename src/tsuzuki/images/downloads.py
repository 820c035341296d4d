"""Downloads of chapters: which shelf has which, and every page fetched, verified and pinned.

Each page is a transaction of its own, so that whoever takes the task after a crash goes on where it ended.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Final, Literal

import msgspec

from tsuzuki.catalogue.calls import SourceNotCallable
from tsuzuki.catalogue.chapters import NO_CHAPTER, Chapters
from tsuzuki.coord.wakeup import Wakeup
from tsuzuki.db import Database, Tx, load_queries
from tsuzuki.images.files import drop_unused_copy_tx, lock_download_tx, page_of
from tsuzuki.images.policy import LONGEST_ERROR
from tsuzuki.images.service import Images
from tsuzuki.model.errors import NotFound, SourceError, TsuzukiError, Unavailable
from tsuzuki.model.ids import ChapterId, PublicId, ReleaseId, ShelfId
from tsuzuki.model.pages import Page, PageCursor
from tsuzuki.model.times import MINUTE, SECOND, Millis
from tsuzuki.queue.errors import LeaseLost, Retryable
from tsuzuki.queue.policy import QueueSettings, is_hopeless, storable
from tsuzuki.queue.tasks import Queue, Task, enqueue_tx, finish_tx, skip_tx
from tsuzuki.shelves.limits import check_shelf_limit_tx

q = load_queries("tsuzuki.images")

CopyStatus = Literal["queued", "running", "done", "failed"]


class ReleaseCopy(msgspec.Struct, frozen=True):
    """The stored pages of a release, shared by all shelves that downloaded it."""

    id: int
    release_id: ReleaseId
    status: CopyStatus
    total: int | None


class Download(msgspec.Struct, frozen=True):
    """A chapter that a shelf downloads, and how far that is."""

    copy_id: int
    release_id: ReleaseId
    chapter_id: ChapterId
    series_public_id: PublicId
    series_title: str
    number: str | None
    title: str
    language: str | None
    group_name: str | None
    status: CopyStatus
    done: int
    total: int | None
    bytes: int
    error: str | None
    is_available: bool
    """Whether its source still has it."""
    created_at: Millis


class DownloadTask(msgspec.Struct, frozen=True):
    """Which copy of a release to complete; shelves that download it share one."""

    copy_id: int


DOWNLOADS: Final[Queue[DownloadTask]] = Queue(
    "keep-chapters",
    DownloadTask,
    QueueSettings(
        attempts=6,
        delays=(Millis(10 * SECOND), Millis(30 * SECOND), Millis(2 * MINUTE), Millis(5 * MINUTE), Millis(15 * MINUTE)),
        concurrency=2,
    ),
)


NOT_DOWNLOADED = "This chapter is not downloaded on this shelf."


class Downloads:
    """Adds, lists and removes downloads."""

    def __init__(self, db: Database, wakeup: Wakeup, clock: Callable[[], Millis]) -> None:
        self._db = db
        self._wakeup = wakeup
        self._clock = clock

    async def add(self, shelf_id: ShelfId, release_id: ReleaseId) -> Download:
        """Download a chapter. After a failure it is tried again; else a repeat changes nothing."""
        now = self._clock()

        async def add(tx: Tx) -> Download:
            download = await find_download_tx(tx, shelf_id, release_id)
            if download is None:
                await check_shelf_limit_tx(tx, shelf_id, "kept_chapters")
            elif download.status == "done":
                return download
            copy = await tx.maybe(ReleaseCopy, q.add_copy, release_id=release_id, now=now)
            if copy is None:
                raise NotFound(NO_CHAPTER)
            await tx.run(q.add_download, shelf_id=shelf_id, copy_id=copy.id, now=now)
            if copy.status != "done":
                # One task for a copy, however many shelves want it.
                await enqueue_tx(tx, DOWNLOADS, f"copy-{copy.id}", DownloadTask(copy.id), now=now)
            return _there(await find_download_tx(tx, shelf_id, release_id))

        download = await self._db.with_tx(add)
        self._wakeup.wake(DOWNLOADS.name)
        return download

    async def remove(self, shelf_id: ShelfId, release_id: ReleaseId) -> None:
        """Remove the download; NotFound. Pages that no other shelf downloaded may be evicted."""

        async def remove(tx: Tx) -> None:
            await lock_download_tx(tx, release_id)
            if not await tx.run(q.delete_download, shelf_id=shelf_id, release_id=release_id):
                raise NotFound(NOT_DOWNLOADED)
            await drop_unused_copy_tx(tx, release_id)

        await self._db.with_tx(remove)

    async def get(self, shelf_id: ShelfId, release_id: ReleaseId) -> Download:
        """The download's state, or NotFound."""
        return _there(await self._db.read(lambda tx: find_download_tx(tx, shelf_id, release_id)))

    async def list(self, shelf_id: ShelfId, *, after: PageCursor, most: int) -> Page[Download]:
        """The shelf's downloads, newest first."""

        async def read(tx: Tx) -> Page[Download]:
            place = {"at": after.at, "id": after.id, "most": most + 1}
            rows = await tx.many(Download, q.list_downloaded, shelf_id=shelf_id, **place)
            more = len(rows) > most
            rows = rows[:most]
            cursor = PageCursor(rows[-1].created_at, rows[-1].copy_id) if more else None
            return Page(rows, await tx.one(int, q.count_downloads, shelf_id=shelf_id), cursor)

        return await self._db.read(read)

    async def among(self, shelf_id: ShelfId, release_ids: Iterable[ReleaseId]) -> dict[ReleaseId, Download]:
        """The shelf's downloads among these releases."""
        wanted = {"shelf_id": shelf_id, "release_ids": list(release_ids)}
        found = await self._db.read(lambda tx: tx.many(Download, q.downloads_among, **wanted))
        return {download.release_id: download for download in found}

    async def whole_of_chapters(self, shelf_id: ShelfId, chapters: Iterable[ChapterId]) -> Sequence[Download]:
        """The shelf's complete downloads of these chapters, also where their source is gone."""
        wanted = {"shelf_id": shelf_id, "chapter_ids": list(chapters)}
        return await self._db.read(lambda tx: tx.many(Download, q.downloads_of_chapters, **wanted))

    async def downloaded_of(self, shelf_id: ShelfId, release_ids: Iterable[ReleaseId]) -> set[ReleaseId]:
        """Those of these releases that are completely downloaded: `is_downloaded` in lists."""
        wanted = {"shelf_id": shelf_id, "release_ids": list(release_ids)}
        return set(await self._db.read(lambda tx: tx.many(ReleaseId, q.downloaded_releases, **wanted)))


async def find_download_tx(tx: Tx, shelf_id: ShelfId, release_id: ReleaseId) -> Download | None:
    """One download of a shelf."""
    return await tx.maybe(Download, q.find_download, shelf_id=shelf_id, release_id=release_id)


def _there(download: Download | None) -> Download:
    if download is None:
        raise NotFound(NOT_DOWNLOADED)
    return download


NOT_WANTED = "no shelf wants it any more"
_TRIES = 3


class _Dropped(Exception):
    """No shelf wants it any more."""


async def find_copy_tx(tx: Tx, copy_id: int) -> ReleaseCopy | None:
    """The copy, or None when no shelf wants it any more."""
    return await tx.maybe(ReleaseCopy, q.find_copy, id=copy_id)


async def set_copy_tx(
    tx: Tx, copy_id: int, status: CopyStatus, *, now: Millis, total: int | None = None, error: str | None = None
) -> None:
    """Store how far a copy is."""
    await tx.run(q.set_copy, id=copy_id, status=status, total=total, error=error, now=now)


class ChapterDownloader:
    """Downloads chapters page by page: handles `keep-chapters`."""

    def __init__(self, db: Database, images: Images, chapters: Chapters, clock: Callable[[], Millis]) -> None:
        self._db = db
        self._images = images
        self._chapters = chapters
        self._clock = clock

    async def handle(self, task: Task[DownloadTask]) -> None:
        """Complete the copy; failures are stored on the copy, and retried as the queue decides."""
        copy = await self._db.read(lambda tx: find_copy_tx(tx, task.payload.copy_id))
        if copy is None:
            await self._skip(task)
            return
        try:
            total = await self._copy(copy)
        except _Dropped:
            await self._skip(task)
            return
        except SourceNotCallable as error:
            await self._say(copy, "queued", error)
            raise
        except (LeaseLost, Unavailable):
            raise
        except TsuzukiError as error:
            # While there are tries left it is only waiting.
            is_over = is_hopeless(error) or task.attempt >= DOWNLOADS.settings.attempts
            await self._say(copy, "failed" if is_over else "queued", error)
            raise
        await self._db.with_tx(lambda tx: self._finish_tx(tx, task, copy, total))

    async def _skip(self, task: Task[DownloadTask]) -> None:
        await self._db.with_tx(lambda tx: skip_tx(tx, task, now=self._clock(), why=NOT_WANTED))

    async def _copy(self, copy: ReleaseCopy) -> int:
        """Every page that is missing; how many there are."""
        answer = await self._chapters.pages(copy.release_id)
        if answer.freshness.error is not None:
            raise SourceError(answer.freshness.error)  # R63: a list with holes is no chapter
        total = len(answer.pages)
        await self._db.with_tx(lambda tx: self._begin_tx(tx, copy, total))
        done = set(await self._db.read(lambda tx: tx.many(int, q.copied_positions, copy_id=copy.id)))
        for position in range(total):
            if position not in done:
                await self._copy_page(copy, position)
        return total

    async def _begin_tx(self, tx: Tx, copy: ReleaseCopy, total: int) -> None:
        await set_copy_tx(tx, copy.id, "running", total=total, now=self._clock())
        await tx.run(q.drop_surplus_copies, copy_id=copy.id, total=total)  # of a longer list that was read before

    async def _copy_page(self, copy: ReleaseCopy, position: int) -> None:
        """Pinned as soon as it is here; one that was evicted in between is fetched once more."""
        for _ in range(_TRIES):
            try:
                image = await self._images.ensure(page_of(copy.release_id, position))
            except SourceError as error:
                said = f"Page {position + 1}: {error}"
                raise SourceError(said, status=error.status, retry_after=error.retry_after) from error
            page = {"copy_id": copy.id, "position": position, "image_id": image.id}
            if await self._db.with_tx(lambda tx: tx.run(q.pin_page, **page)):  # noqa: B023  awaited
                return
            if await self._db.read(lambda tx: find_copy_tx(tx, copy.id)) is None:
                raise _Dropped
        raise Retryable("The cache is too small: images are evicted as fast as they arrive.")

    async def _finish_tx(self, tx: Tx, task: Task[DownloadTask], copy: ReleaseCopy, total: int) -> None:
        now = self._clock()
        await set_copy_tx(tx, copy.id, "done", total=total, now=now)
        await finish_tx(tx, task, now=now)

    async def _say(self, copy: ReleaseCopy, status: CopyStatus, error: TsuzukiError) -> None:
        said = storable(str(error))[:LONGEST_ERROR]
        await self._db.with_tx(lambda tx: set_copy_tx(tx, copy.id, status, error=said, now=self._clock()))
