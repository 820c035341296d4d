"""Claims due watches and polls them.

One poll: claim (a lease, and all that is known), fetch (the connector asks, the driver does), compare with what is
stored, and one transaction that saves the outcome and enqueues only what is new or changed. Outcomes that come in the
same moment share one. Whoever lost the lease writes nothing (I4).
"""

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from contextlib import nullcontext
from typing import Any, Protocol, TypeVar, Unpack

import msgspec
import structlog

from tsuzuki.connectors.protocol import Connector, Unsupported
from tsuzuki.connectors.registry import Registry
from tsuzuki.db import Database, Tx, load_queries
from tsuzuki.ingest.chapters import ReleaseFound
from tsuzuki.model.errors import NotFound, NotOurTurn, SourceError
from tsuzuki.model.ids import ShelfId, WatchId
from tsuzuki.model.times import DAY, MINUTE, SECOND, Millis
from tsuzuki.polling.addresses import RecentFetches, ReplayFetcher
from tsuzuki.polling.claims import ClaimLimits, Claims, PollOptions
from tsuzuki.polling.driver import Driver, FolderOf
from tsuzuki.polling.feeds import FeedPoll
from tsuzuki.polling.known_items import KnownItems
from tsuzuki.polling.outcomes import Outcomes, PollContext, Recorder
from tsuzuki.polling.policy import ClaimedWatch, DueFeed, SeriesTarget
from tsuzuki.polling.series import SeriesPoll
from tsuzuki.polling.store import (
    ask_refresh_all_tx,
    ask_refresh_tx,
    claim_watch_tx,
    extend_lease_tx,
    put_off_tx,
    release_watches_tx,
    repair_watches_tx,
    with_targets_tx,
)
from tsuzuki.queue.errors import LeaseLost
from tsuzuki.shelves.deps import RefreshOutcome

q = load_queries("tsuzuki.polling")

_log = structlog.stdlib.get_logger("tsuzuki.polling")

T = TypeVar("T")

ASKED_AGAIN_AFTER = MINUTE
AT_ONCE = nullcontext(enter_result=True)
"""A turn that never has to be waited for."""


class PollResult(msgspec.Struct, frozen=True):
    """What came of a poll, for metrics and the log."""

    outcome: str
    """changed, unchanged, skipped, lost, or the error's code."""
    found: int = 0
    why: str = ""
    """In words, when it failed."""
    host_waits: Millis = Millis(0)
    """For how long its host lets us wait, where that is why nothing was asked."""


class PollTurn(Protocol):
    """A place to wait for with a claimed watch, and to leave. Its lease is kept meanwhile."""

    async def __aenter__(self) -> bool:
        """Whether the poll may begin; otherwise the watch is given back, and is due again at once."""
        ...

    async def __aexit__(self, *_: object) -> object: ...


