"""Imports the series of an archive, with chapters and progress."""

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from tsuzuki.accounts.types import Actor
from tsuzuki.db import Tx, load_queries
from tsuzuki.db.locks import lock_reading_tx, lock_series_merges_shared_tx, lock_series_tx, lock_shelf_tx
from tsuzuki.ingest.chapters import (
    ReleaseFound,
    add_appearances_tx,
    index_chapters_tx,
    index_series_tx,
    release_hash,
)
from tsuzuki.model.errors import Conflict, Invalid, LimitExceeded
from tsuzuki.model.harvest import FoundChapter
from tsuzuki.model.ids import ChapterId, SeriesId, SeriesSourceId
from tsuzuki.model.numbers import parse_number, sort_value
from tsuzuki.model.priorities import WARM
from tsuzuki.model.structs import copied
from tsuzuki.model.times import Millis
from tsuzuki.shelves.follows import add_follow_tx, find_follow_of_tx, restore_entries_tx, take_former_follow_tx
from tsuzuki.shelves.limits import check_shelf_limit_tx
from tsuzuki.shelves.progress import entries_follow_tx
from tsuzuki.shelves.types import PlainFollowRow, ReleasePreferences
from tsuzuki.sources.comics import followers_changed_tx, watch_mapping_tx
from tsuzuki.sources.policy import match_key
from tsuzuki.sources.sites import Sources
from tsuzuki.sources.types import SourceRegistration
from tsuzuki.sources.watches import unwatched_tx
from tsuzuki.transfer.archive.container import NumberedLine
from tsuzuki.transfer.archive.format import (
    ArchivedChapter,
    ArchivedPreferences,
    ArchivedRelease,
    ArchivedSeries,
    ArchivedSource,
    BackupLine,
    FollowLine,
    ProgressLine,
)
from tsuzuki.transfer.archive.import_run import ImportRun, KnownNames, Run
from tsuzuki.transfer.archive.journal import LineCounts
from tsuzuki.transfer.archive.rows import ChapterOfKey
from tsuzuki.transfer.archive.sanitiser import LOCAL
from tsuzuki.transfer.archive.store import (
    add_former_tx,
    add_mapping_tx,
    add_series_tx,
    as_row,
    list_sources_tx,
    mappings_tx,
    others_have_series_tx,
    put_backup_tx,
)

q = load_queries("tsuzuki.transfer.archive")

_SHARED = (
    "are unknown here, and other users follow their series: an import does not change it for them. "
    "Once the source has listed them, import the archive again."
)
_UNKNOWN = "belong to a series that was not imported."


