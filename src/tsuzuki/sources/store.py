"""Sources, series, feeds and watches, remembered."""

from collections.abc import Iterable, Sequence

import msgspec

from tsuzuki.db import Tx, load_queries
from tsuzuki.db.locks import lock_feeds_tx
from tsuzuki.model.ids import FeedId, PublicId, SeriesId, SeriesSourceId, ShelfId, SourceId, WatchId
from tsuzuki.model.times import DAY, Millis

q = load_queries("tsuzuki.sources")

LONGEST_PLAN = Millis(2 * DAY)
"""I5: as far ahead as anything is planned here."""
FULL_FETCH_IN = Millis(6 * DAY)
"""A day before the next whole fetch is due (R26)."""


class NewWatch(msgspec.Struct, frozen=True, kw_only=True):
    """A watch on exactly one of the two."""

    feed_id: FeedId | None = None
    series_source_id: SeriesSourceId | None = None
    host: str
    priority: int = 2
    next_check_at: Millis


class Unwatched(msgspec.Struct, frozen=True):
    """A series on a source that nobody watches yet."""

    id: SeriesSourceId
    url: str
    base_url: str


async def add_feed_tx(tx: Tx, link: str, *, now: Millis, proxy: str = "", title: str = "") -> tuple[FeedId, bool]:
    """The feed behind this link, and whether it is new."""
    if (new := await new_feed_tx(tx, link, now=now, proxy=proxy, title=title)) is not None:
        return new, True
    return await tx.one(FeedId, q.find_feed, link=link, proxy=tx.vault.seal_proxy(proxy)), False


async def new_feed_tx(tx: Tx, link: str, *, now: Millis, proxy: str = "", title: str = "") -> FeedId | None:
    """A new feed behind this link; None when there is one already."""
    return await tx.maybe(FeedId, q.add_feed, link=link, proxy=tx.vault.seal_proxy(proxy), title=title, now=now)


async def find_feed_tx(tx: Tx, link: str, proxy: str = "") -> FeedId | None:
    """The feed behind this link, if it is known."""
    return await tx.maybe(FeedId, q.find_feed, link=link, proxy=tx.vault.seal_proxy(proxy))


async def lock_known_feeds_tx(tx: Tx, wanted: Sequence[tuple[str, str]]) -> None:
    """Lock those of these (link, proxy) that are feeds."""
    rows = [[link, tx.vault.seal_proxy(proxy)] for link, proxy in wanted]
    await lock_feeds_tx(tx, await tx.bulk(FeedId, q.known_feeds, rows))


async def find_feed_watch_tx(tx: Tx, feed_id: FeedId) -> WatchId:
    """The watch on a feed."""
    return await tx.one(WatchId, q.find_feed_watch, feed_id=feed_id)


async def count_followers_tx(tx: Tx, feed_id: FeedId) -> int:
    """How many shelves follow a feed."""
    return await tx.one(int, q.count_followers, feed_id=feed_id)


async def relink_feed_tx(tx: Tx, feed_id: FeedId, link: str, *, proxy: str, now: Millis) -> None:
    """Give a feed another address."""
    await tx.run(q.relink_feed, id=feed_id, link=link, proxy=tx.vault.seal_proxy(proxy), now=now)


async def keep_tombstones_tx(tx: Tx, feed_id: FeedId, now: Millis) -> None:
    """Remember for each follower what the feed has and its shelf has not: it stays no news."""
    await tx.run(q.keep_tombstones, feed_id=feed_id, now=now)


async def bury_for_readers_tx(tx: Tx, feed_id: FeedId, target: FeedId, now: Millis) -> None:
    """REL-39d: what retention removed of a feed stays no news to its followers, at the feed `target` too."""
    await tx.run(q.bury_for_readers, feed_id=feed_id, target=target, now=now)


async def drop_item_tombstones_tx(tx: Tx, feed_id: FeedId, *, but: Iterable[str] = ()) -> None:
    """Forget what retention removed of a feed, `but` these keys."""
    await tx.run(q.drop_item_tombstones, feed_id=feed_id, rows=[[key] for key in but])


async def detach_items_tx(tx: Tx, feed_id: FeedId, *, but: Iterable[str] = (), is_trusted: bool = False) -> None:
    """Take from a feed what it holds, `but` these keys: what a feed holds comes only from fetching its address.

    Shelves keep what they have. It becomes the feed's again when the feed brings an item of the same key, and of the
    same page unless it was the reader (`is_trusted`) who said that this is the same feed.
    """
    keys = [[key] for key in but]
    await tx.run(q.detach_items, feed_id=feed_id, rows=keys, is_trusted=is_trusted)
    await tx.run(q.drop_items, feed_id=feed_id, rows=keys)


