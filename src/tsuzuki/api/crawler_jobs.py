"""Crawl jobs and their logs, for the operator. Names of fields as the crawler's contract has them."""

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta
from starlette.requests import Request
from starlette.responses import StreamingResponse

from tsuzuki.accounts.caller import Caller
from tsuzuki.api.decoder import invalid
from tsuzuki.api.endpoints import Access, Body, Id, Moment, QueryParameters, declaring
from tsuzuki.api.ids import IdText, PathId, id_in_field, number_in_body
from tsuzuki.api.paging import PageQuery
from tsuzuki.api.users import ReasonBody
from tsuzuki.api.views import ListAnswer, PageMeta, Time, read_time, view_of
from tsuzuki.crawler.service import NO_JOB, Follower, Jobs, NewCrawlJob
from tsuzuki.crawler.types import Job, JobFilter, JobLogRow, Kind, Level, LogPlace, Sort, Status
from tsuzuki.http.streams import event_stream
from tsuzuki.model.errors import Conflict, NotFound, Problem
from tsuzuki.model.ids import PublicId, read_id, show_id
from tsuzuki.model.times import from_iso, iso

_BAD_PLACE = "since must be a time such as 2026-02-22T00:16:49Z, or the nextcursor of a page."
_AFTER_ALL = b"\xff" * 16


def _job(text: str) -> PublicId:
    public_id = read_id(text)
    if public_id is None:
        raise NotFound(NO_JOB)
    return public_id


JobPath = Annotated[PublicId, PathId(IdText, _job)]


class SourceRef(msgspec.Struct, frozen=True):
    """The source of a job, by its name when the job was created."""

    id: int
    name: str
    slug: str


class ComicSummary(msgspec.Struct, frozen=True):
    """The comic of a job."""

    id: str
    title: str
    coverurl: str | None


class UserRef(msgspec.Struct, frozen=True):
    """The user who started a job."""

    id: str
    username: str


class JobView(msgspec.Struct, frozen=True, kw_only=True):
    """A crawl job; its log lines have the same id."""

    id: str
    kind: Kind
    sourceid: int
    source: SourceRef
    comicid: str | None
    comic: ComicSummary | None
    status: Status
    scheduledat: Time
    startedat: Time | None
    finishedat: Time | None
    pagescount: int
    errorcount: int
    lasterror: str | None
    triggeredby: str | None
    triggeredbyuser: UserRef | None
    createdat: Time
    updatedat: Time


class LogView(msgspec.Struct, frozen=True, kw_only=True):
    """A line of a job's log."""

    id: str
    jobid: str
    level: Level
    message: str
    meta: dict[str, Any] | None
    createdat: Time


job_view = view_of(
    JobView,
    Job,
    source=lambda job: SourceRef(job.source_id, job.source_name, job.source_slug),
    comic=lambda job: (
        None
        if job.comic_id is None
        else ComicSummary(show_id(job.comic_id), job.comic_title or "", job.comic_cover_url)
    ),
    triggeredbyuser=lambda job: (
        None if job.triggered_by is None else UserRef(show_id(job.triggered_by), job.username or "")
    ),
)
_log_view = view_of(LogView, JobLogRow, "jobid")


def log_view(row: JobLogRow, job_id: PublicId) -> LogView:
    """A line as it is answered."""
    return _log_view(row, jobid=show_id(job_id))


def show_place(row: JobLogRow) -> str:
    """R49: where the next page begins; its time, and which line of that time."""
    return f"{iso(row.created_at)}_{show_id(row.id)}"


def read_place(text: str | None) -> LogPlace:
    """R49: a time, or a place that we gave; Invalid for anything else."""
    if text is None:
        return LogPlace()
    time, _, line = text.partition("_")
    line_id = read_id(line) if line else _AFTER_ALL
    try:
        at = from_iso(time)
    except ValueError:
        at = None
    if at is None or line_id is None or at < 0:
        raise invalid([Problem("since", _BAD_PLACE)])
    return LogPlace(at, line_id)


class JobQuery(PageQuery, frozen=True, kw_only=True):
    """Which jobs, in which order, and which page of them. `triggeredby` is `scheduler` or `admin`."""

    status: tuple[Status, ...] = ()
    sourceid: Id | None = None
    comicid: IdText | None = None
    triggeredby: Literal["scheduler", "admin"] | None = None
    since: Moment | None = None
    sort: Sort = "scheduledat"
    limit: Annotated[int, Meta(ge=1, le=200)] = 50


class LogQuery(QueryParameters, frozen=True, kw_only=True):
    """Which lines. `since` is a time or a `nextcursor`; `level` is exact."""

    level: Level | None = None
    since: Annotated[str, Meta(max_length=100)] | None = None
    limit: Annotated[int, Meta(ge=1, le=1000)] = 100


