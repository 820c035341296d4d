"""`/admin`: queues, sources, storage, the last day and week, and the switch for all sources."""

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from tsuzuki.accounts.caller import Caller
from tsuzuki.accounts.types import Slice
from tsuzuki.http.routing import Resource
from tsuzuki.model.times import DAY, Millis
from tsuzuki.sources.types import SourceFilter
from tsuzuki.web.admin.charts import charts_of, span_of
from tsuzuki.web.admin.sources import SourceHealthRow, source_rows
from tsuzuki.web.forms import read_form, read_reason, see
from tsuzuki.web.site import Site, with_query

PATH = "/admin"
MOST_SOURCES = 2000
MOST_LISTED = 5


class Watchlist(msgspec.Struct, frozen=True):
    """Which sources want to be looked at."""

    total: int
    failing: list[SourceHealthRow]
    disabled: int
    slowest: list[SourceHealthRow]


def dashboard_pages(site: Site) -> tuple[Resource, ...]:
    """The page and its switch."""
    figures, workers, sources = site.figures, site.workers, site.crawling.sources

    async def show_dashboard(request: Request, caller: Caller) -> Response:
        frame = await site.frame(request, caller, "admin")
        listed, total = await sources.list(SourceFilter(), Slice(most=MOST_SOURCES))
        feeds, failing_feeds = await figures.failing_feeds(Slice(most=MOST_LISTED))
        rows = source_rows(listed, await figures.source_hours(Millis(DAY)), frame.now)
        return site.show(
            frame,
            "admin/dashboard.html",
            queues=await figures.queues(),
            workforce=await workers.get(),
            watchlist=_watchlist(rows, total),
            feeds=feeds,
            failing_feeds=failing_feeds,
            charts=await charts_of(figures, span_of(request.query_params.get("span")), frame.now),
            amounts=await figures.amounts(),
            pause=await sources.show_pause(),
        )

    async def switch(request: Request, caller: Caller) -> Response:
        form = await read_form(request)
        reason = read_reason(form)
        if form.one("pause") == "on":
            await sources.pause(caller.actor, reason)
            return see(with_query(PATH, done="crawler_paused"))
        await sources.resume(caller.actor, reason)
        return see(with_query(PATH, done="crawler_resumed"))

    return (
        Resource(PATH, {"GET": site.operator(show_dashboard)}),
        Resource(f"{PATH}/crawler", {"POST": site.operator(switch, PATH)}),
    )


def _watchlist(rows: list[SourceHealthRow], total: int) -> Watchlist:
    failing = [row for row in rows if row.state == "failing"]
    timed = [row for row in rows if row.spark.average_ms is not None]
    return Watchlist(
        total,
        sorted(failing, key=lambda row: -row.source.consecutive_fails)[:MOST_LISTED],
        sum(row.state == "disabled" for row in rows),
        sorted(timed, key=lambda row: -(row.spark.average_ms or 0))[:MOST_LISTED],
    )
