"""The verb of searching."""

import msgspec

from tsuzuki.db import Database, Tx
from tsuzuki.model.ids import FeedId, ItemId, PublicId, ShelfId
from tsuzuki.model.pages import FROM_THE_TOP, Cursor
from tsuzuki.model.times import Millis
from tsuzuki.model.tokens import text_of
from tsuzuki.shelves.entries.nouns import ShelfItem, Wanted
from tsuzuki.shelves.entries.store import list_items_tx
from tsuzuki.shelves.search.policy import Sought, best_snippet, is_named, parse_search, snippet
from tsuzuki.shelves.search.store import ChapterHit, numbered_chapters_tx, search_chapters_tx
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


class FoundFeed(msgspec.Struct, frozen=True):
    """A feed of the shelf, and the name or address that it was found by."""

    feed: Subscription
    snippet: str


class FoundSeries(msgspec.Struct, frozen=True):
    """A series, followed or not."""

    id: PublicId
    title: str
    author: str | None
    cover_url: str | None
    snippet: str
    cover_id: int | None = None
    """The series source whose cover stands for it."""


class FoundChapter(msgspec.Struct, frozen=True):
    """A chapter of a series that the shelf follows."""

    hit: ChapterHit
    snippet: str


class Results(msgspec.Struct, frozen=True, kw_only=True):
    """What a search found, each kind best first."""

    feeds: list[FoundFeed] = []
    items: list[FoundItem] = []
    series: list[FoundSeries] = []
    chapters: list[FoundChapter] = []


class Search:
    """Finds what the shelf has, and series that anyone could follow (R74).

    Chapters are found in the series that the shelf follows: those of all others would bury them.
    """

    def __init__(self, db: Database) -> None:
        self._db = db

    async def find(self, shelf_id: ShelfId, text: str, most: int) -> Results:
        """Up to `most` of each kind; the newest items where only what narrows was said, nothing where nothing was."""
        sought = parse_search(text)
        if not sought.wanted and not _is_narrowed(sought):
            return Results()
        return await self._db.read(lambda tx: self._find_tx(tx, shelf_id, sought, most))

    async def _find_tx(self, tx: Tx, shelf_id: ShelfId, sought: Sought, most: int) -> Results:
        feeds = await feed_names_tx(tx, shelf_id)
        items = await self._items_tx(tx, shelf_id, sought, feeds, most=most)
        if _is_narrowed(sought):
            return Results(items=items)
        return Results(
            feeds=await self._feeds_tx(tx, shelf_id, sought, feeds, most=most),
            items=items,
            series=[_series(hit, sought) for hit in await search_series_tx(tx, sought.terms, most)],
            chapters=await self._chapters_tx(tx, shelf_id, sought, most),
        )

    async def _feeds_tx(
        self, tx: Tx, shelf_id: ShelfId, sought: Sought, feeds: list[FeedName], *, most: int
    ) -> list[FoundFeed]:
        """Those whose names hold the words come before those that have them only in their address."""
        named = [feed for feed in feeds if is_named(sought, feed.name, feed.title, feed.link)]
        named.sort(key=lambda feed: not is_named(sought, feed.name, feed.title))
        found = [await own_subscription_tx(tx, shelf_id, feed.public_id) for feed in named[:most]]
        return [FoundFeed(feed, best_snippet(sought, feed.name, feed.title, feed.link)) for feed in found]

    async def _chapters_tx(self, tx: Tx, shelf_id: ShelfId, sought: Sought, most: int) -> list[FoundChapter]:
        """The chapter of the number that was said comes first, then those with the words in their titles."""
        wanted = sought.chapter
        hits = []
        if wanted is not None:
            hits = await numbered_chapters_tx(tx, shelf_id, wanted.number, wanted.terms, most=most)
        hits += await search_chapters_tx(tx, shelf_id, sought.terms, most)
        return [_chapter(hit, sought) for hit in list({hit.id: hit for hit in hits}.values())[:most]]

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


def _series(hit: SeriesHit, sought: Sought) -> FoundSeries:
    shown = best_snippet(sought, text_of(hit.description or ""), hit.title)
    return FoundSeries(hit.public_id, hit.title, hit.author, hit.cover_url, shown, hit.cover_id)


def _chapter(hit: ChapterHit, sought: Sought) -> FoundChapter:
    said = " · ".join(part for part in (hit.series_title, hit.number, hit.title) if part)
    return FoundChapter(hit, best_snippet(sought, said))
