"""The audit log, for the operator. Names of fields as in the crawler's domain."""

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from tsuzuki.accounts.audit import MOST_ROWS, AuditFilter, AuditLog, AuditRow, action_filter
from tsuzuki.api.endpoints import Access, Moment, declaring
from tsuzuki.api.paging import PageQuery
from tsuzuki.api.views import ListAnswer, PageMeta, Time, view_of
from tsuzuki.model.times import Millis, from_datetime

Word = Annotated[str, Meta(max_length=200)]


class AuditQuery(PageQuery, frozen=True, kw_only=True):
    """`action` is exact and with all below it (`user` finds `user.disable`); `user.*` and `us*` are beginnings.

    `actorid` is a user's id, or `system`. `from` is included, `to` is not.
    """

    actorid: Word | None = None
    action: Word | None = None
    entitytype: Word | None = None
    entityid: Word | None = None
    since: Moment | None = msgspec.field(default=None, name="from")
    until: Moment | None = msgspec.field(default=None, name="to")
    limit: Annotated[int, Meta(ge=1, le=MOST_ROWS)] = 50


class AuditView(msgspec.Struct, frozen=True):
    """One thing that somebody did; without `actorid` it was the system."""

    id: int
    actorid: str | None
    actor: str
    action: str
    entitytype: str
    entityid: str
    before: dict[str, Any] | None
    after: dict[str, Any] | None
    reason: str | None
    address: str | None
    createdat: Time


_audit_view = view_of(AuditView, AuditRow, createdat="at")


async def list_audit_log(query: AuditQuery, log: AuditLog) -> ListAnswer[AuditView, PageMeta]:
    """Newest first. Secrets are masked."""
    rows, total = await log.list(_filter(query), query.part)
    return ListAnswer([_audit_view(row) for row in rows], query.meta(total))


def _filter(query: AuditQuery) -> AuditFilter:
    action, prefix = action_filter(query.action)
    since, until = AuditFilter().since, AuditFilter().until
    return AuditFilter(
        actor_id=query.actorid,
        action=action,
        prefix=prefix,
        entity_type=query.entitytype,
        entity_id=query.entityid,
        since=since if query.since is None else from_datetime(query.since),
        until=until if query.until is None else Millis(from_datetime(query.until)),
    )


_admin = declaring("audit", Access.ADMIN)

ENDPOINTS = (_admin("GET", "/admin/auditlog", list_audit_log, "Who did what"),)
