"""The audit log, and what retention would remove. Field names as in the crawler's domain."""

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from tsuzuki.accounts.audit import MOST_ROWS, AuditFilter, AuditLog, AuditRow, action_filter
from tsuzuki.api.endpoints import Access, Moment, declaring
from tsuzuki.api.paging import PageQuery
from tsuzuki.api.views import ListAnswer, PageMeta, Time, shown, view_of
from tsuzuki.model.times import DAY, Millis, from_datetime
from tsuzuki.retention.preview import Preview, RemovableRows

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
    """One action of a user; without `actorid`, of the system."""

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


class RemovableView(msgspec.Struct, frozen=True, kw_only=True):
    """What would be deleted of one kind now. `keep_days` is the server's setting; 0 is for ever.

    `is_more`: counting stopped before everything was counted. `removed` is how many rows were deleted in total so far.
    """

    what: str
    keep_days: int | None
    rows: int
    bytes: int
    is_more: bool
    removed: int
    finished_at: Time | None


_removable_view = view_of(
    RemovableView,
    RemovableRows,
    "removed",
    "finished_at",
    keep_days=lambda each: None if each.keep is None else each.keep // DAY,
)


class RetentionView(msgspec.Struct, frozen=True):
    """By kind, in the order in which they are deleted, between two hours of the day."""

    hours: tuple[int, int]
    removable: list[RemovableView]


async def show_retention(preview: Preview) -> RetentionView:
    """What would be deleted next night, and about how many bytes. Counting takes at most two seconds."""
    steps = {step.name: step for step in await preview.steps()}

    def view(each: RemovableRows) -> RemovableView:
        step = steps.get(each.what)
        return _removable_view(
            each,
            removed=0 if step is None else step.pruned,
            finished_at=None if step is None else shown(step.finished_at or None),
        )

    return RetentionView(preview.rules.hours, [view(each) for each in await preview.removable()])


_admin = declaring("audit", Access.ADMIN)

ENDPOINTS = (
    _admin("GET", "/admin/auditlog", list_audit_log, "List the audit log"),
    _admin("GET", "/admin/retention", show_retention, "Preview what will be deleted"),
)
