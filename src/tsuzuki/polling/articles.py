"""Whole texts of items: the page behind one is fetched when somebody first opens it, and kept for everyone (R70)."""

from collections.abc import Callable
from typing import Final

import msgspec

from tsuzuki.connectors.article import visit_article
from tsuzuki.coord.flights import SingleFlight
from tsuzuki.db import Database, load_queries
from tsuzuki.db.errors import ForeignKeyViolation
from tsuzuki.model.errors import SourceError
from tsuzuki.model.ids import ItemId
from tsuzuki.model.requests import SourceIdentity
from tsuzuki.model.times import HOUR, Millis
from tsuzuki.net.urls import parse
from tsuzuki.polling.driver import Driver

q = load_queries("tsuzuki.polling")

TRY_AGAIN_AFTER: Final = HOUR
"""A page that could not be had is left alone for this long, however often its item is opened."""


class StoredFullText(msgspec.Struct, frozen=True):
    """Sanitised HTML, or why there is none."""

    content: str
    error: str | None
    fetched_at: Millis


class Articles:
    """Fetches a page through the polite client when somebody first wants its text, and keeps it for everyone."""

    def __init__(self, db: Database, driver: Driver, clock: Callable[[], Millis]) -> None:
        self._db = db
        self._driver = driver
        self._clock = clock
        self._flights = SingleFlight()

    async def close(self) -> None:
        """End the fetches that are under way."""
        await self._flights.close()

    async def full_text(self, item_id: ItemId, link: str | None) -> StoredFullText:
        """The text of the page behind an item, or why there is none; a source's failure is no error here.

        A fetch goes on to its end, also when whoever asked has left.
        """
        known = await self._known(item_id)
        if known is not None and (known.content or self._clock() < known.fetched_at + TRY_AGAIN_AFTER):
            return known
        return await self._flights.join(item_id, lambda: self._fetch_and_keep(item_id, link))

    async def known_text(self, item_id: ItemId) -> str | None:
        """The text of the page behind an item where somebody has fetched it; None otherwise."""
        known = await self._known(item_id)
        return None if known is None else known.content or None

    async def _known(self, item_id: ItemId) -> StoredFullText | None:
        return await self._db.read(lambda tx: tx.maybe(StoredFullText, q.find_full_text, item_id=item_id))

    async def _fetch_and_keep(self, item_id: ItemId, link: str | None) -> StoredFullText:
        text = await self._fetch(link)
        try:
            await self._db.with_tx(
                lambda tx: tx.run(
                    q.keep_full_text, item_id=item_id, content=text.content, error=text.error, now=text.fetched_at
                )
            )
        except ForeignKeyViolation:
            return text  # its feed was dropped meanwhile
        return text

    async def _fetch(self, link: str | None) -> StoredFullText:
        if link is None:
            return StoredFullText("", "The item has no link.", self._clock())
        try:
            origin = SourceIdentity(source=f"article:{parse(link).host}", keeps_cookies=True)
            content = await self._driver.run(visit_article(link), origin)
        except SourceError as error:
            return StoredFullText("", str(error), self._clock())
        return StoredFullText(content, None, self._clock())
