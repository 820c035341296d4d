"""`/admin/jobs`: crawls that ran, run and will run; one of them with its log, live."""

from collections.abc import Sequence
from typing import get_args

from starlette.requests import Request
from starlette.responses import Response

from tsuzuki.accounts.caller import Caller
from tsuzuki.accounts.types import Slice
from tsuzuki.crawler.types import OVER, JobFilter, Level, LogPlace, Status
from tsuzuki.http.routing import Resource, page
from tsuzuki.model.errors import Invalid
from tsuzuki.model.ids import show_id
from tsuzuki.sources.types import Source, SourceFilter
from tsuzuki.web.forms import see
from tsuzuki.web.ids import id_of, number_of, pages_of, slice_of, word_of
from tsuzuki.web.site import Site, with_query
from tsuzuki.web.texts import gettext as _

PATH = "/admin/jobs"
STATUSES: tuple[Status, ...] = get_args(Status)
LEVELS: tuple[Level, ...] = get_args(Level)
MOST_LINES = 1000
MOST_SOURCES = 500


def job_pages(site: Site) -> tuple[Resource, ...]:
    """The list, one job, and stopping it."""
    jobs, sources = site.crawling.jobs, site.crawling.sources

    async def show_jobs(request: Request, caller: Caller) -> Response:
        frame = await site.frame(request, caller, "jobs")
        found, total = await jobs.list(_wanted(request), slice_of(request))
        named, _ = await sources.list(SourceFilter(), Slice(most=MOST_SOURCES))
        return site.show(
            frame,
            "admin/jobs.html",
            jobs=found,
            options=_options(named, word_of(request, "source")),
            pause=await sources.show_pause(),
            pages=pages_of(request, total),
            chosen={name: word_of(request, name) for name in ("status", "source", "by")},
            statuses=STATUSES,
        )

    async def show_job(request: Request, caller: Caller) -> Response:
        public_id = id_of(request, "job_id")
        level = next((one for one in LEVELS if one == request.query_params.get("level")), None)
        job = await jobs.get(public_id)
        log = await jobs.log(public_id, after=LogPlace(), level=level, most=MOST_LINES)
        frame = await site.frame(request, caller, "jobs")
        is_live = job.status not in OVER and level is None and len(log.rows) < MOST_LINES
        return site.show(
            frame,
            "admin/job.html",
            job=job,
            job_id=show_id(public_id),
            lines=log.rows,
            total=log.total,
            archived=log.archived,
            level=level,
            levels=LEVELS,
            is_over=job.status in OVER,
            is_live=is_live,
        )

    async def cancel(request: Request, caller: Caller) -> Response:
        public_id = id_of(request, "job_id")
        path = f"{PATH}/{show_id(public_id)}"
        try:
            await jobs.cancel(caller.actor, public_id, reason=None)
        except Invalid:  # R45: it came to its end first
            return see(with_query(path, done="job_over"))
        return see(with_query(path, done="job_cancelled"))

    one = f"{PATH}/{{job_id}}"
    return (
        page(PATH, site.operator(show_jobs)),
        page(one, site.operator(show_job)),
        Resource(f"{one}/cancel", {"POST": site.operator(cancel, PATH)}),
    )


def _options(sources: Sequence[Source], chosen: str | None) -> list[tuple[str, str]]:
    """Every source by its name; one that is gone, whose jobs stay (R51), by its number."""
    by_name = sorted(((str(one.id), one.name) for one in sources), key=lambda one: one[1].casefold())
    is_gone = chosen is not None and chosen not in dict(by_name)
    return [("", _("any")), *by_name, *([(chosen, chosen)] if is_gone and chosen else [])]


def _wanted(request: Request) -> JobFilter:
    """What the address asks for; whatever means nothing does not narrow."""
    status, by = word_of(request, "status"), word_of(request, "by")
    return JobFilter(
        statuses=tuple(one for one in STATUSES if one == status),
        source_id=number_of(word_of(request, "source")),
        is_manual={"people": True, "schedule": False}.get(by or ""),
    )
