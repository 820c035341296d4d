"""The second step of a notification: from a send to the channel's own server."""

from collections.abc import Callable

import msgspec

from tsuzuki.db import Database, Tx
from tsuzuki.model.errors import HttpStatus, NotOurTurn, RefusedAddress, SourceError, Unavailable
from tsuzuki.model.requests import Ask, SourceIdentity
from tsuzuki.model.secrets import mask_text, unreadable_places
from tsuzuki.model.times import Millis
from tsuzuki.net.client import Client
from tsuzuki.notifications.kinds import KINDS
from tsuzuki.notifications.kinds.base import StoredChannel, read_config
from tsuzuki.notifications.policy import PROBE, is_stale
from tsuzuki.notifications.store import (
    channel_failed_tx,
    channel_to_notify_tx,
    channel_worked_tx,
    claim_probe_tx,
    forget_channel_tx,
)
from tsuzuki.notifications.tasks import SENDS, Send
from tsuzuki.queue.errors import NotRetryable, Undecodable
from tsuzuki.queue.tasks import Task, enqueue_tx, finish_tx, skip_tx

_GONE = frozenset({404, 410})
_SPREAD = 0.2
"""What waited for a channel together does not come back together."""


async def paused_until_tx(tx: Tx, queue: str, payload: str, now: Millis) -> Millis | None:
    """Until when the channel rests that a task is for; None for one that may be called, or that is for none."""
    if queue != SENDS.name:
        return None
    try:
        send = SENDS.decode(payload)
    except Undecodable:
        return None
    channel = await channel_to_notify_tx(tx, send.channel_id)
    if channel is None or not send.is_for(channel.public_id) or channel.rests_until is None:
        return None
    return channel.rests_until if channel.rests_until > now else None


class Sender:
    """Handles `channel-sends`: at least once outward under a stable id, with a breaker for each channel."""

    def __init__(
        self,
        db: Database,
        client: Client,
        clock: Callable[[], Millis],
        *,
        jitter: Callable[[], float],
        public_url: str | None = None,
    ) -> None:
        """`public_url` is where people reach this server; without it no page of ours is named."""
        self._db = db
        self._client = client
        self._clock = clock
        self._jitter = jitter
        self._public_url = public_url

    async def handle(self, task: Task[Send]) -> None:
        """See `Handler`."""
        now = self._clock()
        channel = await self._db.read(lambda tx: channel_to_notify_tx(tx, task.payload.channel_id))
        if channel is None or not channel.is_enabled or not task.payload.is_for(channel.public_id):
            await self._db.with_tx(lambda tx: skip_tx(tx, task, now=now, why="The channel was deleted or is off."))
            return
        wakes_at = await self._paused_until(channel, now)
        if wakes_at is not None:
            await self._postpone(task, channel, wakes_at)
            return
        is_there = await self._send(channel, task.payload)
        end = self._finish_tx if is_there else self._forget_tx
        await self._db.with_tx(lambda tx: end(tx, task, channel))

    async def _paused_until(self, channel: StoredChannel, now: Millis) -> Millis | None:
        """None when it may be called: its breaker is closed, or we are the one that tries it."""
        if channel.rests_until is None:
            return None
        if channel.rests_until > now:
            return channel.rests_until
        is_ours = await self._db.with_tx(lambda tx: claim_probe_tx(tx, channel.id, now))
        return None if is_ours else Millis(now + PROBE)

    async def _postpone(self, task: Task[Send], channel: StoredChannel, wakes_at: Millis) -> None:
        """The same task again, later: a channel that rests is no failure of the notices that wait for it."""
        now = self._clock()
        run_at = Millis(int(wakes_at + (wakes_at - now) * _SPREAD * self._jitter()))
        # What somebody replayed may be old; it is given up only where the channel has not worked for so long either.
        if is_stale(task.payload.message.at, run_at) and is_stale(channel.last_sent_at or Millis(0), run_at):
            raise NotRetryable(f"The channel did not answer for too long: {channel.last_error or 'it is paused'}")

        async def again(tx: Tx) -> None:
            await skip_tx(tx, task, now=now, why="The channel is paused.")
            await enqueue_tx(tx, SENDS, task.key, task.payload, now=now, run_at=run_at)

        await self._db.with_tx(again)

    async def _send(self, channel: StoredChannel, send: Send) -> bool:
        """False for a browser that is no more."""
        try:
            await self._fetch(channel, send)
        except NotOurTurn as error:  # our own pace, not the other side's: nothing failed
            raise Unavailable(str(error)) from error
        except SourceError as error:
            if KINDS[channel.kind].is_browser and error.status in _GONE:
                return False
            text, now = mask_text(str(error)), self._clock()
            await self._db.with_tx(lambda tx: channel_failed_tx(tx, channel.id, error=text, now=now))
            raise
        return True

    async def _fetch(self, channel: StoredChannel, send: Send) -> None:
        kind = KINDS[channel.kind]
        if unreadable_places(channel.config):
            raise SourceError("Its address and secrets cannot be read with this server's secret key. Save them again.")
        config = read_config(kind, channel.config)
        ask: Ask = kind.compose(config, send if kind.is_browser else self._addressed(send), now=self._clock())
        try:
            reply = await self._client.fetch(ask, SourceIdentity(source=f"channel {channel.id}", home_url=config.url))
        except RefusedAddress:
            # Its own sentence may name the whole address, whose path may be a key, in logs and dead letters.
            raise RefusedAddress("The address of this channel is no longer allowed. Save another one.") from None
        if reply.status in ask.accept_statuses:
            raise HttpStatus(f"It redirects ({reply.status}); save the address that it leads to.", status=reply.status)

    def _addressed(self, send: Send) -> Send:
        """The message with the full address of its page, or without one."""
        path = send.message.page
        page = None if path is None or self._public_url is None else f"{self._public_url}{path}"
        return msgspec.structs.replace(send, message=msgspec.structs.replace(send.message, page=page))

    async def _forget_tx(self, tx: Tx, task: Task[Send], channel: StoredChannel) -> None:
        """R112: the browser unsubscribed, or is gone."""
        await forget_channel_tx(tx, channel.id)
        await skip_tx(tx, task, now=self._clock(), why="This browser does not want messages any more.")

    async def _finish_tx(self, tx: Tx, task: Task[Send], channel: StoredChannel) -> None:
        now = self._clock()
        await channel_worked_tx(tx, channel.id, now)
        await finish_tx(tx, task, now=now)
