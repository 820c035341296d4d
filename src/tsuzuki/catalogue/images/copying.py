"""Makes copies of chapters whole: every page fetched, verified and pinned, one by one.

Each page is a transaction of its own, so that whoever takes the task after a crash goes on where it ended.
"""

from collections.abc import Callable

from tsuzuki.catalogue.calling import NotCalled
from tsuzuki.catalogue.chapters import Chapters
from tsuzuki.catalogue.images.policy import LONGEST_ERROR
from tsuzuki.catalogue.images.rows import Copy, CopyStatus, page_of
from tsuzuki.catalogue.images.service import Images
from tsuzuki.catalogue.images.store import (
    copied_positions_tx,
    drop_surplus_copies_tx,
    find_copy_tx,
    pin_page_tx,
    set_copy_tx,
)
from tsuzuki.catalogue.images.tasks import COPIES, CopyTask
from tsuzuki.db import Database, Tx
from tsuzuki.model.errors import SourceError, TsuzukiError, Unavailable
from tsuzuki.model.times import Millis
from tsuzuki.queue.errors import LeaseLost, Retryable
from tsuzuki.queue.policy import is_hopeless, storable
from tsuzuki.queue.store import finish_tx, skip_tx
from tsuzuki.queue.tasks import Task

NOT_WANTED = "nobody keeps it any more"
_TRIES = 3


class _NotWanted(Exception):
    """Every shelf has let go of it meanwhile."""


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
            raise await self._failed(task, copy, error) from error
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
        done = await self._db.read(lambda tx: copied_positions_tx(tx, copy.id))
        for position in range(total):
            if position not in done:
                await self._copy_page(copy, position)
        return total

    async def _begin_tx(self, tx: Tx, copy: Copy, total: int) -> None:
        await set_copy_tx(tx, copy.id, "running", total=total, now=self._clock())
        await drop_surplus_copies_tx(tx, copy.id, total)

    async def _copy_page(self, copy: Copy, position: int) -> None:
        """Pinned as soon as it is here; one that was evicted in between is fetched once more."""
        for _ in range(_TRIES):
            try:
                image = await self._images.ensure(page_of(copy.release_id, position))
            except SourceError as error:
                said = f"Page {position + 1}: {error}"
                raise SourceError(said, status=error.status, retry_after=error.retry_after) from error
            if await self._pin(copy, position, image.id):
                return
            if await self._db.read(lambda tx: find_copy_tx(tx, copy.id)) is None:
                raise _NotWanted
        raise Retryable("The images are evicted as fast as they come; the cache is too small.")

    async def _pin(self, copy: Copy, position: int, image_id: int) -> bool:
        return await self._db.with_tx(lambda tx: pin_page_tx(tx, copy.id, position, image_id))

    async def _finish_tx(self, tx: Tx, task: Task[CopyTask], copy: Copy, total: int) -> None:
        now = self._clock()
        await set_copy_tx(tx, copy.id, "done", total=total, now=now)
        await finish_tx(tx, task, now=now)

    async def _failed(self, task: Task[CopyTask], copy: Copy, error: TsuzukiError) -> TsuzukiError:
        """Say it on the copy. While there are tries left it is only waiting."""
        is_over = is_hopeless(error) or task.attempt >= COPIES.settings.attempts
        await self._say(copy, "failed" if is_over else "queued", error)
        return error

    async def _say(self, copy: Copy, status: CopyStatus, error: TsuzukiError) -> None:
        said = storable(str(error))[:LONGEST_ERROR]
        await self._db.with_tx(lambda tx: set_copy_tx(tx, copy.id, status, error=said, now=self._clock()))
