"""Notes on sources: keys and values that clients store there."""

from collections.abc import Callable

from tsuzuki.accounts.audit import AuditEvent, record_tx
from tsuzuki.accounts.types import Actor
from tsuzuki.catalogue.types import MetaRow
from tsuzuki.connectors.config import masked
from tsuzuki.db import Database, Tx, load_queries
from tsuzuki.model.errors import LimitExceeded, NotFound
from tsuzuki.model.ids import SourceId
from tsuzuki.model.times import Millis
from tsuzuki.sources.sites import ENTITY, NO_SOURCE, lock_source_tx, source_tx

q = load_queries("tsuzuki.catalogue")

MOST_NOTES = 200
LONGEST_KEY = 256
LONGEST_VALUE = 10_000


class CatalogueNotes:
    """Reads and sets notes. Every change is in the audit log."""

    def __init__(self, db: Database, clock: Callable[[], Millis]) -> None:
        self._db = db
        self._clock = clock

    async def list(self, source_id: int) -> dict[str, str]:
        """The notes by key; values with secret names are `***` (R47)."""

        async def read(tx: Tx) -> dict[str, str]:
            source = await source_tx(tx, source_id)
            return await _notes_tx(tx, source.id)

        return masked(await self._db.read(read))

    async def set(self, actor: Actor, source_id: int, key: str, value: str | None) -> None:
        """Note a value, or forget it when it is None."""
        now = self._clock()

        async def change(tx: Tx) -> None:
            source = await lock_source_tx(tx, source_id)
            if source is None:
                raise NotFound(NO_SOURCE)
            before = await _notes_tx(tx, source.id)
            if value is None:
                await tx.run(q.drop_meta, source_id=source.id, key=key)
            else:
                if key not in before and len(before) >= MOST_NOTES:
                    raise LimitExceeded(f"A source can have at most {MOST_NOTES} notes; delete one first.")
                await tx.run(q.set_meta, source_id=source.id, key=key, value=tx.vault.seal_note(key, value))
            if before.get(key) != value:
                audit_event = AuditEvent(
                    f"{ENTITY}.note", ENTITY, str(source.id), before={key: before.get(key)}, after={key: value}
                )
                await record_tx(tx, actor, audit_event, now=now)

        await self._db.with_tx(change)


async def _notes_tx(tx: Tx, source_id: SourceId) -> dict[str, str]:
    return {row.key: row.value for row in await tx.many(MetaRow, q.list_meta, source_id=source_id)}
