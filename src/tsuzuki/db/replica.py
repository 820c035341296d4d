"""Reads of lists from a PostgreSQL replica that has everything that is committed in the first database."""

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Literal, TypeVar

import msgspec
import structlog

from tsuzuki.db.batcher import Batcher
from tsuzuki.db.database import Database, DatabaseOptions
from tsuzuki.db.errors import DatabaseError, DatabaseUnavailable
from tsuzuki.db.queries import Engine, load_queries
from tsuzuki.db.tx import Tx, Work
from tsuzuki.model.errors import Invalid, Unavailable

T = TypeVar("T")

q = load_queries("tsuzuki.db.replica")

LOOK_EVERY_S = 1.0
MOST_LAG_S = 5.0
"""A replica that is further behind is not asked until it has caught up."""
PAUSES_S = (0.001, 0.004, 0.01)
"""How long a list waits for a replica that has not replayed the last commit yet."""
TIMEOUT_S = 5.0
"""Of a statement on the replica; then the first is asked."""
_REMEMBERED = 600
Answered = Callable[[Literal["replica", "first"]], None]
"""Told which server answered a list."""
_FAILED = (Unavailable, DatabaseError)

_log = structlog.stdlib.get_logger("tsuzuki.database")


class ServerState(msgspec.Struct, frozen=True):
    """Which server it is, and how far its log has come."""

    system: int
    database: str
    is_standby: bool
    timeline: str
    started: str
    position: int


class LogPosition(msgspec.Struct, frozen=True):
    """Up to where a log has everything that anybody can have seen. Positions of two timelines cannot be compared."""

    position: int
    timeline: str


class _Behind(Exception):
    """The replica has not replayed everything yet."""


class ReplicatedDatabase:
    """A `Database` whose lists a replica answers, as long as it has all that is committed when they are asked for.

    Everything else, and lists while the replica is away, behind or promoted, goes to the first database.
    """

    def __init__(self, first: Database, options: DatabaseOptions, answered: Answered = lambda _: None) -> None:
        """`options` are those of the replica."""
        timeout = min(options.command_timeout, TIMEOUT_S)
        self.engine: Engine = first.engine
        self.with_tx = first.with_tx
        self.read = first.read
        self.ping = first.ping
        self.release_memory = first.release_memory
        self.close = first.close
        self.why_unused: str | None = "It was not looked at yet."
        """Why lists are read from the first database, for people; None while the replica is used."""
        self.lag_s = 0.0
        self._first = first
        self._answered = answered
        self._options = msgspec.structs.replace(options, command_timeout=timeout, asks_again=False)
        self._replica: Database | None = None
        self._timeline = ""
        self._positions = Batcher("committed_position", self._committed)
        self._seen: deque[tuple[float, int]] = deque(maxlen=_REMEMBERED)
        """Positions of the first server that the replica has not reached, and when each was seen."""

    @asynccontextmanager
    async def looking(self) -> AsyncIterator[None]:
        """Use the replica until the end of the block; Invalid when the setting names no replica of this database."""
        looks: list[asyncio.Task[None]] = []
        try:
            await self._look()
            looks.append(asyncio.create_task(self._keep_looking(), name="looks at the replica"))
            yield
        finally:
            for look in looks:
                look.cancel()
            await asyncio.gather(*looks, return_exceptions=True)
            self.why_unused = "It is closed."
            await self._let_go()

    async def read_replica(self, work: Work[T]) -> T:
        """See `Database`."""
        if self.why_unused is None and (committed := await self._positions.ask(None)) is not None:
            try:
                found = await self._read_from(committed, work)
            except _Behind:
                pass
            except _FAILED as error:  # such as a list that replay had to end, or that took too long
                if isinstance(error, DatabaseUnavailable) and not isinstance(error.__cause__, TimeoutError):
                    self._change(f"It failed: {error}")  # until the next look
                else:
                    _log.info("list_failed_on_replica", why=str(error))
            else:
                self._answered("replica")
                return found
        self._answered("first")
        return await self._first.read(work)

    async def _read_from(self, committed: LogPosition, work: Work[T]) -> T:
        async def read(tx: Tx) -> T:
            # By the same connection: another may lead to a server that is further behind.
            if not await tx.one(bool, q.has_replayed, position=committed.position):
                raise _Behind
            return await work(tx)

        if committed.timeline != self._timeline:
            raise _Behind  # another server has become the first since the last look
        for pause in PAUSES_S:
            with suppress(_Behind):
                return await self._there().read(read)
            await asyncio.sleep(pause)
        return await self._there().read(read)

    def _there(self) -> Database:
        if self._replica is None:
            raise _Behind  # it was let go of meanwhile
        return self._replica

    async def _committed(self, asked: Sequence[None]) -> Sequence[LogPosition | None]:
        """Asked once for all who wait: it has to be later than they asked, and no more."""
        try:
            committed = await self._first.read(lambda tx: tx.one(LogPosition, q.committed_position))
        except _FAILED:
            return []
        return [committed] * len(asked)

    # -- looking at it

    async def _keep_looking(self) -> None:
        while True:
            await asyncio.sleep(LOOK_EVERY_S)
            try:
                await self._look()
            except Invalid as error:
                self._change(str(error))
            except Exception:  # noqa: BLE001  the top of a loop: the next look may succeed
                _log.exception("replica_look_failed")
                self._change("It could not be looked at.")

    async def _look(self) -> None:
        try:
            first = await self._first.read(_state_tx)
        except _FAILED as error:
            self._change(f"The first database does not say how far it is: {error}")
            return
        try:
            if self._replica is None:
                from tsuzuki.db.engines import open_database

                self._replica = await open_database(self._options)
            replica = await self._replica.read(_state_tx)
        except _FAILED as error:
            self._change(f"It does not answer: {error}")
            await self._let_go()
            return
        refuse_stranger(first, replica)
        self._timeline = first.timeline
        self._change(self._why_not(first, replica))

    def _why_not(self, first: ServerState, replica: ServerState) -> str | None:
        now = time.monotonic()
        self._seen.append((now, first.position))
        while self._seen and self._seen[0][1] <= replica.position:
            self._seen.popleft()
        self.lag_s = now - self._seen[0][0] if self._seen else 0.0
        if not replica.is_standby:
            return "It is no standby any more: it was promoted."
        if replica.timeline != first.timeline:
            return "It follows another timeline than the first database has."
        return f"It is more than {MOST_LAG_S:.0f} s behind." if self.lag_s > MOST_LAG_S else None

    def _change(self, why: str | None) -> None:
        if why == self.why_unused:
            return
        self.why_unused = why
        if why is None:
            _log.info("replica_used")
        else:
            _log.warning("replica_not_used", why=why)

    async def _let_go(self) -> None:
        replica, self._replica = self._replica, None
        self._seen.clear()
        self.lag_s = 0.0
        if replica is not None:
            await replica.close()


async def _state_tx(tx: Tx) -> ServerState:
    return await tx.one(ServerState, q.server_state)


def refuse_stranger(first: ServerState, replica: ServerState) -> None:
    """Invalid for a server that cannot be a replica of the first; one that was promoted may be."""
    setting = "TSUZUKI_DATABASE_READ_URL"
    if (first.system, first.database) != (replica.system, replica.database):
        raise Invalid(f"{setting} does not name a replica of the database in TSUZUKI_DATABASE_URL.")
    if first.started == replica.started and not replica.is_standby:
        raise Invalid(f"{setting} names the same database as TSUZUKI_DATABASE_URL, not a replica of it.")
