"""Queries on watches: which are due, what to call, and who holds the lease."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import msgspec

from tsuzuki.db import Tx, load_queries
from tsuzuki.model.ids import FeedId, ShelfId, WatchId
from tsuzuki.model.times import MINUTE, Millis
from tsuzuki.polling.policy import LONGEST_SKIP, MANY_READERS, ClaimedWatch, DueFeed, FeedTarget
from tsuzuki.shelves.deps import RefreshOutcome

q = load_queries("tsuzuki.polling")

LOOK_AHEAD = 200
"""So many watches of full hosts a claim passes over in the line."""
CLOCKS_DIFFER = MINUTE
"""By how much the clocks of machines that share a database may differ."""


class ClaimGate(msgspec.Struct, frozen=True):
    """Whether anything may be claimed, and whether people requested something."""

    is_paused: bool
    is_wanted: bool
    is_new: bool
    """Whether something was never looked at."""
    is_shared: bool
    """By more than one shelf."""


class RequestedPoll(msgspec.Struct, frozen=True):
    """A watch that a person wants polled now."""

    id: WatchId
    host: str
    shelf_id: ShelfId | None


class RefreshRefused(msgspec.Struct, frozen=True):
    """Why a look was not asked for: until when it may not be, or that it was asked for already."""

    not_before: Millis | None
    is_asked: bool


class WaitingWatch(msgspec.Struct, frozen=True):
    """A watch that was due behind others of a full host."""

    id: WatchId
    host: str


class BusyHosts(msgspec.Struct, frozen=True):
    """Who has enough for now."""

    hosts: Collection[str] = ()
    shelves: Collection[ShelfId] = ()

    def as_rows(self) -> dict[str, list[list[Any]]]:
        """The rows that the claiming statement takes."""
        return {"hosts": [[host] for host in self.hosts], "shelves": [[shelf] for shelf in self.shelves]}


NOBODY = BusyHosts()


# -- claims


async def refreshes_tx(tx: Tx, *, now: Millis, most: int, busy: BusyHosts = NOBODY) -> list[RequestedPoll]:
    """Watches that a person wants polled now, that nobody polls, and whose host is not full."""
    return await tx.many(
        RequestedPoll, q.refreshes, now=now, most=most, ahead=LOOK_AHEAD + most, hosts=busy.as_rows()["hosts"]
    )


async def claim_watch_tx(tx: Tx, watch_id: WatchId, *, now: Millis, lease: Millis) -> ClaimedWatch | None:
    """Lease one watch whatever its schedule says; None while somebody else polls it, or when it is gone."""
    return await tx.maybe(ClaimedWatch, q.claim_watch, id=watch_id, now=now, until=Millis(now + lease))


async def claim_wanted_watches_tx(
    tx: Tx, wanted: Sequence[WatchId], *, now: Millis, lease: Millis
) -> list[ClaimedWatch]:
    """As `claim_watch_tx`, for many; those that nobody polls or writes just now, in the order given."""
    if not wanted:
        return []
    rows = [{"id": watch_id} for watch_id in wanted]
    claimed = await tx.bulk(ClaimedWatch, q.claim_wanted_watches, rows, now=now, until=Millis(now + lease))
    by_id = {watch.id: watch for watch in claimed}
    return [by_id[watch_id] for watch_id in wanted if watch_id in by_id]


async def claim_new_watches_tx(
    tx: Tx, most: int, *, now: Millis, lease: Millis, busy: BusyHosts = NOBODY
) -> list[ClaimedWatch]:
    """Lease up to so many watches that were never looked at, the longest waiting first; in any order."""
    until, ahead = Millis(now + lease), LOOK_AHEAD + most
    return await tx.many(
        ClaimedWatch, q.claim_new_watches, most=most, now=now, until=until, ahead=ahead, **busy.as_rows()
    )


async def claim_due_watches_tx(
    tx: Tx, most: Mapping[int, int], *, now: Millis, lease: Millis, busy: BusyHosts = NOBODY
) -> list[ClaimedWatch]:
    """Lease up to so many due watches of each priority, the longest overdue first; in any order."""
    hot, warm, cold = (most.get(priority, 0) for priority in (1, 2, 3))
    until, apart, ahead = Millis(now + lease), busy.as_rows(), LOOK_AHEAD + max(most.values(), default=0)
    return await tx.many(
        ClaimedWatch, q.claim_due_watches, hot=hot, warm=warm, cold=cold, now=now, until=until, ahead=ahead, **apart
    )


async def claim_chosen_watches_tx(
    tx: Tx, chosen: Iterable[WatchId], *, now: Millis, lease: Millis, busy: BusyHosts = NOBODY
) -> list[ClaimedWatch]:
    """Lease those of these watches that are due, in any order."""
    rows, until, shelves = [{"id": watch} for watch in chosen], Millis(now + lease), busy.as_rows()["shelves"]
    return await tx.bulk(ClaimedWatch, q.claim_chosen_watches, rows, now=now, until=until, shelves=shelves)


async def waiting_watches_tx(
    tx: Tx, most: int, *, is_new: bool, each: int, now: Millis, full: Collection[str]
) -> list[WaitingWatch]:
    """What is due, up to `each` of every host that is not full: the first of all hosts, then the second."""
    values = {"most": most, "each": each, "now": now, "hosts": [[host] for host in full]}
    if is_new:
        return await tx.many(WaitingWatch, q.waiting_new_watches, **values)
    return await tx.many(WaitingWatch, q.waiting_watches, **values)


async def with_targets_tx(tx: Tx, claimed: Sequence[ClaimedWatch], now: Millis) -> list[ClaimedWatch]:
    """The same watches; each feed among them is a DueFeed, unless it is gone."""
    feeds = [watch.id for watch in claimed if watch.feed_id is not None]
    if not feeds:
        return list(claimed)
    targets: dict[FeedId | None, FeedTarget] = {each.feed_id: each for each in await feed_targets_tx(tx, feeds, now)}
    return [
        watch
        if (target := targets.get(watch.feed_id)) is None
        else DueFeed(**msgspec.structs.asdict(watch), target=target)
        for watch in claimed
    ]


async def feed_targets_tx(tx: Tx, watches: Iterable[WatchId], now: Millis) -> list[FeedTarget]:
    """What to call, for those of the watches that are on feeds, in any order."""
    return await tx.bulk(FeedTarget, q.feed_targets, [{"id": watch} for watch in watches], many=MANY_READERS, now=now)


# -- leases


async def extend_lease_tx(tx: Tx, watch: ClaimedWatch, *, until: Millis) -> bool:
    """Keep the lease; False when it is lost."""
    return bool(await tx.run(q.extend_lease, id=watch.id, lease_token=watch.lease_token, until=until))


async def release_watches_tx(tx: Tx, watches: Iterable[ClaimedWatch]) -> list[WatchId]:
    """Give claimed watches back unpolled, due as they were; those that were still ours."""
    rows = [{"id": watch.id, "lease_token": watch.lease_token} for watch in watches]
    return await tx.bulk(WatchId, q.give_back, rows)


async def put_off_tx(tx: Tx, watch: ClaimedWatch, *, until: Millis, why: str, keeps_place: bool = False) -> bool:
    """Give a claimed watch back unpolled, with or without its place in the line; False when it is no longer ours."""
    lease = {"id": watch.id, "lease_token": watch.lease_token}
    return bool(await tx.run(q.put_off, **lease, until=until, why=why, keeps_place=keeps_place))


async def repair_watches_tx(tx: Tx, *, now: Millis, longest: Millis, lease: Millis) -> int:
    """Have no watch wait longer than `longest` (and what its publisher skips), nor leased for longer than `lease`, nor
    go by what a clock wrote that was ahead; how many were.
    """
    return await tx.run(
        q.repair_watches,
        now=now,
        soon=Millis(now + CLOCKS_DIFFER),
        latest=Millis(now + longest),
        latest_of_skipping=Millis(now + longest + LONGEST_SKIP),
        lease_end=Millis(now + lease),
    )


# -- refreshes


async def ask_refresh_tx(tx: Tx, watch_id: WatchId, now: Millis, *, before: Millis | None = None) -> RefreshOutcome:
    """Request a poll of this watch, unless it was polled since `before`."""
    soon, before = Millis(now + CLOCKS_DIFFER), now if before is None else before
    queued = await tx.run(q.ask_refresh, id=watch_id, now=now, before=before, soon=soon)
    if queued:
        return RefreshOutcome(queued)
    return _none_asked(await tx.maybe(RefreshRefused, q.why_not_asked, id=watch_id, now=now))


async def ask_refresh_all_tx(tx: Tx, shelf_id: ShelfId, now: Millis, *, before: Millis) -> RefreshOutcome:
    """Request a poll of every feed of a shelf that is not suspended and was not polled since `before`."""
    soon = Millis(now + CLOCKS_DIFFER)
    queued = await tx.run(q.ask_refresh_all, shelf_id=shelf_id, now=now, before=before, soon=soon)
    if queued:
        return RefreshOutcome(queued)
    return _none_asked(await tx.maybe(RefreshRefused, q.why_none_asked, shelf_id=shelf_id, now=now))


def _none_asked(why: RefreshRefused | None) -> RefreshOutcome:
    if why is None:
        return RefreshOutcome(0)
    return RefreshOutcome(0, why.not_before, is_known=why.not_before is None and not why.is_asked)
