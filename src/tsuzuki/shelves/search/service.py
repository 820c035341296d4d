"""The verb of searching."""

import msgspec

from tsuzuki.db import Database, Tx
from tsuzuki.model.ids import FeedId, ItemId, PublicId, ShelfId
from tsuzuki.model.pages import FROM_THE_TOP, Cursor
from tsuzuki.model.times import Millis
from tsuzuki.shelves.entries.nouns import ShelfItem, Wanted
from tsuzuki.shelves.entries.store import list_items_tx
from tsuzuki.shelves.search.policy import Sought, is_named, parse_search, snippet
from tsuzuki.shelves.store import FAR, Narrowed, SeriesHit, item_texts_tx, search_items_tx, search_series_tx
from tsuzuki.shelves.subscriptions.nouns import FeedName, Subscription
from tsuzuki.shelves.subscriptions.service import own_subscription_tx
from tsuzuki.shelves.subscriptions.store import feed_names_tx


class FoundItem(msgspec.Struct, frozen=True, kw_only=True):
    """An item of the shelf, with some text around the first hit."""

    id: ItemId
    feed_id: PublicId
    title: str
    published_at: Millis | None
    unread: bool
    snippet: str
    """HTML in which nothing but `<mark>` is markup."""


class FoundSeries(msgspec.Struct, frozen=True):
    """A series, followed or not."""

    id: PublicId
    title: str
    author: str | None
    cover_url: str | None


class Results(msgspec.Struct, frozen=True):
    """What a search found, each kind best first."""

    feeds: list[Subscription]
    items: list[FoundItem]
    series: list[FoundSeries]


class Search:
    """Finds what the shelf has, and series that anyone could follow (R74)."""

    def __init__(self, db: Database) -> None:
        self._db = db

    async def find(self, shelf_id: ShelfId, text: str, most: int) -> Results:
        """Up to `most` of each kind; the newest items where only what narrows was said, nothing where nothing was."""
        sought = parse_search(text)
        if not sought.wanted and not _is_narrowed(sought):
            return Results([], [], [])
        return await self._db.read(lambda tx: self._find_tx(tx, shelf_id, sought, most))

    async def _find_tx(self, tx: Tx, shelf_id: ShelfId, sought: Sought, most: int) -> Results:
        feeds = await feed_names_tx(tx, shelf_id)
        items = await self._items_tx(tx, shelf_id, sought, feeds, most=most)
        if _is_narrowed(sought):
            return Results([], items, [])
        named = [feed for feed in feeds if is_named(sought, feed.name, feed.title, feed.link)]
        found = [await own_subscription_tx(tx, shelf_id, feed.public_id) for feed in named[:most]]
        series = [_series(hit) for hit in await search_series_tx(tx, sought.terms, most)]
        return Results(found, items, series)

    async def _items_tx(
        self, tx: Tx, shelf_id: ShelfId, sought: Sought, feeds: list[FeedName], *, most: int
    ) -> list[FoundItem]:
        shown = {feed.feed_id: feed.public_id for feed in feeds}
        meant = None if sought.feed is None else [feed.feed_id for feed in feeds if _is_meant(feed, sought.feed)]
        if not sought.wanted:
            return await self._newest_tx(tx, shelf_id, sought, meant, most=most)
        narrowed = Narrowed(
            feeds=meant,
            unread=sought.unread,
            saved=sought.saved,
            before=FAR if sought.before is None else sought.before,
        )
        hits = await search_items_tx(tx, shelf_id, sought.terms, most, narrowed=narrowed)
        texts = await item_texts_tx(tx, [hit.id for hit in hits])
        return [
            FoundItem(
                id=hit.id,
                feed_id=shown[hit.feed_id],
                title=hit.title,
                published_at=texts[hit.id].published_at,
                unread=hit.unread,
                snippet=snippet(texts[hit.id].text, sought),
            )
            for hit in hits
        ]

    async def _newest_tx(
        self, tx: Tx, shelf_id: ShelfId, sought: Sought, meant: list[FeedId] | None, *, most: int
    ) -> list[FoundItem]:
        """`is:unread feed:daily` without a word: a list like any other."""
        after = FROM_THE_TOP if sought.before is None else Cursor(sought.before, 0)
        rows: list[ShelfItem] = []
        for feed_id in [None] if meant is None else meant:
            wanted = Wanted(feed_id=feed_id, unread=sought.unread, saved=sought.saved, with_content=True)
            rows += await list_items_tx(tx, shelf_id, wanted, after=after, most=most)
        newest = sorted(rows, key=lambda row: (row.sort_at, row.entry_id), reverse=True)
        return [_listed(row, sought) for row in newest[:most]]


def _listed(row: ShelfItem, sought: Sought) -> FoundItem:
    return FoundItem(
        id=row.id,
        feed_id=row.feed_id,
        title=row.title,
        published_at=row.published_at,
        unread=row.unread,
        snippet=snippet(row.content or row.summary or "", sought),
    )


def _is_meant(feed: FeedName, name: str) -> bool:
    """`feed:` names a part of what the feed is called."""
    return any(name.casefold() in known.casefold() for known in (feed.name, feed.title, feed.link))


def _is_narrowed(sought: Sought) -> bool:
    """Only items have a feed, a time and a state."""
    return any(each is not None for each in (sought.feed, sought.unread, sought.saved, sought.before))


def _series(hit: SeriesHit) -> FoundSeries:
    return FoundSeries(hit.public_id, hit.title, hit.author, hit.cover_url)