async def reset_watch_tx(tx: Tx, feed_id: FeedId, *, host: str, now: Millis) -> None:
    """Forget what was learned of a feed's old address; due at once."""
    await tx.run(q.reset_watch, feed_id=feed_id, host=host, now=now)


async def rest_watch_tx(tx: Tx, feed_id: FeedId, *, reason: str, now: Millis) -> bool:
    """Suspend the watch if nobody waits for the feed."""
    return bool(await tx.run(q.rest_watch, feed_id=feed_id, reason=reason, now=now))


async def wake_watch_tx(tx: Tx, feed_id: FeedId, *, reason: str | None, now: Millis) -> bool:
    """Make a suspended watch due if somebody waits for the feed; a reason limits it to watches that rest for it."""
    return bool(await tx.run(q.wake_watch, feed_id=feed_id, reason=reason, now=now))


class ImportedFetchState(msgspec.Struct, frozen=True):
    """How a feed was fetched where it comes from."""

    etag: str | None = None
    last_modified: str | None = None
    next_check_at: Millis | None = None


async def bring_fetch_state_tx(
    tx: Tx, shelf_id: ShelfId, feed_id: FeedId, *, brought: ImportedFetchState, now: Millis
) -> None:
    """Ask as it was asked before, and when that was planned, within the next two days; only what is new here."""
    if brought == ImportedFetchState():
        return
    planned = brought.next_check_at
    await tx.run(
        q.bring_fetch_state,
        shelf_id=shelf_id,
        feed_id=feed_id,
        etag=brought.etag,
        last_modified=brought.last_modified,
        next_check_at=min(planned, now + LONGEST_PLAN) if planned is not None and planned > now else None,
        full_at=now - FULL_FETCH_IN,
    )


async def fetch_whole_tx(tx: Tx, feed_id: FeedId, now: Millis) -> None:
    """A feed that holds nothing yet is fetched whole, for somebody who follows it too."""
    await tx.run(q.fetch_whole, feed_id=feed_id, now=now)


async def drop_feed_tx(tx: Tx, feed_id: FeedId) -> bool:
    """Delete a feed with its items if nobody follows it."""
    return bool(await tx.run(q.drop_feed, id=feed_id))


async def add_series_tx(
    tx: Tx, public_id: PublicId, title: str, *, match_key: str, now: Millis, author: str | None = None
) -> SeriesId:
    """A new series, not yet on any source."""
    return await tx.one(
        SeriesId, q.add_series, public_id=public_id, title=title, match_key=match_key, author=author, now=now
    )


async def add_series_source_tx(
    tx: Tx, series_id: SeriesId, source_id: SourceId, *, source_key: str, url: str, now: Millis, title: str = ""
) -> SeriesSourceId | None:
    """That series as this source knows it; None when the source has this key already."""
    return await tx.maybe(
        SeriesSourceId,
        q.add_series_source,
        series_id=series_id,
        source_id=source_id,
        source_key=source_key,
        url=url,
        title=title,
        now=now,
    )


async def add_watch_tx(tx: Tx, new: NewWatch, now: Millis) -> WatchId:
    """Begin to watch a feed or a series source; UniqueViolation when it is watched already."""
    return await tx.one(WatchId, q.add_watch, **msgspec.structs.asdict(new), now=now)


async def find_series_tx(tx: Tx, public_id: PublicId) -> SeriesId | None:
    """The series with this id, or the one that it was merged into."""
    return await tx.maybe(SeriesId, q.find_series, public_id=public_id)


async def unwatched_tx(tx: Tx, series_id: SeriesId) -> list[Unwatched]:
    """Where a series could be called and is not."""
    return await tx.many(Unwatched, q.unwatched, series_id=series_id)


async def rest_series_tx(tx: Tx, series_id: SeriesId, *, reason: str, now: Millis) -> int:
    """Suspend a series' watches if nobody waits for it; how many."""
    return await tx.run(q.rest_series, series_id=series_id, reason=reason, now=now)


async def wake_series_tx(tx: Tx, series_id: SeriesId, *, reason: str, now: Millis) -> int:
    """Make those watches due that rest for this reason, if somebody waits; how many."""
    return await tx.run(q.wake_series, series_id=series_id, reason=reason, now=now)
