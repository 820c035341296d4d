"""A shelf as comic readers list it: followed series and their chapters, by pages, filtered, sorted and counted."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, Final, Literal, get_args

import msgspec

from tsuzuki.accounts.types import Slice
from tsuzuki.db import Database, Tx, load_queries
from tsuzuki.db.fulltext import match
from tsuzuki.model.errors import NotFound
from tsuzuki.model.ids import ChapterId, PublicId, SeriesId, ShelfId
from tsuzuki.model.numbers import SCALE, parse_number
from tsuzuki.model.times import Millis
from tsuzuki.model.tokens import parse_terms
from tsuzuki.shelves.progress import NO_CHAPTER
from tsuzuki.shelves.types import ReleasePreferences
from tsuzuki.sources.series import known_series_tx

q = load_queries("tsuzuki.shelves.library")

ReadState = Literal["UNREAD", "IN_PROGRESS", "READ"]
STATES: Final[tuple[ReadState, ...]] = get_args(ReadState)
LibrarySort = Literal["title", "latest", "added", "relevance", "random"]
ChapterSort = Literal["number", "title", "added", "changed", "released", "read", "relevance", "random"]

MOST_FOUND: Final = 1_000
"""By words."""
MOST_LISTED: Final = 20_000
"""At once, of whatever."""


class SeriesFilter(msgspec.Struct, frozen=True, kw_only=True):
    """Which series; None means all of them, of a list one of its values is enough."""

    words: str = ""
    groups: Sequence[PublicId] | None = None
    states: Sequence[ReadState] | None = None
    """READ when all of its chapters are, UNREAD when none was begun."""
    statuses: Sequence[int] | None = None
    genres: Sequence[str] | None = None
    authors: Sequence[tuple[str, str]] | None = None
    """Names, each with the role `writer` or `penciller`, or none."""
    languages: Sequence[str] | None = None
    among: Sequence[SeriesId] | None = None
    order: Sequence[tuple[LibrarySort, bool]] = ()
    """By what, and whether downwards: two at most; what is equal in them is sorted by title."""


class SeriesFacts(msgspec.Struct, frozen=True):
    """A followed series as conditions ask of it."""

    id: SeriesId
    public_id: PublicId
    group_id: PublicId
    status: int
    language: str | None
    author: str | None
    artist: str | None
    state: ReadState | None
    """None where nobody asked for it."""


class ChapterFilter(msgspec.Struct, frozen=True, kw_only=True):
    """Which chapters of the library; None means all of them."""

    words: str = ""
    allowed: Mapping[SeriesId, Sequence[ReadState]] | None = None
    """The series, each with the states that its chapters may be in."""
    is_ready: bool | None = None
    """Whether there is something to read them from."""
    order: Sequence[tuple[ChapterSort, bool]] = ()
    """As of series; what is equal in them is sorted by series and number."""


class SeriesRow(msgspec.Struct, frozen=True):
    """A followed series, without what is counted."""

    id: SeriesId
    public_id: PublicId
    title: str
    author: str | None
    artist: str | None
    description: str | None
    language: str | None
    status: int
    followed_at: Millis
    preferences: ReleasePreferences
    last_chapter_at: Millis | None
    cover_id: int | None
    """The series source whose cover stands for it."""


class SeriesCounts(msgspec.Struct, frozen=True):
    """How many chapters a series has, and how far they were read."""

    series_id: SeriesId
    chapters: int
    finished: int
    begun: int
    published_at: Millis | None
    """When its first chapter was."""

    @property
    def unread(self) -> int:
        """Neither finished nor begun."""
        return self.chapters - self.finished - self.begun


class LibrarySeries(msgspec.Struct, frozen=True):
    """A followed series with all there is to say of it."""

    row: SeriesRow
    counts: SeriesCounts
    genres: Sequence[str]


class GenreRow(msgspec.Struct, frozen=True):
    """A genre of a series."""

    series_id: SeriesId
    name: str


class Author(msgspec.Struct, frozen=True):
    """Somebody who makes series."""

    name: str
    role: str


class GroupedSeries(msgspec.Struct, frozen=True):
    """A series and the group that it is in."""

    group_id: PublicId
    series_id: PublicId


class LibraryChapter(msgspec.Struct, frozen=True):
    """A chapter, how far it was read, and its place among those of its series."""

    id: ChapterId
    series_id: SeriesId
    series_public_id: PublicId
    series_title: str
    number: str | None
    number_sort: int | None
    volume: str | None
    title: str
    published_at: Millis | None
    first_seen_at: Millis
    updated_at: Millis
    place: int
    """From 1."""
    is_unnumbered: bool
    """Whether no chapter of the series has a number."""
    state: ReadState
    page: int
    device: str | None
    read_at: Millis | None
    is_reread: bool
    """Whether it is read, and was begun again: then its page counts."""
    author: str | None
    artist: str | None
    language: str | None
    """The language of its series."""
    cover_id: int | None
    """The series source whose cover stands for its series."""

    @property
    def sort(self) -> float:
        """What apps sort and synchronise it by."""
        return app_number(self)


class TrackedChapter(msgspec.Struct, frozen=True):
    """A chapter as a tracker counts it."""

    id: ChapterId
    number_sort: int | None
    volume: str | None
    is_unnumbered: bool
    state: ReadState

    @property
    def sort(self) -> float:
        """What apps sort and synchronise it by."""
        return app_number(self)


_FRACTIONS = 10**6


def app_number(chapter: LibraryChapter | TrackedChapter) -> float:
    """A number for every chapter, for apps that know chapters by nothing else.

    Its own; its volume's where no chapter of the series has a number. Else one between -1 and 0, out of its id: it
    stays the same for ever, comes before all others as on our pages, and apps take it for no number.
    """
    number: Decimal | None = None
    if chapter.number_sort is not None:
        number = Decimal(chapter.number_sort) / SCALE
    elif chapter.is_unnumbered:
        number = parse_number(chapter.volume)
    if number is not None:
        return float(number)
    return (chapter.id % _FRACTIONS + 1) / (_FRACTIONS + 1) - 1


class Library:
    """What a shelf follows. Another shelf's series and chapters are not found (I8)."""

    def __init__(self, db: Database) -> None:
        self._db = db

    # -- series

    async def list(self, shelf_id: ShelfId, wanted: SeriesFilter, part: Slice) -> tuple[Sequence[LibrarySeries], int]:
        """A page of the series that are wanted, and how many there are in all."""

        async def read(tx: Tx) -> tuple[Sequence[LibrarySeries], int]:
            asked = _asked(shelf_id, wanted)
            if wanted.words.strip():
                found = await _search_tx(tx, shelf_id, wanted.words)
                asked["found"] = [[series, place] for place, series in enumerate(found)]
            order = _order(wanted.order)
            rows = await tx.many(SeriesRow, q.list_series, **asked, **order, most=part.most, skip=part.skip)
            return await _with_counts_tx(tx, shelf_id, rows), await tx.one(int, q.count_series, **asked)

        return await self._db.read_replica(read)

    async def get(self, shelf_id: ShelfId, series: PublicId) -> LibrarySeries:
        """One that the shelf follows, or NotFound."""

        async def read(tx: Tx) -> LibrarySeries:
            series_id = await known_series_tx(tx, series)
            return (await _with_counts_tx(tx, shelf_id, [await _row_tx(tx, shelf_id, series_id)]))[0]

        return await self._db.read(read)

    async def facts(
        self, shelf_id: ShelfId, *, with_states: bool, with_genres: bool
    ) -> Sequence[tuple[SeriesFacts, Sequence[str]]]:
        """All that the shelf follows, each with its genres."""

        async def read(tx: Tx) -> Sequence[tuple[SeriesFacts, Sequence[str]]]:
            asked = _asked(shelf_id, SeriesFilter(states=STATES if with_states else None))
            found = await tx.many(SeriesFacts, q.series_facts, **asked)
            genres = await _genres_tx(tx, [one.id for one in found]) if with_genres else {}
            return [(one, genres.get(one.id, ())) for one in found]

        return await self._db.read_replica(read)

    async def genres(self, shelf_id: ShelfId) -> Sequence[str]:
        """The genres of all series that the shelf follows."""
        return await self._db.read_replica(lambda tx: tx.many(str, q.all_genres, shelf_id=shelf_id))

    async def authors(self, shelf_id: ShelfId) -> Sequence[Author]:
        """The authors of all series that the shelf follows."""
        return await self._db.read_replica(lambda tx: tx.many(Author, q.all_authors, shelf_id=shelf_id))

    async def languages(self, shelf_id: ShelfId) -> Sequence[str]:
        """The languages of all series that the shelf follows."""
        return await self._db.read_replica(lambda tx: tx.many(str, q.all_languages, shelf_id=shelf_id))

    async def grouped(self, shelf_id: ShelfId) -> Sequence[GroupedSeries]:
        """Which series each group has."""
        return await self._db.read_replica(lambda tx: tx.many(GroupedSeries, q.grouped_series, shelf_id=shelf_id))

    # -- chapters

    async def chapters(
        self,
        shelf_id: ShelfId,
        series: PublicId,
        part: Slice,
        *,
        states: Sequence[ReadState] | None = None,
        is_ready: bool | None = None,
        downwards: bool = False,
    ) -> tuple[Sequence[LibraryChapter], int]:
        """A page of a series' chapters, the lowest first, and how many there are; NotFound for one not followed."""

        async def read(tx: Tx) -> tuple[Sequence[LibraryChapter], int]:
            series_id = await known_series_tx(tx, series)
            await _row_tx(tx, shelf_id, series_id)
            asked = {"shelf_id": shelf_id, "series_id": series_id, "states": _texts(states), "ready": is_ready}
            ids = await tx.many(
                ChapterId,
                q.chapters_downwards if downwards else q.chapters_upwards,
                **asked,
                most=part.most,
                skip=part.skip,
            )
            return await _chapters_tx(tx, shelf_id, ids), await tx.one(int, q.count_chapters, **asked)

        return await self._db.read_replica(read)

    async def chapter(self, shelf_id: ShelfId, chapter_id: ChapterId) -> LibraryChapter:
        """One of a followed series, also by an id from before its series was merged, or NotFound."""

        async def read(tx: Tx) -> LibraryChapter:
            known = await _known_chapter_tx(tx, shelf_id, chapter_id)
            return (await _chapters_tx(tx, shelf_id, [known]))[0]

        return await self._db.read(read)

    async def chapters_of(self, shelf_id: ShelfId, ids: Sequence[ChapterId]) -> Sequence[LibraryChapter]:
        """These chapters in this order, those of series that the shelf follows."""
        return await self._db.read(lambda tx: _chapters_tx(tx, shelf_id, ids))

    async def known_chapter(self, shelf_id: ShelfId, chapter_id: ChapterId) -> ChapterId:
        """The id that this chapter has now; NotFound as for `chapter`."""
        return await self._db.read(lambda tx: _known_chapter_tx(tx, shelf_id, chapter_id))

    async def arrived(
        self, shelf_id: ShelfId, part: Slice, *, unread: bool | None = None, left: int = 0
    ) -> tuple[Sequence[LibraryChapter], int]:
        """Chapters of the inbox, the newest first; from where so many are `left`, if that is not 0."""

        async def read(tx: Tx) -> tuple[Sequence[LibraryChapter], int]:
            asked = {"shelf_id": shelf_id, "unread": unread}
            total = await tx.one(int, q.count_arrived, **asked)
            skip = max(0, total - left) if left else part.skip
            ids = await tx.many(ChapterId, q.arrived_chapters, **asked, most=part.most, skip=skip)
            return await _chapters_tx(tx, shelf_id, ids), total

        return await self._db.read_replica(read)

    async def books(
        self, shelf_id: ShelfId, wanted: ChapterFilter, part: Slice
    ) -> tuple[Sequence[LibraryChapter], int]:
        """A page of the chapters that are wanted, and how many there are in all."""

        async def read(tx: Tx) -> tuple[Sequence[LibraryChapter], int]:
            ids, total = await _books_tx(tx, shelf_id, wanted, part)
            return await _chapters_tx(tx, shelf_id, ids), total

        return await self._db.read_replica(read)

    async def beside(self, shelf_id: ShelfId, chapter: LibraryChapter, way: Literal[1, -1]) -> LibraryChapter | None:
        """The next or the previous one of its series that can be read."""

        async def read(tx: Tx) -> LibraryChapter | None:
            place = {"series_id": chapter.series_id, "place": chapter.place, "way": way}
            found = await tx.maybe(ChapterId, q.ready_beside, shelf_id=shelf_id, **place)
            return None if found is None else next(iter(await _chapters_tx(tx, shelf_id, [found])), None)

        return await self._db.read(read)

    async def on_deck(self, shelf_id: ShelfId, part: Slice) -> tuple[Sequence[LibraryChapter], int]:
        """What to read next where something was read and nothing is begun, the last read series first."""

        async def read(tx: Tx) -> tuple[Sequence[LibraryChapter], int]:
            ids = await tx.many(ChapterId, q.on_deck, shelf_id=shelf_id, most=MOST_FOUND)
            return await _chapters_tx(tx, shelf_id, ids[part.skip : part.skip + part.most]), len(ids)

        return await self._db.read_replica(read)

    async def tracked(self, shelf_id: ShelfId, series: PublicId) -> Sequence[TrackedChapter]:
        """All chapters of a series, the lowest first; NotFound for one that is not followed."""

        async def read(tx: Tx) -> Sequence[TrackedChapter]:
            series_id = await known_series_tx(tx, series)
            await _row_tx(tx, shelf_id, series_id)
            return await tx.many(TrackedChapter, q.tracked, shelf_id=shelf_id, series_id=series_id)

        return await self._db.read(read)


