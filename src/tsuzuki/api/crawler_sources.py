"""Sources of the crawler, and trying them, for the operator. Names of fields as the crawler's contract has them."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, UnsetType

from tsuzuki.accounts.caller import Caller
from tsuzuki.api.endpoints import Access, Body, declaring
from tsuzuki.api.ids import Address, SourcePath, address_problems, number_in_path
from tsuzuki.api.paging import PageQuery
from tsuzuki.api.users import Reason, ReasonBody
from tsuzuki.api.views import ListAnswer, PageMeta, Time, view_of
from tsuzuki.connectors.config import masked
from tsuzuki.coord.cache import Cache
from tsuzuki.crawler.service import release_source_tx
from tsuzuki.crawler.trials import SourceTrial, TrialCall, Trials
from tsuzuki.model.errors import Conflict, NotFound, Problem
from tsuzuki.model.harvest import FoundChapter, FoundSeries, SeriesDetails
from tsuzuki.model.numbers import number_key
from tsuzuki.sources.policy import BAD_BASE_URL, CONNECTOR, MOST_CONNECTOR, MOST_NAME, MOST_SLUG, SLUG
from tsuzuki.sources.sites import NO_SOURCE, Sources
from tsuzuki.sources.types import Source, SourceChange, SourceFilter, SourceRegistration

LIST_SECONDS = 60
SOURCE_SECONDS = 120

_OURS = {
    "name": "name",
    "slug": "slug",
    "baseurl": "base_url",
    "extensionid": "connector",
    "config": "config",
    "isenabled": "is_enabled",
}
"""What the contract's fields are called here."""

SourceName = Annotated[str, Meta(min_length=1, max_length=MOST_NAME)]
Slug = Annotated[str, Meta(max_length=MOST_SLUG, pattern=SLUG)]
ExtensionId = Annotated[str, Meta(max_length=MOST_CONNECTOR, pattern=CONNECTOR)]


class SourceQuery(PageQuery, frozen=True, kw_only=True):
    """Which sources, and which page of them."""

    isenabled: bool | None = None
    q: Annotated[str, Meta(max_length=200)] | None = None
    limit: Annotated[int, Meta(ge=1, le=200)] = 50


class CrawlerSourceView(msgspec.Struct, frozen=True, kw_only=True):
    """A source; secrets in its config are `***`. `uid` is its id in Tachiyomi and its forks, as text."""  # R9

    id: int
    uid: str
    name: str
    slug: str
    lang: str
    baseurl: str
    extensionid: str | None
    config: dict[str, Any]
    isenabled: bool
    lastsucceededat: Time | None
    lastfailedat: Time | None
    consecutivefails: int
    createdat: Time
    updatedat: Time


source_view = view_of(
    CrawlerSourceView,
    Source,
    uid=lambda source: str(source.uid),
    extensionid="connector",
    config=lambda source: masked(source.config),  # R47: without secrets
)


class SourceEnabledView(msgspec.Struct, frozen=True):
    """Whether the source is enabled now."""

    id: int
    name: str
    isenabled: bool
    updatedat: Time


_enabled_view = view_of(SourceEnabledView, Source)


class _SourceForm(Body, frozen=True, kw_only=True):
    @classmethod
    def beyond_types(cls, raw: Mapping[str, Any]) -> Iterator[Problem]:
        return address_problems(raw, "baseurl", BAD_BASE_URL)


class SourceBody(_SourceForm, frozen=True, kw_only=True):
    """A source to register; `config` is checked against its extension's schema if that is installed."""

    name: SourceName
    slug: Slug
    baseurl: Address
    extensionid: ExtensionId | None = None
    config: dict[str, Any] = msgspec.field(default_factory=dict)
    isenabled: bool = True


class SourceChangeBody(_SourceForm, frozen=True, kw_only=True):
    """What to change. `config` is replaced as a whole; `***` keeps the stored secret."""  # R47

    name: SourceName | UnsetType = UNSET
    slug: Slug | UnsetType = UNSET
    baseurl: Address | UnsetType = UNSET
    extensionid: ExtensionId | UnsetType | None = UNSET
    config: dict[str, Any] | UnsetType = UNSET
    isenabled: bool | UnsetType = UNSET