class Poller:
    """Claims and polls. One per process; the worker's loop calls it."""

    def __init__(
        self,
        db: Database,
        driver: Driver,
        registry: Registry,
        context: PollContext,
        *,
        folder_of: FolderOf,
        options: PollOptions = PollOptions(),  # noqa: B008  frozen
        recorder: Recorder | None = None,
        looks: RecentFetches | None = None,
    ) -> None:
        """`recorder` records scheduled polls of series; crawl jobs keep records of their own."""
        self._db = db
        self._driver = driver
        self._registry = registry
        self._context = context
        self._folder_of = folder_of
        self._options = options
        self._recorder = recorder
        self._looks = looks
        self._known = KnownItems(db)
        self._outcomes = Outcomes(db, context)
        self._claims = Claims(db, context, options)

    # -- taking

    async def claim(
        self, slots: int, in_flight: Mapping[str, int], **limits: Unpack[ClaimLimits]
    ) -> list[ClaimedWatch]:
        """See `Claims.claim`."""
        return await self._claims.claim(slots, in_flight, **limits)

    async def demand(self) -> float:
        """How many polls fall due a second in the ordinary way."""
        usual = self._context.pace.interval
        return await self._db.read(lambda tx: tx.one(float, q.demand, usual=usual, shortest=min(usual, MINUTE)))

    @property
    def now(self) -> Millis:
        """The time, by the clock that polls are planned with."""
        return self._context.clock()

    async def repair(self) -> int:
        """Repair what a clock that ran ahead has planned, and waits longer than allowed; how many watches."""
        now, lease = self._context.clock(), self._options.lease
        # A 410 waits a day for its confirmation, and a skipped poll a day, whatever the ceiling says.
        longest = Millis(max(self._context.pace.ceiling, DAY))
        return await self._db.with_tx(lambda tx: repair_watches_tx(tx, now=now, longest=longest, lease=lease))

    # -- asking

    async def ask_refresh(self, watch_id: WatchId) -> RefreshOutcome:
        """Have a watch polled now, suspended or not; R96: not before a Retry-After is over, nor twice in a minute."""
        now = self._context.clock()
        return await self._db.with_tx(lambda tx: ask_refresh_tx(tx, watch_id, now, before=self._known_before(now)))

    async def ask_refresh_all(self, shelf_id: ShelfId) -> RefreshOutcome:
        """Have all feeds of a shelf polled now that are not suspended; as `ask_refresh`."""
        now = self._context.clock()
        return await self._db.with_tx(lambda tx: ask_refresh_all_tx(tx, shelf_id, now, before=self._known_before(now)))

    def _known_before(self, now: Millis) -> Millis:
        """What was looked at later is known; where polls come more often by themselves, that is sooner over."""
        return Millis(now - min(ASKED_AGAIN_AFTER, self._context.pace.interval))

    # -- polling

    async def poll(self, watch: ClaimedWatch, turn: PollTurn = AT_ONCE) -> PollResult:
        """Poll a claimed watch when it has its turn. A source's failure is written on it and is no error here."""
        try:
            found = await self._with_lease(watch, self._in_turn(watch, turn))
        except asyncio.CancelledError:
            await asyncio.shield(self._give_back(watch))  # asked to end, which is no poll that never ended
            raise
        except NotOurTurn as error:
            return PollResult(error.code, why=str(error), host_waits=Millis(error.retry_after or 0))
        except SourceError as error:
            return PollResult(error.code, why=str(error))
        except LeaseLost:
            return PollResult("lost")
        if found is None:
            return PollResult("skipped")
        return PollResult("changed" if found else "unchanged", found)

    async def lease(self, watch_id: WatchId) -> ClaimedWatch | None:
        """Take one watch whatever its schedule says (R57); None while somebody else polls it, or when it is gone."""
        return await self._db.with_tx(lambda tx: self._lease_tx(tx, watch_id))

    async def _lease_tx(self, tx: Tx, watch_id: WatchId) -> ClaimedWatch | None:
        now, lease = self._context.clock(), self._options.lease
        watch = await claim_watch_tx(tx, watch_id, now=now, lease=lease)
        return None if watch is None else (await with_targets_tx(tx, [watch], now))[0]

    async def crawl(self, watch: ClaimedWatch, driver: Driver) -> list[ReleaseFound] | None:
        """Poll a leased watch of a series with this driver; the releases that were handed to ingest.

        None when the source cannot be called now. A SourceError has been written down; LeaseLost when somebody else
        has the watch. One who is cancelled leaves it due.
        """
        try:
            return await self._with_lease(watch, self._crawl(watch, driver))
        except asyncio.CancelledError:
            await asyncio.shield(self._give_back(watch))
            raise

    async def _give_back(self, watch: ClaimedWatch) -> None:
        await self._db.with_tx(lambda tx: release_watches_tx(tx, [watch]))

    async def _in_turn(self, watch: ClaimedWatch, turn: PollTurn) -> int | None:
        async with turn as may_begin:
            if may_begin:
                return await self._poll(watch)
        await self._give_back(watch)
        return None

    async def _poll(self, watch: ClaimedWatch) -> int | None:
        if isinstance(watch, DueFeed):
            poll = FeedPoll(
                self._db,
                await self._first_driver(watch),
                watch,
                known=self._known,
                outcomes=self._outcomes,
            )
            return await poll.run()
        if watch.feed_id is not None:
            return None  # it is gone
        found = await self._crawl(watch, self._driver, self._recorder)
        return None if found is None else len(found)

    async def _first_driver(self, watch: DueFeed) -> Driver:
        """For a first poll, a driver that has what its reader just fetched (R96)."""
        target = watch.target
        if self._looks is None or watch.last_checked_at is not None or target.proxy:
            return self._driver
        kept = await self._looks.take(target.link)
        if kept is None:
            return self._driver
        return self._driver.through(lambda fetcher: ReplayFetcher(fetcher, target.link, kept))

    async def _crawl(
        self, watch: ClaimedWatch, driver: Driver, recorder: Recorder | None = None
    ) -> list[ReleaseFound] | None:
        series = await self._db.read(lambda tx: tx.maybe(SeriesTarget, q.series_target, id=watch.id))
        connector = None if series is None else self._connector(series)
        if series is None or connector is None:
            until = Millis(self._context.clock() + DAY)
            await self._db.with_tx(lambda tx: put_off_tx(tx, watch, until=until, why="the source is switched off"))
            return None
        record = None if recorder is None else recorder.begin(series)
        poll = SeriesPoll(
            self._db,
            driver if record is None else driver.with_listener(record.on_call),
            watch,
            series,
            connector=connector,
            folder_of=self._folder_of,
            outcomes=self._outcomes,
            record=record,
        )
        try:
            return await poll.run()
        finally:
            if record is not None:
                await record.settle()

    def _connector(self, series: SeriesTarget) -> Connector | None:
        """None while the source is disabled or nothing installed can call it: a skipped poll is no failure (R23)."""
        if not series.is_enabled or series.connector is None:
            return None
        try:
            return self._registry.comics(series.connector)
        except (NotFound, Unsupported):
            _log.warning("connector_missing", source=series.source_name, connector=series.connector)
            return None

    async def _with_lease(self, watch: ClaimedWatch, work: Coroutine[Any, Any, T]) -> T:
        """Run the work while the lease is kept; LeaseLost ends it when somebody else has the watch."""
        return await HeldLease(self._db, watch, self._context.clock, lease=self._options.lease).during(work)


