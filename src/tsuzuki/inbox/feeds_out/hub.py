"""The WebSub hub of the feeds out: it takes subscriptions, and notices what is new for them."""

import hashlib
from collections.abc import Callable, Mapping
from typing import Annotated, Literal, get_args
from urllib.parse import urlsplit

import msgspec

from tsuzuki.accounts.credentials import hash_of
from tsuzuki.accounts.policy import FailureLimits, neighbourhood
from tsuzuki.accounts.sign_in_limits import Limiter
from tsuzuki.coord.wakeup import AfterCommit
from tsuzuki.db import Database, Tx, load_queries
from tsuzuki.inbox.entries import Entry
from tsuzuki.inbox.feeds_out.policy import (
    LONGEST_CALLBACK,
    LONGEST_SECRET,
    MOST_ENTRIES,
    MOST_OF_HOST,
    MOST_SUBSCRIBERS,
    PATIENCE,
    USUAL_ENTRIES,
    granted_lease,
    news_in,
)
from tsuzuki.inbox.feeds_out.service import AnnouncedRow, feed_entries_tx, find_feed_tx, lock_feed_out_tx
from tsuzuki.inbox.feeds_out.tasks import CHECKS, PUSHES, HubCheck, HubPush
from tsuzuki.inbox.feeds_out.types import FeedOut, FeedOutId, HubSubscriptionId, Topic, read_topic
from tsuzuki.model.errors import Invalid, LimitExceeded, NotFound
from tsuzuki.model.secrets import HUB, Sealed
from tsuzuki.model.times import MINUTE, SECOND, Millis
from tsuzuki.net.client import Client
from tsuzuki.queue.tasks import NewTask, enqueue_many_tx, enqueue_tx

q = load_queries("tsuzuki.inbox.feeds_out")

Mode = Literal["subscribe", "unsubscribe"]

_RATE = FailureLimits(failures=60, window=MINUTE, block=MINUTE)
_MARGIN = Millis(30 * SECOND)
"""An event becomes visible at its transaction's commit, which may be a while after its own time."""
_ALL_EVERY = Millis(5 * MINUTE)
"""How often all feeds with subscribers are checked, whether or not their shelves had events."""


class StoredSubscription(msgspec.Struct, frozen=True):
    """A subscription as it is stored, its secrets in it: never to be shown or logged like this."""

    id: HubSubscriptionId
    feed_out_id: FeedOutId | None
    """None when its feed has ended, or is at another address now."""
    topic: Annotated[str, Sealed(HUB)]
    callback: Annotated[str, Sealed(HUB)]
    host: str
    secret: Annotated[str, Sealed(HUB)]
    lease_until: Millis | None
    """None until it was confirmed."""
    asked_mode: Mode | None
    """What is to be confirmed."""
    asked_secret: Annotated[str, Sealed(HUB)]
    asked_lease: Millis
    asked_at: Millis
    failures: int


class HubRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What a subscriber asks for; the base is this server's address, as the subscriber called it."""

    mode: Mode
    topic: Topic
    callback: str
    secret: str
    lease: Millis


class Hub:
    """Takes requests to subscribe, and writes a task for each subscriber when a feed has something new."""

    def __init__(self, db: Database, client: Client, clock: Callable[[], Millis], after_commit: AfterCommit) -> None:
        self._db = db
        self._client = client
        self._clock = clock
        self._after_commit = after_commit
        self._limiter = Limiter(db, clock, _RATE, "Too many requests to this hub. Try again in a minute.")
        self._looked_at = self._looked_at_all_at = Millis(0)

    # -- subscribing

    async def ask(self, said: Mapping[str, str], base: str, address: str) -> None:
        """Take a request; its subscriber is asked to confirm it. `said` has its `hub.` parameters.

        Invalid for a request that is wrong, NotFound for a topic that is no feed of this server or a subscription that
        is not there, RefusedAddress for a callback that may not be called, LimitExceeded, TooManyRequests.
        """
        await self._limiter.begin_alone(f"hub {neighbourhood(address)}")
        request = _read(said, base)
        await self._db.read(lambda tx: find_feed_tx(tx, request.topic.secret))  # strangers have no names looked up
        callback = await self._client.vet(request.callback)
        now = self._clock()
        task = await self._db.with_tx(lambda tx: _store_tx(tx, request, callback, now))
        if task is not None:
            self._after_commit(CHECKS.name)

    # -- noticing

    async def look(self) -> int:
        """Write a task for each subscriber of a feed that has something new, or that has ended; how many.

        What subscribers know of changes in the transaction of their tasks: nothing is missed, whoever dies.
        """
        now, since = self._clock(), self._since()
        feeds = await self._db.read(lambda tx: tx.many(FeedOut, q.watched, now=now, since=since))
        count = 0
        for feed in feeds:
            if await self._db.read(lambda tx: _has_news_tx(tx, feed)):  # noqa: B023  awaited at once
                count += await self._db.with_tx(lambda tx: _enqueue_news_tx(tx, feed, now))  # noqa: B023
        if count:
            self._after_commit(PUSHES.name)
        ended = await self._db.read(lambda tx: tx.many(HubCheck, q.ended, now=now))
        if ended:
            await self._db.with_tx(lambda tx: enqueue_many_tx(tx, CHECKS, [check.task() for check in ended], now=now))
            self._after_commit(CHECKS.name)
        self._looked_at = now
        if not since:
            self._looked_at_all_at = now
        return count + len(ended)

    async def tidy(self) -> int:
        """Forget subscriptions that have ended, and requests that nobody confirmed; how many."""
        now = self._clock()
        return await self._db.with_tx(lambda tx: tx.run(q.forget_old, now=now, before=now - PATIENCE))

    def _since(self) -> Millis:
        now = self._clock()
        # After a clock that went back, `since` would lie in the future: then all are looked at, too.
        is_recent = self._looked_at <= now < self._looked_at_all_at + _ALL_EVERY
        return Millis(max(1, self._looked_at - _MARGIN)) if is_recent else Millis(0)