class JobBody(Body, frozen=True, kw_only=True):
    """A job to queue: without `comicid` it discovers comics, without `scheduledat` it starts at once."""

    sourceid: Id
    comicid: IdText | None = None
    scheduledat: Moment | None = None

    @classmethod
    def beyond_types(cls, raw: Mapping[str, Any]) -> Iterator[Problem]:
        """An id that can be none."""
        comic = raw.get("comicid")
        if isinstance(comic, str) and read_id(comic) is None:
            yield Problem("comicid", "comicid must be an id.")


class CancelledView(msgspec.Struct, frozen=True):
    """The state of the job."""

    id: str
    status: Status
    updatedat: Time


class LogMeta(msgspec.Struct, frozen=True):
    """How many lines there are, and the position after the last one shown, where later lines begin.

    `archived` counts the lines that are only in the archive files now.
    """

    total: int
    nextcursor: str | None
    archived: int


async def list_crawl_jobs(query: JobQuery, jobs: Jobs) -> ListAnswer[JobView, PageMeta]:
    """In descending order; never cached."""
    wanted = JobFilter(
        statuses=query.status,
        source_id=query.sourceid,
        comic_id=id_in_field(query.comicid, "comicid"),
        is_manual=None if query.triggeredby is None else query.triggeredby == "admin",
        since=read_time(query.since),
        sort=query.sort,
    )
    rows, total = await jobs.list(wanted, query.part)
    return ListAnswer([job_view(row) for row in rows], query.meta(total))


async def trigger_crawl_job(caller: Caller, body: JobBody, jobs: Jobs) -> JobView:
    """Queues a job. If a job for the same source and comic is active, returns 409 with its id in `details`."""
    new = NewCrawlJob(body.sourceid, id_in_field(body.comicid, "comicid"), read_time(body.scheduledat))
    return job_view(await jobs.trigger(caller, new))


async def new_job_problems(raw: Mapping[str, Any], jobs: Jobs) -> Iterable[Problem]:
    """What its source says of a job that cannot be queued as it was sent."""
    source_id, comic = number_in_body(raw, "sourceid"), raw.get("comicid")
    if source_id is None:
        return ()
    return await jobs.problems(NewCrawlJob(source_id, read_id(comic) if isinstance(comic, str) else None))


async def show_crawl_job(job_id: JobPath, jobs: Jobs) -> JobView:
    """One job."""
    return job_view(await jobs.get(job_id))


async def cancel_crawl_job(job_id: JobPath, caller: Caller, body: ReasonBody, jobs: Jobs) -> CancelledView:
    """Cancels a queued job, or stops a running one within a second."""
    job = await jobs.cancel(caller.actor, job_id, reason=body.reason)
    return CancelledView(show_id(job.public_id), job.status, iso(job.updated_at))


async def list_crawl_logs(job_id: JobPath, query: LogQuery, jobs: Jobs) -> ListAnswer[LogView, LogMeta]:
    """Oldest first; never cached."""
    page = await jobs.log(job_id, after=read_place(query.since), level=query.level, most=query.limit)
    place = show_place(page.rows[-1]) if page.rows else query.since
    return ListAnswer([log_view(row, job_id) for row in page.rows], LogMeta(page.total, place, page.archived))


async def follow_crawl_job(job_id: JobPath, request: Request, jobs: Jobs, follower: Follower) -> StreamingResponse:
    """A `text/event-stream` of `log` and `status` events until the job ends. `Last-Event-ID` resumes the log."""
    job = await jobs.get(job_id)
    after = read_place(request.headers.get("last-event-id"))
    return event_stream(follower.follow(job.public_id, after), partial(_event, job.public_id))


def _event(public_id: PublicId, item: Job | JobLogRow) -> bytes:
    """JSON of ours has no line breaks."""
    if isinstance(item, Job):
        return b"event: status\ndata: " + msgspec.json.encode(job_view(item)) + b"\n\n"
    data = msgspec.json.encode(log_view(item, public_id))
    return f"id: {show_place(item)}\nevent: log\ndata: ".encode() + data + b"\n\n"


_admin = declaring("crawler", Access.ADMIN)
_ALL = "/admin/crawler/jobs"
_ONE = "/admin/crawler/jobs/{job_id}"

ENDPOINTS = (
    _admin("GET", _ALL, list_crawl_jobs, "List crawl jobs"),
    _admin(
        "POST",
        _ALL,
        trigger_crawl_job,
        "Trigger a crawl",
        status=201,
        errors=(NotFound, Conflict),
        also=new_job_problems,
    ),
    _admin("GET", _ONE, show_crawl_job, "Show a crawl job", errors=(NotFound,)),
    _admin("PATCH", f"{_ONE}/cancel", cancel_crawl_job, "Cancel a crawl job", errors=(NotFound,)),
    _admin("GET", f"{_ONE}/logs", list_crawl_logs, "List the log of a crawl job", errors=(NotFound,)),
    _admin("GET", f"{_ONE}/events", follow_crawl_job, "Stream a crawl job", errors=(NotFound,)),
)
