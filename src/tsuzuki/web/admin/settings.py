"""`/admin/feeds`: the feeds that fail, whoever follows them."""

from itertools import groupby

from starlette.requests import Request
from starlette.responses import Response

from tsuzuki.accounts.caller import Caller
from tsuzuki.http.routing import Resource, page
from tsuzuki.web.ids import pages_of, slice_of
from tsuzuki.web.retention_form import keep_words
from tsuzuki.web.site import Site
from tsuzuki.web.texts import sized

SETTINGS_PATH = "/admin/settings"


def server_settings_page(site: Site) -> Resource:
    """The table."""
    groups = [(group, list(rows)) for group, rows in groupby(site.settings, key=lambda row: row.group)]

    async def show_settings(request: Request, caller: Caller) -> Response:
        frame = await site.frame(request, caller, "server_settings")
        return site.show(frame, "admin/settings.html", groups=groups)

    return page(SETTINGS_PATH, site.operator(show_settings))


RETENTION_PATH = "/admin/retention"


def retention_page(site: Site) -> Resource:
    """Counts only: what is removed is decided by settings, and done at night."""
    preview = site.preview

    async def show_removable(request: Request, caller: Caller) -> Response:
        found = await preview.removable()
        return site.show(
            await site.frame(request, caller, "admin"),
            "admin/retention.html",
            rows=found,
            steps={step.name: step for step in await preview.steps()},
            hours=preview.rules.hours,
            freed=sized(sum(each.bytes for each in found)),
            anything=any(each.rows or each.is_more for each in found),
            is_more=any(each.is_more for each in found),
            keep_words=keep_words,
        )

    return page(RETENTION_PATH, site.operator(show_removable))


FEEDS_PATH = "/admin/feeds"


def failing_feeds_page(site: Site) -> Resource:
    """The list, the worst first."""
    figures = site.figures

    async def show_failing_feeds(request: Request, caller: Caller) -> Response:
        frame = await site.frame(request, caller, "admin")
        rows, total = await figures.failing_feeds(slice_of(request))
        return site.show(frame, "admin/feeds.html", rows=rows, pages=pages_of(request, total))

    return page(FEEDS_PATH, site.operator(show_failing_feeds))
