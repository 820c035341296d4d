"""Trying a source: what it asks and finds, with nothing stored. Names of fields as the crawler's contract has them."""

import msgspec

from tsuzuki.api.crawler_sources import (
    SourceBody,
    SourceChangeBody,
    new_source_problems,
    own_fields,
    source_problems,
)
from tsuzuki.api.endpoints import Access, declaring
from tsuzuki.api.ids import SourcePath
from tsuzuki.api.views import Time, view_of
from tsuzuki.crawler.trials import Call, SourceTrial, Trials
from tsuzuki.model.errors import NotFound
from tsuzuki.model.harvest import FoundChapter, FoundSeries, SeriesDetails
from tsuzuki.model.numbers import number_key
from tsuzuki.sources.sites import Sources
from tsuzuki.sources.types import SourceChange, SourceRegistration

MOST_LISTED = 50
"""Of series, chapters and pages; the counts are of all."""


class RequestView(msgspec.Struct, frozen=True, kw_only=True):
    """A request that was made; `status` is null when no answer came."""

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
    """What the source tells of the first series."""

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
    """What was asked and found; null where a step was not reached. `failures` says by step what went wrong."""

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
    """One list, the first series' details and chapters, the newest chapter's pages. Takes a minute at most."""
    return _view(await trials.run(sources.draft(SourceRegistration(**own_fields(body)))))


async def try_crawler_source(
    source_id: SourcePath, body: SourceChangeBody, sources: Sources, trials: Trials
) -> SourceTrialView:
    """The same with a source as it is stored, changed by what is sent; `***` stands for the secret that is stored."""
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


_request_view = view_of(RequestView, Call)
_series_view = view_of(TriedSeriesView, FoundSeries)
_details_view = view_of(TriedDetailsView, SeriesDetails)
_chapter_view = view_of(
    TriedChapterView,
    FoundChapter,
    number=lambda chapter: None if chapter.number is None else number_key(chapter.number),
)


_admin = declaring("crawler", Access.ADMIN)

ENDPOINTS = (
    _admin(
        "POST", "/admin/crawler/try", try_new_source, "Try a source before it is registered", also=new_source_problems
    ),
    _admin(
        "POST",
        "/admin/crawler/sources/{source_id}/try",
        try_crawler_source,
        "Try a source, as it is or as it would be",
        errors=(NotFound,),
        also=source_problems,
    ),
)
