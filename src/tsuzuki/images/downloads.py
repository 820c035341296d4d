"""Downloads of chapters: who keeps which, and every page fetched, verified and pinned, one by one.

Each page is a transaction of its own, so that whoever takes the task after a crash goes on where it ended.
"""

from collections.abc import Callable, Iterable
from typing import Final, Literal

import msgspec

from tsuzuki.catalogue.calls import NotCalled
from tsuzuki.catalogue.chapters import NO_CHAPTER, Chapters
from tsuzuki.coord.wakeup import Wakeup
from tsuzuki.db import Database, Tx, load_queries
from tsuzuki.images.files import drop_unkept_copy_tx, lock_download_tx, page_of
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


class Copy(msgspec.Struct, frozen=True):
    """The pages of a release, kept by us."""

    id: int
    release_id: ReleaseId
    status: CopyStatus
    total: int | None


class KeptChapter(msgspec.Struct, frozen=True):
    """A chapter that a shelf keeps, and how far that is."""

    copy_id: int
    release_id: ReleaseId
    chapter_id: ChapterId
    series_id: PublicId
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


class CopyTask(msgspec.Struct, frozen=True):
    """Which copy is to be made whole."""

    copy_id: int


COPIES: Final[Queue[CopyTask]] = Queue(
    "keep-chapters",
    CopyTask,
    QueueSettings(
        attempts=6,
        delays=(Millis(10 * SECOND), Millis(30 * SECOND), Millis(2 * MINUTE), Millis(5 * MINUTE), Millis(15 * MINUTE)),
        concurrency=2,
    ),
)


NOT_KEPT = "This shelf does not keep this chapter."


class KeptChapters:
    """The verbs of keeping."""

    def __init__(self, db: Database, wakeup: Wakeup, clock: Callable[[], Millis]) -> None:
        self._db = db
        self._wakeup = wakeup
        self._clock = clock

    async def keep(self, shelf_id: ShelfId, release_id: ReleaseId) -> KeptChapter:
        """Keep a chapter: its pages come by and by. Again, after it failed, tries it again; else changes nothing."""
        now = self._clock()

        async def keep(tx: Tx) -> KeptChapter:
            kept = await find_kept_tx(tx, shelf_id, release_id)
            if kept is None:
                await check_shelf_limit_tx(tx, shelf_id, "kept_chapters")
            elif kept.status == "done":
                return kept
            copy = await tx.maybe(Copy, q.add_copy, release_id=release_id, now=now)
            if copy is None:
                raise NotFound(NO_CHAPTER)
            await tx.run(q.add_kept, shelf_id=shelf_id, copy_id=copy.id, now=now)
            if copy.status != "done":
                # One task for a copy, however many shelves want it.
                await enqueue_tx(tx, COPIES, f"copy-{copy.id}", CopyTask(copy.id), now=now)
            return _there(await find_kept_tx(tx, shelf_id, release_id))

        kept = await self._db.with_tx(keep)
        self._wakeup.wake(COPIES.name)
        return kept

    async def drop(self, shelf_id: ShelfId, release_id: ReleaseId) -> None:
        """Keep it no more; NotFound when it was not kept. What nobody else keeps may be evicted from now on."""

        async def drop(tx: Tx) -> None:
            await lock_download_tx(tx, release_id)
            if not await tx.run(q.drop_kept, shelf_id=shelf_id, release_id=release_id):
                raise NotFound(NOT_KEPT)
            await drop_unkept_copy_tx(tx, release_id)

        await self._db.with_tx(drop)

    async def get(self, shelf_id: ShelfId, release_id: ReleaseId) -> KeptChapter:
        """How far it is; NotFound when it is not kept."""
        return _there(await self._db.read(lambda tx: find_kept_tx(tx, shelf_id, release_id)))

    async def list(self, shelf_id: ShelfId, *, after: PageCursor, most: int) -> Page[KeptChapter]:
        """What the shelf keeps, the newest first."""

        async def look(tx: Tx) -> Page[KeptChapter]:
            place = {"at": after.at, "id": after.id, "most": most + 1}
            rows = await tx.many(KeptChapter, q.list_kept, shelf_id=shelf_id, **place)
            more = len(rows) > most
            rows = rows[:most]
            cursor = PageCursor(rows[-1].created_at, rows[-1].copy_id) if more else None
            return Page(rows, await tx.one(int, q.count_kept, shelf_id=shelf_id), cursor)

        return await self._db.read(look)

    async def among(self, shelf_id: ShelfId, release_ids: Iterable[ReleaseId]) -> dict[ReleaseId, KeptChapter]:
        """How far those of these releases are that the shelf keeps."""
        wanted = {"shelf_id": shelf_id, "release_ids": list(release_ids)}
        found = await self._db.read(lambda tx: tx.many(KeptChapter, q.kept_among, **wanted))
        return {kept.release_id: kept for kept in found}

    async def kept_of(self, shelf_id: ShelfId, release_ids: Iterable[ReleaseId]) -> set[ReleaseId]:
        """Those of these releases that the shelf has whole: what a list shows as `is_downloaded`."""
        wanted = {"shelf_id": shelf_id, "release_ids": list(release_ids)}
        return set(await self._db.read(lambda tx: tx.many(ReleaseId, q.kept_releases, **wanted)))


