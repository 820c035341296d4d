"""What the hub sends: the question whether a subscriber meant it, and what is new."""

import hashlib
import hmac
import secrets
from collections.abc import Callable
from urllib.parse import urlencode, urlsplit, urlunsplit

import structlog

from tsuzuki.db import Database, Tx, load_queries
from tsuzuki.inbox.feeds_out.hub import StoredSubscription, know_all_tx
from tsuzuki.inbox.feeds_out.policy import MOST_FAILURES
from tsuzuki.inbox.feeds_out.service import FeedsOut
from tsuzuki.inbox.feeds_out.tasks import CHECKS, HubCheck, HubPush
from tsuzuki.inbox.feeds_out.types import CONTENT_TYPES, FOLDER, FeedOut, Topic, WriteFeed, read_topic
from tsuzuki.model.errors import Gone, HttpStatus, NotOurTurn, RefusedAddress, SourceError, Unavailable
from tsuzuki.model.requests import Ask, Reply, SourceIdentity
from tsuzuki.model.secrets import HUB, Unreadable
from tsuzuki.model.times import SECOND, Millis
from tsuzuki.net.client import Client
from tsuzuki.net.redirects import REDIRECTS
from tsuzuki.queue.policy import is_hopeless
from tsuzuki.queue.tasks import Task, finish_tx, skip_tx

q = load_queries("tsuzuki.inbox.feeds_out")

_ANSWER_CAP = 64 * 1024

_log = structlog.stdlib.get_logger("tsuzuki.hub")


