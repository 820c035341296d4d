"""Exports a shelf into an archive, page by page, so that memory does not grow with it."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from tsuzuki.db import Database, Tx, load_queries
from tsuzuki.model.ids import GroupId, ShelfId, SourceId, UserId
from tsuzuki.model.secrets import MASKED, is_secret
from tsuzuki.model.structs import copied
from tsuzuki.model.times import Millis
from tsuzuki.notifications.channels import list_channels_tx
from tsuzuki.notifications.kinds import KINDS
from tsuzuki.notifications.kinds.base import StoredChannel, hidden
from tsuzuki.shelves.groups import list_groups_tx
from tsuzuki.shelves.types import ReleasePreferences
from tsuzuki.transfer.archive.container import ShelfArchiveWriter, Watch, new_file
from tsuzuki.transfer.archive.format import (
    ArchivedChapter,
    ArchivedPreferences,
    ArchivedRelease,
    ArchivedSeries,
    ArchivedSource,
    ArchiveLine,
    BackupLine,
    BookmarkLine,
    ChannelLine,
    EntryLine,
    FeedKey,
    FeedLine,
    FollowLine,
    FormerFollowLine,
    FullTextLine,
    GroupLine,
    ItemLine,
    Manifest,
    Person,
    ProgressLine,
    RemovedItemLine,
    SeriesSource,
)
from tsuzuki.transfer.archive.rows import (
    ArchiveChapterRow,
    ArchiveFeedRow,
    ArchiveSeriesRow,
    ArchiveSourceRow,
    BookmarkRow,
    ItemRow,
    MappingRow,
    PersonRow,
    ReleaseRow,
)
from tsuzuki.transfer.archive.sanitiser import without_password, without_secrets
from tsuzuki.transfer.archive.store import (
    BEGINNING,
    archived_bookmarks_tx,
    archived_chapters_tx,
    archived_gone_tx,
    archived_items_tx,
    archived_releases_tx,
    backups_of_tx,
    list_sources_tx,
    mappings_tx,
)

q = load_queries("tsuzuki.transfer.archive")

_PAGE = 200

Slugs = Mapping[SourceId, str]
Groups = Mapping[GroupId, str | None]
Named = tuple[ArchiveSeriesRow, ArchivedSeries]


class ShelfExport:
    """Writes shelves."""

    def __init__(self, db: Database, clock: Callable[[], Millis]) -> None:
        self._db = db
        self._clock = clock

    async def write(self, path: Path, shelf_id: ShelfId, user_id: UserId, watch: Watch) -> Manifest:
        """All of a shelf into a new file, which is there when it is whole; Invalid when there is one."""
        with new_file(path) as file:
            archive = ShelfArchiveWriter(file, self._clock())
            await _Run(self._db, shelf_id, archive, watch).write(user_id)
            return await asyncio.to_thread(archive.close)


class _Run:
    """One export. Every page is read by itself: what arrives meanwhile may be in it or not."""

    def __init__(self, db: Database, shelf_id: ShelfId, archive: ShelfArchiveWriter, watch: Watch) -> None:
        self._db = db
        self._shelf_id = shelf_id
        self._archive = archive
        self._watch = watch

    async def write(self, user_id: UserId) -> None:
        person = await self._db.read(
            lambda tx: tx.one(PersonRow, q.archived_person, shelf_id=self._shelf_id, user_id=user_id)
        )
        await self._put("person.jsonl", [Person(**msgspec.structs.asdict(person))])
        groups = await self._groups()
        feeds = await self._feeds(groups)
        await self._stream("items.jsonl", self._items(feeds))
        await self._stream("gone.jsonl", self._gone(feeds))
        series = await self._series(groups)
        await self._stream("chapters.jsonl", self._chapters(series))
        await self._stream("bookmarks.jsonl", self._bookmarks())
        channels = await self._db.read(lambda tx: list_channels_tx(tx, self._shelf_id, user_id))
        shown = [_channel(channel) for channel in channels if channel.kind in KINDS]
        shown.sort(key=lambda channel: channel.name)
        await self._put("channels.jsonl", shown)

    # -- what is small

    async def _groups(self) -> Groups:
        rows = await self._db.read(lambda tx: list_groups_tx(tx, self._shelf_id))
        lines = [GroupLine(name=row.name, position=row.position, is_default=row.is_default) for row in rows]
        lines.sort(key=lambda group: (group.position, group.name))
        await self._put("groups.jsonl", lines)
        return {row.id: None if row.is_default else row.name for row in rows}

    async def _feeds(self, groups: Groups) -> list[ArchiveFeedRow]:
        rows = await self._db.read(lambda tx: tx.many(ArchiveFeedRow, q.archived_feeds, shelf_id=self._shelf_id))
        rows.sort(key=lambda row: (row.link, row.proxy))
        await self._put("feeds.jsonl", [_feed(row, groups) for row in rows])
        return rows

    async def _series(self, groups: Groups) -> list[Named]:
        sources = await self._db.read(list_sources_tx)
        slugs = {source.id: source.slug for source in sources}
        rows = await self._db.read(lambda tx: tx.many(ArchiveSeriesRow, q.archived_series, shelf_id=self._shelf_id))
        found: list[Named] = []
        used: set[str] = set()
        twins: Counter[str] = Counter()
        for row in sorted(rows, key=lambda row: row.id):
            mappings = await self._db.read(partial(mappings_tx, series_id=row.id))
            key = _series_key(row, mappings, twins)
            used |= {mapping.slug for mapping in mappings}
            line = _series(row, key, mappings, slugs=slugs, groups=groups)
            backups = await self._db.read(partial(backups_of_tx, shelf_id=self._shelf_id, series_id=row.id))
            found.append(
                (row, msgspec.structs.replace(line, backups=tuple(copied(BackupLine, each) for each in backups)))
            )
        found.sort(key=lambda pair: pair[1].key)
        wanted = [_source(source) for source in sources if source.slug in used]
        wanted.sort(key=lambda source: source.slug)
        await self._put("sources.jsonl", wanted)
        await self._put("series.jsonl", [line for _, line in found])
        return found

    # -- what may be large

    async def _items(self, feeds: Iterable[ArchiveFeedRow]) -> AsyncIterator[list[ArchiveLine]]:
        for feed in feeds:
            key = _key_of(feed.link, feed.proxy)
            after = BEGINNING, 0
            while rows := await self._page(archived_items_tx, feed.id, after=after):
                after = rows[-1].entry_sort_at, rows[-1].entry_id
                yield [_item(row, key) for row in rows]

    async def _gone(self, feeds: Iterable[ArchiveFeedRow]) -> AsyncIterator[list[ArchiveLine]]:
        for feed in feeds:
            key = _key_of(feed.link, feed.proxy)
            after = ""
            while keys := await self._page(archived_gone_tx, feed.id, after=after):
                after = keys[-1]
                yield [RemovedItemLine(feed=key, key=each) for each in keys]

    async def _chapters(self, series: Iterable[Named]) -> AsyncIterator[list[ArchiveLine]]:
        for row, line in series:
            after = ""
            while rows := await self._page(archived_chapters_tx, row.id, after=after):
                after = rows[-1].key
                ids = [chapter.id for chapter in rows]
                releases = await self._db.read(partial(archived_releases_tx, chapters=ids))
                yield [_chapter(each, line.key, releases) for each in rows]

    async def _bookmarks(self) -> AsyncIterator[list[ArchiveLine]]:
        after = BEGINNING, 0
        while rows := await self._page(archived_bookmarks_tx, after=after):
            after = rows[-1].created_at, rows[-1].id
            yield [_bookmark(row) for row in rows]

    async def _page(self, query: Callable[..., Any], *of: Any, after: Any) -> list[Any]:
        async def read(tx: Tx) -> list[Any]:
            found: list[Any] = await query(tx, self._shelf_id, *of, after=after, most=_PAGE)
            return found

        return await self._db.read(read)

    # -- into the file

    async def _put(self, name: str, lines: Iterable[ArchiveLine]) -> None:
        async def once() -> AsyncIterator[list[ArchiveLine]]:
            yield list(lines)

        await self._stream(name, once())

    async def _stream(self, name: str, pages: AsyncIterator[list[ArchiveLine]]) -> None:
        with self._archive.part(name) as part:
            async for page in pages:
                await asyncio.to_thread(part.write, page)
                self._watch(f"write {name}", part.lines, 0)


# -- rows as lines


def _key_of(link: str, proxy: str) -> FeedKey:
    return FeedKey(link=link, proxy=without_password(proxy))


def _feed(row: ArchiveFeedRow, groups: Groups) -> FeedLine:
    bare = without_password(row.proxy)
    return copied(FeedLine, row, proxy=bare, group=groups.get(row.group_id), lacks_password=bare != row.proxy)


def _item(row: ItemRow, feed: FeedKey) -> ItemLine:
    full_text = None
    if row.fetched_at is not None:
        full_text = FullTextLine(content=row.full_content or "", error=row.full_error, fetched_at=row.fetched_at)
    entry = copied(EntryLine, row, sort_at=row.entry_sort_at, created_at=row.entry_created_at)
    return copied(ItemLine, row, feed=feed, full_text=full_text, entry=entry)


def _series_key(row: ArchiveSeriesRow, mappings: list[MappingRow], twins: Counter[str]) -> str:
    """The key from its first source; without any source, from its name, with a count if two have the same."""
    if mappings:
        return min(f"{mapping.slug}/{mapping.source_key}" for mapping in mappings)
    twins[row.match_key] += 1
    return f"?/{twins[row.match_key]}/{row.title}"


def _series(
    row: ArchiveSeriesRow, key: str, mappings: list[MappingRow], *, slugs: Slugs, groups: Groups
) -> ArchivedSeries:
    sources = [copied(SeriesSource, each, source=each.slug, key=each.source_key) for each in mappings]
    follow = former = None
    if row.follow_status is not None and row.created_at is not None:
        follow = FollowLine(
            group=groups.get(row.group_id) if row.group_id else None,
            status=row.follow_status,
            notify=bool(row.notify),
            preferences=_archived_preferences(row.preferences, slugs),
            created_at=row.created_at,
        )
    if row.former_status is not None and row.former_created_at is not None and row.left_at is not None:
        former = FormerFollowLine(
            group=groups.get(row.former_group_id) if row.former_group_id else None,
            status=row.former_status,
            notify=bool(row.former_notify),
            preferences=_archived_preferences(row.former_preferences, slugs),
            entries=row.entries or (),
            created_at=row.former_created_at,
            left_at=row.left_at,
        )
    sources.sort(key=lambda each: (each.source, each.key))
    return copied(ArchivedSeries, row, key=key, sources=tuple(sources), follow=follow, former=former)


def _archived_preferences(preferences: ReleasePreferences | None, slugs: Slugs) -> ArchivedPreferences:
    """The preferences with sources by their slugs; deleted sources are dropped."""
    known = preferences or ReleasePreferences()
    wanted = tuple(slugs[SourceId(each)] for each in known.sources if each in slugs)
    return copied(ArchivedPreferences, known, sources=wanted)


def _source(row: ArchiveSourceRow) -> ArchivedSource:
    """R47: without its secrets."""
    config, lacks = without_secrets(row.config, is_secret=is_secret)
    return copied(ArchivedSource, row, config=config, lacks=tuple(sorted(lacks)))


def _chapter(row: ArchiveChapterRow, series: str, releases: list[ReleaseRow]) -> ArchivedChapter:
    own = [
        copied(ArchivedRelease, each, source=each.slug, group=each.group_name)
        for each in releases
        if each.chapter_id == row.id
    ]
    own.sort(key=lambda each: (each.source, each.series_key, each.key))
    entry = None if row.sort_at is None else copied(EntryLine, row)
    progress = None if row.updated_at is None else copied(ProgressLine, row)
    return copied(ArchivedChapter, row, series=series, releases=tuple(own), entry=entry, progress=progress)


def _bookmark(row: BookmarkRow) -> BookmarkLine:
    feed = None if row.feed_link is None else _key_of(row.feed_link, row.feed_proxy or "")
    return copied(BookmarkLine, row, feed=feed, item=row.item_key)


def _channel(channel: StoredChannel) -> ChannelLine:
    """R47: of its address only the origin, and nothing that is secret."""
    shown = hidden(KINDS[channel.kind], channel.config)
    config = {name: value for name, value in shown.items() if value != MASKED}
    if isinstance(config.get("url"), str):
        config["url"] = config["url"].removesuffix(MASKED)
    return ChannelLine(kind=channel.kind, name=channel.name, config=config)
