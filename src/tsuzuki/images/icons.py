"""Icons of feeds: the picture that a feed names, else what its site's page names, else the site's /favicon.ico.

They are fetched in the background, a few at a time, once for each site, and drawn anew as small PNGs, which are rows.
"""

import asyncio
from collections.abc import Callable, Sequence
from urllib.parse import urljoin

import msgspec
import structlog

from tsuzuki.connectors.page_icons import read_icons
from tsuzuki.db import Database, Tx, load_queries
from tsuzuki.images.decoder import make_icon
from tsuzuki.images.fetcher import ImageClient
from tsuzuki.images.policy import ICON_EVERY, LONGEST_ERROR, icon_delay
from tsuzuki.model.errors import (
    NotAnImage,
    NotFound,
    NotOurTurn,
    RateLimited,
    RefusedAddress,
    SourceError,
    TimedOut,
    Unreachable,
)
from tsuzuki.model.ids import FeedId, ShelfId
from tsuzuki.model.requests import Ask, Parsers, SourceIdentity, charset_of
from tsuzuki.model.times import Millis
from tsuzuki.net.urls import Url, parse
from tsuzuki.queue.policy import storable

q = load_queries("tsuzuki.images.icons")

ICONS = SourceIdentity(source="icons")
"""Whose pace: that of the host, as for everyone. No cookies, no credentials."""
PATH = "/icons/"
MOST_AT_ONCE = 10
MOST_CHOSEN = 500
"""Feeds of one transaction."""
ICON_CAP = 2 * 1024 * 1024
PAGE_BEGINNING = 256 * 1024
"""Bytes of a page that are read: icons are named in its head."""
LONGEST = 20.0
"""Seconds for one icon, everything included."""

_ACCEPT = {"accept": "image/png,image/webp,image/avif,image/jpeg,image/gif,image/x-icon;q=0.9"}
_ACCEPT_PAGE = {"accept": "text/html,application/xhtml+xml"}
_HOST_IS_OUT = (RefusedAddress, Unreachable, TimedOut, RateLimited)
"""After these nothing else is asked of the site."""
_TOKEN = 16
_log = structlog.stdlib.get_logger("tsuzuki.images")


class ShownIcon(msgspec.Struct, frozen=True):
    """The icon of a feed of a shelf: its number, which apps have, and what its address is made of."""

    feed_id: FeedId
    id: int
    token: bytes

    @property
    def path(self) -> str:
        """The path of the icon: it cannot be guessed, and changes with the picture."""
        return PATH + self.token.hex()


class IconPicture(msgspec.Struct, frozen=True):
    """An icon with its PNG."""

    id: int
    png: bytes


class _IconFeed(msgspec.Struct, frozen=True):
    id: FeedId
    link: str
    icon_url: str | None
    site_url: str


class _Added(msgspec.Struct, frozen=True):
    id: int
    has_failed: bool


class _Due(msgspec.Struct, frozen=True):
    id: int
    subject: str
    page: str | None
    failures: int