class EnableBody(Body, frozen=True, kw_only=True):
    """Whether to enable the source, and why."""

    isenabled: bool
    reason: Reason | None = None


async def list_crawler_sources(
    query: SourceQuery, sources: Sources, cache: Cache
) -> ListAnswer[CrawlerSourceView, PageMeta]:
    """Sorted by id."""

    async def read() -> ListAnswer[CrawlerSourceView, PageMeta]:
        rows, total = await sources.list(SourceFilter(query.isenabled, query.q), query.part)
        return ListAnswer([source_view(row) for row in rows], query.meta(total))

    key = f"sources:list:{msgspec.json.encode(query).decode()}"
    return await cache.fetch(ListAnswer[CrawlerSourceView, PageMeta], key, seconds=LIST_SECONDS, make=read)


async def show_crawler_source(source_id: SourcePath, sources: Sources, cache: Cache) -> CrawlerSourceView:
    """One source."""

    async def read() -> CrawlerSourceView:
        return source_view(await sources.get(source_id))

    return await cache.fetch(CrawlerSourceView, f"source:{source_id}", seconds=SOURCE_SECONDS, make=read)


async def register_crawler_source(caller: Caller, body: SourceBody, sources: Sources) -> CrawlerSourceView:
    """Registers a source."""
    return source_view(await sources.register(caller.actor, SourceRegistration(**own_fields(body))))


async def change_crawler_source(
    source_id: SourcePath, caller: Caller, body: SourceChangeBody, sources: Sources
) -> CrawlerSourceView:
    """Changes a source; enabling it resets its failure count."""
    return source_view(await sources.change(caller.actor, source_id, SourceChange(**own_fields(body))))


async def delete_crawler_source(source_id: SourcePath, caller: Caller, body: ReasonBody, sources: Sources) -> None:
    """Deletes a source with its mappings. Its queued jobs are cancelled; its finished jobs stay readable."""
    await sources.deregister(caller.actor, source_id, reason=body.reason, release=release_source_tx)


async def enable_crawler_source(
    source_id: SourcePath, caller: Caller, body: EnableBody, sources: Sources
) -> SourceEnabledView:
    """Enables or disables a source; enabling resets its failure count."""
    change = SourceChange(is_enabled=body.isenabled)
    source = await sources.change(caller.actor, source_id, change, reason=body.reason)
    return _enabled_view(source)


async def new_source_problems(raw: Mapping[str, Any], sources: Sources) -> Iterable[Problem]:
    """What its extension and the operator's networks say of a source that cannot be registered as it was sent."""
    return await sources.problems(_readable(raw))


async def source_problems(source_id: str, raw: Mapping[str, Any], sources: Sources) -> Iterable[Problem]:
    """The same of a change."""
    return await sources.problems(_readable(raw), number_in_path(source_id, NO_SOURCE))


def _readable(raw: Mapping[str, Any]) -> SourceChange:
    """What can be read of a body, whatever is wrong with the rest."""
    kinds: dict[str, Any] = {"baseurl": str, "extensionid": str | None, "config": dict}
    said = {name: raw[name] for name, kind in kinds.items() if name in raw and isinstance(raw[name], kind)}
    return SourceChange(**{_OURS[name]: value for name, value in said.items()})


def own_fields(body: SourceBody | SourceChangeBody) -> dict[str, Any]:
    """What a body says, by the names that the fields have here."""
    return {ours: getattr(body, theirs) for theirs, ours in _OURS.items()}


_admin = declaring("crawler", Access.ADMIN)
_ALL = "/admin/crawler/sources"
_ONE = "/admin/crawler/sources/{source_id}"

