"""One poll of a series on a source."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from tsuzuki.connectors.config import SourceConfig, decode_config
from tsuzuki.connectors.protocol import Connector
from tsuzuki.db import Database, Tx
from tsuzuki.delivery.fanout import Delivered
from tsuzuki.ingest.listings.service import compare_listing, record_listing
from tsuzuki.ingest.tasks import CHAPTERS, ChapterBatch, ReleaseFound, in_order
from tsuzuki.model.errors import Invalid, ShapeChanged
from tsuzuki.model.ids import SourceId
from tsuzuki.model.times import Millis
from tsuzuki.net.options import SourceIdentity
from tsuzuki.polling.policy import PollAnswered, Watched, next_look
from tsuzuki.polling.poll import Poll
from tsuzuki.polling.recording import PollRecord
from tsuzuki.polling.rows import PollAnswer, PollFailure, SeriesTarget
from tsuzuki.polling.saving import (
    Conditions,
    save_answer_or_lose_tx,
    visited,
)
from tsuzuki.polling.store import last_release_tx
from tsuzuki.polling.visit import Driver, LocalReader
from tsuzuki.queue.store import enqueue_many_tx
from tsuzuki.sources.store import ClaimedWatch

FolderOf = Callable[[SourceConfig], LocalReader | None]
OK = 200


class SeriesPoll(Poll[list[ReleaseFound]]):
    """A series on a source that is ours to call."""

    def __init__(
        self,
        db: Database,
        driver: Driver,
        watch: ClaimedWatch,
        target: SeriesTarget,
        *,
        connector: Connector,
        folder_of: FolderOf,
        conditions: Conditions,
        record: PollRecord | None = None,
    ) -> None:
        super().__init__(db, driver, watch, conditions=conditions)
        self._record = record
        self._target = target
        self._connector = connector
        self._folder_of = folder_of

    async def _poll(self) -> list[ReleaseFound]:
        found = await self._visit()
        series_source_id = self._target.series_source_id
        listing = await compare_listing(self._db, series_source_id, found, self._clock())
        await self._save(listing.changed)
        await record_listing(self._db, series_source_id, listing, self._clock())
        await self._driver.answered(self._target.source_id)
        return listing.changed

    async def _visit(self) -> list[ReleaseFound]:
        config = read_config(self._connector, self._target.config)
        connector = self._connector.fitted(config, self._target.base_url)
        origin = identity(connector, config, self._target, watch=f"watch:{self._watch.id}")
        asking = connector.chapters(config, self._target.url)
        found = in_order(await visited(self._driver, asking, origin, folder=self._folder_of(config)))
        if not found and self._target.has_content:
            raise ShapeChanged("The source lists no chapters, though it had some before.")  # R28
        return found

    async def _save(self, found: Sequence[ReleaseFound]) -> None:
        now = self._clock()

        async def save(tx: Tx) -> Delivered:
            if self._record is not None:
                await self._record.answered_tx(tx, found, now)
            # R98: also by what others stored of it while we called.
            answer = self._answer(await last_release_tx(tx, self._watch), now)
            told = await save_answer_or_lose_tx(tx, self._watch, answer, now)
            await enqueue_many_tx(tx, CHAPTERS, self._tasks(found, self._batch), now=now)
            return told

        await self._write(save)

    def _answer(self, last_release_at: Millis | None, now: Millis) -> PollAnswer:
        watched = msgspec.structs.replace(self._watched, last_release_at=last_release_at)
        look = next_look(watched, PollAnswered(), self._pace, now, dice=self._dice())
        return PollAnswer(
            next_check_at=look.at if look.at is not None else Millis(now + self._pace.ceiling),
            why=look.why,
            priority=look.priority,
            status=OK,
            last_full_at=now,
            harvested_at=now,
            suspended_at=now if look.at is None else None,
            suspended_reason=look.why if look.at is None else None,
        )

    async def _save_failure_tx(self, tx: Tx, failure: PollFailure, now: Millis) -> Delivered:
        if self._record is not None:
            await self._record.failed_tx(tx, failure.error, now)
        return await super()._save_failure_tx(tx, failure, now)

    def _batch(self, releases: tuple[ReleaseFound, ...]) -> ChapterBatch:
        return ChapterBatch(
            watch_id=self._watch.id,
            series_id=self._target.series_id,
            series_source_id=self._target.series_source_id,
            releases=releases,
            is_first_harvest=self._target.first_harvest_at is None,
            harvest=self._harvest,
        )

    @property
    def _gone_since(self) -> Millis | None:
        return self._target.gone_since

    @property
    def _watched(self) -> Watched:
        target = self._target
        return Watched(
            kind="series",
            last_release_at=target.last_release_at,
            followers=target.followers,
            poll_floor=target.poll_floor,
            fetch_once=target.update_strategy == "ONLY_FETCH_ONCE",
        )


def read_config(connector: Connector, raw: Mapping[str, Any]) -> SourceConfig:
    """The source's config as its connector understands it; a ShapeChanged names every problem."""
    try:
        return decode_config(connector.info.config, raw)
    except Invalid as error:
        raise ShapeChanged(f"The source's config does not fit its connector: {error}") from error


def identity(
    connector: Connector, config: SourceConfig, target: SeriesTarget, *, watch: str | None = None
) -> SourceIdentity:
    """On whose behalf a series is asked for."""
    return source_identity(connector, config, target.source_id, watch=watch)


def source_identity(
    connector: Connector, config: SourceConfig, source_id: SourceId, *, watch: str | None = None
) -> SourceIdentity:
    """On whose behalf a source is called."""
    info = connector.info
    return SourceIdentity(
        source=f"source:{source_id}",
        watch=watch,
        home_url=info.api_url or info.base_url,
        ratelimit=config.ratelimit or info.ratelimit,
        proxy=config.proxy,
        headers=config.headers,
        keeps_cookies=True,
    )