class Icons:
    """Chooses, fetches and shows them."""

    def __init__(
        self,
        db: Database,
        client: ImageClient,
        *,
        pages: Parsers,
        pictures: Parsers,
        clock: Callable[[], Millis],
        random_bytes: Callable[[int], bytes],
    ) -> None:
        self._db = db
        self._client = client
        self._pages = pages
        self._pictures = pictures
        self._clock = clock
        self._random_bytes = random_bytes

    # -- what is shown

    async def of_shelf(self, shelf_id: ShelfId) -> dict[FeedId, ShownIcon]:
        """The icon of each feed of the shelf that has one."""
        found = await self._db.read(lambda tx: tx.many(ShownIcon, q.of_shelf, shelf_id=shelf_id))
        return {icon.feed_id: icon for icon in found}

    async def pictures_of(self, shelf_id: ShelfId) -> list[IconPicture]:
        """The pictures of these icons, each once."""
        return await self._db.read(lambda tx: tx.many(IconPicture, q.pictures_of_shelf, shelf_id=shelf_id))

    async def picture(self, token: str) -> bytes:
        """The PNG at this address; NotFound for one that we did not give out, or no longer."""
        try:
            known = bytes.fromhex(token) if len(token) == 2 * _TOKEN else b""
        except ValueError:
            known = b""
        png = await self._db.read(lambda tx: tx.maybe(bytes, q.by_token, token=known))
        if png is None:
            raise NotFound("There is no such icon.")
        return png

    # -- what is done in the background

    async def work(self) -> int:
        """Choose icons for feeds that are new or say something else now, and fetch a few that are due; how many."""
        await self._db.with_tx(self._choose_tx)
        now = self._clock()
        due = await self._db.read(lambda tx: tx.many(_Due, q.due, now=now, most=MOST_AT_ONCE))
        await asyncio.gather(*map(self._fetch, due))
        return len(due)

    async def forget_unused(self) -> int:
        """Delete icons that no feed has; how many."""
        return await self._db.with_tx(lambda tx: tx.run(q.forget_unused))

    async def _choose_tx(self, tx: Tx) -> None:
        for feed in await tx.many(_IconFeed, q.changed_feeds, most=MOST_CHOSEN):
            picture, site = _parsed(feed.icon_url), _parsed(feed.site_url)
            own = None if picture is None else await self._add_tx(tx, str(picture), is_wanted=True)
            of_site = None
            if site is not None:
                is_wanted = own is None or own.has_failed
                page = str(site)
                if site == _parsed(feed.link):  # the feed itself names no icons, and is asked for at its own pace
                    page = urljoin(page, "/")
                of_site = await self._add_tx(tx, site.authority, page=page, is_wanted=is_wanted)
            chosen = {"own_id": own and own.id, "site_id": of_site and of_site.id}
            said = {"icon_url": feed.icon_url, "site_url": feed.site_url}
            await tx.run(q.choose, feed_id=feed.id, **said, **chosen)

    async def _add_tx(self, tx: Tx, subject: str, *, page: str | None = None, is_wanted: bool) -> _Added:
        next_at = self._clock() if is_wanted else None
        return await tx.one(_Added, q.add_icon, subject=subject, page=page, next_at=next_at)

    async def _fetch(self, icon: _Due) -> None:
        try:
            async with asyncio.timeout(LONGEST):
                png = await self._picture(icon)
        except TimeoutError:
            await self._save_failure(icon, TimedOut(f"No icon within {LONGEST:.0f} seconds."))
        except SourceError as error:
            await self._save_failure(icon, error)
        else:
            next_at, token = Millis(self._clock() + ICON_EVERY), self._random_bytes(_TOKEN)
            await self._db.with_tx(lambda tx: tx.run(q.save_picture, id=icon.id, png=png, token=token, next_at=next_at))

    async def _save_failure(self, icon: _Due, error: SourceError) -> None:
        failures = icon.failures + (not isinstance(error, NotOurTurn))  # which says nothing of the icon
        now, said = self._clock(), storable(str(error))[:LONGEST_ERROR]
        next_at = Millis(now + icon_delay(failures, error))
        _log.debug("no_icon", subject=icon.subject, reason=said)

        async def save(tx: Tx) -> None:
            await tx.run(q.save_failure, id=icon.id, failures=failures, error=said, next_at=next_at)
            if failures:
                await tx.run(q.want_sites, own_id=icon.id, now=now)

        await self._db.with_tx(save)

    # -- where it is

    async def _picture(self, icon: _Due) -> bytes:
        if icon.page is None:
            return await self._png(icon.subject)
        error: SourceError = NotAnImage("The site has no icon.")
        for address in [*await self._named_by(icon.page), urljoin(icon.page, "/favicon.ico")]:
            try:
                return await self._png(address)
            except SourceError as failure:
                error = failure
        raise error

    async def _named_by(self, page: str) -> Sequence[str]:
        """What the page calls its icons; nothing where it cannot be read but its site answers."""
        try:
            async with self._client.stream(Ask(page, headers=_ACCEPT_PAGE), ICONS) as answer:
                content_type = answer.headers.get("content-type", "")
                if "html" not in content_type.lower():
                    return ()
                beginning, url = await answer.peek(PAGE_BEGINNING), str(answer.request.url)
            return await self._pages.run(read_icons, (beginning[:PAGE_BEGINNING], url, charset_of(content_type)))
        except _HOST_IS_OUT:
            raise
        except SourceError:
            return ()

    async def _png(self, address: str) -> bytes:
        reply = await self._client.fetch(Ask(address, headers=_ACCEPT, max_bytes=ICON_CAP), ICONS)
        return await self._pictures.run(make_icon, (reply.body,))


def _parsed(address: str | None) -> Url | None:
    """None for what is no address that could be fetched."""
    try:
        return None if address is None else parse(address)
    except RefusedAddress:
        return None