def _bits(states: Sequence[ReadState]) -> int:
    return sum(1 << STATES.index(state) for state in states)


_BEGUN: Final = _bits(["IN_PROGRESS"])


def _texts(texts: Sequence[str] | None) -> list[list[str]] | None:
    return None if texts is None else [[text] for text in texts]


def _asked(shelf_id: ShelfId, wanted: SeriesFilter) -> dict[str, Any]:
    return {
        "shelf_id": shelf_id,
        "only": None,
        "found": None,
        "among": wanted.among,
        "groups": _texts(None if wanted.groups is None else [group.hex() for group in wanted.groups]),
        "states": _texts(wanted.states),
        "statuses": wanted.statuses,
        "genres": _texts(wanted.genres),
        "authors": wanted.authors,
        "languages": _texts(wanted.languages),
    }


def _order(said: Sequence[tuple[str, bool]]) -> dict[str, Any]:
    (first, first_down), (second, second_down) = [*said[:2], ("", False), ("", False)][:2]
    ways = {"first_way": -1 if first_down else 1, "second_way": -1 if second_down else 1}
    return {"first": first, "second": second} | ways


async def _books_tx(tx: Tx, shelf_id: ShelfId, wanted: ChapterFilter, part: Slice) -> tuple[Sequence[ChapterId], int]:
    allowed = None
    if wanted.allowed is not None:
        allowed = [[of, _bits(some)] for of, some in wanted.allowed.items()]
    asked: dict[str, Any] = {"shelf_id": shelf_id, "allowed": allowed, "ready": wanted.is_ready}
    listed = _order(wanted.order) | {"most": part.most, "skip": part.skip}
    found = None
    if wanted.words.strip():
        places = enumerate(await _search_chapters_tx(tx, shelf_id, wanted.words))
        found = [[chapter, place] for place, chapter in places]
    # Few chapters are begun, and an index has them: apps list these first.
    elif allowed and all(bits == _BEGUN for _, bits in allowed):
        ids = await tx.many(ChapterId, q.list_begun_books, **asked, **listed)
        return ids, await tx.one(int, q.count_begun_books, **asked)
    ids = await tx.many(ChapterId, q.list_books, **asked, **listed, found=found)
    return ids, await tx.one(int, q.count_books, **asked, found=found)