async def _store_tx(tx: Tx, request: HubRequest, callback: str, now: Millis) -> HubSubscriptionId | None:
    topic, callback_hash = request.topic, hash_of(callback)
    await lock_feed_out_tx(tx, (await find_feed_tx(tx, topic.secret)).id)
    feed = await find_feed_tx(tx, topic.secret)  # it may have been replaced just before
    place = {"feed_out_id": feed.id, "form": topic.form, "callback_hash": callback_hash}
    if request.mode == "unsubscribe":
        found = await tx.maybe(HubSubscriptionId, q.ask_to_unsubscribe, **place, now=now)
        if found is None:
            raise NotFound("There is no such subscription.")
    else:
        host = urlsplit(callback).hostname or ""
        await _check_room_tx(tx, feed, host, callback_hash)
        found = await tx.one(
            HubSubscriptionId,
            q.ask_to_subscribe,
            **place,
            host=host,
            topic=tx.vault.seal(topic.url, HUB),
            callback=tx.vault.seal(callback, HUB),
            asked_secret=tx.vault.seal(request.secret, HUB) if request.secret else "",
            asked_lease=request.lease,
            now=now,
        )
    task = HubCheck(subscription_id=found, asked_at=now).task()
    await enqueue_tx(tx, CHECKS, task.key, task.payload, now=now)
    return found


async def _check_room_tx(tx: Tx, feed: FeedOut, host: str, callback_hash: bytes) -> None:
    others = {"callback_hash": callback_hash}
    if await tx.one(int, q.count_subscribers, feed_out_id=feed.id, **others) >= MOST_SUBSCRIBERS:
        raise LimitExceeded(f"A feed can have at most {MOST_SUBSCRIBERS} subscribers.")
    if await tx.one(int, q.count_of_host, shelf_id=feed.shelf_id, host=host, **others) >= MOST_OF_HOST:
        raise LimitExceeded(f"A host can have at most {MOST_OF_HOST} subscriptions at this hub.")


def _read(said: Mapping[str, str], base: str) -> HubRequest:
    """The request; Invalid says what is wrong with it, NotFound that there is no such topic."""
    mode = next((one for one in get_args(Mode) if one == said.get("hub.mode")), None)
    if mode is None:
        raise Invalid("hub.mode must be subscribe or unsubscribe.")
    callback, secret, lease = (said.get(f"hub.{name}", "") for name in ("callback", "secret", "lease_seconds"))
    if not 0 < len(callback) <= LONGEST_CALLBACK:
        raise Invalid(f"hub.callback must be an address of at most {LONGEST_CALLBACK:,} characters.")
    if len(secret.encode()) > LONGEST_SECRET:
        raise Invalid(f"hub.secret must be shorter than {LONGEST_SECRET + 1} bytes.")
    if lease and not (lease.isascii() and lease.isdigit() and len(lease) <= 12):
        raise Invalid("hub.lease_seconds must be a number of seconds.")
    topic = read_topic(said.get("hub.topic", ""), base)
    if topic is None:
        raise NotFound("This hub is only for the feeds of this server.")
    granted = granted_lease(int(lease) if lease else None)
    return HubRequest(mode=mode, topic=topic, callback=callback, secret=secret, lease=granted)


# -- what is new


async def know_all_tx(tx: Tx, feed: FeedOut, now: Millis) -> None:
    """Note the current entries as announced when the first subscriber comes: they are no news to it."""
    known = await lock_feed_out_tx(tx, feed.id)
    subscribers = await tx.many(HubSubscriptionId, q.subscribers, feed_out_id=feed.id, now=now)
    if known is None or (subscribers and known.told):
        return
    _, told = news_in(await feed_entries_tx(tx, feed, MOST_ENTRIES), [])
    await tx.run(q.store_told, id=feed.id, told=told)


async def _has_news_tx(tx: Tx, feed: FeedOut) -> bool:
    """Checked before the write: most that happens on a shelf is news to no feed."""
    known = await tx.maybe(AnnouncedRow, q.get_told, id=feed.id)
    return known is not None and bool(news_in(await _newest_tx(tx, feed), known.told)[0])


async def _enqueue_news_tx(tx: Tx, feed: FeedOut, now: Millis) -> int:
    known = await lock_feed_out_tx(tx, feed.id)
    if known is None:
        return 0
    news, told = news_in(await _newest_tx(tx, feed), known.told)
    if not news:
        return 0
    # The key of the pushes: a repeat of this look finds the same entries, and enqueues nothing twice.
    change = hashlib.sha256(msgspec.json.encode(told)).hexdigest()[:16]
    entries = tuple(row.id for row in news)
    subscribers = await tx.many(HubSubscriptionId, q.subscribers, feed_out_id=feed.id, now=now)
    pushes: list[NewTask[HubPush]] = [
        HubPush(subscription_id=one, change=change, entries=entries).task() for one in subscribers
    ]
    await enqueue_many_tx(tx, PUSHES, pushes, now=now)
    await tx.run(q.store_told, id=feed.id, told=told)
    return len(pushes)


async def _newest_tx(tx: Tx, feed: FeedOut) -> list[Entry]:
    try:
        return await feed_entries_tx(tx, feed, USUAL_ENTRIES)
    except NotFound:  # what it shows of its shelf is gone
        return []
