"""Proxies audio and video piece by piece: guarded like every call, checked before a byte is passed on."""

import asyncio
from collections import OrderedDict
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager
from typing import TYPE_CHECKING, Protocol

import msgspec

from tsuzuki.db import Database
from tsuzuki.db.server_secrets import KEY_SIZE, secret_tx
from tsuzuki.images.articles import Signer, read_written, written
from tsuzuki.images.policy import ENOUGH, ByteRange, Container, ContentRange, Kind, kind_of, read_part, sniff_media
from tsuzuki.model.errors import NotFound, NotMedia, TimedOut, TooLarge, Unavailable
from tsuzuki.model.ids import ShelfId
from tsuzuki.model.requests import Ask, SourceIdentity
from tsuzuki.model.times import DAY, Millis
from tsuzuki.net.options import Deadlines

if TYPE_CHECKING:
    from tsuzuki.net.response import HttpResponse

PREFIX = "/api/v1/media/"
SECRET = "articles' media"  # noqa: S105  its name; the secret itself is nobody's to write down
NO_MEDIA = "There is no such recording."
TOO_OLD = "This link is too old. Open the article again."

_KINDS: dict[str, Kind] = {"audio": "audio", "video": "video"}


class MediaLink(msgspec.Struct, frozen=True):
    """The address of an article's audio or video."""

    kind: Kind
    """The kind, according to its feed or article."""
    address: str


class MediaLinks:
    """Signs and reads proxy addresses. They name a day, so that they stay the same while a page is reloaded."""

    def __init__(self, secret: bytes, clock: Callable[[], Millis]) -> None:
        self._signer = Signer(secret)
        self._clock = clock

    @classmethod
    async def open(
        cls, db: Database, random_bytes: Callable[[int], bytes], clock: Callable[[], Millis]
    ) -> "MediaLinks":
        """Open it with the server's secret, which the first start makes."""
        fresh = random_bytes(KEY_SIZE)
        return cls(await db.with_tx(lambda tx: secret_tx(tx, SECRET, fresh, clock())), clock)

    def url(self, link: MediaLink) -> str:
        """The address at this server."""
        terms = f"{link.kind}-{self._clock() // DAY + 2}"
        return f"{PREFIX}{terms}/{self._signer.sign(f'{terms} {link.address}')}/{written(link.address)}"

    def read(self, terms: str, seal: str, medium: str) -> MediaLink:
        """What the parts of a URL of ours stand for; NotFound for one that we did not make, or that is too old."""
        address = read_written(medium)
        if address is None or not self._signer.is_ours(f"{terms} {address}", seal):
            raise NotFound(NO_MEDIA)
        kind, _, day = terms.partition("-")
        if self._clock() >= int(day) * DAY:
            raise NotFound(TOO_OLD)
        return MediaLink(_KINDS[kind], address)


class StreamSlots:
    """So many streams for a shelf, of which the newest go on; so many in all, beyond which nobody comes in."""

    def __init__(self, *, per_shelf: int, in_all: int) -> None:
        self._per_shelf = per_shelf
        self._in_all = in_all
        self._held: dict[ShelfId, list[asyncio.Timeout]] = {}

    @asynccontextmanager
    async def acquire(self, shelf_id: ShelfId) -> AsyncIterator[None]:
        """A slot within the block. Unavailable at once when there is none, and later when the slot is needed."""
        if sum(map(len, self._held.values())) >= self._in_all:
            raise Unavailable("Too many recordings are being played. Try again in a minute.")
        mine = self._held.setdefault(shelf_id, [])
        if len(mine) >= self._per_shelf:
            mine.pop(0).reschedule(asyncio.get_running_loop().time())  # ends it
        place = asyncio.timeout(None)
        try:
            async with place:
                mine.append(place)
                yield
        except TimeoutError:
            if not place.expired():
                raise
            raise Unavailable("Another recording was started on this shelf.") from None
        finally:
            mine = self._held.get(shelf_id, [])
            if place in mine:
                mine.remove(place)
            if not mine:
                self._held.pop(shelf_id, None)


LISTENERS = SourceIdentity(source="articles' media", apart="media", places=32, ratelimit=8.0)
"""Whose cookies and pace: nobody's credentials are sent along, and polls of the same host never wait for listeners.
Eight requests a second: a browser that looks for the index of a film asks three or four times."""

_OK, _PARTIAL, _BEYOND = 200, 206, 416
_MOST_KNOWN = 1_000
_START = ByteRange(0, ENOUGH - 1)

Pieces = AsyncGenerator[bytes, None]


class StreamLimits(msgspec.Struct, frozen=True):
    """What one stream may take. A browser that is cut off asks for the rest by itself."""

    size: int = 4 * 1024 * 1024 * 1024
    """The largest file: a long film, well recorded."""
    seconds: float = 4 * 3600.0
    """Seconds from the first byte to the last, pauses included: longer than anybody listens in one go."""
    beginning: float = 20.0
    """Until it has shown what it is."""
    unread: float = 600.0
    """That a browser may take nothing: it keeps a minute or so in hand, and paused players are common."""
    per_shelf: int = 4
    """An old stream ends a moment after a seek began the next; two players and some seeking fit."""
    in_all: int = 64
    """Streams in this process; each takes two connections."""


class MediaClient(Protocol):
    """The part of the client that is used here."""

    def stream(
        self, ask: Ask, origin: SourceIdentity, deadlines: Deadlines | None = None
    ) -> AbstractAsyncContextManager["HttpResponse"]: ...