class SeriesImport:
    """Follows the series that are not followed yet, and puts what was read of them onto the shelf."""

    def __init__(self, import_run: ImportRun, known: KnownNames, sources: Sources, actor: Actor) -> None:
        self._import_run = import_run
        self._known = known
        self._sources = sources
        self._actor = actor
        self._deps = import_run.deps
        self._shelf_id = import_run.shelf_id
        self._harvested: dict[SeriesId, set[tuple[str, str]]] = {}

    # -- sources

    async def import_sources(self, *, may_add: bool) -> None:
        """Sources that are not here are registered, if that is allowed; what is here stays as it is."""
        here = {source.slug: source for source in await self._deps.db.read(list_sources_tx)}
        async for chunk in self._import_run.chunks("sources.jsonl"):
            for each in chunk:
                source: ArchivedSource = each.line
                known = here.get(source.slug)
                if known is None and not may_add:
                    why = f"{source.slug}: only administrators can add sources; its series are imported without it."
                    self._import_run.journal.leave_out(each, why)
                elif known is None:
                    await self._register(each, source)
                elif known.connector != source.connector:
                    why = f"this server has a different source {source.slug}; its series are imported without it."
                    self._import_run.journal.leave_out(each, why)
                else:
                    self._known.sources[source.slug] = known.id
                    self._import_run.journal.one("sources.jsonl", "existing")

    async def _register(self, numbered: NumberedLine, source: ArchivedSource) -> None:
        wanted = copied(
            SourceRegistration,
            source,
            is_enabled=source.is_enabled and not source.lacks and not _reads_files(source),
        )
        try:
            made = await self._sources.register(self._actor, wanted, is_restored=True)
        except (Invalid, Conflict) as error:
            self._import_run.journal.leave_out(numbered, f"{source.slug}: {error}")
            return
        self._known.sources[source.slug] = made.id
        self._import_run.journal.one("sources.jsonl", "created")
        if source.lacks:
            why = f"{source.slug} is not enabled: {', '.join(source.lacks)} of its config is not in the archive."
            self._import_run.journal.note(numbered, why)
        if _reads_files(source):
            why = f"{source.slug} is not enabled: it reads a folder of this server. Enable it if that is intended."
            self._import_run.journal.note(numbered, why)

    # -- series

    async def import_series(self) -> None:
        """The series, each in a transaction of its own."""
        async for chunk in self._import_run.chunks("series.jsonl"):
            for each in chunk:
                await self._import_one(each)

    async def _import_one(self, numbered: NumberedLine) -> None:
        series: ArchivedSeries = numbered.line

        came: list[SeriesId] = []

        async def write(tx: Tx, run: Run) -> LineCounts:
            series_id, is_new = await self._series_tx(tx, series)
            came[:] = [series_id]
            return LineCounts(created=len(run)) if is_new else LineCounts(existing=len(run))

        try:
            is_there = await self._import_run.attempt("series.jsonl", [numbered], write)
        except LimitExceeded as error:
            self._import_run.journal.leave_out(numbered, f"{series.title}: {error}")
            return
        if is_there:
            self._known.series[series.key] = came[0]
            harvested = {(mapping.source, mapping.key) for mapping in series.sources if mapping.is_harvested}
            self._harvested[came[0]] = harvested

    async def _series_tx(self, tx: Tx, series: ArchivedSeries) -> tuple[SeriesId, bool]:
        """The series, and whether anything of it is new on this shelf. The plan's limit is checked first, then locks in
        their order.
        """
        now = self._deps.clock()
        known = await self._find_tx(tx, series)
        if known is None:
            await lock_shelf_tx(tx, self._shelf_id)  # another import may make the same at once
        if series.follow is not None and not await self._follows_tx(tx, known):
            await check_shelf_limit_tx(tx, self._shelf_id, "follows")
        await lock_series_merges_shared_tx(tx)
        found = await self._find_tx(tx, series)
        series_id = await self._make_tx(tx, series) if found is None else found
        await lock_series_tx(tx, series_id)
        await lock_reading_tx(tx, self._shelf_id)
        if not await others_have_series_tx(tx, self._shelf_id, series_id):
            await self._map_tx(tx, series_id, series)
        is_new = not await self._follows_tx(tx, series_id) and await self._put_tx(tx, series_id, series)
        for each in await unwatched_tx(tx, series_id) if series.follow is not None else []:
            due = self._import_run.due()
            await watch_mapping_tx(
                tx, each.id, url=each.url, base_url=each.base_url, priority=WARM, due_at=due, now=now
            )
        await followers_changed_tx(tx, series_id, now)
        for backup in series.backups:
            await self._put_backup_tx(tx, series_id, backup)
        return series_id, is_new or found is None

    async def _put_backup_tx(self, tx: Tx, series_id: SeriesId, backup: BackupLine) -> None:
        undo_log = self._import_run.undo_log
        if not await undo_log.keep_backup_tx(tx, self._shelf_id, backup):
            return
        now, import_id = self._deps.clock(), undo_log.import_id
        backup_id = await put_backup_tx(tx, self._shelf_id, series_id, backup, import_id=import_id, now=now)
        if backup_id is not None:
            await undo_log.note_backup_tx(tx, backup_id)

    async def _find_tx(self, tx: Tx, series: ArchivedSeries) -> SeriesId | None:
        """Find the series by a source's key or by its id in earlier backups; a series without sources by its name."""
        for mapping in series.sources:
            if mapping.source in self._known.sources:
                found = await tx.maybe(SeriesId, q.series_at, slug=mapping.source, key=mapping.key)
                if found is not None:
                    return found
        for backup in series.backups:
            said = {"shelf_id": self._shelf_id, "source": backup.source, "url": backup.url}
            found = await tx.maybe(SeriesId, q.series_of_backup, **said)
            if found is not None:
                return found
        taken = set(self._known.series.values())
        if not series.sources and not series.backups and series.author is None:
            titled = {"shelf_id": self._shelf_id, "title_key": match_key(series.title, None)}
            for found in await tx.many(SeriesId, q.series_titled, **titled):
                if found not in taken:
                    return found
        nameless = await tx.many(
            SeriesId, q.sourceless_series, shelf_id=self._shelf_id, match_key=match_key(series.title, series.author)
        )
        return next((found for found in nameless if found not in taken), None)

    async def _follows_tx(self, tx: Tx, series_id: SeriesId | None) -> bool:
        return series_id is not None and await find_follow_of_tx(tx, self._shelf_id, series_id) is not None

    async def _make_tx(self, tx: Tx, series: ArchivedSeries) -> SeriesId:
        made = await add_series_tx(
            tx,
            series,
            public_id=self._deps.new_id(),
            match_key=match_key(series.title, series.author),
            latest_sort=sort_value(parse_number(series.latest_number)),
            now=self._deps.clock(),
        )
        await index_series_tx(tx, made, titles=(series.title,), description=series.description or "")
        await self._import_run.undo_log.note_series_tx(tx, made)
        return made

    async def _map_tx(self, tx: Tx, series_id: SeriesId, series: ArchivedSeries) -> None:
        for mapping in series.sources:
            source_id = self._known.sources.get(mapping.source)
            if source_id is not None:
                await add_mapping_tx(tx, series_id, source_id, mapping, now=self._deps.clock())

    async def _put_tx(self, tx: Tx, series_id: SeriesId, series: ArchivedSeries) -> bool:
        """That the shelf follows it, or did; whether that is new here."""
        if series.follow is not None:
            await self._import_run.undo_log.keep_former_tx(tx, self._shelf_id, series_id)
            former = await take_former_follow_tx(tx, self._shelf_id, series_id)
            follow_id = await add_follow_tx(tx, self._shelf_id, self._follow_row(series_id, series.follow))
            await self._import_run.undo_log.note_made_tx(tx, "follow", follow_id)
            if former is not None and former.entries:
                await restore_entries_tx(tx, self._shelf_id, series_id, former.entries, now=self._deps.clock())
            return True
        if series.former is None:
            return False
        is_new = await add_former_tx(
            tx,
            self._shelf_id,
            series_id,
            series.former,
            group_id=self._known.group(series.former.group),
            preferences=self._preferences(series.former.preferences),
        )
        if is_new:
            await self._import_run.undo_log.note_former_tx(tx, self._shelf_id, series_id)
        return is_new

    def _follow_row(self, series_id: SeriesId, follow: FollowLine) -> PlainFollowRow:
        return PlainFollowRow(
            id=0,
            public_id=self._deps.new_id(),
            series_id=series_id,
            group_id=self._known.group(follow.group),
            status=follow.status,
            notify=follow.notify,
            preferences=self._preferences(follow.preferences),
            created_at=Millis(follow.created_at),
        )

    def _preferences(self, wishes: ArchivedPreferences) -> ReleasePreferences:
        sources = tuple(self._known.sources[slug] for slug in wishes.sources if slug in self._known.sources)
        return ReleasePreferences(sources, wishes.groups, wishes.languages, wishes.mode, wishes.fit)

    # -- chapters

    async def import_chapters(self) -> None:
        """The chapters with their releases, entries and progress."""
        await self._import_run.store("chapters.jsonl", self._chapters_tx, lambda chapter: chapter.series)

    async def _chapters_tx(self, tx: Tx, run: Run) -> LineCounts:
        chapters: list[ArchivedChapter] = [each.line for each in run]
        series_id = self._known.series.get(chapters[0].series)
        if series_id is None:
            return LineCounts(left_out=len(run), why=_UNKNOWN)
        await lock_series_merges_shared_tx(tx)
        await lock_series_tx(tx, series_id)
        await lock_reading_tx(tx, self._shelf_id)
        keys = [chapter.key for chapter in chapters]
        known = await tx.bulk(ChapterOfKey, q.chapters_by_key, [[key] for key in keys], series_id=series_id)
        there = {each.key: each.id for each in known}
        if not await others_have_series_tx(tx, self._shelf_id, series_id):
            there |= {each.key: each.id for each in await self._add_chapters_tx(tx, series_id, chapters)}
        await self._state_tx(tx, series_id, chapters, there)
        lost = sum(key not in there for key in keys)
        return LineCounts(len(keys) - len(known) - lost, len(known), lost, _SHARED)

    async def _add_chapters_tx(
        self, tx: Tx, series_id: SeriesId, chapters: list[ArchivedChapter]
    ) -> list[ChapterOfKey]:
        now = self._deps.clock()
        added = await tx.bulk(
            ChapterOfKey, q.add_chapters, [_chapter_row(chapter) for chapter in chapters], series_id=series_id, now=now
        )
        await self._import_run.undo_log.note_chapters_tx(tx, series_id, [each.id for each in added])
        await index_chapters_tx(tx, added)
        numbers = [(number, chapter.number) for chapter in chapters if (number := _sort_of(chapter)) is not None]
        if numbers:
            number_sort, latest = max(numbers)
            await tx.run(q.raise_latest, series_id=series_id, number=latest or "", number_sort=number_sort, now=now)
        places = {(row.slug, row.source_key): row.id for row in await mappings_tx(tx, series_id)}
        rows: dict[SeriesSourceId, list[dict[str, Any]]] = defaultdict(list)
        for chapter in chapters:
            for release in chapter.releases:
                place = places.get((release.source, release.series_key))
                if place is not None and release.source in self._known.sources:
                    rows[place].append(_release_row(release, chapter, place))
        for place, releases in rows.items():
            await tx.run(q.add_releases, rows=releases, series_id=series_id)
            appeared = {row["chapter_key"] for row in releases}
            await add_appearances_tx(tx, series_id, place, appeared, now=now)
        return added

    async def _state_tx(
        self, tx: Tx, series_id: SeriesId, chapters: list[ArchivedChapter], there: Mapping[str, ChapterId]
    ) -> None:
        now, undo_log = self._deps.clock(), self._import_run.undo_log
        stored = {there[each.key]: each for each in chapters if each.key in there}
        entries = [as_row(each.entry, chapter_id=id_) for id_, each in stored.items() if each.entry is not None]
        progress = [_progress_row(each.progress, id_, now) for id_, each in stored.items() if each.progress is not None]
        written = sorted({row["chapter_id"] for row in entries + progress})  # entries follow progress
        async with (
            undo_log.chapter_entries_tx(tx, self._shelf_id, chapters=written),
            undo_log.progress_tx(tx, self._shelf_id, chapters=[row["chapter_id"] for row in progress]),
        ):
            if entries:
                of = {"shelf_id": self._shelf_id, "series_id": series_id}
                await tx.run(q.put_chapter_entries, rows=entries, now=now, **of)
            if progress:
                await tx.run(q.put_progress, rows=progress, shelf_id=self._shelf_id)
            await entries_follow_tx(tx, self._shelf_id, series_id, now)

    async def settle(self) -> None:
        """At the end: what these series bring from now on is news (R8)."""

        async def settle(tx: Tx) -> None:
            for series_id, harvested in self._harvested.items():
                for row in await mappings_tx(tx, series_id):
                    if (row.slug, row.source_key) in harvested:
                        await tx.run(q.mapping_is_harvested, shelf_id=self._shelf_id, id=row.id, now=self._deps.clock())

        await self._deps.db.with_tx(settle)


