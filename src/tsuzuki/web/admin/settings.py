"""`/admin/settings`, `/admin/retention` and the list of failing feeds."""

from itertools import groupby

from starlette.requests import Request
from starlette.responses import Response

from tsuzuki.accounts.caller import Caller
from tsuzuki.http.routing import Resource, page
from tsuzuki.web.ids import pages_of, slice_of
from tsuzuki.web.retention_form import keep_words
from tsuzuki.web.site import Site
from tsuzuki.web.texts import sized


def server_pages(site: Site) -> tuple[Resource, ...]:
    """`/admin/settings`, `/admin/retention` and `/admin/feeds`."""
    groups = [(group, list(rows)) for group, rows in groupby(site.settings, key=lambda row: row.group)]
    preview = site.preview

    async def show_settings(request: Request, caller: Caller) -> Response:
        frame = await site.frame(request, caller, "server_settings")
        return site.show(frame, "admin/settings.html", groups=groups)

    async def show_removable(request: Request, caller: Caller) -> Response:
        """Counts only: what is removed is decided by settings, and done at night."""
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

    async def show_failing_feeds(request: Request, caller: Caller) -> Response:
        """The worst first, whoever follows them."""
        frame = await site.frame(request, caller, "admin")
        rows, total = await site.figures.failing_feeds(slice_of(request))
        return site.show(frame, "admin/feeds.html", rows=rows, pages=pages_of(request, total))

    return (
        page("/admin/settings", site.operator(show_settings)),
        page("/admin/retention", site.operator(show_removable)),
        page("/admin/feeds", site.operator(show_failing_feeds)),
    )
