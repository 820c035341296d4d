"""Health of sources, extensions, and the pause of all of them. Field names as in the contract."""

from typing import Any, Literal, get_args

import msgspec

from tsuzuki.accounts.caller import Caller
from tsuzuki.api.endpoints import Access, declaring
from tsuzuki.api.ids import SourcePath
from tsuzuki.api.users import ReasonBody
from tsuzuki.api.views import Time, shown, view_of
from tsuzuki.connectors.config import config_schema
from tsuzuki.connectors.protocol import Abilities, ConnectorInfo
from tsuzuki.connectors.registry import Registry
from tsuzuki.coord.cache import Cache
from tsuzuki.crawler.figures import Health, HealthService
from tsuzuki.crawler.types import Job, JobStats, LastFailure, Status
from tsuzuki.model.errors import NotFound
from tsuzuki.model.times import iso
from tsuzuki.sources.sites import Sources
from tsuzuki.sources.types import Pause, Source

HEALTH_SECONDS = 30


class JobCounts(msgspec.Struct, frozen=True, kw_only=True):
    """How many jobs a source has; `total` is the sum."""  # R50

    total: int
    done: int
    failed: int
    running: int
    queued: int
    cancelled: int


class LastJobView(msgspec.Struct, frozen=True, kw_only=True):
    """The newest job whose time has come and that was not cancelled before it started."""

    id: str
    status: Status
    pagescount: int
    errorcount: int
    finishedat: Time | None


class SpellView(msgspec.Struct, frozen=True, kw_only=True):
    """Jobs that ended in a period. `errorrate` is from 0 to 1; latencies are of whole jobs."""

    jobs: int
    failed: int
    errorrate: float
    averagems: int | None
    longestms: int | None


class BreakerView(msgspec.Struct, frozen=True):
    """`open` while at least one mapping failed so often that it is not polled for a day."""

    state: Literal["open", "closed"]
    open: int
    watched: int
    failing: int


class FailureView(msgspec.Struct, frozen=True):
    """The last failure, in words; the job's log has the details."""

    jobid: str
    reason: str
    at: Time


_OF_JOBS = ("ispaused", "jobs", "lastjob", "last24h", "last7d", "nextdueat", "breaker", "lastfailure")


class CrawlerHealthView(msgspec.Struct, frozen=True, kw_only=True):
    """The health of a source.

    `nextdueat` is null if nothing can be due: it is disabled or paused, or nothing is polled.
    """

    id: int
    name: str
    isenabled: bool
    ispaused: bool
    consecutivefails: int
    lastsucceededat: Time | None
    lastfailedat: Time | None
    jobs: JobCounts
    lastjob: LastJobView | None
    last24h: SpellView
    last7d: SpellView
    nextdueat: Time | None
    breaker: BreakerView
    lastfailure: FailureView | None


_last_job_view = view_of(LastJobView, Job)
_spell_view = view_of(
    SpellView,
    JobStats,
    jobs="finished",
    errorrate=lambda job_stats: round(job_stats.failed / job_stats.finished, 4) if job_stats.finished else 0.0,
)
_failure_view = view_of(FailureView, LastFailure)
_source_view = view_of(CrawlerHealthView, Source, *_OF_JOBS)


class ExtensionView(msgspec.Struct, frozen=True, kw_only=True):
    """An installed connector and the JSON Schema of its sources' config."""

    id: str
    name: str
    languages: tuple[str, ...]
    baseurl: str
    isnsfw: bool
    ratelimit: float
    abilities: Abilities
    configschema: dict[str, Any]


_extension_view = view_of(ExtensionView, ConnectorInfo, configschema=lambda info: config_schema(info.config))


class PauseView(msgspec.Struct, frozen=True):
    """Whether the crawler is paused, since when and why; `reason` is empty if none was given."""

    ispaused: bool
    pausedat: Time | None
    reason: str | None


async def show_source_health(source_id: SourcePath, healths: HealthService, cache: Cache) -> CrawlerHealthView:
    """Jobs by status, the last job, error rate and latency, what is due next, and the last failure."""

    async def read() -> CrawlerHealthView:
        return _health(await healths.get(source_id))

    return await cache.fetch(CrawlerHealthView, f"source:{source_id}:health", seconds=HEALTH_SECONDS, make=read)


async def list_extensions(registry: Registry) -> list[ExtensionView]:
    """Sorted by id."""
    return sorted((_extension_view(one.info) for one in registry), key=lambda one: one.id)


async def show_pause(sources: Sources) -> PauseView:
    """Whether polls and jobs may start."""
    return _pause(await sources.show_pause())


async def pause_crawler(caller: Caller, body: ReasonBody, sources: Sources) -> PauseView:
    """No poll or job starts until the crawler is resumed; running ones finish."""
    return _pause(await sources.pause(caller.actor, body.reason))


async def resume_crawler(caller: Caller, body: ReasonBody, sources: Sources) -> PauseView:
    """Polls and jobs start again."""
    return _pause(await sources.resume(caller.actor, body.reason))


def _pause(pause: Pause | None) -> PauseView:
    if pause is None:
        return PauseView(ispaused=False, pausedat=None, reason=None)
    return PauseView(ispaused=True, pausedat=iso(pause.at), reason=pause.reason)


def _health(health: Health) -> CrawlerHealthView:
    source, watching = health.source, health.watching
    breaker = BreakerView(
        "open" if watching.open_breakers else "closed", watching.open_breakers, watching.watched, watching.failing
    )
    return _source_view(
        source,
        ispaused=health.is_paused,
        jobs=_counts(health.jobs),
        lastjob=None if health.last_job is None else _last_job_view(health.last_job),
        last24h=_spell_view(health.day),
        last7d=_spell_view(health.week),
        nextdueat=shown(watching.next_due_at) if source.is_enabled and not health.is_paused else None,
        breaker=breaker,
        lastfailure=None if health.last_failure is None else _failure_view(health.last_failure),
    )


def _counts(by_status: dict[Status, int]) -> JobCounts:
    counts = {status: by_status.get(status, 0) for status in get_args(Status)}
    return JobCounts(total=sum(by_status.values()), **counts)


_admin = declaring("crawler", Access.ADMIN)
_HEALTH = "/admin/crawler/sources/{source_id}/health"

ENDPOINTS = (
    _admin("GET", _HEALTH, show_source_health, "Show the health of a source", errors=(NotFound,)),
    _admin("GET", "/admin/crawler/extensions", list_extensions, "List installed extensions"),
    _admin("GET", "/admin/crawler/pause", show_pause, "Show whether the crawler is paused"),
    _admin("POST", "/admin/crawler/pause", pause_crawler, "Pause the crawler"),
    _admin("POST", "/admin/crawler/resume", resume_crawler, "Resume the crawler"),
)
