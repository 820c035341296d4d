"""`/admin/audit`: who did what, when and why."""

from collections.abc import Mapping
from datetime import UTC, date, datetime, time
from functools import partial

from starlette.requests import Request
from starlette.responses import Response

from tsuzuki.accounts.audit import AuditFilter, AuditRow, action_filter
from tsuzuki.accounts.caller import Caller
from tsuzuki.accounts.users import Users
from tsuzuki.http.routing import Resource, page
from tsuzuki.model.errors import NotFound
from tsuzuki.model.ids import show_id
from tsuzuki.model.times import DAY, Millis, from_datetime
from tsuzuki.web.admin.sources import as_json
from tsuzuki.web.ids import pages_of, slice_of, word_of
from tsuzuki.web.site import Site

PATH = "/admin/audit"
FILTERS = ("actor", "action", "type", "id", "from", "to")
PLACES = {
    "user": "/admin/users/",
    "crawlersource": "/admin/sources/",
    "crawljob": "/admin/jobs/",
    "deadletter": "/admin/dead-letters/",
}
BILLED_PLACES = PLACES | {"tenant": "/admin/tenants/", "invoice": "/admin/invoices/"}
"""Places including the pages that exist only while billing is on."""
_SYSTEM = "system"


def audit_page(site: Site) -> Resource:
    """The log, newest first."""
    log, users = site.accounts.audit_log, site.accounts.users
    places = BILLED_PLACES if site.billing.is_on else PLACES

    async def show_audit(request: Request, caller: Caller) -> Response:
        frame = await site.frame(request, caller, "audit")
        chosen = {name: word_of(request, name) for name in FILTERS}
        rows, total = await log.list(await _wanted(chosen, users), slice_of(request))
        return site.show(
            frame,
            "admin/audit.html",
            rows=rows,
            names=await log.names(rows),
            pages=pages_of(request, total),
            chosen=chosen,
            place_of=partial(_place, places),
            as_json=as_json,
        )

    return page(PATH, site.operator(show_audit))


async def _wanted(chosen: dict[str, str | None], users: Users) -> AuditFilter:
    action, prefix = action_filter(chosen["action"])
    since, until = _day(chosen["from"]), _day(chosen["to"])
    return AuditFilter(
        actor_id=await _actor(chosen["actor"], users),
        action=action,
        prefix=prefix,
        entity_type=chosen["type"],
        entity_id=chosen["id"],
        since=AuditFilter().since if since is None else since,
        until=AuditFilter().until if until is None else Millis(until + DAY),
    )


async def _actor(name: str | None, users: Users) -> str | None:
    """The id of whoever has this name; a name that nobody has any more may be an id itself."""
    if name is None or name == _SYSTEM:
        return name
    try:
        return show_id((await users.find(name)).public_id)
    except NotFound:
        return name


def _day(text: str | None) -> Millis | None:
    """The beginning of a date in UTC; None for what is none."""
    try:
        day = date.fromisoformat(text or "")
    except ValueError:
        return None
    return from_datetime(datetime.combine(day, time(), UTC))


def _place(places: Mapping[str, str], row: AuditRow) -> str | None:
    """The page of the thing that was changed, if it still exists."""
    return f"{places[row.entity_type]}{row.entity_id}" if row.entity_type in places and row.entity_id != "*" else None
