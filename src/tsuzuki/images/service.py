"""Every image from the cache or its source; and the next pages, fetched while a reader looks at this one."""

import asyncio
import zlib
from collections import OrderedDict
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import suppress
from typing import Final

import msgspec
import structlog

from tsuzuki.catalogue.calls import CallLocks
from tsuzuki.coord.flights import SingleFlight
from tsuzuki.db import Database, Tx, load_queries
from tsuzuki.images.decoder import examine, shrink, to_jpeg
from tsuzuki.images.fetcher import Arrival, ImageFetcher
from tsuzuki.images.files import (
    AS_JPEG,
    Draft,
    Image,
    ImageFiles,
    ImageReader,
    ImageSubject,
    KnownImage,
    NewImage,
    find_known_tx,
    page_of,
    save_failure_tx,
    save_image_tx,
)
from tsuzuki.images.formats import ImageHead, MediaType, Thumbnail, likely_type
from tsuzuki.images.policy import LONGEST_ERROR, is_due, is_stale_address, retry_delay
from tsuzuki.model.errors import NotAnImage, NotFound, NotOurTurn, SourceError, TsuzukiError, Unavailable
from tsuzuki.model.ids import ReleaseId, UserId
from tsuzuki.model.requests import Parsers
from tsuzuki.model.times import SECOND, Millis
from tsuzuki.queue.policy import storable

q = load_queries("tsuzuki.images")

SMALL = 1024 * 1024
"""Bytes up to which an image is read at once."""
AT_ONCE = 256 * 1024
"""Bytes up to which it is tried without a thread: most are in memory, and a thread costs more than reading them."""

_log = structlog.stdlib.get_logger("tsuzuki.images")


class OpenImage(msgspec.Struct, frozen=True):
    """An image that is here: its bytes, or a reader of its file, which whoever got it closes."""

    image: Image
    body: bytes | ImageReader

    @property
    def media_type(self) -> MediaType:
        """The media type of the image."""
        return self.image.media_type

    async def pieces(self, start: int, end: int) -> AsyncGenerator[bytes, None]:
        """The bytes of the image, in pieces."""
        if isinstance(self.body, bytes):
            yield self.body[start:end]
            return
        async for piece in self.body.pieces(start, end):
            yield piece

    def close(self) -> None:
        """Close the image: it is read no more."""
        if isinstance(self.body, ImageReader):
            self.body.close()


class ArrivingImage(msgspec.Struct, frozen=True):
    """An image that is still arriving; whoever got it leaves the arrival at the end."""

    head: ImageHead
    arrival: Arrival

    @property
    def media_type(self) -> MediaType:
        """The media type of the image."""
        return self.head.media_type

    def close(self) -> None:
        """Close the image without reading it."""
        self.arrival.leave()


class PagePicture(msgspec.Struct, frozen=True):
    """A page's media type and size; of one that is not stored yet only the type that its address suggests."""

    media_type: str
    width: int | None = None
    height: int | None = None
    bytes: int | None = None


class PagePictureRow(msgspec.Struct, frozen=True):
    """A page's picture as it is stored."""

    subject: str
    media_type: MediaType
    width: int
    height: int
    bytes: int


class CachedPage(Image, frozen=True):
    """An image that is a page, and how many there are of its release."""

    subject: str
    page_count: int


class _Fetch(msgspec.Struct):
    """A running fetch of an image. One that only prefetches ends when its reader goes elsewhere."""

    arrival: Arrival
    task: "asyncio.Task[None]"
    is_ahead: bool


