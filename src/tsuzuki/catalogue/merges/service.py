"""Merging and splitting series, as the operator does it."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import msgspec

from tsuzuki.accounts.audit import AuditEvent, record_tx
from tsuzuki.accounts.types import Actor
from tsuzuki.catalogue.merges.store import (
    add_series_tx,
    chapters_of_tx,
    clashing_job_tx,
    concerned_shelves_tx,
    copy_follows_tx,
    delete_former_series_tx,
    end_series_tx,
    find_series_tx,
    join_chapters_tx,
    join_entries_tx,
    join_follows_tx,
    join_progress_tx,
    join_releases_tx,
    list_follows_tx,
    list_former_series_tx,
    list_sources_tx,
    point_former_series_tx,
    recompute_latest_tx,
    settle_entries_tx,
    split_chapters_tx,
    split_sources_tx,
)
from tsuzuki.catalogue.types import FormerSeries, MergeOutcome, MergeSeriesRow, MergeSourceRow, SeriesDescription
from tsuzuki.coord.wakeup import AfterCommit
from tsuzuki.db import Database, Tx
from tsuzuki.db.locks import lock_series_merges_tx
from tsuzuki.delivery.portions import finish_deliveries_tx
from tsuzuki.ingest.chapters import index_chapters_tx, index_series_tx
from tsuzuki.model.errors import Conflict, Invalid, NotFound, Problem
from tsuzuki.model.ids import PublicId, SeriesId, SeriesSourceId, show_id
from tsuzuki.model.times import Millis
from tsuzuki.shelves.events import EVENTS_WAKEUP, counts_changed_tx
from tsuzuki.sources.comics import followers_changed_tx
from tsuzuki.sources.policy import match_key
from tsuzuki.sources.series import find_series_tx as series_named_tx


class _Previewed(Exception):
    """Ends a transaction that shall leave nothing behind."""

    def __init__(self, outcome: MergeOutcome) -> None:
        super().__init__("a preview")
        self.outcome = outcome


class SeriesMerges(msgspec.Struct, frozen=True):
    """Merges and splits series. A preview does everything and takes it back, so it says exactly what would happen."""

    db: Database
    clock: Callable[[], Millis]
    new_id: Callable[[], PublicId]
    after_commit: AfterCommit

    async def merge(self, actor: Actor, series: PublicId, into: PublicId, *, is_preview: bool = False) -> MergeOutcome:
        """Make one series part of another: sources, chapters and all that readers have of them; nobody is notified.

        NotFound for what is no series; Conflict for the same one, or while a job calls the same source for both.
        """

        async def merge(tx: Tx) -> MergeOutcome:
            await lock_series_merges_tx(tx)
            gone, stays = await _series_tx(tx, series), await _series_tx(tx, into)
            if gone.id == stays.id:
                raise Conflict("These are already the same series.")
            clash = await clashing_job_tx(tx, gone.id, stays.id)
            if clash is not None:
                raise Conflict(f"Crawl jobs of {clash} are running for both series; cancel one, or wait.")
            outcome = await self._merge_tx(tx, gone, stays, is_preview=is_preview)
            await self._record_tx(tx, actor, outcome, msgspec.structs.asdict(gone.about))
            return outcome

        return await self._run(merge, is_preview=is_preview)

    async def split(
        self,
        actor: Actor,
        series: PublicId,
        sources: Iterable[int],
        *,
        title: str | None = None,
        is_preview: bool = False,
    ) -> MergeOutcome:
        """Make a series of some of its sources. What both sides have, readers have read on both; all follow both.

        Undoing a merge gives the former series back, under its id. NotFound for what is no series; Invalid for sources
        that are not its own, or for all of them.
        """
        wanted = tuple(sources)

        async def split(tx: Tx) -> MergeOutcome:
            await lock_series_merges_tx(tx)
            whole = await _series_tx(tx, series)
            leaving = parted(wanted, await list_sources_tx(tx, whole.id))
            outcome = await self._split_tx(tx, whole, leaving, title=title, is_preview=is_preview)
            await self._record_tx(tx, actor, outcome, None)
            return outcome

        return await self._run(split, is_preview=is_preview)

    async def _run(self, work: Callable[[Tx], Any], *, is_preview: bool) -> MergeOutcome:
        async def preview(tx: Tx) -> MergeOutcome:
            raise _Previewed(await work(tx))

        if is_preview:
            try:
                await self.db.with_tx(preview)
            except _Previewed as previewed:
                return previewed.outcome
        outcome: MergeOutcome = await self.db.with_tx(work)
        self.after_commit(EVENTS_WAKEUP)
        return outcome

    # -- merging

    async def _merge_tx(self, tx: Tx, gone: MergeSeriesRow, stays: MergeSeriesRow, *, is_preview: bool) -> MergeOutcome:
        now = self.clock()
        for series_id in sorted((gone.id, stays.id)):
            await finish_deliveries_tx(tx, "chapter", series_id, now)
        sources = [source.id for source in await list_sources_tx(tx, gone.id)]
        shelves = await concerned_shelves_tx(tx, gone.id, stays.id)
        releases = await join_releases_tx(tx, gone.id, stays.id)
        entries = await join_entries_tx(tx, gone.id, stays.id)
        progress = await join_progress_tx(tx, gone.id, stays.id)
        chapters, titled = await join_chapters_tx(tx, gone.id, stays.id)
        moved = await settle_entries_tx(tx, stays.id, now)
        follows = await join_follows_tx(tx, gone.id, stays.id, now)
        await end_series_tx(tx, gone, stays.id, sources, now=now)
        await index_chapters_tx(tx, titled)
        await _index_tx(tx, stays.id)
        await recompute_latest_tx(tx, stays.id)
        await followers_changed_tx(tx, stays.id, now)
        await counts_changed_tx(tx, shelves, now)
        return MergeOutcome(
            kind="merge",
            is_preview=is_preview,
            series=stays.public_id,
            other=gone.public_id,
            title=gone.title,
            sources=len(sources),
            chapters_moved=chapters.moved,
            chapters_shared=chapters.shared,
            releases=releases,
            entries_moved=moved,
            entries_shared=entries,
            progress_moved=progress.moved,
            progress_shared=progress.shared,
            follows_moved=follows.moved,
            follows_shared=follows.shared,
            shelves=len(shelves),
        )

    # -- splitting

    async def _split_tx(
        self, tx: Tx, whole: MergeSeriesRow, leaving: Sequence[MergeSourceRow], *, title: str | None, is_preview: bool
    ) -> MergeOutcome:
        now = self.clock()
        await finish_deliveries_tx(tx, "chapter", whole.id, now)
        former = await list_former_series_tx(tx, whole.id)
        again = revived(former, leaving, await list_sources_tx(tx, whole.id))
        about = _about(whole, leaving, again, title)
        public_id = self.new_id() if again is None else again.public_id
        if again is not None:
            await delete_former_series_tx(tx, again.public_id)
        new_id = await add_series_tx(tx, public_id, about, now)
        ids = [source.id for source in leaving]
        await split_sources_tx(tx, whole.id, new_id, ids, now=now)
        parted_ = await split_chapters_tx(tx, whole.id, new_id, now)
        moved = await settle_entries_tx(tx, new_id, now)
        follows = [(self.new_id(), follow) for follow in await list_follows_tx(tx, whole.id)]
        await copy_follows_tx(tx, whole.id, new_id, follows, now=now)
        for each in former:
            if each is not again and set(each.sources) <= set(ids):
                await point_former_series_tx(tx, each.public_id, new_id)
        await index_chapters_tx(tx, await chapters_of_tx(tx, new_id))
        for series_id in (whole.id, new_id):
            await _index_tx(tx, series_id)
            await recompute_latest_tx(tx, series_id)
            await followers_changed_tx(tx, series_id, now)
        shelves = await concerned_shelves_tx(tx, whole.id, new_id)
        await counts_changed_tx(tx, shelves, now)
        return MergeOutcome(
            kind="split",
            is_preview=is_preview,
            series=whole.public_id,
            other=public_id,
            title=about.title,
            sources=len(ids),
            shelves=len(shelves),
            follows_shared=len(follows),
            follows_moved=0,
            entries_moved=moved,
            chapters_moved=parted_.chapters.moved,
            chapters_shared=parted_.chapters.shared,
            releases=parted_.releases,
            entries_shared=parted_.entries,
            progress_moved=0,
            progress_shared=parted_.progress,
        )

    async def _record_tx(self, tx: Tx, actor: Actor, outcome: MergeOutcome, before: dict[str, Any] | None) -> None:
        after = msgspec.structs.asdict(outcome) | {"series": show_id(outcome.series), "other": show_id(outcome.other)}
        audit_event = AuditEvent(f"series.{outcome.kind}", "series", show_id(outcome.other), before=before, after=after)
        await record_tx(tx, actor, audit_event, now=self.clock())


def _about(
    whole: MergeSeriesRow, leaving: Sequence[MergeSourceRow], again: FormerSeries | None, title: str | None
) -> SeriesDescription:
    """What the new series says of itself: what it said before it was merged, or what its sources say."""
    if again is not None:
        named = title or again.details.title
        key = again.details.match_key if title is None else match_key(named, again.details.author)
        return msgspec.structs.replace(again.details, title=named, match_key=key)
    named = title or leaving[0].title or whole.title
    return newly(whole, leaving, match_key(named, leaving[0].author or whole.author), named)


async def _series_tx(tx: Tx, public_id: PublicId) -> MergeSeriesRow:
    series_id = await series_named_tx(tx, public_id)
    if series_id is None:
        raise NotFound("There is no such series.")
    return await find_series_tx(tx, series_id)


async def _index_tx(tx: Tx, series_id: SeriesId) -> None:
    """Under every title that one of its sources gives it."""
    series = await find_series_tx(tx, series_id)
    titles = {series.title: None} | {each.title: None for each in await list_sources_tx(tx, series_id) if each.title}
    await index_series_tx(tx, series_id, titles=list(titles), description=series.description or "")


# -- what leaves at a split; pure


def parted(wanted: Iterable[int], sources: Sequence[MergeSourceRow]) -> list[MergeSourceRow]:
    """The sources that leave; Invalid when one is not the series' own, or none would stay."""
    known = {source.id: source for source in sources}
    ids = list(dict.fromkeys(wanted))
    problems = [
        Problem(f"sources.{place}", f"sources.{place} is not a source of this series.")
        for place, each in enumerate(ids)
        if each not in known
    ]
    if not problems and len(ids) == len(known):
        problems = [Problem("sources", "At least one source must stay with the series.")]
    if problems:
        raise Invalid(problems[0].message, tuple(problems))
    return [known[SeriesSourceId(each)] for each in ids]


def revived(
    former: Iterable[FormerSeries], leaving: Iterable[MergeSourceRow], sources: Iterable[MergeSourceRow]
) -> FormerSeries | None:
    """The merged series that had exactly the sources which leave, as far as there still are: the split undoes that."""
    ids, there = {source.id for source in leaving}, {source.id for source in sources}
    return next((each for each in former if set(each.sources) & there == ids), None)


def newly(series: MergeSeriesRow, leaving: Sequence[MergeSourceRow], match_key: str, title: str) -> SeriesDescription:
    """What a series says of itself that was never one: what the first source that leaves says."""
    first = leaving[0]
    return SeriesDescription(
        title=title,
        match_key=match_key,
        author=first.author or series.author,
        artist=first.artist or series.artist,
        description=first.description or series.description,
        cover_url=first.cover_url or series.cover_url,
        language=series.language,
        status=first.status or series.status,
        is_nsfw=series.is_nsfw,
        created_at=series.created_at,
    )
