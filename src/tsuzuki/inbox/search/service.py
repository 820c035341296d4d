"""Search."""

import msgspec

from tsuzuki.db import Database, Tx
from tsuzuki.inbox.entries import FAR, Entry, EntryFilter
from tsuzuki.inbox.search.hits import (
    ChapterHit,
    HitFilter,
    Results,
    SearchHit,
    SeriesHit,
    ShownItem,
    numbered_chapters_tx,
    search_chapters_tx,
    search_items_tx,
    search_series_tx,
    shown_items_tx,
)
from tsuzuki.inbox.search.policy import (
    LONGEST_TEXT,
    NamedThing,
    ParsedSearch,
    Passage,
    Snippets,
    longest,
    parse_search,
    snippets,
)
from tsuzuki.inbox.search.turns import SearchTurns
from tsuzuki.inbox.store import older_entries_tx, where_tx
from tsuzuki.model.errors import SourceError
from tsuzuki.model.ids import ItemId, ShelfId
from tsuzuki.model.pages import FROM_THE_TOP, PageCursor
from tsuzuki.model.requests import Parsers
from tsuzuki.model.tokens import tokens
from tsuzuki.shelves.subscriptions import feed_names_tx, find_subscriptions_tx
from tsuzuki.shelves.types import FeedName, Subscription


class _Hits(msgspec.Struct, frozen=True, kw_only=True):
    """What the database found."""

    feeds: list[FeedName] = []
    """Candidates; their names decide which of them match."""
    items: list[ShownItem] = []
    series: list[SeriesHit] = []
    chapters: list[ChapterHit] = []