class Images:
    """Every image. One per process; several may share the database, the files, or only the first."""

    def __init__(
        self,
        db: Database,
        files: ImageFiles,
        fetcher: ImageFetcher,
        pool: Parsers,
        *,
        locks: CallLocks,
        clock: Callable[[], Millis],
        stored: Callable[[int], None],
    ) -> None:
        """`stored` is called with the size of every image that was added."""
        self._db = db
        self._files = files
        self._fetcher = fetcher
        self._pool = pool
        self._locks = locks
        self._clock = clock
        self._stored = stored
        self._fetches: dict[str, _Fetch] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._shrinking = SingleFlight()

    async def close(self) -> None:
        """End every fetch; whoever waits gets an error."""
        await self._shrinking.close()
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def quiet(self) -> None:
        """Wait until no reader waits for an image."""
        while waited := [fetch.task for fetch in self._fetches.values() if not fetch.is_ahead]:
            await asyncio.wait(waited)

    # -- for readers

    async def show(
        self,
        subject: ImageSubject,
        *,
        address: str = "",
        user_id: UserId | None = None,
        refresh: bool = False,
        whole: bool = False,
    ) -> OpenImage | ArrivingImage:
        """The image, or what has come of it; a SourceError says why there is none, and when to ask again.

        `refresh` asks the source whatever is here or went wrong before; with `whole` the end is waited for. `address`
        is where an article's image is.
        """
        known = await self._db.read(lambda tx: find_known_tx(tx, subject))
        if not refresh and known is not None:
            shown = await self._shown(known.image)
            if shown is not None:
                return shown
        try:
            self._refuse_too_early(known, refresh=refresh)
            arrival = self._arrival(subject, address, known, is_ahead=False)
            head = await asyncio.shield(arrival.head)
            if not whole and not arrival.image.done():
                arrival.listen()
                return ArrivingImage(head, arrival)
            image = await asyncio.shield(arrival.image)
        except (SourceError, NotFound, Unavailable):
            shown = await self._shown(await self._copied(subject, user_id))
            if shown is None:
                raise
            return shown
        return await self.open(image)

    async def show_small(
        self, subject: ImageSubject, width: int, *, address: str = "", user_id: UserId | None = None
    ) -> OpenImage:
        """The image as WebP, at most this wide; made when somebody asks for it first."""
        small = subject.at(width)
        known = await self._db.read(lambda tx: find_known_tx(tx, small))
        shown = await self._shown(None if known is None else known.image)
        if shown is not None:
            return shown
        return await self.open(await self._made(small, address, user_id))

    async def show_jpeg(
        self, subject: ImageSubject, width: int = 0, *, user_id: UserId | None = None, whole: bool = False
    ) -> OpenImage | ArrivingImage:
        """The image as JPEG; as it comes, where it is one and may be as wide as it is (`width` is 0)."""
        if not width:
            shown = await self.show(subject, user_id=user_id, whole=whole)
            if shown.media_type == "image/jpeg":
                return shown
            shown.close()
        return await self.open(await self.jpeg(subject, width, user_id=user_id))

    async def jpeg(
        self, subject: ImageSubject, width: int = 0, *, address: str = "", user_id: UserId | None = None
    ) -> Image:
        """The image as JPEG, for those who know little else; at most this wide, if this is not 0."""
        whole = await self.ensure(subject, address=address, user_id=user_id)
        narrowed = width if width < whole.width else 0
        if whole.media_type == "image/jpeg" and not narrowed:
            return whole
        small = subject.as_jpeg(narrowed)
        known = await self._db.read(lambda tx: find_known_tx(tx, small))
        here = await self._here(None if known is None else known.image)
        return here or await self._made(small, address, user_id)

    async def _made(self, small: ImageSubject, address: str, user_id: UserId | None) -> Image:
        """Made once, for everyone who waits for it."""
        key = (small.key, small.thumbnail, user_id)
        return await self._shrinking.join(key, lambda: self._shrink(small, address, user_id))

    async def page_pictures(self, release_id: ReleaseId, addresses: Sequence[str | None]) -> list[PagePicture]:
        """What is known of each page of a release; `addresses` are those of its images, where they are known."""
        rows = await self._db.read(lambda tx: tx.many(PagePictureRow, q.page_pictures, release_id=release_id))
        known = {row.subject: PagePicture(row.media_type, row.width, row.height, row.bytes) for row in rows}
        return [
            known.get(page_of(release_id, position).key) or PagePicture(likely_type(address or ""))
            for position, address in enumerate(addresses)
        ]

    async def ensure(
        self, subject: ImageSubject, *, address: str = "", user_id: UserId | None = None, is_ahead: bool = False
    ) -> Image:
        """The image, its file here, verified; whoever asks waits for the whole of it."""
        known = await self._db.read(lambda tx: find_known_tx(tx, subject))
        image = await self._here(None if known is None else known.image)
        if image is not None:
            return image
        try:
            self._refuse_too_early(known)
            return await self._whole(subject, address, known, is_ahead=is_ahead)
        except (SourceError, NotFound, Unavailable):
            image = await self._here(await self._copied(subject, user_id))
            if image is None:
                raise
            return image

    async def open(self, image: Image) -> OpenImage:
        """The image with its bytes; Unavailable when its file went meanwhile."""
        shown = await self._shown(image)
        if shown is None:
            raise Unavailable("The cache is too small: the image was evicted as soon as it arrived.")
        return shown

    async def whole_copy(self, release_id: ReleaseId, user_id: UserId) -> list[Image]:
        """Every page of a release, in order, where it is downloaded completely and this person may read it."""
        wanted = {"release_id": release_id, "user_id": user_id}
        return await self._db.read(lambda tx: tx.many(Image, q.whole_copy, **wanted))

    async def cached_pages(self, release_id: ReleaseId) -> list[Image]:
        """Every page of a release, in order, as the cache has them; none where one is missing."""
        rows = await self._db.read(lambda tx: tx.many(CachedPage, q.cached_pages, release_id=release_id))
        pages = {row.subject: row for row in rows}
        count = rows[0].page_count if rows else 0
        found = [pages.get(page_of(release_id, position).key) for position in range(count)]
        return [page for page in found if page is not None] if None not in found else []

    async def pages_of_copy(self, copy_id: int) -> list[Image]:
        """Every page of a download, in order."""
        return await self._db.read(lambda tx: tx.many(Image, q.pages_of_copy, copy_id=copy_id))

    async def with_crc32(self, image: Image) -> Image:
        """The image with its checksum, which is read once from its bytes and then remembered."""
        if image.crc32 is not None:
            return image
        crc32, opened = 0, await self.open(image)
        try:
            async for piece in opened.pieces(0, image.bytes):
                crc32 = zlib.crc32(piece, crc32)
        finally:
            opened.close()
        await self._db.with_tx(lambda tx: tx.run(q.set_crc32, id=image.id, crc32=crc32))
        return msgspec.structs.replace(image, crc32=crc32)

    async def _whole(self, subject: ImageSubject, address: str, known: KnownImage | None, *, is_ahead: bool) -> Image:
        arrival = self._arrival(subject, address, known, is_ahead=is_ahead)
        try:
            return await asyncio.shield(arrival.image)
        except asyncio.CancelledError:
            fetch = self._fetches.get(subject.key)
            if fetch is not None and fetch.arrival is arrival and fetch.is_ahead:
                self._forget(subject.key, fetch)  # whoever comes now begins anew
                fetch.task.cancel()
            raise

    # -- what is here

    async def _shown(self, image: Image | None) -> OpenImage | None:
        """The image with its bytes, if its file is here."""
        if image is None:
            return None
        body: bytes | ImageReader | None = None
        if image.bytes <= AT_ONCE:
            body = self._files.read_at_once(image.hash, image.bytes)
        if body is None:
            load = self._files.read if image.bytes <= SMALL else self._files.open
            body = await load(image.hash, image.bytes)
        if body is None:
            return None
        now = self._clock()
        if is_due(image.used_at, now):
            await self._db.with_tx(lambda tx: tx.run(q.touch_image, id=image.id, now=now))
        return OpenImage(image, body)

    async def _here(self, image: Image | None) -> Image | None:
        """The image, if its file is here."""
        if image is None or not await self._files.has(image.hash, image.bytes):
            return None
        return image

    async def _copied(self, subject: ImageSubject, user_id: UserId | None) -> Image | None:
        """The page in a copy that somebody keeps; without its source, only for people with a shelf that keeps it."""
        if subject.release_id is None:
            return None
        page = {"release_id": subject.release_id, "position": subject.position}
        return await self._db.read(lambda tx: tx.maybe(Image, q.find_copied, **page, user_id=user_id))

    def _refuse_too_early(self, known: KnownImage | None, *, refresh: bool = False) -> None:
        """What is broken is left alone for a while, and says so."""
        wait = 0 if refresh or known is None or known.retry_at is None else known.retry_at - self._clock()
        if known is not None and known.error is not None and wait > 0:
            raise SourceError(f"{known.error} It will be tried again in {-(-wait // SECOND):,} s.", retry_after=wait)

    # -- what comes

    def _arrival(self, subject: ImageSubject, address: str, known: KnownImage | None, *, is_ahead: bool) -> Arrival:
        """The fetch of this image: the one that is under way, or a new one; `known` is what there was before."""
        fetch = self._fetches.get(subject.key)
        if fetch is not None:
            fetch.is_ahead = fetch.is_ahead and is_ahead
            return fetch.arrival
        arrival = Arrival()
        task = asyncio.create_task(self._run(subject, address, arrival, known))
        self._fetches[subject.key] = fetch = _Fetch(arrival, task, is_ahead)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        task.add_done_callback(lambda _: self._forget(subject.key, fetch))
        return arrival

    def _forget(self, key: str, fetch: _Fetch) -> None:
        if self._fetches.get(key) is fetch:
            del self._fetches[key]

    async def _run(self, subject: ImageSubject, address: str, arrival: Arrival, known: KnownImage | None) -> None:
        """Bring the image, or say to everyone who waits why not."""
        try:
            async with self._locks.acquire(subject.key) as has_waited:
                image = await self._brought(subject, known, has_waited=has_waited)
                if image is None:
                    await self._bring(subject, address, arrival)
                else:
                    arrival.found(image)
        except SourceError as error:
            if not isinstance(error, NotOurTurn):  # which says nothing of the image
                await self._remember(subject, error, (known.failures if known else 0) + 1)
            arrival.fail(error)
        except asyncio.CancelledError:
            arrival.fail(Unavailable("The image is no longer needed."))
            raise
        except OSError as error:
            _log.error("image_not_stored", subject=subject.key, reason=str(error))
            arrival.fail(Unavailable(f"The image cannot be stored: {error.strerror}."))
        except Exception as error:  # noqa: BLE001  those who wait must get it, whatever it is
            arrival.fail(error)

    async def _brought(self, subject: ImageSubject, known: KnownImage | None, *, has_waited: bool) -> Image | None:
        """R102: what another process has brought since; None where its file is not here."""
        now_known = await self._db.read(lambda tx: find_known_tx(tx, subject))
        before = None if known is None else known.id
        if now_known is None or (now_known.id == before and not has_waited):
            return None
        return await self._here(now_known.image)

    async def _bring(self, subject: ImageSubject, address: str, arrival: Arrival) -> None:
        """R66: an address that is refused is asked for anew, once."""
        try:
            await self._fetch(subject, address, arrival, again=False)
        except SourceError as error:
            if subject.release_id is None or not is_stale_address(error):
                raise
            await self._fetch(subject, address, arrival, again=True)

    async def _fetch(self, subject: ImageSubject, address: str, arrival: Arrival, *, again: bool) -> None:
        async with self._fetcher.open(subject, address, again=again) as coming:
            with self._files.draft() as draft:
                async for piece in coming.pieces:
                    arrival.receive(piece)
                    await asyncio.to_thread(draft.write, piece)
                    arrival.wrote(draft)
                new = await self._verified(draft, arrival.finish_head())
                image = await self._save(subject, new, coming.address)
                arrival.finish(image)

    async def _verified(self, draft: Draft, head: ImageHead) -> NewImage:
        """The image in its place; NotAnImage or TooLarge when it does not decode."""
        seen: ImageHead = await self._pool.run(examine, (str(draft.path),))
        if seen.media_type != head.media_type:
            raise NotAnImage("The image does not match its header.")
        return await self._kept(draft, seen)

    async def _kept(self, draft: Draft, seen: ImageHead) -> NewImage:
        digest = await draft.keep()
        return NewImage(digest, seen.media_type, seen.width, seen.height, draft.size, draft.crc32)

    async def _save(self, subject: ImageSubject, new: NewImage, address: str | None) -> Image:
        """The file is there before the row: whoever dies in between leaves a file that the sweep finds."""
        now = self._clock()
        image = await self._db.with_tx(lambda tx: save_image_tx(tx, subject, new, address=address, now=now))
        self._stored(image.bytes)
        return image

    async def _remember(self, subject: ImageSubject, error: SourceError, failures: int) -> None:
        """Also fail those who wait now, with the time to ask again."""
        now = self._clock()
        error.retry_after = retry_delay(failures, error)
        retry_at = Millis(now + error.retry_after)
        said = storable(str(error))[:LONGEST_ERROR]

        async def save(tx: Tx) -> None:
            await save_failure_tx(tx, subject, error=said, failures=failures, retry_at=retry_at, now=now)

        with suppress(Unavailable):
            await self._db.with_tx(save)

    async def _shrink(self, small: ImageSubject, address: str, user_id: UserId | None) -> Image:
        whole = await self.ensure(small.whole, address=address, user_id=user_id)
        async with self._files.local(whole.hash) as path:
            is_jpeg = small.thumbnail >= AS_JPEG
            work = (to_jpeg, (path, small.thumbnail - AS_JPEG)) if is_jpeg else (shrink, (path, small.thumbnail))
            made: Thumbnail = await self._pool.run(*work)
        with self._files.draft() as draft:
            await asyncio.to_thread(draft.write, made.data)
            new = await self._kept(draft, ImageHead(made.media_type, made.width, made.height))
            return await self._save(small, new, None)


