"""Trying a source: one of each call, for the author of a definition, before anyone follows it."""

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import msgspec

from tsuzuki.connectors.protocol import Connector, Visit
from tsuzuki.model.errors import TsuzukiError
from tsuzuki.model.harvest import FoundChapter, FoundPage, FoundSeries, SeriesDetails, SeriesPage
from tsuzuki.model.numbers import number_key
from tsuzuki.model.times import iso

SHOWN = 5
T = TypeVar("T")


class Trial(msgspec.Struct, frozen=True, kw_only=True):
    """What each verb brought; None where it was not reached. `failures` are by verb."""

    series: SeriesPage | None = None
    details: SeriesDetails | None = None
    chapters: tuple[FoundChapter, ...] | None = None
    pages: tuple[FoundPage, ...] | None = None
    failures: dict[str, str] = {}

    @property
    def is_good(self) -> bool:
        """Whether everything that the source can do brought something."""
        return not self.failures and bool(self.series and self.series.series) and bool(self.chapters)


def try_source(
    source: Connector, config: Any, *, text: str | None = None, series_url: str | None = None
) -> Visit[Trial]:
    """One list (or a search), then the first series' details and chapters and the newest readable chapter's pages.

    A step that fails is noted and the rest goes on as far as it can, provided that the driver throws what went wrong
    into the generator, as it does for every visit.
    """
    failures: dict[str, str] = {}
    listing = None if series_url else (yield from _noted(lambda: _listing(source, config, text), "series", failures))
    url = series_url or (listing.series[0].url if listing and listing.series else None)
    if url is None:
        return Trial(series=listing, failures=failures)
    can = source.info.abilities
    details = (yield from _noted(lambda: source.details(config, url), "details", failures)) if can.details else None
    chapters = yield from _noted(lambda: source.chapters(config, url), "chapters", failures)
    readable = next((chapter for chapter in chapters or () if chapter.is_readable), None)
    pages = None
    if readable:
        pages = yield from _noted(lambda: source.pages(config, readable.url), "pages", failures)
    known = listing or SeriesPage((FoundSeries(key=url, url=url, title=details.title if details else url),))
    return Trial(series=known, details=details, chapters=chapters, pages=pages, failures=failures)


def _listing(source: Connector, config: Any, text: str | None) -> Visit[SeriesPage]:
    if text is not None:
        return source.search(config, 1, text=text)
    return source.popular(config, 1) if source.info.abilities.popular else source.latest(config, 1)


def _noted(begin: Callable[[], Visit[T]], verb: str, failures: dict[str, str]) -> Visit[T | None]:
    """What the visit brings, or None and its failure; a verb may decline before it begins."""
    try:
        return (yield from begin())
    except TsuzukiError as error:
        failures[verb] = str(error)
        return None


def describe_try(source: Connector, trial: Trial) -> list[str]:
    """The trial as lines of text, ready to be printed."""
    info = source.info
    lines = [f"{info.name} ({info.id}, {', '.join(info.languages)}) at {info.base_url}"]
    lines += _section("series", trial, _series_lines(trial.series))
    lines += _section("details", trial, _details_lines(trial.details))
    lines += _section("chapters", trial, _chapter_lines(trial.chapters))
    lines += _section("pages", trial, _page_lines(trial.pages))
    return lines


def _section(verb: str, trial: Trial, found: Iterator[str]) -> list[str]:
    lines = list(found)
    if verb in trial.failures:
        reasons = trial.failures[verb].splitlines()
        return [f"{verb}: FAILED", *(f"  {reason}" for reason in reasons)]
    return [f"{verb}: {lines[0]}", *(f"  {line}" for line in lines[1:])] if lines else [f"{verb}: not tried"]


def _series_lines(page: SeriesPage | None) -> Iterator[str]:
    if page is None:
        return
    yield f"{len(page.series)} found{', more on the next page' if page.has_next else ''}"
    for series in page.series[:SHOWN]:
        yield f"{series.title}  {series.url}{'' if series.cover_url else '  (no cover)'}"
    yield from _rest(len(page.series))


def _details_lines(details: SeriesDetails | None) -> Iterator[str]:
    if details is None:
        return
    yield details.title
    for name in ("author", "artist", "genres", "status", "cover_url", "description"):
        value = getattr(details, name)
        text = " ".join((", ".join(value) if isinstance(value, tuple) else str(value or "-")).split())
        yield f"{name}: {text[:100]}{'...' if len(text) > 100 else ''}"


def _chapter_lines(chapters: tuple[FoundChapter, ...] | None) -> Iterator[str]:
    if chapters is None:
        return
    unnumbered = sum(chapter.number is None for chapter in chapters)
    undated = sum(chapter.published_at is None for chapter in chapters)
    yield f"{len(chapters)} found, {unnumbered} without a number, {undated} without a date"
    for chapter in chapters[:SHOWN]:
        number = "-" if chapter.number is None else number_key(chapter.number)
        date = "-" if chapter.published_at is None else iso(chapter.published_at)
        yield f"{number}  {date}  {chapter.title or '(no title)'}  {chapter.url}"
    yield from _rest(len(chapters))


def _page_lines(pages: tuple[FoundPage, ...] | None) -> Iterator[str]:
    if pages is None:
        return
    yield f"{len(pages)} found"
    for page in pages[:SHOWN]:
        yield f"{page.index + 1}  {page.image_url}"
    yield from _rest(len(pages))


def _rest(count: int) -> Iterator[str]:
    if count > SHOWN:
        yield f"... and {count - SHOWN} more"
