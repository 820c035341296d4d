"""Claims due watches: requested ones, new ones, then by class; no host or shelf gets more than its share."""

import asyncio
import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Protocol, TypedDict, TypeVar, Unpack

import msgspec

from tsuzuki.db import Database, Tx, load_queries
from tsuzuki.model.ids import ShelfId, WatchId
from tsuzuki.model.priorities import COLD, HOT, WARM, Priority
from tsuzuki.model.times import SECOND, Millis
from tsuzuki.polling.outcomes import PollContext
from tsuzuki.polling.policy import SKIPPED, ClaimedWatch, DueFeed, end_of_skipped, numbers_of
from tsuzuki.polling.store import (
    BusyHosts,
    ClaimGate,
    WaitingWatch,
    claim_chosen_watches_tx,
    claim_due_watches_tx,
    claim_new_watches_tx,
    claim_wanted_watches_tx,
    put_off_tx,
    refreshes_tx,
    release_watches_tx,
    waiting_watches_tx,
    with_targets_tx,
)

q = load_queries("tsuzuki.polling")

ORDER: tuple[Priority, ...] = (HOT, WARM, COLD)
WEIGHT: Mapping[Priority, int] = {HOT: 6, WARM: 3, COLD: 1}
OF_THE_FREE = 2
"""A shelf may hold twice as many places as it leaves free: of ten seven, and the next one two of the other three."""
MOST_ROUNDS = 8
FOR_NEW = 0.6
"""The share of free places that watches never polled get before those that are polled again."""
REFRESHES_SEEN = 10
"""For each place that the first requests left free: among so many some are for a host that has its share not yet."""
MOST_WAITING, MOST_OF_HOST = 2000, 50
"""Of all hosts together, and of each."""
FRESH_FOR = 1.0
"""Seconds at least; then, if they are wanted, they are read again."""
SELDOM = 50
"""Times as long as it took to read them: that reads all that is due."""
NO_SHELVES: Mapping[ShelfId, int] = MappingProxyType({})


class PollOptions(msgspec.Struct, frozen=True):
    """How polls are claimed and leased."""

    lease: Millis = Millis(30 * SECOND)
    per_host: int = 2
    """Polls of one host at the same time in one process."""


class Claim(Protocol):
    """Leases up to so many watches, except of hosts and shelves that have enough."""

    async def __call__(self, most: int, /, *, busy: BusyHosts) -> list[ClaimedWatch]: ...


class ClaimLimits(TypedDict, total=False):
    """What a claim has to leave alone."""

    shelves: Mapping[ShelfId, int]
    """Polls of each shelf that are under way."""
    held: Collection[str]
    """Hosts that let us wait: as full as those with all their polls."""
    starts: int | None
    """So many at most of what is polled again; None for all."""
    served: Collection[str]
    """Hosts that had most of the last starts; they have another when nobody else wants it."""


# -- whose turn it is; pure


class ClaimCandidate(Protocol):
    """A watch that might be claimed."""

    @property
    def host(self) -> str: ...

    @property
    def shelf_id(self) -> ShelfId | None:
        """The only shelf that follows it, if it is one alone."""
        ...


W = TypeVar("W", bound=ClaimCandidate)


