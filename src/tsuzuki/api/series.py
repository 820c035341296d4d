"""Series over all their sources, and reading them."""

from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from tsuzuki.accounts.caller import Caller
from tsuzuki.accounts.types import Shelf, Slice
from tsuzuki.api.decoder import invalid
from tsuzuki.api.endpoints import Access, Body, Id, Moment, PageNumber, declaring
from tsuzuki.api.ids import IdText, Number, SeriesPath, id_in_field, number_id, number_in_path
from tsuzuki.api.items import MarkedView, marked_view
from tsuzuki.api.library import ProgressView, progress_view
from tsuzuki.api.series_views import ChapterView, SeriesView, chapter_view, series_view
from tsuzuki.api.shelf import ShelfQuery
from tsuzuki.api.views import ListAnswer, PageMeta, copied, read_time, view_of
from tsuzuki.catalogue.merges.service import SeriesMerges
from tsuzuki.catalogue.types import MergeOutcome
from tsuzuki.http.errors import failure_of
from tsuzuki.model.errors import Conflict, NotFound, Problem
from tsuzuki.model.ids import ChapterId, PublicId, read_id, read_number
from tsuzuki.model.numbers import parse_number, sort_value
from tsuzuki.shelves.progress import NO_CHAPTER, ReadingProgress
from tsuzuki.shelves.series import SeriesService
from tsuzuki.shelves.types import ChapterSelection, ProgressResult, ReportedProgress, ReportedReading

MOST_AT_ONCE = 500
MOST_PAGES = 100_000

PageIndex = Annotated[int, Meta(ge=0, le=MOST_PAGES)]
PageCount = Annotated[int, Meta(ge=1, le=MOST_PAGES)]
DeviceName = Annotated[str, Meta(min_length=1, max_length=100)]
ChapterPath = Annotated[ChapterId, number_id(NO_CHAPTER)]


class SeriesQuery(ShelfQuery, frozen=True, kw_only=True):
    """Which page of the chapters."""

    page: PageNumber = 1
    limit: Annotated[int, Meta(ge=1, le=500)] = 100

    @property
    def part(self) -> Slice:
        """The part of the list that is meant."""
        return Slice.page(self.page, self.limit)


class ProgressBody(Body, frozen=True, kw_only=True):
    """The progress of a device: the page, counted from 0, and when it was read, by its clock. The newest wins."""

    page: PageIndex
    at: Moment | None = None
    device: DeviceName | None = None
    page_count: PageCount | None = None
    """How many pages the release has that was read; the last one makes the chapter read."""


class ChapterBody(Body, frozen=True, kw_only=True):
    """Whether a chapter is read, or bookmarked; what is left out stays the same."""

    is_read: bool | UnsetType = UNSET
    is_bookmarked: bool | UnsetType = UNSET


class ReadBody(Body, frozen=True, kw_only=True):
    """Which chapters: some by id, all up to a number, all before one of them, or all."""

    chapters: Annotated[tuple[Number, ...], Meta(min_length=1, max_length=MOST_AT_ONCE)] | None = None
    up_to: Number | None = None
    before: Number | None = None
    all: Literal[True] | None = None

    def __post_init__(self) -> None:
        if sum(each is not None for each in (self.chapters, self.up_to, self.before, self.all)) != 1:
            raise ValueError("Send exactly one of chapters, up_to, before and all.")


class ToldBody(Body, frozen=True, kw_only=True):
    """The progress of one chapter of a series, named by its id or its number."""

    series_id: IdText
    chapter_id: Number | None = None
    number: Number | None = None
    page: PageIndex | None = None
    is_read: bool | None = None
    is_bookmarked: bool | None = None
    at: Moment | None = None
    device: DeviceName | None = None
    page_count: PageCount | None = None

    def __post_init__(self) -> None:
        if self.chapter_id is None and self.number is None:
            raise ValueError("Send either chapter_id or number.")
        if self.page is None and self.is_read is None and self.is_bookmarked is None:
            raise ValueError("Send page, is_read or is_bookmarked.")


class ProgressBatchBody(Body, frozen=True, kw_only=True):
    """The progress that a device collected while it was offline."""

    progress: Annotated[tuple[ToldBody, ...], Meta(min_length=1, max_length=MOST_AT_ONCE)]


