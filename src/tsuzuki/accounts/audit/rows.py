"""The audit log as it is asked and as it answers."""

from typing import Any

import msgspec

from tsuzuki.model.times import Millis


class AuditFilter(msgspec.Struct, frozen=True, kw_only=True):
    """Which rows of the log; what is None does not matter."""

    actor_id: str | None = None
    action: str | None = None
    prefix: str | None = None
    """With `action`: that one, and every one that begins like this."""
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
