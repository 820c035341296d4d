"""Feeds out: as their owner manages them, and as feed readers fetch them."""

import secrets
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import nullcontext

import msgspec

from tsuzuki.accounts.credentials import hash_of
from tsuzuki.accounts.policy import TOKEN_TOUCH, is_stale
from tsuzuki.coord.wakeup import AfterCommit
from tsuzuki.db import Database, Tx, load_queries
from tsuzuki.db.locks import FEED_OUT as FEED_OUT_LOCK
from tsuzuki.db.locks import check_order, lock_shelf_tx
from tsuzuki.inbox.entries import Entry
from tsuzuki.inbox.feeds_out.policy import MOST_FEEDS, MOST_TEXT
from tsuzuki.inbox.feeds_out.tasks import CHECKS
from tsuzuki.inbox.feeds_out.types import FeedOut, FeedOutId, NewFeedOut
from tsuzuki.inbox.fetches import Fetches, with_full_texts
from tsuzuki.inbox.search.turns import SearchTurns
from tsuzuki.inbox.store import older_entries_tx, where_tx
from tsuzuki.inbox.sync import SyncEntry, sync_entries_tx
from tsuzuki.model.errors import Invalid, LimitExceeded, NotFound, Problem
from tsuzuki.model.ids import EntryId, PublicId, ShelfId, UserId
from tsuzuki.model.pages import FROM_THE_TOP
from tsuzuki.model.secrets import FEED_OUT
from tsuzuki.model.times import Millis
from tsuzuki.model.tokens import parse_terms
from tsuzuki.polling.articles import Articles

q = load_queries("tsuzuki.inbox.feeds_out")

MISSING = "There is no such feed."
LONGEST_NAME = 200
LONGEST_SEARCH = 500
_AT_ONCE = 10


class FeedsOut:
    """Add, replace, remove, and read. What is managed is one person's on one shelf (I8)."""

    def __init__(
        self,
        db: Database,
        clock: Callable[[], Millis],
        *,
        new_id: Callable[[], PublicId],
        after_commit: AfterCommit,
        turns: SearchTurns,
        articles: Articles,
    ) -> None:
        self._db = db
        self._clock = clock
        self._new_id = new_id
        self._after_commit = after_commit
        self._turns = turns
        self._articles = articles

    # -- for its owner

    async def list(self, shelf_id: ShelfId, user_id: UserId) -> list[FeedOut]:
        """Theirs, the newest first."""
        return await self._db.read(lambda tx: tx.many(FeedOut, q.list_feeds, shelf_id=shelf_id, user_id=user_id))

    async def get(self, shelf_id: ShelfId, user_id: UserId, public_id: PublicId) -> FeedOut:
        """One of theirs, or NotFound."""
        return await self._db.read(lambda tx: _get_tx(tx, shelf_id, user_id, public_id))

    async def add(self, shelf_id: ShelfId, user_id: UserId, new: NewFeedOut) -> FeedOut:
        """A feed at a new address.

        Invalid for a name or a search without words, NotFound for another shelf's feed or group, LimitExceeded beyond
        what a person may have.
        """
        new = _checked(new)

        async def add(tx: Tx) -> FeedOut:
            await lock_shelf_tx(tx, shelf_id)
            if await tx.one(int, q.count_feeds, shelf_id=shelf_id, user_id=user_id) >= MOST_FEEDS:
                raise LimitExceeded(f"You can have at most {MOST_FEEDS} feeds of a shelf. Remove one first.")
            public_id = self._new_id()
            values = msgspec.structs.asdict(new) | _new_secret(tx) | {"now": self._clock()}
            await tx.one(FeedOutId, q.add_feed, public_id=public_id, shelf_id=shelf_id, user_id=user_id, **values)
            feed = await _get_tx(tx, shelf_id, user_id, public_id)
            await where_tx(tx, shelf_id, feed.wanted)
            return feed

        return await self._db.with_tx(add)

    async def replace(self, shelf_id: ShelfId, user_id: UserId, public_id: PublicId) -> FeedOut:
        """Give the feed a new address; the old one ends, and its subscribers are notified."""

        async def replace(tx: Tx) -> FeedOut:
            feed = await _get_tx(tx, shelf_id, user_id, public_id)
            await lock_feed_out_tx(tx, feed.id)
            await tx.run(q.replace_secret, id=feed.id, **_new_secret(tx), now=self._clock())
            await tx.run(q.end_subscriptions, id=feed.id)
            return await _get_tx(tx, shelf_id, user_id, public_id)

        feed = await self._db.with_tx(replace)
        self._after_commit(CHECKS.name)
        return feed

    async def remove(self, shelf_id: ShelfId, user_id: UserId, public_id: PublicId) -> None:
        """Its address leads nowhere from now on; NotFound if there is none."""

        async def remove(tx: Tx) -> None:
            await tx.run(q.delete_feed, id=(await _get_tx(tx, shelf_id, user_id, public_id)).id)

        await self._db.with_tx(remove)
        self._after_commit(CHECKS.name)

    # -- for whoever knows its address

    async def find(self, secret: str) -> FeedOut:
        """The feed at the address with this secret; NotFound, also while its owner is locked out."""
        return await self._db.read(lambda tx: find_feed_tx(tx, secret))

    async def entries(self, feed: FeedOut, most: int) -> Sequence[Entry]:
        """Its newest entries without their texts; NotFound when what it shows of its shelf is gone.

        TooManyRequests for a search while too many others of the shelf wait.
        """
        async with self._turns.take(feed.shelf_id) if feed.search else nullcontext():
            return await self._db.read(lambda tx: feed_entries_tx(tx, feed, most))

    async def contents(self, feed: FeedOut, ids: Sequence[EntryId]) -> Sequence[SyncEntry]:
        """These entries of its shelf with their texts, in this order, up to where it gets too long for one answer."""
        found: deque[SyncEntry] = deque()
        fetches, now = Fetches(), self._clock()
        room = MOST_TEXT
        for first in range(0, len(ids), _AT_ONCE):
            some = ids[first : first + _AT_ONCE]
            known = await self._db.read(lambda tx: sync_entries_tx(tx, feed.shelf_id, some, feed.kind))  # noqa: B023  awaited at once
            if feed.is_full:
                known = await with_full_texts(known, self._articles, fetches, now)
            for one in known:
                room -= len(one.entry.content or "")
                if room < 0 and found:
                    return tuple(found)
                found.append(one)
        return tuple(found)

    async def newest_text(self, feed: FeedOut, rows: Sequence[Entry]) -> Millis:
        """When the last of the pages behind these entries was fetched whose text may stand for them; 0 for none."""
        items = [row.item_id for row in rows if row.item_id is not None] if feed.is_full else []
        return await self._db.read(lambda tx: tx.one(Millis, q.newest_text, ids=items)) if items else Millis(0)

    async def note_fetched(self, feed: FeedOut) -> None:
        """Remember that it was fetched, to the minute."""
        now = self._clock()
        if is_stale(feed.fetched_at, now, TOKEN_TOUCH):
            await self._db.with_tx(lambda tx: tx.run(q.touch_feed, id=feed.id, now=now))


