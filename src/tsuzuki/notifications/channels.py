"""Notification channels, as their owner manages them."""

import itertools
import secrets
from collections.abc import Callable, Collection, Mapping
from typing import Any

import msgspec

from tsuzuki.accounts.policy import FailureLimits
from tsuzuki.accounts.sign_in_limits import Limiter
from tsuzuki.coord.wakeup import Wakeup
from tsuzuki.db import Database, Tx, load_queries
from tsuzuki.db.locks import lock_shelf_tx
from tsuzuki.db.server_secrets import KEY_SIZE, secret_tx
from tsuzuki.model.errors import Conflict, Invalid, LimitExceeded, NotFound, Problem, SourceError
from tsuzuki.model.ids import PublicId, ShelfId, UserId, show_id, uuid7
from tsuzuki.model.times import MINUTE, Millis
from tsuzuki.net.client import Client
from tsuzuki.notifications.kinds import KINDS
from tsuzuki.notifications.kinds.base import ChannelKind, StoredChannel, hidden, read_config, restored
from tsuzuki.notifications.policy import trial
from tsuzuki.notifications.push_encryption import base64url, private_key, public_key
from tsuzuki.notifications.store import (
    NewChannel,
    add_channel_tx,
    change_channel_tx,
    find_channel_tx,
    remove_channel_tx,
)
from tsuzuki.notifications.tasks import SENDS, Send, delivery_id
from tsuzuki.queue.tasks import TaskId, enqueue_tx

q = load_queries("tsuzuki.notifications")

TRIALS = FailureLimits(failures=10, window=MINUTE, block=MINUTE)
"""Tests of a shelf's channels: each is a request to somebody else's server, at once and before everything else."""
MOST_CHANNELS = 20
"""Channels of a shelf: everything new is sent to each, and each send is a request to somebody else's server."""


PUSH = "push"
ONLY_ITSELF = "A browser adds itself: open Notifications in it."
_PUSH_SECRET = "web push"  # noqa: S105  its name; the secret itself is nobody's to write down


class ShownChannel(msgspec.Struct, frozen=True, kw_only=True):
    """A channel without its secrets (R47)."""

    id: PublicId
    kind: str
    name: str
    config: dict[str, Any]
    is_enabled: bool
    rests_until: Millis | None
    consecutive_failures: int
    last_sent_at: Millis | None
    last_failed_at: Millis | None
    last_error: str | None
    created_at: Millis
    updated_at: Millis


class AddedChannel(msgspec.Struct, frozen=True):
    """A new channel, and what we made for it: the only time that it is shown."""

    channel: ShownChannel
    made: dict[str, Any]