AHEAD: Final = 3
MOST_READERS: Final = 200
"""Readers who are remembered; the others are served when they ask."""
_PLACES = 2


class _Reading(msgspec.Struct):
    """The page a person is at, and the task that prefetches the next ones."""

    release_id: ReleaseId
    position: int
    task: "asyncio.Task[None] | None" = None

    @property
    def is_running(self) -> bool:
        return self.task is not None and not self.task.done()


class Prefetch:
    """Fetches pages ahead of readers. One per process."""

    def __init__(self, db: Database, images: Images, clock: Callable[[], Millis]) -> None:
        self._db = db
        self._images = images
        self._clock = clock
        self._readers: OrderedDict[UserId, _Reading] = OrderedDict()
        self._places = asyncio.Semaphore(_PLACES)

    def follow(self, reader: UserId, release_id: ReleaseId, position: int) -> None:
        """The reader looks at this page. Whoever goes elsewhere is no longer run ahead of."""
        reading = self._readers.get(reader)
        if reading is None or reading.release_id != release_id:
            reading = self._begin(reader, release_id, position)
        elif reading.position == position:
            return  # seen to already
        elif reading.is_running and not 0 < position - reading.position <= AHEAD:
            reading = self._begin(reader, release_id, position)
        reading.position = position
        if not reading.is_running:
            reading.task = asyncio.create_task(self._run(reading))

    async def close(self) -> None:
        """Stop fetching ahead of readers."""
        tasks = [reading.task for reading in self._readers.values() if reading.task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _begin(self, reader: UserId, release_id: ReleaseId, position: int) -> _Reading:
        """Forget where the reader was, and who has not been seen for longest."""
        self._stop(self._readers.pop(reader, None))
        while len(self._readers) >= MOST_READERS:
            self._stop(self._readers.popitem(last=False)[1])
        self._readers[reader] = reading = _Reading(release_id, position)
        return reading

    @staticmethod
    def _stop(reading: _Reading | None) -> None:
        if reading is not None and reading.task is not None:
            reading.task.cancel()

    async def _run(self, reading: _Reading) -> None:
        """Fetch what is missing ahead of the reader, who may move on meanwhile; stop at the first that fails."""
        try:
            while (position := await self._missing(reading)) is not None:
                async with self._places:
                    await self._images.quiet()
                    await self._images.ensure(page_of(reading.release_id, position), is_ahead=True)
        except TsuzukiError:
            return  # there are no more pages, or the source does not answer: the reader will see that

    async def _missing(self, reading: _Reading) -> int | None:
        """The next page that is not here; None when all that should be is."""
        wanted = range(reading.position + 1, reading.position + 1 + AHEAD)
        now = self._clock()
        known = await self._db.read(lambda tx: known_positions_tx(tx, reading.release_id, wanted, now))
        return next((position for position in wanted if position not in known), None)


async def known_positions_tx(tx: Tx, release_id: ReleaseId, positions: Sequence[int], now: Millis) -> set[int]:
    """Which of these pages need not be fetched now."""
    rows = [{"position": position, "subject": page_of(release_id, position).key} for position in positions]
    return set(await tx.bulk(int, q.known_positions, rows, now=now))
