"""`/feeds`: every feed by its group, with how it is and what comes next."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from tsuzuki.accounts.caller import Caller
from tsuzuki.connectors.opml import MAX_BYTES
from tsuzuki.http.body import first_file, read_body
from tsuzuki.http.errors import failure_of
from tsuzuki.http.routing import Resource, page
from tsuzuki.images.icons import ShownIcon
from tsuzuki.model.errors import Invalid
from tsuzuki.model.ids import FeedId, read_id, show_id
from tsuzuki.polling.policy import AS_USUAL, why_failed
from tsuzuki.shelves.groups import Group
from tsuzuki.shelves.types import Subscription
from tsuzuki.web.forms import BLANK, FormState
from tsuzuki.web.frame import Frame
from tsuzuki.web.ids import moment_of
from tsuzuki.web.inbox.rows import Time, time_of
from tsuzuki.web.labels import find_label
from tsuzuki.web.locale import Locale
from tsuzuki.web.site import Site
from tsuzuki.web.texts import gettext as _

PATH = "/feeds"


class FeedListRow(msgspec.Struct, frozen=True, kw_only=True):
    """A feed as the list shows it."""

    id: str
    name: str
    link: str
    unread: int
    status: str
    """`ok`, `error`, `suspended` or `waiting`."""
    error: str | None
    failures: int
    checked: Time | None
    next: Time | None
    next_why: str
    is_asked: bool
    is_suspended_by_reader: bool
    picture: str | None
    """The address of its icon."""


class GroupRow(msgspec.Struct, frozen=True, kw_only=True):
    """A group and its feeds."""

    id: str
    name: str
    is_default: bool
    feeds: list[FeedListRow]
    is_first: bool
    is_last: bool


def feeds_page(site: Site) -> Resource:
    """The list; with `part=rows` only its groups."""
    groups, feeds, sources = site.reading.groups, site.reading.subscriptions, site.crawling.sources

    async def show_feeds(request: Request, caller: Caller) -> Response:
        frame = await site.frame(request, caller, "feeds")
        followed = await feeds.list(frame.shelf.id)
        icons = await site.icons.of_shelf(frame.shelf.id)
        rows = group_rows(await groups.list(frame.shelf.id), followed, icons, frame=frame)
        asked = request.query_params
        values: dict[str, Any] = {
            "groups": rows,
            "total": len(followed),
            "can_check": not all(feed.is_suspended for feed in followed),
            "pause": await sources.show_pause(),
            "failing": sum(feed.status == "error" for feed in followed),
        }
        left = read_id(asked.get("left", ""))  # what the address says was left; it may be had back
        if asked.get("part") == "rows":
            return site.show(frame, "feeds_rows.html", **values)
        return site.show(
            frame,
            "feeds.html",
            **values,
            done=feeds_done_text(asked, frame.locale),
            left=None if left is None else await feeds.former_name(frame.shelf.id, left),
            left_id=None if left is None else show_id(left),
            is_checking="checking" in asked,
        )

    return page(PATH, site.signed_in(show_feeds))


def feeds_done_text(said: Mapping[str, str], locale: Locale) -> str | None:
    """The message of an address, with the moment that it names."""
    until = moment_of(said.get("until", ""))
    if said.get("done") == "held" and until is not None:
        return _("The publisher asks not to be checked before %(time)s.", time=locale.moment(until))
    return find_label("done", said.get("done"))


def group_rows(
    groups: Sequence[Group], feeds: Sequence[Subscription], icons: Mapping[FeedId, ShownIcon], *, frame: Frame
) -> list[GroupRow]:
    """The groups with their feeds, in the given order."""
    return [
        GroupRow(
            id=show_id(group.public_id),
            name=group.name,
            is_default=group.is_default,
            feeds=[feed_row(feed, frame, icons.get(feed.feed_id)) for feed in feeds if feed.group_id == group.id],
            is_first=place == 0,
            is_last=place == len(groups) - 1,
        )
        for place, group in enumerate(groups)
    ]


def feed_row(feed: Subscription, frame: Frame, icon: ShownIcon | None = None) -> FeedListRow:
    """A feed as the template shows it."""
    is_gone = feed.watch_suspended_at is not None  # why is said beside the next check
    is_new = feed.last_checked_at is None and feed.status == "ok"
    next_at = None if feed.is_suspended or feed.paused_at is not None else feed.next_check_at
    return FeedListRow(
        id=show_id(feed.public_id),
        name=feed.shown_name,
        link=feed.link,
        unread=feed.unread_count,
        status="waiting" if is_new else feed.status,
        error=feed.last_error if feed.consecutive_failures and not is_gone else None,
        failures=feed.consecutive_failures,
        checked=time_of(feed.last_checked_at, frame) if feed.last_checked_at else None,
        next=time_of(next_at, frame) if next_at else None,
        next_why=_why(feed),
        is_asked=feed.refresh_at is not None,
        is_suspended_by_reader=feed.suspended_at is not None,
        picture=None if icon is None else icon.path,
    )


def _why(feed: Subscription) -> str:
    if feed.suspended_at is not None:
        return _("suspended by you")
    if feed.watch_suspended_at is not None:
        return feed.suspended_reason or ""
    if feed.paused_at is not None:
        return _("paused")
    said_already = (AS_USUAL, why_failed(feed.consecutive_failures))  # the error says how often it failed
    return "" if feed.next_check_why in said_already else feed.next_check_why


IMPORT_PATH = f"{PATH}/import"
_AROUND = 64 * 1024
MOST_SHOWN = 200


def list_page(site: Site) -> Resource:
    """`/feeds/import`"""
    lists = site.lists

    async def show(request: Request, caller: Caller, form_state: FormState = BLANK) -> Response:
        return site.show(await site.frame(request, caller, "feeds"), "feeds_import.html", form_state, report=None)

    async def read(request: Request, caller: Caller) -> Response:
        shelf_id = await site.shelf_id(caller)
        body = await read_body(request.scope, request.receive, MAX_BYTES + _AROUND)
        try:
            report = await lists.read(shelf_id, first_file(request.headers.get("content-type", ""), body))
        except Invalid as error:
            wrong = FormState(errors={"file": str(error)}, status=failure_of(error, "").status)
            return await show(request, caller, wrong)
        failed = [line for line in report if line.outcome == "failed"][:MOST_SHOWN]
        frame = await site.frame(request, caller, "feeds")
        counts = Counter(line.outcome for line in report)
        return site.show(frame, "feeds_import.html", report=counts, failed=failed)

    return Resource(IMPORT_PATH, {"GET": site.signed_in(show), "POST": site.signed_in(read, IMPORT_PATH)})