class ChannelChange(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be different; None leaves it as it is."""

    name: str | None = None
    config: Mapping[str, Any] | None = None
    is_enabled: bool | None = None


class Browser(msgspec.Struct, frozen=True, kw_only=True):
    """A browser that allowed messages: where its push service takes them, and for which keys."""

    name: str
    """The name by which its owner recognises it."""
    url: str
    p256dh: str
    auth: str
    titles: bool = False
    contact: str
    """Who sends, for its push service: an address of this server or of whoever runs it."""


class Channels:
    """Add, change, remove and try channels. Every method sees those of one person on one shelf only (I8).

    Without a person it sees those that are the shelf's own.
    """

    def __init__(self, db: Database, client: Client, wakeup: Wakeup, *, clock: Callable[[], Millis]) -> None:
        self._db = db
        self._client = client
        self._wakeup = wakeup
        self._clock = clock
        self._trials = Limiter(db, clock, TRIALS, "A shelf can send 10 test messages a minute. Wait a little.")

    async def list(self, shelf_id: ShelfId, user_id: UserId | None = None) -> list[ShownChannel]:
        """The shelf's channels, by name."""
        return [_shown(channel) for channel in await self._db.read(lambda tx: list_channels_tx(tx, shelf_id, user_id))]

    async def get(self, shelf_id: ShelfId, public_id: PublicId, user_id: UserId | None = None) -> ShownChannel:
        """One of them, or NotFound."""
        return _shown(await self._db.read(lambda tx: find_channel_tx(tx, shelf_id, user_id, public_id)))

    async def add(
        self, shelf_id: ShelfId, kind: str, *, name: str, config: Mapping[str, Any], user_id: UserId | None = None
    ) -> AddedChannel:
        """A new channel; Invalid for an address that may not be called, Conflict when the name is taken.

        LimitExceeded when the shelf has as many as it may.
        """
        how = _kind(kind)
        if how.is_browser:
            raise Invalid(ONLY_ITSELF, (Problem("kind", ONLY_ITSELF),))
        whole = how.complete(config, secrets.token_bytes(32))
        new = NewChannel(
            public_id=uuid7(self._clock(), secrets.token_bytes(10)),
            shelf_id=shelf_id,
            kind=kind,
            name=_name(name),
            config=await self._vetted(how, whole),
            user_id=user_id,
        )

        async def add(tx: Tx) -> StoredChannel:
            await lock_shelf_tx(tx, shelf_id)
            await self._must_have_room_tx(tx, shelf_id)
            return await add_channel_tx(tx, new, self._clock())

        channel = await self._db.with_tx(add)
        return AddedChannel(_shown(channel), {key: value for key, value in whole.items() if config.get(key) != value})

    async def push_key(self) -> str:
        """By which browsers know this server, as they want it."""
        return base64url(public_key(await self._push_key()))

    async def add_browser(
        self, shelf_id: ShelfId, user_id: UserId | None, browser: Browser, was: str = ""
    ) -> ShownChannel:
        """A browser as a channel. One that is known by its address, or by the one that it had before, is changed."""
        config = {name: value for name, value in msgspec.structs.asdict(browser).items() if name != "name"}
        whole = await self._vetted(KINDS[PUSH], {**config, "key": base64url(await self._push_key())})

        async def add(tx: Tx) -> StoredChannel:
            await lock_shelf_tx(tx, shelf_id)
            now = self._clock()
            before = await _browser_tx(tx, shelf_id, user_id, {whole["url"], was})
            if before is not None:
                if before.config["url"] == was:
                    whole["titles"] = before.config["titles"]
                return await change_channel_tx(tx, msgspec.structs.replace(before, config=whole, is_enabled=True), now)
            taken = await tx.many(str, q.channel_names, shelf_id=shelf_id)
            await self._must_have_room_tx(tx, shelf_id)
            new = NewChannel(
                public_id=uuid7(now, secrets.token_bytes(10)),
                shelf_id=shelf_id,
                kind=PUSH,
                name=_free(_name(browser.name), taken),
                config=whole,
                user_id=user_id,
            )
            return await add_channel_tx(tx, new, now)

        return _shown(await self._db.with_tx(add))

    async def remove_browser(self, shelf_id: ShelfId, user_id: UserId | None, url: str) -> None:
        """Tell the browser of this address nothing more; nothing happens for one that is not known."""

        async def remove(tx: Tx) -> None:
            known = await _browser_tx(tx, shelf_id, user_id, {url})
            if known is not None:
                await remove_channel_tx(tx, shelf_id, user_id, known.public_id)

        await self._db.with_tx(remove)

    async def _push_key(self) -> bytes:
        fresh = secrets.token_bytes(KEY_SIZE)
        return private_key(await self._db.with_tx(lambda tx: secret_tx(tx, _PUSH_SECRET, fresh, self._clock())))

    @staticmethod
    async def _must_have_room_tx(tx: Tx, shelf_id: ShelfId) -> None:
        if await tx.one(int, q.count_channels, shelf_id=shelf_id) >= MOST_CHANNELS:
            raise LimitExceeded(f"A shelf has at most {MOST_CHANNELS} channels. Remove one first.")

    async def change(
        self, shelf_id: ShelfId, public_id: PublicId, change: ChannelChange, user_id: UserId | None = None
    ) -> ShownChannel:
        """Change it and forget its failures; what is sent as it was shown stays as it is."""
        stored = await self._db.read(lambda tx: find_channel_tx(tx, shelf_id, user_id, public_id))
        config = stored.config
        if change.config is not None:
            kind = _kind(stored.kind)
            config = await self._vetted(kind, restored(kind, change.config, stored.config))
        wanted = msgspec.structs.replace(
            stored,
            name=stored.name if change.name is None else _name(change.name),
            config=config,
            is_enabled=stored.is_enabled if change.is_enabled is None else change.is_enabled,
        )
        return _shown(await self._db.with_tx(lambda tx: change_channel_tx(tx, wanted, self._clock())))

    async def remove(self, shelf_id: ShelfId, public_id: PublicId, user_id: UserId | None = None) -> None:
        """Its sends that still wait end as skipped; NotFound if there is none."""
        if not await self._db.with_tx(lambda tx: remove_channel_tx(tx, shelf_id, user_id, public_id)):
            raise NotFound("There is no such channel.")

    async def try_out(self, shelf_id: ShelfId, public_id: PublicId, user_id: UserId | None = None) -> TaskId:
        """Send a test message; its task shows the outcome.

        Conflict while the channel is switched off, TooManyRequests beyond what a shelf may send.
        """
        if not (await self.get(shelf_id, public_id, user_id)).is_enabled:
            raise Conflict("This channel is off. Turn it on first.")
        await self._trials.begin_alone(f"channel trials of {shelf_id}")
        now = self._clock()

        async def enqueue(tx: Tx) -> TaskId:
            channel = await find_channel_tx(tx, shelf_id, user_id, public_id)
            unique = delivery_id(channel.public_id, f"test-{now}")
            send = Send(
                channel_id=channel.id,
                channel=show_id(channel.public_id),
                delivery_id=unique,
                message=trial(now),
            )
            return (await enqueue_tx(tx, SENDS, send.task().key, send, now=now, priority=1)).id

        task_id = await self._db.with_tx(enqueue)
        self._wakeup.wake(SENDS.name)
        return task_id

    async def _vetted(self, kind: ChannelKind[Any], config: Mapping[str, Any]) -> dict[str, Any]:
        """The whole config as it is stored, its address judged by the guard and in canonical form."""
        read = read_config(kind, config)
        try:
            url = await self._client.check(read.url)
        except SourceError as error:
            raise Invalid(f"config.url: {error}", (Problem("config.url", str(error)),)) from error
        return {**msgspec.structs.asdict(read), "url": url}


def _kind(name: str) -> ChannelKind[Any]:
    if name not in KINDS:
        message = f"The kind must be one of {', '.join(sorted(KINDS))}."
        raise Invalid(message, (Problem("kind", message),))
    return KINDS[name]


def _name(text: str) -> str:
    name = text.strip()
    if not 0 < len(name) <= 100:
        message = "The name must have 1 to 100 characters."
        raise Invalid(message, (Problem("name", message),))
    return name


def _free(name: str, taken: Collection[str]) -> str:
    """The name, with a number where it is taken."""
    numbered = (f"{name} {number}" for number in itertools.count(2))
    return name if name not in taken else next(each for each in numbered if each not in taken)


def _shown(channel: StoredChannel) -> ShownChannel:
    shown = {
        field: getattr(channel, field) for field in ShownChannel.__struct_fields__ if field not in {"id", "config"}
    }
    return ShownChannel(id=channel.public_id, config=hidden(_kind(channel.kind), channel.config), **shown)


async def _browser_tx(tx: Tx, shelf_id: ShelfId, user_id: UserId | None, urls: Collection[str]) -> StoredChannel | None:
    listed = await list_channels_tx(tx, shelf_id, user_id)
    return next((each for each in listed if each.kind == PUSH and each.config["url"] in urls), None)


async def list_channels_tx(tx: Tx, shelf_id: ShelfId, user_id: UserId | None) -> list[StoredChannel]:
    """This person's on a shelf, and the shelf's own, by name."""
    return await tx.many(StoredChannel, q.list_channels, shelf_id=shelf_id, user_id=user_id)