def shares(slots: int) -> dict[int, int]:
    """How many slots each class may take at first: by weight, but at least one each while there are enough.

    What a class leaves, the others may have afterwards.
    """
    total = sum(WEIGHT.values())
    given: dict[int, int] = {priority: max(1, slots * WEIGHT[priority] // total) for priority in reversed(ORDER)}
    left = slots
    for priority in reversed(ORDER) if slots >= len(ORDER) else ORDER:
        given[priority] = min(given[priority], left)
        left -= given[priority]
    return given


class PollSlots:
    """The places that are free, and who has enough of them.

    `hosts` and `shelves` count polls that are under way; where there is one shelf alone, all places are its own.
    """

    def __init__(
        self,
        free: int,
        *,
        hosts: Mapping[str, int],
        shelves: Mapping[ShelfId, int],
        per_host: int,
        is_shared: bool,
        held: Collection[str] = (),
    ) -> None:
        """`held` are hosts that let us wait."""
        self.left = free
        self._hosts = Counter(hosts)
        self._shelves = Counter(shelves)
        self._per_host = per_host
        self._held = frozenset(held)
        self._is_shared = is_shared

    def take(self, wanted: Iterable[W]) -> tuple[list[W], list[W]]:
        """Those that have a slot now, and those that must wait for one."""
        kept, surplus = list[W](), list[W]()
        for watch in wanted:
            (kept if self._is_taken(watch) else surplus).append(watch)
        return kept, surplus

    def _is_taken(self, watch: ClaimCandidate) -> bool:
        shelf = watch.shelf_id
        has_enough = self._has_enough(watch.host) or (shelf is not None and self._holds_enough(shelf))
        if self.left <= 0 or has_enough:
            return False
        self.left -= 1
        self._hosts[watch.host] += 1
        if shelf is not None:
            self._shelves[shelf] += 1
        return True

    def busy_and(self, others: Collection[str]) -> BusyHosts:
        """Who is not to be asked for more, and these hosts."""
        hosts = {host for host in self._hosts if self._has_enough(host)}.union(self._held, others)
        return BusyHosts(sorted(hosts), [shelf for shelf in self._shelves if self._holds_enough(shelf)])

    def _has_enough(self, host: str) -> bool:
        return host in self._held or self._hosts[host] >= self._per_host

    def _holds_enough(self, shelf: ShelfId) -> bool:
        return self._is_shared and self._shelves[shelf] >= OF_THE_FREE * self.left


# -- who waits


class WaitingWatches:
    """What was read now and then. Used from one event loop.

    Several processes may know the same watches: a claim takes what is still due.
    """

    def __init__(self, db: Database, *, is_new: bool) -> None:
        """`is_new` for watches that were never looked at."""
        self.is_new = is_new
        self._db = db
        self._waiting: list[WaitingWatch] = []
        self._fresh_until = -math.inf
        self._asked_without: Collection[str] | None = None

    async def read(self, now: Millis) -> None:
        """Read what waits, if somebody asked for it and it was not read lately."""
        clock = asyncio.get_running_loop().time
        full, began = self._asked_without, clock()
        if full is None or began < self._fresh_until:
            return
        first = partial(waiting_watches_tx, is_new=self.is_new, each=MOST_OF_HOST, now=now, full=full)
        self._waiting = await self._db.read(lambda tx: first(tx, MOST_WAITING))
        self._asked_without = None
        self._fresh_until = clock() + max(FRESH_FOR, SELDOM * (clock() - began))

    def take(self, full: Collection[str], most: int, *, each: int) -> list[WatchId]:
        """Up to so many, `each` of one host, of hosts that are not full; they are not known any more."""
        self._asked_without = full
        apart, taken, given = frozenset(full), list[WatchId](), Counter[str]()
        left = list[WaitingWatch]()
        for watch in self._waiting:
            if len(taken) < most and given[watch.host] < each and watch.host not in apart:
                given[watch.host] += 1
                taken.append(watch.id)
            else:
                left.append(watch)
        self._waiting = left
        return taken


# -- the claim


class Claims:
    """Leases watches that are due. One per process."""

    def __init__(self, db: Database, context: PollContext, options: PollOptions) -> None:
        self._db = db
        self._context = context
        self._options = options
        self._new = WaitingWatches(db, is_new=True)
        self._again = WaitingWatches(db, is_new=False)

    async def claim(
        self, slots: int, in_flight: Mapping[str, int], **limits: Unpack[ClaimLimits]
    ) -> list[ClaimedWatch]:
        """Lease up to `slots` watches; `in_flight` counts the polls of each host that are under way."""
        if slots <= 0:
            return []
        now = self._context.clock()
        for waiting in (self._new, self._again):
            await waiting.read(now)
        return await self._db.with_tx(lambda tx: self._claim_tx(tx, slots, in_flight, limits))

    async def _claim_tx(
        self, tx: Tx, slots: int, in_flight: Mapping[str, int], limits: ClaimLimits
    ) -> list[ClaimedWatch]:
        now = self._context.clock()
        gate = await tx.one(ClaimGate, q.claim_gate, now=now)
        if gate.is_paused:
            return []
        places = PollSlots(
            slots,
            hosts=in_flight,
            held=limits.get("held", ()),
            shelves=limits.get("shelves", NO_SHELVES),
            per_host=self._options.per_host,
            is_shared=gate.is_shared,
        )
        wanted = await self._claim_wanted_tx(tx, places, now) if gate.is_wanted else []
        claimed = await with_targets_tx(tx, wanted, now)
        new = partial(self._claim_new_tx, tx, now=now)
        if gate.is_new:
            claimed += await self._fill_tx(tx, places, new, most=max(1, int(slots * FOR_NEW)), now=now)
        starts, served = limits.get("starts"), limits.get("served", ())
        again = await self._claim_again_tx(tx, places, slots if starts is None else starts, served=served, now=now)
        claimed += [watch for watch in again if not await self._is_skipped_tx(tx, watch, now)]
        if gate.is_new:
            claimed += await self._fill_tx(tx, places, new, most=slots, now=now)
        return claimed

    async def _claim_again_tx(
        self, tx: Tx, places: PollSlots, most: int, *, served: Collection[str], now: Millis
    ) -> list[ClaimedWatch]:
        """First others than those served last; what they leave is for all."""
        due = partial(self._claim_due_tx, tx, now=now)
        others = await self._fill_tx(tx, places, due, most=most, now=now, but=served) if served else []
        return others + await self._fill_tx(tx, places, due, most=most - len(others), now=now)

    async def _claim_wanted_tx(self, tx: Tx, places: PollSlots, now: Millis) -> list[ClaimedWatch]:
        """Only those whose turn it is: what is claimed and given back would no longer be wanted. So many as are free
        are mostly of so many hosts; more of them are looked at where they leave a place free.
        """
        claimed: list[ClaimedWatch] = []
        for seen in (1, REFRESHES_SEEN):
            most = places.left * seen
            wanted = await refreshes_tx(tx, now=now, most=most, busy=places.busy_and(()))
            in_turn, _ = places.take(wanted)
            ids = [each.id for each in in_turn]
            claimed += await claim_wanted_watches_tx(tx, ids, now=now, lease=self._options.lease)
            if not places.left or len(wanted) < most:
                break
        return claimed

    @staticmethod
    async def _fill_tx(
        tx: Tx, places: PollSlots, claim: Claim, *, most: int, now: Millis, but: Collection[str] = ()
    ) -> list[ClaimedWatch]:
        """R97: what has no place, for its host's or its shelf's sake, is given back and keeps its own in the line; then
        others are asked. Each round somebody more has enough.
        """
        taken: list[ClaimedWatch] = []
        for _ in range(MOST_ROUNDS):
            slots = min(places.left, most - len(taken))
            claimed = await claim(slots, busy=places.busy_and(but)) if slots > 0 else []
            in_order = sorted(claimed, key=lambda watch: (watch.priority, watch.waits_since, watch.id))
            kept, surplus = places.take(await with_targets_tx(tx, in_order, now))
            taken += kept
            if not surplus:
                break
            await release_watches_tx(tx, surplus)
        return taken

    async def _is_skipped_tx(self, tx: Tx, watch: ClaimedWatch, now: Millis) -> bool:
        """Whether it fell due long ago, and its publisher asks for no call at this hour or day (R94)."""
        if not isinstance(watch, DueFeed) or watch.target.wished_interval is not None:
            return False
        target = watch.target
        hours, days = numbers_of(target.skip_hours), numbers_of(target.skip_days)
        until = end_of_skipped(now, hours, days, jitter=self._context.jitter())
        return until > now and await put_off_tx(tx, watch, until=until, why=SKIPPED)

    async def _claim_new_tx(self, tx: Tx, slots: int, *, now: Millis, busy: BusyHosts) -> list[ClaimedWatch]:
        claimed = await claim_new_watches_tx(tx, slots, now=now, lease=self._options.lease, busy=busy)
        return claimed + await self._claim_behind_tx(tx, self._new, slots - len(claimed), now=now, busy=busy)

    async def _claim_due_tx(self, tx: Tx, slots: int, *, now: Millis, busy: BusyHosts) -> list[ClaimedWatch]:
        """Each class has its share, and what one leaves the others may have."""
        first, lease = shares(slots), self._options.lease
        claimed = await claim_due_watches_tx(tx, first, now=now, lease=lease, busy=busy)
        taken = Counter(watch.priority for watch in claimed)
        for priority in ORDER:
            left = slots - len(claimed)
            if left and taken[priority] == first[priority]:
                claimed += await claim_due_watches_tx(tx, {priority: left}, now=now, lease=lease, busy=busy)
        return claimed + await self._claim_behind_tx(tx, self._again, slots - len(claimed), now=now, busy=busy)

    async def _claim_behind_tx(
        self, tx: Tx, waiting: WaitingWatches, slots: int, *, now: Millis, busy: BusyHosts
    ) -> list[ClaimedWatch]:
        """Watches of hosts that wait behind full ones, further back than a claim looks."""
        chosen = waiting.take(busy.hosts, slots, each=self._options.per_host) if busy.hosts and slots > 0 else []
        if not chosen:
            return []
        return await claim_chosen_watches_tx(tx, chosen, now=now, lease=self._options.lease, busy=busy)
