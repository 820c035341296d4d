"""`/admin/retention`: what is kept for how long, what would go now, and what went."""

from starlette.requests import Request
from starlette.responses import Response

from tsuzuki.accounts.caller import Caller
from tsuzuki.http.routing import Resource, page
from tsuzuki.web.admin.units import sized
from tsuzuki.web.frame import framing_of
from tsuzuki.web.keeping_choices import keep_words
from tsuzuki.web.site import Site

PATH = "/admin/retention"


def retention_page(site: Site) -> Resource:
    """Counts only: what is removed is decided by settings, and done at night."""
    framing, preview = framing_of(site), site.preview

    async def show_removable(request: Request, caller: Caller) -> Response:
        found = await preview.removable()
        return framing.show(
            await framing.frame(request, caller, "desk"),
            "admin/retention.html",
            rows=found,
            steps={step.name: step for step in await preview.steps()},
            hours=preview.rules.hours,
            freed=sized(sum(each.bytes for each in found)),
            anything=any(each.rows or each.is_more for each in found),
            is_more=any(each.is_more for each in found),
            keep_words=keep_words,
            sized=sized,
        )

    return page(PATH, site.operator(show_removable))