class Checker:
    """Handles `hub-checks`: asks a subscriber to confirm, or notifies it of the end of its subscription.

    Whoever does not confirm is forgotten, without a dead letter: strangers can make as many requests as they like.
    """

    def __init__(self, db: Database, client: Client, clock: Callable[[], Millis]) -> None:
        self._db = db
        self._client = client
        self._clock = clock

    async def handle(self, task: Task[HubCheck]) -> None:
        """See `Handler`."""
        found, feed = await self._db.read(lambda tx: _find_tx(tx, task.payload.subscription_id))
        if found is None or found.asked_at != task.payload.asked_at or _is_unreadable(found):
            await self._skip(task, "There is nothing to confirm any more.")
        elif feed is None:
            await self._deny(task, found)
        elif found.asked_mode is None:
            await self._skip(task, "It was confirmed already.")
        else:
            is_confirmed = await self._ask(task, found)
            await self._db.with_tx(lambda tx: self._settle_tx(tx, task, found, feed, is_confirmed=is_confirmed))

    async def _ask(self, task: Task[HubCheck], found: StoredSubscription) -> bool:
        """Whether the subscriber repeats the challenge; a SourceError where it should be asked again."""
        challenge = secrets.token_urlsafe(24)
        said = {"hub.mode": str(found.asked_mode), "hub.topic": found.topic, "hub.challenge": challenge}
        if found.asked_mode == "subscribe":
            said["hub.lease_seconds"] = str(found.asked_lease // SECOND)
        reply = await self._get(task, found, said)
        return reply is not None and hmac.compare_digest(reply.body.strip(), challenge.encode())  # some add a line end

    async def _deny(self, task: Task[HubCheck], found: StoredSubscription) -> None:
        reason = "There is no feed at this address any more."
        await self._get(task, found, {"hub.mode": "denied", "hub.topic": found.topic, "hub.reason": reason})

        async def end(tx: Tx) -> None:
            await tx.run(q.delete_subscription, id=found.id)
            await finish_tx(tx, task, now=self._clock())

        await self._db.with_tx(end)
        _log.info("hub_subscription_ended", subscription=found.id, host=found.host, why="its feed has ended")

    async def _get(self, task: Task[HubCheck], found: StoredSubscription, said: dict[str, str]) -> Reply | None:
        """The answer; None for one that means no. A SourceError while it is worth trying again."""
        try:
            reply = await _call(self._client, found, Ask(_with_query(found.callback, said), max_bytes=_ANSWER_CAP))
        except SourceError as error:
            if is_hopeless(error) or error.status in REDIRECTS or task.attempt >= CHECKS.settings.attempts:
                return None
            raise
        return reply

    async def _settle_tx(
        self, tx: Tx, task: Task[HubCheck], found: StoredSubscription, feed: FeedOut, *, is_confirmed: bool
    ) -> None:
        now = self._clock()
        if is_confirmed and found.asked_mode == "subscribe":
            await know_all_tx(tx, feed, now)
            secret = tx.vault.seal(found.asked_secret, HUB) if found.asked_secret else ""
            until = Millis(now + found.asked_lease)
            await tx.run(q.confirm_subscription, id=found.id, secret=secret, lease_until=until)
        elif is_confirmed or found.lease_until is None:
            await tx.run(q.delete_subscription, id=found.id)
        else:
            await tx.run(q.forget_question, id=found.id)
        await finish_tx(tx, task, now=now, note=None if is_confirmed else "The subscriber did not confirm it.")

    async def _skip(self, task: Task[HubCheck], why: str) -> None:
        await self._db.with_tx(lambda tx: skip_tx(tx, task, now=self._clock(), why=why))


class Pusher:
    """Handles `hub-pushes`: sends new entries to one subscriber, at least once."""

    def __init__(
        self, db: Database, client: Client, clock: Callable[[], Millis], *, feeds: FeedsOut, write: WriteFeed
    ) -> None:
        self._db = db
        self._client = client
        self._clock = clock
        self._feeds = feeds
        self._write = write

    async def handle(self, task: Task[HubPush]) -> None:
        """See `Handler`."""
        now = self._clock()
        found, feed = await self._db.read(lambda tx: _find_tx(tx, task.payload.subscription_id))
        if found is None or feed is None or (found.lease_until or 0) <= now:
            await self._skip(task, "The subscription has ended.")
            return
        topic = _topic_of(found)
        entries = await self._feeds.contents(feed, task.payload.entries)
        if topic is None or not entries:
            await self._skip(task, "There is nothing to send any more." if topic else "Its address cannot be read.")
            return
        body = self._write(feed, topic, entries)
        try:
            await _call(self._client, found, _ask(found, topic, body))
        except SourceError as error:
            if await self._failed(found, error):
                await self._skip(task, f"The subscription has ended: {error}")
                return
            raise
        await self._db.with_tx(lambda tx: self._finish_tx(tx, task, found))

    async def _failed(self, found: StoredSubscription, error: SourceError) -> bool:
        """Count it; whether the subscription ends with it."""
        failures = found.failures + 1
        is_over = isinstance(error, Gone) or failures >= MOST_FAILURES

        async def note(tx: Tx) -> None:
            if is_over:
                await tx.run(q.delete_subscription, id=found.id)
            else:
                await tx.run(q.note_push, id=found.id, failures=failures)

        await self._db.with_tx(note)
        if is_over:
            _log.info("hub_subscription_ended", subscription=found.id, host=found.host, why=str(error))
        return is_over

    async def _finish_tx(self, tx: Tx, task: Task[HubPush], found: StoredSubscription) -> None:
        if found.failures:
            await tx.run(q.note_push, id=found.id, failures=0)
        await finish_tx(tx, task, now=self._clock())

    async def _skip(self, task: Task[HubPush], why: str) -> None:
        await self._db.with_tx(lambda tx: skip_tx(tx, task, now=self._clock(), why=why))


def sign(secret: str, body: bytes) -> str:
    """What `X-Hub-Signature` says of a body."""
    return f"sha256={hmac.digest(secret.encode(), body, hashlib.sha256).hex()}"


def _ask(found: StoredSubscription, topic: Topic, body: bytes) -> Ask:
    headers = {"content-type": CONTENT_TYPES[topic.form], "link": topic.link}
    if found.secret:
        headers["x-hub-signature"] = sign(found.secret, body)
    return Ask(found.callback, method="POST", headers=headers, body=body, max_bytes=_ANSWER_CAP)


async def _call(client: Client, found: StoredSubscription, ask: Ask) -> Reply:
    """The answer, if it is a success; errors do not name the callback, whose path is a secret of its owner's."""
    identity = SourceIdentity(source=f"hub subscription {found.id}", home_url=found.callback)
    ask = Ask(ask.url, ask.method, ask.headers, ask.body, max_bytes=ask.max_bytes, accept_statuses=REDIRECTS)
    try:
        reply = await client.fetch(ask, identity)
    except NotOurTurn as error:  # our own pace, not the other side's: nothing failed
        raise Unavailable(str(error)) from error
    except RefusedAddress:
        raise RefusedAddress("The address of this subscriber may not be called.") from None
    if reply.status in REDIRECTS:
        raise HttpStatus(f"It redirects ({reply.status}), which is not followed.", status=reply.status)
    return reply


async def _find_tx(tx: Tx, subscription_id: int) -> tuple[StoredSubscription | None, FeedOut | None]:
    """The subscription, and its feed if there still is one."""
    found = await tx.maybe(StoredSubscription, q.find_subscription, id=subscription_id)
    if found is None or found.feed_out_id is None:
        return found, None
    return found, await tx.maybe(FeedOut, q.feed_of_subscription, id=found.feed_out_id)


def _topic_of(found: StoredSubscription) -> Topic | None:
    """None where a secret of it cannot be read any more: without it nobody would believe what we send."""
    if _is_unreadable(found) or isinstance(found.secret, Unreadable):
        return None
    return read_topic(found.topic, found.topic.rpartition(FOLDER)[0])


def _is_unreadable(found: StoredSubscription) -> bool:
    return isinstance(found.topic, Unreadable) or isinstance(found.callback, Unreadable)


def _with_query(url: str, said: dict[str, str]) -> str:
    """The address with these parameters after its own."""
    parts = urlsplit(url)
    query = "&".join(part for part in (parts.query, urlencode(said)) if part)
    return urlunsplit(parts._replace(query=query, fragment=""))