class AnnouncedRow(msgspec.Struct, frozen=True):
    """What the subscribers of a feed know of."""

    told: list[tuple[int, int]]


async def lock_feed_out_tx(tx: Tx, feed_out_id: FeedOutId) -> AnnouncedRow | None:
    """What its subscribers know of; nobody else changes that, its address or who they are. None when it is gone."""
    check_order(tx, FEED_OUT_LOCK, feed_out_id)
    return await tx.maybe(AnnouncedRow, q.lock_feed_out, id=feed_out_id)


async def find_feed_tx(tx: Tx, secret: str) -> FeedOut:
    """The feed at the address with this secret, or NotFound."""
    found = await tx.maybe(FeedOut, q.find_feed, secret_hash=hash_of(secret))
    if found is None:
        raise NotFound(MISSING)
    return found


async def feed_entries_tx(tx: Tx, feed: FeedOut, most: int) -> list[Entry]:
    """Its newest entries without their texts; NotFound when what it shows of its shelf is gone."""
    where = await where_tx(tx, feed.shelf_id, feed.wanted)
    return await older_entries_tx(tx, where, feed.wanted, after=FROM_THE_TOP, most=most)


async def _get_tx(tx: Tx, shelf_id: ShelfId, user_id: UserId, public_id: PublicId) -> FeedOut:
    found = await tx.maybe(FeedOut, q.get_feed, shelf_id=shelf_id, user_id=user_id, public_id=public_id)
    if found is None:
        raise NotFound(MISSING)
    return found


def _new_secret(tx: Tx) -> dict[str, str | bytes]:
    """The secret of an address that nobody can guess: 128 bits."""
    secret = secrets.token_hex(16)
    return {"secret_hash": hash_of(secret), "secret": tx.vault.seal(secret, FEED_OUT)}


def _checked(new: NewFeedOut) -> NewFeedOut:
    name = " ".join(new.name.split())
    search = (new.search or "").strip()
    problems = []
    if not 1 <= len(name) <= LONGEST_NAME:
        problems.append(Problem("name", f"The name must have 1 to {LONGEST_NAME} characters."))
    if len(search) > LONGEST_SEARCH or (search and all(term.excluded for term in parse_terms(search))):
        problems.append(Problem("search", f"Enter words to search for, at most {LONGEST_SEARCH} characters."))
    if len([one for one in (new.of_feed, new.of_group, new.of_series, new.of_tag) if one is not None]) > 1:
        problems.append(Problem("feed", "Choose a feed, a group, a series or a tag, not several of them."))
    if problems:
        raise Invalid(problems[0].message, tuple(problems))
    return msgspec.structs.replace(new, name=name, search=search or None)
