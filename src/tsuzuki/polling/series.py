"""One poll of a series on a source: fetch its list, compare with what is stored, save."""

from collections.abc import Sequence

import msgspec

from tsuzuki.connectors.protocol import Connector
from tsuzuki.db import Database, Tx, load_queries
from tsuzuki.delivery.fanout import Delivered
from tsuzuki.ingest.chapters import CHAPTERS, ChapterBatch, ReleaseFound, in_order
from tsuzuki.ingest.listings import compare_listing, record_listing
from tsuzuki.model.errors import ShapeChanged, SourceError
from tsuzuki.model.structs import copied
from tsuzuki.model.times import Millis
from tsuzuki.polling.driver import Driver, FolderOf, run_visit
from tsuzuki.polling.outcomes import (
    EndedPoll,
    Outcomes,
    PollAnswer,
    PollRecord,
    ingest_tasks,
    poll_name,
    refuse_unended,
    save_alone_tx,
)
from tsuzuki.polling.policy import ClaimedWatch, PollAnswered, SeriesTarget, WatchState, next_poll
from tsuzuki.queue.tasks import enqueue_many_tx

q = load_queries("tsuzuki.polling")

OK = 200


class SeriesPoll:
    """A series on a source that is ours to call, once."""

    def __init__(
        self,
        db: Database,
        driver: Driver,
        watch: ClaimedWatch,
        target: SeriesTarget,
        *,
        connector: Connector,
        folder_of: FolderOf,
        outcomes: Outcomes,
        record: PollRecord | None = None,
    ) -> None:
        self._db = db
        self._driver = driver
        self._watch = watch
        self._target = target
        self._connector = connector
        self._folder_of = folder_of
        self._outcomes = outcomes
        self._context = context = outcomes.context
        self._clock = context.clock
        self._record = record

    async def run(self) -> list[ReleaseFound]:
        """What was handed to ingest. A SourceError has been written down when it comes out."""
        series_source_id = self._target.series_source_id
        try:
            refuse_unended(self._watch)
            found = await self._fetch()
            listing = await compare_listing(self._db, series_source_id, found, self._clock())
            await self._save(listing.changed)
            await record_listing(self._db, series_source_id, listing, self._clock())
            await self._driver.answered(self._target.source_id)
        except SourceError as error:
            await self._outcomes.fail(
                self._watch, error, watched=self._watched, gone_since=self._target.gone_since, record=self._record
            )
            raise
        return listing.changed

    async def _fetch(self) -> list[ReleaseFound]:
        config = self._connector.read_config(self._target.config)
        connector = self._connector.for_source(config, self._target.base_url)
        origin = connector.identity(config, self._target.source_id, watch=f"watch:{self._watch.id}")
        asking = connector.chapters(config, self._target.url)
        found = in_order(await run_visit(self._driver, asking, origin, folder=self._folder_of(config)))
        if not found and self._target.has_content:
            raise ShapeChanged("The source lists no chapters, though it had some before.")  # R28
        return found

    async def _save(self, found: Sequence[ReleaseFound]) -> None:
        now = self._clock()

        async def save(tx: Tx) -> Delivered:
            if self._record is not None:
                await self._record.answered_tx(tx, found, now)
            # R98: also by what others stored of it while we called; nobody stores more until the transaction's end.
            answer = self._answer(await tx.maybe(Millis, q.last_release, id=self._watch.id), now)
            delivered = await save_alone_tx(tx, EndedPoll(self._watch, answer, now))
            await enqueue_many_tx(tx, CHAPTERS, ingest_tasks(self._watch, found, self._batch), now=now)
            return delivered

        await self._outcomes.write(save)

    def _answer(self, last_release_at: Millis | None, now: Millis) -> PollAnswer:
        pace = self._context.pace
        watched = msgspec.structs.replace(self._watched, last_release_at=last_release_at)
        look = next_poll(watched, PollAnswered(), pace, now, jitter=self._context.jitter())
        return PollAnswer(
            next_check_at=look.at if look.at is not None else Millis(now + pace.ceiling),
            why=look.why,
            priority=look.priority,
            status=OK,
            last_full_at=now,
            harvested_at=now,
            suspended_at=now if look.at is None else None,
            suspended_reason=look.why if look.at is None else None,
        )

    def _batch(self, releases: Sequence[ReleaseFound]) -> ChapterBatch:
        return ChapterBatch(
            watch_id=self._watch.id,
            series_id=self._target.series_id,
            series_source_id=self._target.series_source_id,
            releases=tuple(releases),
            is_first_harvest=self._target.first_harvest_at is None,
            harvest=poll_name(self._watch),
        )

    @property
    def _watched(self) -> WatchState:
        target = self._target
        return copied(WatchState, target, kind="series", fetch_once=target.update_strategy == "ONLY_FETCH_ONCE")