class Search:
    """Finds what the shelf has, and series that anyone could follow (R74).

    Chapters are found in the series that the shelf follows: those of all others would bury them. Snippets are made
    in a parser process, from what the publishers wrote: no text holds up another reader.
    """

    def __init__(self, db: Database, parsers: Parsers, turns: SearchTurns | None = None) -> None:
        self._db = db
        self._parsers = parsers
        self._turns = turns or SearchTurns()

    async def find(self, shelf_id: ShelfId, text: str, most: int) -> Results:
        """Up to `most` of each kind; the newest items where only what narrows was said, nothing where nothing was.

        One after the other; TooManyRequests when too many of the shelf wait already.
        """
        parsed = parse_search(text)
        if not parsed.is_worded and not parsed.is_narrowed:
            return Results()
        async with self._turns.take(shelf_id):
            return await self._find(shelf_id, parsed, most)

    async def _find(self, shelf_id: ShelfId, parsed: ParsedSearch, most: int) -> Results:
        hits = await self._db.read_replica(lambda tx: self._hits_tx(tx, shelf_id, parsed, most))
        shown = await self._snippets(parsed, hits)
        items, series, chapters = _parted(shown.passages, len(hits.items), len(hits.series))
        return Results(
            feeds=await self._feeds(shelf_id, [(hits.feeds[place], said) for place, said in shown.named[:most]]),
            items=[SearchHit(hit, said) for hit, said in zip(hits.items, items, strict=True)],
            series=[SearchHit(hit, said) for hit, said in zip(hits.series, series, strict=True)],
            chapters=[SearchHit(hit, said) for hit, said in zip(hits.chapters, chapters, strict=True)],
        )

    async def _snippets(self, parsed: ParsedSearch, hits: _Hits) -> Snippets:
        """None of them where a text cannot be read: what was found is shown all the same."""
        feeds = [NamedThing((feed.name, feed.title), feed.link) for feed in hits.feeds]
        passages = [Passage(hit.text) for hit in hits.items]
        passages += [Passage((hit.description or "")[:LONGEST_TEXT], hit.title) for hit in hits.series]
        passages += [Passage("", _said(hit)) for hit in hits.chapters]
        if not feeds and not passages:
            return Snippets([], [])
        try:
            return await self._parsers.run(snippets, (parsed.terms, feeds, passages))
        except SourceError:
            return Snippets([], [""] * len(passages))

    async def _feeds(self, shelf_id: ShelfId, found: list[tuple[FeedName, str]]) -> list[SearchHit[Subscription]]:
        """Without those that were left meanwhile."""
        said = {feed.public_id: snippet for feed, snippet in found}
        if not said:
            return []
        feeds = await self._db.read(lambda tx: find_subscriptions_tx(tx, shelf_id, list(said)))
        return [SearchHit(feed, said[feed.public_id]) for feed in feeds]

    async def _hits_tx(self, tx: Tx, shelf_id: ShelfId, parsed: ParsedSearch, most: int) -> _Hits:
        items = await self._items_tx(tx, shelf_id, parsed, most)
        if parsed.is_narrowed:
            return _Hits(items=items)
        return _Hits(
            feeds=await feed_names_tx(tx, shelf_id, longest(parsed.words)),
            items=items,
            series=await search_series_tx(tx, shelf_id, parsed.terms, most),
            chapters=await self._chapters_tx(tx, shelf_id, parsed, most),
        )

    async def _chapters_tx(self, tx: Tx, shelf_id: ShelfId, parsed: ParsedSearch, most: int) -> list[ChapterHit]:
        """The chapter of the number that was said comes first, then those with the words in their titles."""
        wanted = parsed.chapter
        hits = []
        if wanted is not None:
            hits = await numbered_chapters_tx(tx, shelf_id, wanted.number, wanted.terms, most=most)
        hits += await search_chapters_tx(tx, shelf_id, parsed.terms, most)
        return list({hit.id: hit for hit in hits}.values())[:most]

    async def _items_tx(self, tx: Tx, shelf_id: ShelfId, parsed: ParsedSearch, most: int) -> list[ShownItem]:
        meant = None
        if parsed.feed is not None:
            feeds = await feed_names_tx(tx, shelf_id, longest(tokens(parsed.feed)))
            meant = [feed for feed in feeds if _is_meant(feed, parsed.feed)]
        if not parsed.is_worded:
            ids = await self._newest_tx(tx, shelf_id, parsed, meant, most=most)
        else:
            narrowed = HitFilter(
                feeds=None if meant is None else [feed.feed_id for feed in meant],
                unread=parsed.unread,
                saved=parsed.saved,
                before=FAR if parsed.before is None else parsed.before,
            )
            hits = await search_items_tx(tx, shelf_id, parsed.terms, most, narrowed=narrowed)
            ids = [hit.id for hit in hits]
        return await shown_items_tx(tx, shelf_id, ids, longest=LONGEST_TEXT)

    async def _newest_tx(
        self, tx: Tx, shelf_id: ShelfId, parsed: ParsedSearch, meant: list[FeedName] | None, *, most: int
    ) -> list[ItemId]:
        """`is:unread feed:daily` without a word: a list like any other."""
        after = FROM_THE_TOP if parsed.before is None else PageCursor(parsed.before, 0)
        every = EntryFilter(kind="item", unread=parsed.unread, saved=parsed.saved, by_published=True)
        rows: list[Entry] = []
        for feed in [None] if meant is None else [feed.public_id for feed in meant]:
            wanted = msgspec.structs.replace(every, feed=feed)
            where = await where_tx(tx, shelf_id, wanted)
            rows += await older_entries_tx(tx, where, wanted, after=after, most=most)
        newest = sorted(rows, key=lambda row: (row.sort_at, row.id), reverse=True)
        return [row.item_id for row in newest[:most] if row.item_id is not None]


def _parted(texts: list[str], first: int, second: int) -> tuple[list[str], list[str], list[str]]:
    return texts[:first], texts[first : first + second], texts[first + second :]


def _is_meant(feed: FeedName, name: str) -> bool:
    """`feed:` names a part of what the feed is called."""
    return any(name.casefold() in known.casefold() for known in (feed.name, feed.title, feed.link))


def _said(hit: ChapterHit) -> str:
    return " · ".join(part for part in (hit.series_title, hit.number, hit.title) if part)