def _reads_files(source: ArchivedSource) -> bool:
    """An archive must not name files of this server's disk."""
    return source.base_url.startswith(LOCAL) or "folder" in source.config


def _sort_of(chapter: ArchivedChapter) -> int | None:
    return sort_value(parse_number(chapter.number))


def _progress_row(progress: ProgressLine, chapter_id: ChapterId, now: Millis) -> dict[str, Any]:
    """Nothing was read after now: what is read next would count as older."""
    row = as_row(progress, chapter_id=chapter_id)
    times = ("paged_at", "marked_at", "opened_at", "updated_at")
    return row | {name: min(row[name], now) for name in times if row[name] is not None}


def _chapter_row(chapter: ArchivedChapter) -> dict[str, Any]:
    names = ("key", "number", "volume", "title", "published_at", "first_seen_at")
    return {name: getattr(chapter, name) for name in names} | {"number_sort": _sort_of(chapter)}


def _release_row(release: ArchivedRelease, chapter: ArchivedChapter, place: SeriesSourceId) -> dict[str, Any]:
    """The release as a row, with the hash that the next poll compares."""
    found = copied(
        FoundChapter,
        release,
        number=parse_number(chapter.number),
        volume=parse_number(chapter.volume),
        page_count=None if release.page_count < 0 else release.page_count,
    )
    content_hash = release_hash(ReleaseFound(found, release.source_order)).hex()
    return as_row(release, chapter_key=chapter.key, series_source_id=place, content_hash=content_hash)
