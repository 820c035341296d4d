"""Watches as a poll sees them: what to call, what is known, and what came of it."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from tsuzuki.db import Tx, load_queries
from tsuzuki.model.ids import FeedId, ShelfId, WatchId
from tsuzuki.model.times import MINUTE, Millis
from tsuzuki.polling.policy import LONGEST_SKIP, MANY_READERS
from tsuzuki.polling.rows import (
    ClaimGate,
    DueFeed,
    Ended,
    FeedListing,
    FeedMetadata,
    FeedTarget,
    KnownItem,
    PollAnswer,
    PollFailure,
    RequestedPoll,
    SeriesTarget,
    WatchLease,
    WhyNot,
)
from tsuzuki.shelves.deps import Asked
from tsuzuki.sources.store import LOOK_AHEAD, NOBODY, Busy, ClaimedWatch

q = load_queries("tsuzuki.polling")

MOST_LOOKS = 100
CLOCKS_DIFFER = MINUTE
"""Of the machines that share a database: by so much none of them is wrong."""


class _ItemWording(msgspec.Struct, frozen=True):
    key: str
    title: str
    published_at: Millis | None


async def claim_watch_tx(tx: Tx, watch_id: WatchId, *, now: Millis, lease: Millis) -> ClaimedWatch | None:
    """Lease one watch whatever its schedule says; None while somebody else polls it, or when it is gone."""
    return await tx.maybe(ClaimedWatch, q.claim_watch, id=watch_id, now=now, until=Millis(now + lease))


async def claim_gate_tx(tx: Tx, now: Millis) -> ClaimGate:
    """What is to be known before a claim."""
    return await tx.one(ClaimGate, q.claim_gate, now=now)


async def demand_tx(tx: Tx, *, usual: Millis) -> float:
    """How many polls fall due a second in the ordinary way."""
    return await tx.one(float, q.demand, usual=usual, shortest=min(usual, MINUTE))


async def keep_look_tx(tx: Tx, url: str, reply: bytes, *, now: Millis, oldest: Millis) -> None:
    """Keep what an address answered; old looks, and those beyond so many, are forgotten."""
    await tx.run(q.keep_look, url=url, reply=reply, now=now)
    await tx.run(q.forget_looks, oldest=oldest, most=MOST_LOOKS)


async def take_look_tx(tx: Tx, url: str, *, oldest: Millis) -> bytes | None:
    """What an address answered since then; it is forgotten."""
    return await tx.maybe(bytes, q.take_look, url=url, oldest=oldest)


async def refreshes_tx(tx: Tx, *, now: Millis, most: int, busy: Busy = NOBODY) -> list[RequestedPoll]:
    """Watches that a person wants polled now, that nobody polls, and whose host is not full."""
    return await tx.many(
        RequestedPoll, q.refreshes, now=now, most=most, ahead=LOOK_AHEAD + most, hosts=busy.as_rows()["hosts"]
    )


async def ask_refresh_tx(tx: Tx, watch_id: WatchId, now: Millis, *, before: Millis | None = None) -> Asked:
    """Want this watch polled, unless it was looked at since `before`."""
    soon, before = Millis(now + CLOCKS_DIFFER), now if before is None else before
    queued = await tx.run(q.ask_refresh, id=watch_id, now=now, before=before, soon=soon)
    if queued:
        return Asked(queued)
    return _none_asked(await tx.maybe(WhyNot, q.why_not_asked, id=watch_id, now=now))


async def ask_refresh_all_tx(tx: Tx, shelf_id: ShelfId, now: Millis, *, before: Millis) -> Asked:
    """Want every feed of a shelf polled that is not suspended, and was not looked at since `before`."""
    soon = Millis(now + CLOCKS_DIFFER)
    queued = await tx.run(q.ask_refresh_all, shelf_id=shelf_id, now=now, before=before, soon=soon)
    if queued:
        return Asked(queued)
    return _none_asked(await tx.maybe(WhyNot, q.why_none_asked, shelf_id=shelf_id, now=now))


def _none_asked(why: WhyNot | None) -> Asked:
    if why is None:
        return Asked(0)
    return Asked(0, why.not_before, is_known=why.not_before is None and not why.is_asked)


async def give_back_tx(tx: Tx, watches: Iterable[ClaimedWatch]) -> list[WatchId]:
    """Give claimed watches back unpolled, due as they were; those that were still ours."""
    rows = [{"id": watch.id, "lease_token": watch.lease_token} for watch in watches]
    return await tx.bulk(WatchId, q.give_back, rows)


async def put_off_tx(tx: Tx, watch: ClaimedWatch, *, until: Millis, why: str, keeps_place: bool = False) -> bool:
    """Give a claimed watch back unpolled, with or without its place in the line; False when it is no longer ours."""
    lease = {"id": watch.id, "lease_token": watch.lease_token}
    return bool(await tx.run(q.put_off, **lease, until=until, why=why, keeps_place=keeps_place))


async def extend_lease_tx(tx: Tx, watch: ClaimedWatch, *, until: Millis) -> bool:
    """Keep the lease; False when it is lost."""
    return bool(await tx.run(q.extend_lease, id=watch.id, lease_token=watch.lease_token, until=until))


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


async def feed_targets_tx(tx: Tx, watches: Iterable[WatchId], now: Millis) -> list[FeedTarget]:
    """What to call, for those of the watches that are on feeds, in any order."""
    return await tx.bulk(FeedTarget, q.feed_targets, _ids(watches), many=MANY_READERS, now=now)


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


async def series_target_tx(tx: Tx, watch_id: WatchId) -> SeriesTarget | None:
    """What to call; None when the watch is gone or is on a feed."""
    return await tx.maybe(SeriesTarget, q.series_target, id=watch_id)


async def known_items_tx(tx: Tx, listed: Iterable[FeedListing]) -> list[KnownItem]:
    """What is stored under the keys of what feeds list, or under their pages; one may come twice."""
    rows = []
    for feed in listed:
        pages: set[str | None] = set()
        for item in feed.items:  # a page that all items have is looked for once
            rows.append([feed.feed_id, item.key, None if item.link_key in pages else item.link_key])
            rows.extend([feed.feed_id, key, None] for key in item.other_keys)
            pages.add(item.link_key)
    return await tx.bulk(KnownItem, q.known_items, rows)


async def said_items_tx(tx: Tx, feed_id: FeedId, keys: Iterable[str]) -> dict[str, tuple[str, Millis | None]]:
    """Title and date of what is stored under these keys."""
    rows = await tx.bulk(_ItemWording, q.said_items, [[key] for key in keys], feed_id=feed_id)
    return {row.key: (row.title, row.published_at) for row in rows}


async def rekey_items_tx(tx: Tx, feed_id: FeedId, keys: Mapping[str, str]) -> None:
    """R93: give stored items the keys that they have from now on."""
    for old, key in keys.items():
        await tx.run(q.rekey_item, feed_id=feed_id, old=old, key=key)
        await tx.run(q.rekey_tombstone, feed_id=feed_id, old=old, key=key)


async def touch_tombstones_tx(tx: Tx, feed_id: FeedId, keys: Iterable[str], now: Millis) -> None:
    """REL-39d: remember for longer what was removed and is still listed."""
    await tx.run(q.touch_tombstones, rows=[[key] for key in keys], feed_id=feed_id, now=now)


async def touch_last_listed_tx(tx: Tx, feed_id: FeedId, *, since: Millis, until: Millis) -> None:
    """The same for what the last document listed, of which nothing was read while it stayed as it was."""
    await tx.run(q.touch_last_listed, feed_id=feed_id, since=since, until=until)


async def last_release_tx(tx: Tx, watch: ClaimedWatch) -> Millis | None:
    """When something new of it was last stored, whoever found that; nobody stores more until the transaction's end."""
    return await tx.maybe(Millis, q.last_release, id=watch.id)