class HeldLease:
    """Extends a lease while the work on its watch runs. Most work ends before the first extension."""

    def __init__(self, db: Database, watch: ClaimedWatch, clock: Callable[[], Millis], *, lease: Millis) -> None:
        self._db = db
        self._watch = watch
        self._clock = clock
        self._lease = lease
        self._task: asyncio.Task[Any] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._beating: asyncio.Task[None] | None = None
        self._failure: Exception | None = None

    async def during(self, work: Coroutine[Any, Any, T]) -> T:
        """What the work returns. LeaseLost, or why the lease could not be kept, ends it at once."""
        self._task = task = asyncio.current_task()
        self._set_timer()
        try:
            return await work
        except asyncio.CancelledError:
            # As `asyncio.timeout` distinguishes its own cancellation from somebody else's.
            if self._failure is None or (task is not None and task.uncancel() > 0):
                raise
            raise self._failure from None
        finally:
            self._end()

    def _set_timer(self) -> None:
        # A timer, not a task that sleeps: it is made for every poll, and hardly ever comes.
        self._timer = asyncio.get_running_loop().call_later(self._lease / SECOND / 3, self._beat)

    def _beat(self) -> None:
        self._beating = asyncio.ensure_future(self._extend())

    async def _extend(self) -> None:
        until = Millis(self._clock() + self._lease)
        try:
            is_ours = await self._db.with_tx(lambda tx: extend_lease_tx(tx, self._watch, until=until))
        except Exception as error:  # noqa: BLE001  it is raised where the work is awaited
            self._give_up(error)
            return
        if is_ours:
            self._set_timer()
        else:
            self._give_up(LeaseLost([self._watch.id]))

    def _give_up(self, failure: Exception) -> None:
        self._failure = failure
        if self._task is not None:
            self._task.cancel()

    def _end(self) -> None:
        self._task = None
        if self._timer is not None:
            self._timer.cancel()
        if self._beating is not None:
            self._beating.cancel()