class ToldView(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The result of one chapter: its current progress, or an error with its code."""

    progress: ProgressView | None = None
    error: str | None = None
    code: str | None = None


class ProgressBatchView(msgspec.Struct, frozen=True):
    """The results of all of them, in the same order."""

    taken: int
    failed: int
    results: list[ToldView]


async def show_series(series_id: SeriesPath, query: SeriesQuery, shelf: Shelf, looks: SeriesService) -> SeriesView:
    """A series over all its sources: details, sources, gaps and a page of its chapters, newest first."""
    found = await looks.get(shelf.id, series_id)
    chapters, total = await looks.chapters(shelf.id, series_id, query.part)
    meta = PageMeta.of(total, query.page, query.limit)
    return series_view(found, [chapter_view(chapter) for chapter in chapters], meta)


async def list_series_chapters(
    series_id: SeriesPath, query: SeriesQuery, shelf: Shelf, looks: SeriesService
) -> ListAnswer[ChapterView, PageMeta]:
    """Chapters with their releases, newest first."""
    chapters, total = await looks.chapters(shelf.id, series_id, query.part)
    return ListAnswer([chapter_view(each) for each in chapters], PageMeta.of(total, query.page, query.limit))


async def show_series_chapter(
    series_id: SeriesPath, chapter_id: ChapterPath, shelf: Shelf, looks: SeriesService
) -> ChapterView:
    """One chapter with its releases."""
    return chapter_view(await looks.chapter(shelf.id, series_id, chapter_id))


async def change_series_chapter(
    *, series_id: SeriesPath, chapter_id: ChapterPath, shelf: Shelf, body: ChapterBody, progress: ReadingProgress
) -> ProgressView:
    """Marks a chapter read or unread, in the inbox too, or bookmarks it."""
    is_read = None if isinstance(body.is_read, UnsetType) else body.is_read
    is_bookmarked = None if isinstance(body.is_bookmarked, UnsetType) else body.is_bookmarked
    reading = ReportedReading(is_read=is_read, is_bookmarked=is_bookmarked)
    return progress_view(await progress.report(shelf.id, series_id, chapter_id, reading))


async def show_progress(
    series_id: SeriesPath, chapter_id: ChapterPath, shelf: Shelf, progress: ReadingProgress
) -> ProgressView:
    """The reading progress of a chapter."""
    return progress_view(await progress.get(shelf.id, series_id, chapter_id))


async def put_progress(
    *, series_id: SeriesPath, chapter_id: ChapterPath, shelf: Shelf, body: ProgressBody, progress: ReadingProgress
) -> ProgressView:
    """Saves the progress of a device. Returns the current progress, which may be newer and from another device."""
    reading = copied(ReportedReading, body, at=read_time(body.at))
    return progress_view(await progress.report(shelf.id, series_id, chapter_id, reading))


async def put_progress_batch(shelf: Shelf, body: ProgressBatchBody, progress: ReadingProgress) -> ProgressBatchView:
    """Saves the progress that a device collected while it was offline. The results are in the same order."""
    answers = await progress.report_many(shelf.id, [_reported(each) for each in body.progress])
    failed = sum(answer.error is not None for answer in answers)
    return ProgressBatchView(len(answers) - failed, failed, [_answer(answer) for answer in answers])


async def mark_series_read(
    series_id: SeriesPath, shelf: Shelf, body: ReadBody, progress: ReadingProgress
) -> MarkedView:
    """Marks chapters read, in the inbox too. Send the `undo` of the response to `/items/-/undo` to undo it."""
    return marked_view(await progress.mark(shelf.id, series_id, _some(body), is_read=True))


async def mark_series_unread(
    series_id: SeriesPath, shelf: Shelf, body: ReadBody, progress: ReadingProgress
) -> MarkedView:
    """Marks chapters unread, in the inbox too."""
    return MarkedView((await progress.mark(shelf.id, series_id, _some(body), is_read=False)).changed)


def _some(body: ReadBody) -> ChapterSelection:
    if body.chapters is not None:
        return ChapterSelection(chapters=[_chapter(text) for text in body.chapters])
    if body.before is not None:
        return ChapterSelection(before=_chapter(body.before))
    if body.up_to is None:
        return ChapterSelection()
    up_to = sort_value(parse_number(body.up_to))
    if up_to is None:
        raise invalid([Problem("up_to", "up_to must be a chapter number such as 45.5.")])
    return ChapterSelection(up_to=up_to)


def _reported(body: ToldBody) -> ReportedProgress:
    reading = copied(ReportedReading, body, at=read_time(body.at))
    # Among many, a text that cannot be an id spoils only its own entry.
    series = read_id(body.series_id) or PublicId(bytes(16))
    chapter = None if body.chapter_id is None else read_number(body.chapter_id)
    chapter_id = None if chapter is None else ChapterId(chapter)
    return ReportedProgress(series=series, chapter=chapter_id, number=body.number, reading=reading)


def _answer(answer: ProgressResult) -> ToldView:
    if answer.progress is not None:
        return ToldView(progress=progress_view(answer.progress))
    body = failure_of(answer.error or NotFound(NO_CHAPTER), "").body
    return ToldView(error=body.error, code=body.code)


def _chapter(text: str) -> ChapterId:
    return ChapterId(number_in_path(text, NO_CHAPTER))


_read = declaring("series", Access.READ)
_write = declaring("series", Access.WRITE)
_CHAPTER = "/series/{series_id}/chapters/{chapter_id}"

ENDPOINTS = (
    _read("GET", "/series/{series_id}", show_series, "Show a series", errors=(NotFound,)),
    _read(
        "GET", "/series/{series_id}/chapters", list_series_chapters, "List the chapters of a series", errors=(NotFound,)
    ),
    _write("POST", "/series/{series_id}/read", mark_series_read, "Mark chapters read", errors=(NotFound,)),
    _write("POST", "/series/{series_id}/unread", mark_series_unread, "Mark chapters unread", errors=(NotFound,)),
    _read("GET", _CHAPTER, show_series_chapter, "Show a chapter", errors=(NotFound,)),
    _write("PATCH", _CHAPTER, change_series_chapter, "Mark or bookmark a chapter", errors=(NotFound,)),
    _read("GET", f"{_CHAPTER}/progress", show_progress, "Show the reading progress of a chapter", errors=(NotFound,)),
    _write("PUT", f"{_CHAPTER}/progress", put_progress, "Save the reading progress of a chapter", errors=(NotFound,)),
    _write(
        "POST", "/progress/batch", put_progress_batch, "Save the reading progress of many chapters", errors=(NotFound,)
    ),
)


class MergeBody(Body, frozen=True, kw_only=True):
    """The series to merge into; a preview shows what would happen and changes nothing."""

    into: IdText
    preview: bool = False


class SplitBody(Body, frozen=True, kw_only=True):
    """The sources to split off, by their ids in the `sources` of the series, and the title of the new series."""

    sources: Annotated[tuple[Id, ...], Meta(min_length=1, max_length=100)]
    title: Annotated[str, Meta(min_length=1, max_length=500)] | None = None
    preview: bool = False


class OutcomeView(msgspec.Struct, frozen=True, kw_only=True):
    """What a merge or split does, or did. `series_id` stays; `other_id` is removed by a merge, or new after a split.

    `moved` counts what moved to the other series or chapter, `shared` what both had before, or have now.
    """

    kind: Literal["merge", "split"]
    is_preview: bool
    series_id: str
    other_id: str
    title: str
    sources: int
    chapters_moved: int
    chapters_shared: int
    releases: int
    entries_moved: int
    entries_shared: int
    progress_moved: int
    progress_shared: int
    follows_moved: int
    follows_shared: int
    shelves: int


_outcome = view_of(OutcomeView, MergeOutcome, series_id="series", other_id="other")


async def merge_series(series_id: SeriesPath, caller: Caller, body: MergeBody, merging: SeriesMerges) -> OutcomeView:
    """Merges this series into another. Its id then leads to the other one. Nobody is notified."""
    into = id_in_field(body.into, "into")
    return _outcome(await merging.merge(caller.actor, series_id, into, is_preview=body.preview))


async def split_series(series_id: SeriesPath, caller: Caller, body: SplitBody, merging: SeriesMerges) -> OutcomeView:
    """Makes a new series from some of the sources. Everyone follows both; chapters that both have stay read in both."""
    outcome = await merging.split(caller.actor, series_id, body.sources, title=body.title, is_preview=body.preview)
    return _outcome(outcome)


_admin = declaring("series", Access.ADMIN)

MERGING_ENDPOINTS = (
    _admin("POST", "/admin/series/{series_id}/merge", merge_series, "Merge series", errors=(NotFound, Conflict)),
    _admin("POST", "/admin/series/{series_id}/split", split_series, "Split a series", errors=(NotFound, Conflict)),
)
