"""The audit log's rows."""

from typing import Any

import msgspec

from tsuzuki.accounts.audit.rows import AuditFilter, AuditRow
from tsuzuki.accounts.nouns import Slice
from tsuzuki.db import Tx, load_queries
from tsuzuki.model.ids import PublicId
from tsuzuki.model.times import Millis

q = load_queries("tsuzuki.accounts.audit")


class NewAuditRow(msgspec.Struct, frozen=True, kw_only=True):
    """A row that is about to be written; secrets are masked already."""

    at: Millis
    actor_id: str | None
    actor: str
    action: str
    entity_type: str
    entity_id: str
    before: dict[str, Any] | None = None
    after: dict[str, Any] | None = None
    reason: str | None = None
    address: str | None = None


async def add_audit_tx(tx: Tx, row: NewAuditRow) -> None:
    """Written once and never changed: the schema refuses it."""
    await tx.run(q.add_audit, **msgspec.structs.asdict(row))


async def find_entity_name_tx(tx: Tx, entity_type: str, public_id: PublicId) -> str | None:
    """What a person, a shelf or a tenant is called now; None for one that is gone, and for everything else."""
    match entity_type:
        case "shelf":
            return await tx.maybe(str, q.find_shelf_name, public_id=public_id)
        case "user":
            return await tx.maybe(str, q.find_user_name, public_id=public_id)
        case "tenant":
            return await tx.maybe(str, q.find_tenant_name, public_id=public_id)
        case _:
            return None


async def list_audit_tx(tx: Tx, wanted: AuditFilter, part: Slice) -> tuple[list[AuditRow], int]:
    """Newest first, and how many there are in all."""
    filters = msgspec.structs.asdict(wanted)
    rows = await tx.many(AuditRow, q.list_audit, most=part.most, skip=part.skip, **filters)
    return rows, await tx.one(int, q.count_audit, **filters)
