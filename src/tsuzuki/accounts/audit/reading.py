"""Looking into the audit log."""

from tsuzuki.accounts.audit.rows import AuditFilter, AuditRow
from tsuzuki.accounts.audit.store import list_audit_tx
from tsuzuki.accounts.nouns import Slice
from tsuzuki.db import Database

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
