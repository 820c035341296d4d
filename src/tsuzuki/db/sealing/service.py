"""Seals what is stored with the first key, once, and tells what no key opens."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from tsuzuki.db.database import Database
from tsuzuki.db.sealing.store import (
    Chunk,
    seal_channels_tx,
    seal_notes_tx,
    seal_proxies_tx,
    seal_sources_tx,
    sealed_with_tx,
    set_sealed_with_tx,
)
from tsuzuki.db.tx import Tx
from tsuzuki.db.vault import Vault
from tsuzuki.model.times import Millis

SEALERS: Final[Mapping[str, Callable[[Tx, int], Awaitable[Chunk]]]] = {
    "channels": seal_channels_tx,
    "sources": seal_sources_tx,
    "feeds": seal_proxies_tx,
    "notes": seal_notes_tx,
}


async def seal_stored(db: Database, vault: Vault, now: Millis) -> dict[str, list[str]]:
    """What cannot be read, by its kind; nothing when all is well. `vault` is the one that the database was opened with.

    What was sealed with this key by an earlier start is not looked at again.
    """
    if vault.fingerprint is None or await db.read(sealed_with_tx) == vault.fingerprint:
        return {}
    unreadable: dict[str, list[str]] = {}
    for kind, sealer in SEALERS.items():
        if names := await _seal_all(db, sealer):
            unreadable[kind] = names
    if not unreadable:
        fingerprint = vault.fingerprint
        await db.with_tx(lambda tx: set_sealed_with_tx(tx, fingerprint, now))
    return unreadable


async def _seal_all(db: Database, sealer: Callable[[Tx, int], Awaitable[Chunk]]) -> list[str]:
    unreadable: list[str] = []
    after: int | None = 0
    while after is not None:
        start = after

        async def seal(tx: Tx, start: int = start) -> Chunk:
            return await sealer(tx, start)

        chunk = await db.with_tx(seal)
        unreadable += chunk.unreadable
        after = chunk.last
    return unreadable