async def find_kept_tx(tx: Tx, shelf_id: ShelfId, release_id: ReleaseId) -> KeptChapter | None:
    """One of the chapters that a shelf keeps."""
    return await tx.maybe(KeptChapter, q.find_kept, shelf_id=shelf_id, release_id=release_id)


def _there(kept: KeptChapter | None) -> KeptChapter:
    if kept is None:
        raise NotFound(NOT_KEPT)
    return kept


NOT_WANTED = "nobody keeps it any more"
_TRIES = 3


class _NotWanted(Exception):
    """Every shelf has let go of it meanwhile."""


async def find_copy_tx(tx: Tx, copy_id: int) -> Copy | None:
    """A copy; None when nobody wants it any more."""
    return await tx.maybe(Copy, q.find_copy, id=copy_id)


async def set_copy_tx(
    tx: Tx, copy_id: int, status: CopyStatus, *, now: Millis, total: int | None = None, error: str | None = None
) -> None:
    """How far a copy is."""
    await tx.run(q.set_copy, id=copy_id, status=status, total=total, error=error, now=now)


class ChapterDownloader:
    """Handles `keep-chapters`."""

    def __init__(self, db: Database, images: Images, chapters: Chapters, clock: Callable[[], Millis]) -> None:
        self._db = db
        self._images = images
        self._chapters = chapters
        self._clock = clock

    async def handle(self, task: Task[CopyTask]) -> None:
        """Make the copy whole; what fails is said on the copy, and tried again as the queue decides."""
        copy = await self._db.read(lambda tx: find_copy_tx(tx, task.payload.copy_id))
        if copy is None:
            await self._skip(task)
            return
        try:
            total = await self._copy(copy)
        except _NotWanted:
            await self._skip(task)
            return
        except NotCalled as error:
            await self._say(copy, "queued", error)
            raise
        except (LeaseLost, Unavailable):
            raise
        except TsuzukiError as error:
            # While there are tries left it is only waiting.
            is_over = is_hopeless(error) or task.attempt >= COPIES.settings.attempts
            await self._say(copy, "failed" if is_over else "queued", error)
            raise
        await self._db.with_tx(lambda tx: self._finish_tx(tx, task, copy, total))

    async def _skip(self, task: Task[CopyTask]) -> None:
        await self._db.with_tx(lambda tx: skip_tx(tx, task, now=self._clock(), why=NOT_WANTED))

    async def _copy(self, copy: Copy) -> int:
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

    async def _begin_tx(self, tx: Tx, copy: Copy, total: int) -> None:
        await set_copy_tx(tx, copy.id, "running", total=total, now=self._clock())
        await tx.run(q.drop_surplus_copies, copy_id=copy.id, total=total)  # of a longer list that was read before

    async def _copy_page(self, copy: Copy, position: int) -> None:
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
                raise _NotWanted
        raise Retryable("The images are evicted as fast as they come; the cache is too small.")

    async def _finish_tx(self, tx: Tx, task: Task[CopyTask], copy: Copy, total: int) -> None:
        now = self._clock()
        await set_copy_tx(tx, copy.id, "done", total=total, now=now)
        await finish_tx(tx, task, now=now)

    async def _say(self, copy: Copy, status: CopyStatus, error: TsuzukiError) -> None:
        said = storable(str(error))[:LONGEST_ERROR]
        await self._db.with_tx(lambda tx: set_copy_tx(tx, copy.id, status, error=said, now=self._clock()))
