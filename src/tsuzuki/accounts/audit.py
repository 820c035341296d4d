"""The audit log: who did what, written in the transaction of the action and never changed."""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from tsuzuki.accounts.types import Actor, Slice
from tsuzuki.db import Database, Tx, load_queries
from tsuzuki.model.ids import PublicId, read_id, show_id
from tsuzuki.model.secrets import MASKED, is_secret, mask_text
from tsuzuki.model.times import Millis


class AuditFilter(msgspec.Struct, frozen=True, kw_only=True):
    """Which rows of the log; what is None does not matter."""

    actor_id: str | None = None
    action: str | None = None
    prefix: str | None = None
    """Together with `action`: rows of that action, and of all that begin with this."""
    entity_type: str | None = None
    entity_id: str | None = None
    since: Millis = Millis(0)
    until: Millis = Millis(2**62)


class AuditRow(msgspec.Struct, frozen=True):
    """One thing that somebody did."""

    id: int
    at: Millis
    actor_id: str | None
    actor: str
    action: str
    entity_type: str
    entity_id: str
    before: dict[str, Any] | None
    after: dict[str, Any] | None
    reason: str | None
    address: str | None


q = load_queries("tsuzuki.accounts.audit")


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
    """The rows that match, newest first, and how many there are in all."""
    filters = msgspec.structs.asdict(wanted)
    rows = await tx.many(AuditRow, q.list_audit, most=part.most, skip=part.skip, **filters)
    return rows, await tx.one(int, q.count_audit, **filters)


class AuditEvent(msgspec.Struct, frozen=True):
    """What was done to what. `action` is in dot notation and begins with the entity's type: `user.disable`."""

    action: str
    entity_type: str
    entity_id: str
    before: Mapping[str, Any] | None = None
    after: Mapping[str, Any] | None = None
    reason: str | None = None


async def record_tx(tx: Tx, actor: Actor, audit_event: AuditEvent, *, now: Millis) -> None:
    """Append an event to the log, with its secrets masked."""
    values = q.add_audit.values_of(
        audit_event,
        at=now,
        actor_id=show_id(actor.id) if actor.id else None,
        actor=actor.name,
        before=None if audit_event.before is None else masked(audit_event.before),
        after=None if audit_event.after is None else masked(audit_event.after),
        reason=None if audit_event.reason is None else mask_text(audit_event.reason),
        address=actor.address,
    )
    await tx.run(q.add_audit, **values)


def masked(values: Mapping[str, Any]) -> dict[str, Any]:
    """The values with `***` for each secret, at any depth."""
    return {str(name): _masked(value, secret=is_secret(str(name))) for name, value in values.items()}


def _masked(value: Any, *, secret: bool) -> Any:
    if isinstance(value, Mapping):
        return {str(name): _masked(inner, secret=secret or is_secret(str(name))) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_masked(inner, secret=secret) for inner in value]
    if secret:
        return value if value is None or isinstance(value, bool) else MASKED
    return mask_text(value) if isinstance(value, str) else value


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
