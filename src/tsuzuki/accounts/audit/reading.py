"""Looking into the audit log."""

from collections.abc import Iterable

from tsuzuki.accounts.audit.rows import AuditFilter, AuditRow
from tsuzuki.accounts.audit.store import find_entity_name_tx, list_audit_tx
from tsuzuki.accounts.nouns import Slice
from tsuzuki.db import Database, Tx
from tsuzuki.model.ids import read_id

MOST_ROWS = 500


def action_filter(text: str | None) -> tuple[str | None, str | None]:
    """The action that is meant, and the beginning that others share with it.

    `user.disable` is that one and all below it, `user.` and `user.*` are all below, `us*` is whatever begins so.
    """
    if text is None:
        return None, None
    if text.endswith("*"):
        return None, text[:-1]
    if text.endswith("."):
        return None, text
    return text, f"{text}."


class AuditLog:
    """What the operator sees of the log."""

    def __init__(self, db: Database) -> None:
        self._db = db

    async def list(self, wanted: AuditFilter, part: Slice) -> tuple[list[AuditRow], int]:
        """Newest first, and how many there are in all."""
        return await self._db.read(lambda tx: list_audit_tx(tx, wanted, part))

    async def names(self, rows: Iterable[AuditRow]) -> dict[str, str]:
        """What the people, shelves and tenants of these rows are called, by their ids; not those that are gone."""
        things = {(row.entity_type, row.entity_id) for row in rows}

        async def collect(tx: Tx) -> dict[str, str]:
            names: dict[str, str] = {}
            for entity_type, entity_id in sorted(things):
                public_id = read_id(entity_id)
                name = None if public_id is None else await find_entity_name_tx(tx, entity_type, public_id)
                if name is not None:
                    names[entity_id] = name
            return names

        return await self._db.read(collect)