async def _search_chapters_tx(tx: Tx, shelf_id: ShelfId, words: str) -> list[ChapterId]:
    """By the words of their titles, the best first."""
    wanted = match(tx.engine, parse_terms(words))
    if wanted is None:
        return []
    return await tx.many(ChapterId, q.search_chapters, match=wanted, shelf_id=shelf_id, most=MOST_FOUND)


async def _search_tx(tx: Tx, shelf_id: ShelfId, words: str) -> list[SeriesId]:
    """The last word may go on: people see what is found while they type."""
    terms = parse_terms(words)
    if terms:
        terms[-1] = msgspec.structs.replace(terms[-1], prefix=True)
    wanted = match(tx.engine, terms)
    if wanted is None:
        return []
    return await tx.many(SeriesId, q.search_series, match=wanted, shelf_id=shelf_id, most=MOST_FOUND)


async def _row_tx(tx: Tx, shelf_id: ShelfId, series_id: SeriesId) -> SeriesRow:
    asked = _asked(shelf_id, SeriesFilter()) | {"only": series_id}
    rows = await tx.many(SeriesRow, q.list_series, **asked, **_order(()), most=1, skip=0)
    if not rows:
        raise NotFound("This shelf does not follow it.")
    return rows[0]


async def _with_counts_tx(tx: Tx, shelf_id: ShelfId, rows: Sequence[SeriesRow]) -> list[LibrarySeries]:
    ids = [row.id for row in rows]
    if not ids:
        return []
    counted = {one.series_id: one for one in await tx.many(SeriesCounts, q.counts_of, shelf_id=shelf_id, ids=ids)}
    genres = await _genres_tx(tx, ids)
    none = {row.id: SeriesCounts(row.id, 0, 0, 0, None) for row in rows}
    return [LibrarySeries(row, counted.get(row.id, none[row.id]), genres[row.id]) for row in rows]


async def _genres_tx(tx: Tx, ids: Sequence[SeriesId]) -> defaultdict[SeriesId, list[str]]:
    genres = defaultdict[SeriesId, list[str]](list)
    for genre in await tx.many(GenreRow, q.genres_of, ids=ids):
        genres[genre.series_id].append(genre.name)
    return genres


async def _known_chapter_tx(tx: Tx, shelf_id: ShelfId, chapter_id: ChapterId) -> ChapterId:
    for known in (chapter_id, await tx.maybe(ChapterId, q.find_former_chapter, id=chapter_id)):
        if known is not None and await tx.maybe(SeriesId, q.find_series_of, shelf_id=shelf_id, id=known) is not None:
            return known
    raise NotFound(NO_CHAPTER)


async def _chapters_tx(tx: Tx, shelf_id: ShelfId, ids: Sequence[ChapterId]) -> list[LibraryChapter]:
    """In this order."""
    if not ids:
        return []
    found = {one.id: one for one in await tx.many(LibraryChapter, q.chapters_of, shelf_id=shelf_id, ids=ids)}
    return [found[each] for each in ids if each in found]