class MediaResponse(msgspec.Struct, frozen=True):
    """A proxied response: the whole (200), the requested part (206), or that there is none (416)."""

    status: int
    media_type: str
    pieces: Pieces
    length: int | None = None
    part: ContentRange | None = None
    takes_ranges: bool = False


class MediaService:
    """Proxies audio and video."""

    def __init__(self, client: MediaClient, limits: StreamLimits = StreamLimits()) -> None:  # noqa: B008  frozen
        self._client = client
        self.limits = limits
        self._places = StreamSlots(per_shelf=limits.per_shelf, in_all=limits.in_all)
        self._known: OrderedDict[str, Container] = OrderedDict()
        """Types of addresses that were recognised: from a part of the middle they cannot be."""

    @asynccontextmanager
    async def open(
        self, link: MediaLink, shelf_id: ShelfId, wanted: ByteRange | None = None
    ) -> AsyncIterator[MediaResponse]:
        """The answer, judged; NotMedia for what is none. Leaving the block ends the call to the publisher."""
        async with self._places.acquire(shelf_id):
            known = self._known.get(link.address)
            if known is None and wanted is not None and wanted.first != 0:
                known = await self._look(link)
            async with self._asked(link, wanted) as answer, aclosing(answer.chunks(self.limits.size)) as pieces:
                yield await self._judged(answer, pieces, link, wanted=wanted, known=known)

    def _asked(self, link: MediaLink, wanted: ByteRange | None) -> AbstractAsyncContextManager["HttpResponse"]:
        headers = {"accept": "audio/*,video/*;q=0.9"} | ({} if wanted is None else {"range": str(wanted)})
        # A player asks beyond the end now and then.
        ask = Ask(link.address, headers=headers, accept_statuses=frozenset({_BEYOND}))
        deadlines = Deadlines(body=self.limits.seconds, total=self.limits.seconds)
        return self._client.stream(ask, LISTENERS, deadlines)

    async def _look(self, link: MediaLink) -> Container:
        """What it is by its beginning, of which no more is taken."""
        async with self._asked(link, _START) as answer, aclosing(answer.chunks(self.limits.size)) as pieces:
            if answer.status not in {_OK, _PARTIAL}:
                raise _no_recording(answer)
            kind_of(answer.headers.get("content-type", ""), link.kind)
            return self._sniffed(link, await self._beginning(answer, pieces))

    async def _judged(
        self,
        answer: "HttpResponse",
        pieces: Pieces,
        link: MediaLink,
        *,
        wanted: ByteRange | None,
        known: Container | None,
    ) -> MediaResponse:
        if answer.status == _BEYOND and wanted is not None:
            return MediaResponse(_BEYOND, "", _nothing(), takes_ranges=True)
        part = None
        if answer.status == _PARTIAL and wanted is not None:
            part = read_part(answer.headers.get("content-range", ""), wanted)
            if part.total is not None and part.total > self.limits.size:
                raise TooLarge(f"The recording of {answer.host} is larger than {self.limits.size:,} bytes.")
        elif answer.status != _OK:
            raise _no_recording(answer)
        length = _length(answer)
        kind = kind_of(answer.headers.get("content-type", ""), link.kind)
        first = b""
        if part is None or part.first == 0 or known is None:
            first = await self._beginning(answer, pieces)
            known = self._sniffed(link, first)
        return MediaResponse(
            answer.status,
            known.called(kind),
            _with(first, pieces),
            length=length,
            part=part,
            takes_ranges=part is not None or answer.headers.get("accept-ranges", "").strip().lower() == "bytes",
        )

    async def _beginning(self, answer: "HttpResponse", pieces: Pieces) -> bytes:
        """The first bytes, enough to recognise the type; TimedOut when they do not come."""
        head = bytearray()
        try:
            async with asyncio.timeout(self.limits.beginning):
                async for piece in pieces:
                    head += piece
                    if len(head) >= ENOUGH:
                        break
        except TimeoutError:
            said = f"{answer.host} took more than {self.limits.beginning:g} s to start."
            raise TimedOut(said) from None
        return bytes(head)

    def _sniffed(self, link: MediaLink, head: bytes) -> Container:
        """What begins so, remembered; NotMedia for what is none."""
        found = self._known[link.address] = sniff_media(head)
        self._known.move_to_end(link.address)
        while len(self._known) > _MOST_KNOWN:
            self._known.popitem(last=False)
        return found


def _no_recording(answer: "HttpResponse") -> NotMedia:
    return NotMedia(f"{answer.host} answered {answer.status} instead of a recording.", status=answer.status)


def _length(answer: "HttpResponse") -> int | None:
    """How many bytes come; None where it is not said, or said of what is packed."""
    packed = answer.headers.get("content-encoding", "").strip().lower() not in {"", "identity"}
    # A part of packed bytes cannot be unpacked, nor do its numbers count what a player counts.
    if packed and answer.status == _PARTIAL:
        raise NotMedia(f"{answer.host} sent a part of a compressed file.")
    text = answer.headers.get("content-length", "")
    return int(text) if not packed and text.isascii() and text.isdigit() and len(text) < 16 else None


async def _with(first: bytes, pieces: Pieces) -> Pieces:
    if first:
        yield first
    async for piece in pieces:
        yield piece


async def _nothing() -> Pieces:
    none: tuple[bytes, ...] = ()
    for piece in none:
        yield piece
