"""Seals secrets that are stored in clear or under an older key, at the start (R123)."""

from collections.abc import Callable, Coroutine, Mapping
from functools import partial
from typing import Any, Final

import msgspec

from tsuzuki.db.database import Database
from tsuzuki.db.queries import load_queries
from tsuzuki.db.tx import Tx
from tsuzuki.db.vault import Vault
from tsuzuki.model.secrets import CHANNEL, FEED_OUT, HUB, NOTE, PROXY, SOURCE, Unreadable, unreadable_places
from tsuzuki.model.times import Millis

q = load_queries("tsuzuki.db.sealed_columns")

CHUNK = 500


class StoredConfig(msgspec.Struct, frozen=True):
    """A config as it is stored, sealed or not."""

    id: int
    name: str
    config: dict[str, Any]


class StoredText(msgspec.Struct, frozen=True):
    """A text as it is stored, sealed or not."""

    id: int
    name: str
    value: str


class StoredTexts(msgspec.Struct, frozen=True):
    """The secrets of a subscription at the hub, as they are stored."""

    id: int
    name: str
    topic: str
    callback: str
    secret: str
    asked_secret: str

    def changed(self, do: Callable[[str], str]) -> dict[str, str]:
        """Each of them with this done to it; what is empty stays so."""
        named = {name: getattr(self, name) for name in ("topic", "callback", "secret", "asked_secret")}
        return {name: do(text) if text else "" for name, text in named.items()}


class Chunk(msgspec.Struct, frozen=True):
    """How far a chunk went, None when that is the end; and what in it cannot be read."""

    last: int | None
    unreadable: tuple[str, ...]


async def sealed_with_tx(tx: Tx) -> bytes | None:
    """The fingerprint of the key that everything is sealed with; None when nothing says so."""
    return await tx.maybe(bytes, q.sealed_with)


async def seal_configs_tx(tx: Tx, after: int, *, place: str) -> Chunk:
    """The next chunk of channels or of sources."""
    of_channels = place == CHANNEL
    reseal = tx.vault.reseal_channel if of_channels else tx.vault.reseal_source
    rows = await tx.many(StoredConfig, q.channels_after if of_channels else q.sources_after, after=after, most=CHUNK)
    for row in rows:
        wanted = reseal(row.config)
        if wanted != row.config:
            await tx.run(q.seal_channel if of_channels else q.seal_source, id=row.id, config=wanted)
    return _chunk(rows, [row.name for row in rows if unreadable_places(tx.vault.open_values(row.config, place))])


async def seal_proxies_tx(tx: Tx, after: int) -> Chunk:
    """The next chunk of feeds with proxies."""
    rows = await tx.many(StoredText, q.proxies_after, after=after, most=CHUNK)
    for row in rows:
        wanted = tx.vault.reseal_proxy(row.value)
        if wanted != row.value:
            await tx.run(q.seal_proxy, id=row.id, value=wanted)
    return _chunk(rows, [row.name for row in rows if isinstance(tx.vault.open(row.value, PROXY), Unreadable)])


async def seal_notes_tx(tx: Tx, after: int) -> Chunk:
    """The next chunk of what is noted about sources."""
    rows = await tx.many(StoredText, q.notes_after, after=after, most=CHUNK)
    for row in rows:
        wanted = tx.vault.reseal_note(row.name, row.value)
        if wanted != row.value:
            await tx.run(q.seal_note, id=row.id, name=row.name, value=wanted)
    chunk = _chunk(rows, [row.name for row in rows if isinstance(tx.vault.open(row.value, NOTE), Unreadable)])
    # A source has fewer notes than a chunk: the last one, whose notes may have been cut off, begins the next.
    return chunk if chunk.last is None else msgspec.structs.replace(chunk, last=chunk.last - 1)


async def seal_feeds_out_tx(tx: Tx, after: int) -> Chunk:
    """The next chunk of feeds out."""
    rows = await tx.many(StoredText, q.feeds_out_after, after=after, most=CHUNK)
    for row in rows:
        wanted = tx.vault.reseal(row.value, FEED_OUT)
        if wanted != row.value:
            await tx.run(q.seal_feed_out, id=row.id, value=wanted)
    return _chunk(rows, [row.name for row in rows if isinstance(tx.vault.open(row.value, FEED_OUT), Unreadable)])


async def seal_hub_tx(tx: Tx, after: int) -> Chunk:
    """The next chunk of subscriptions at the hub."""
    rows = await tx.many(StoredTexts, q.hub_after, after=after, most=CHUNK)
    unreadable = []
    for row in rows:
        wanted = row.changed(lambda text: tx.vault.reseal(text, HUB))
        if wanted != row.changed(str):
            await tx.run(q.seal_hub, id=row.id, **wanted)
        if any(isinstance(text, Unreadable) for text in row.changed(lambda text: tx.vault.open(text, HUB)).values()):
            unreadable.append(row.name)
    return _chunk(rows, unreadable)


def _chunk(rows: list[Any], unreadable: list[str]) -> Chunk:
    return Chunk(rows[-1].id if len(rows) == CHUNK else None, tuple(unreadable))


SEALERS: Final[Mapping[str, Callable[..., Coroutine[Any, Any, Chunk]]]] = {
    "channels": partial(seal_configs_tx, place=CHANNEL),
    "sources": partial(seal_configs_tx, place=SOURCE),
    "feeds": seal_proxies_tx,
    "notes": seal_notes_tx,
    "feeds_out": seal_feeds_out_tx,
    "hub_subscriptions": seal_hub_tx,
}


async def seal_stored(db: Database, vault: Vault, now: Millis) -> dict[str, list[str]]:
    """Seal what is stored; what cannot be read, by kind.

    `vault` is the one that the database was opened with. What an earlier start sealed with this key is not read
    again.
    """
    if vault.fingerprint is None or await db.read(sealed_with_tx) == vault.fingerprint:
        return {}
    unreadable: dict[str, list[str]] = {}
    for kind, seal_tx in SEALERS.items():
        after: int | None = 0
        while after is not None:
            chunk = await db.with_tx(partial(seal_tx, after=after))
            if chunk.unreadable:
                unreadable.setdefault(kind, []).extend(chunk.unreadable)
            after = chunk.last
    if not unreadable:
        fingerprint = vault.fingerprint
        await db.with_tx(lambda tx: tx.run(q.set_sealed_with, value=fingerprint, now=now))
    return unreadable
