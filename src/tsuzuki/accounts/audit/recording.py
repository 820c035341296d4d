"""Writing down who did what, in the transaction that did it."""

from collections.abc import Mapping
from typing import Any

import msgspec

from tsuzuki.accounts.audit.store import NewAuditRow, add_audit_tx
from tsuzuki.accounts.nouns import Actor
from tsuzuki.db import Tx
from tsuzuki.model.ids import show_id
from tsuzuki.model.secrets import MASKED, is_secret, mask_text
from tsuzuki.model.times import Millis


class AuditEvent(msgspec.Struct, frozen=True):
    """What was done to what. `action` is in dot notation and begins with the entity's type: `user.disable`."""

    action: str
    entity_type: str
    entity_id: str
    before: Mapping[str, Any] | None = None
    after: Mapping[str, Any] | None = None
    reason: str | None = None


async def record_tx(tx: Tx, actor: Actor, audit_event: AuditEvent, *, now: Millis) -> None:
    """Append it to the log, without a secret in it."""
    await add_audit_tx(
        tx,
        NewAuditRow(
            at=now,
            actor_id=show_id(actor.id) if actor.id else None,
            actor=actor.name,
            action=audit_event.action,
            entity_type=audit_event.entity_type,
            entity_id=audit_event.entity_id,
            before=None if audit_event.before is None else masked(audit_event.before),
            after=None if audit_event.after is None else masked(audit_event.after),
            reason=None if audit_event.reason is None else mask_text(audit_event.reason),
            address=actor.address,
        ),
    )


def masked(values: Mapping[str, Any]) -> dict[str, Any]:
    """The values with `***` for each secret, however deep it lies."""
    return {str(name): _masked(value, secret=is_secret(str(name))) for name, value in values.items()}


def _masked(value: Any, *, secret: bool) -> Any:
    if isinstance(value, Mapping):
        return {str(name): _masked(inner, secret=secret or is_secret(str(name))) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_masked(inner, secret=secret) for inner in value]
    if secret:
        return value if value is None or isinstance(value, bool) else MASKED
    return mask_text(value) if isinstance(value, str) else value