ENDPOINTS = (
    _admin("GET", _ALL, list_crawler_sources, "List registered sources"),
    _admin(
        "POST",
        _ALL,
        register_crawler_source,
        "Register a source",
        status=201,
        errors=(Conflict,),
        also=new_source_problems,
    ),
    _admin("GET", _ONE, show_crawler_source, "Show a source", errors=(NotFound,)),
    _admin("PATCH", _ONE, change_crawler_source, "Change a source", errors=(NotFound, Conflict), also=source_problems),
    _admin("DELETE", _ONE, delete_crawler_source, "Delete a source", errors=(NotFound, Conflict)),
    _admin("PATCH", f"{_ONE}/enable", enable_crawler_source, "Enable or disable a source", errors=(NotFound,)),
)


# -- trying a source: what it asks and finds, with nothing stored

MOST_LISTED = 50
"""Of series, chapters and pages; the counts are of all."""


class RequestView(msgspec.Struct, frozen=True, kw_only=True):
    """A request that was made; `status` is null if there was no response."""

    method: str
    url: str
    status: int | None
    tookms: int
    size: int | None
    error: str | None


class TriedSeriesView(msgspec.Struct, frozen=True):
    """A series of the source's list."""

    title: str
    url: str
    coverurl: str | None


class TriedDetailsView(msgspec.Struct, frozen=True, kw_only=True):
    """The details of the first series."""

    title: str
    author: str | None
    artist: str | None
    language: str | None
    description: str | None
    genres: tuple[str, ...]


class TriedChapterView(msgspec.Struct, frozen=True, kw_only=True):
    """A chapter of the first series."""

    title: str
    url: str
    number: str | None
    publishedat: Time | None


class SourceTrialView(msgspec.Struct, frozen=True, kw_only=True):
    """What was requested and found; null if a step was not reached. `failures` says what went wrong, by step."""

    isgood: bool
    trouble: str | None
    requests: list[RequestView]
    seriescount: int | None
    series: list[TriedSeriesView] | None
    details: TriedDetailsView | None
    chapterscount: int | None
    chapters: list[TriedChapterView] | None
    pagescount: int | None
    pages: list[str | None] | None
    failures: dict[str, str]


async def try_new_source(body: SourceBody, sources: Sources, trials: Trials) -> SourceTrialView:
    """Fetches one list, the details and chapters of its first series, and the pages of the newest chapter.

    Takes at most a minute.
    """
    return _view(await trials.run(sources.draft(SourceRegistration(**own_fields(body)))))


async def try_crawler_source(
    source_id: SourcePath, body: SourceChangeBody, sources: Sources, trials: Trials
) -> SourceTrialView:
    """Like `/admin/crawler/try`, for a registered source with the changes that you send; `***` keeps its secret."""
    return _view(await trials.run(await sources.draft_change(source_id, SourceChange(**own_fields(body)))))


def _view(tried: SourceTrial) -> SourceTrialView:
    trial = tried.trial
    series = None if trial.series is None else trial.series.series
    return SourceTrialView(
        isgood=tried.is_good,
        trouble=tried.trouble,
        requests=[_request_view(call) for call in tried.calls],
        seriescount=None if series is None else len(series),
        series=None if series is None else [_series_view(one) for one in series[:MOST_LISTED]],
        details=None if trial.details is None else _details_view(trial.details),
        chapterscount=None if trial.chapters is None else len(trial.chapters),
        chapters=None if trial.chapters is None else [_chapter_view(one) for one in trial.chapters[:MOST_LISTED]],
        pagescount=None if trial.pages is None else len(trial.pages),
        pages=None if trial.pages is None else [one.image_url for one in trial.pages[:MOST_LISTED]],
        failures=trial.failures,
    )


_request_view = view_of(RequestView, TrialCall)
_series_view = view_of(TriedSeriesView, FoundSeries)
_details_view = view_of(TriedDetailsView, SeriesDetails)
_chapter_view = view_of(
    TriedChapterView,
    FoundChapter,
    number=lambda chapter: None if chapter.number is None else number_key(chapter.number),
)


TRIAL_ENDPOINTS = (
    _admin("POST", "/admin/crawler/try", try_new_source, "Test a new source", also=new_source_problems),
    _admin(
        "POST",
        "/admin/crawler/sources/{source_id}/try",
        try_crawler_source,
        "Test a registered source",
        errors=(NotFound,),
        also=source_problems,
    ),
)