async def save_answer_tx(tx: Tx, watch: ClaimedWatch, answer: PollAnswer, now: Millis) -> bool:
    """Write the outcome; False when the lease was lost, and nothing is written."""
    return bool(await tx.bulk(WatchId, q.save_answer, [_row(Ended(watch, answer, now))]))


async def save_answers_tx(tx: Tx, polls: Iterable[Ended]) -> frozenset[WatchLease]:
    """Write the outcomes; whose were written. The others lost their lease, or somebody else holds them just now."""
    return frozenset(await tx.bulk(WatchLease, q.save_answers, map(_row, polls)))


async def save_failure_tx(tx: Tx, watch: ClaimedWatch, failure: PollFailure, now: Millis) -> int | None:
    """Write the outcome; how many failures in a row that makes, or None when the lease was lost."""
    values = msgspec.structs.asdict(failure)
    return await tx.maybe(int, q.save_failure, id=watch.id, lease_token=watch.lease_token, now=now, **values)


async def move_feed_tx(tx: Tx, feed_id: FeedId, link: str, now: Millis) -> bool:
    """Believe a permanent redirect; False when another feed has that address."""
    return bool(await tx.run(q.move_feed, feed_id=feed_id, link=link, now=now))


async def describe_feeds_tx(tx: Tx, told: Iterable[FeedMetadata]) -> int:
    """Keep what feeds say of themselves, and what was seen of them."""
    return await tx.run(q.describe_feeds, rows=list(told))


def _ids(watches: Iterable[WatchId]) -> list[dict[str, WatchId]]:
    return [{"id": watch} for watch in watches]


def _row(poll: Ended) -> dict[str, Any]:
    values = msgspec.structs.asdict(poll.answer)
    return {"id": poll.watch.id, "lease_token": poll.watch.lease_token, "now": poll.now, **values}
