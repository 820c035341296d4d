"""From what a step found to series and chapters: as many as a site lists, so it is done in the parser processes."""

from collections.abc import Iterator

import msgspec

from tsuzuki.connectors.chapter_names import read_name, without_restarts
from tsuzuki.connectors.html.addresses import http_url
from tsuzuki.connectors.selectors import values
from tsuzuki.connectors.selectors.addresses import own_address, own_hosts
from tsuzuki.connectors.selectors.definition import ChaptersStep, Definition, SeriesStep
from tsuzuki.connectors.selectors.extracting import Extract
from tsuzuki.connectors.selectors.values import Row
from tsuzuki.model.errors import ShapeChanged
from tsuzuki.model.harvest import FoundChapter, FoundSeries
from tsuzuki.model.numbers import parse_number
from tsuzuki.model.times import Millis


class StepAnswer(msgspec.Struct, frozen=True):
    """What a step found, where, and when."""

    found: Extract
    url: str
    received_at: Millis


def read_series(definition: Definition, step: SeriesStep, answer: StepAnswer) -> tuple[FoundSeries, ...]:
    """Each once. Rows without a title, or that lead away from the source, are no series."""
    found: dict[str, FoundSeries] = {}
    for row in answer.found.rows:
        link, title = values.one(row, "link", step.link), values.one(row, "title", step.title)
        url = own_address(definition, link, answer.url) if link else None
        if url is None or title is None or url in found:
            continue
        cover = http_url(values.one(row, "cover", step.cover), answer.url)
        key = values.one(row, "key", step.key) or key_of(url)
        found[url] = FoundSeries(key=key, url=url, title=title, cover_url=cover)
    return tuple(found.values())


def read_chapters(definition: Definition, answers: list[StepAnswer]) -> tuple[FoundChapter, ...]:
    """Those of all pages of the list, newest first; `ShapeChanged` where rows have no link to the source."""
    step = definition.chapters
    found: dict[str, FoundChapter] = {}
    for answer in answers:
        rows = list(_chapters(definition, answer, step))
        if answer.found.rows and not rows:
            raise ShapeChanged(f"{answer.url}: {step.each!r} was found, but no link in it to {hosts_of(definition)}.")
        found.update((chapter.url, chapter) for chapter in rows if chapter.url not in found)
    listed = tuple(found.values())
    return without_restarts(listed if step.order == "newest_first" else listed[::-1])


def hosts_of(definition: Definition) -> str:
    """Where its pages may be, in words."""
    return " or ".join(sorted(own_hosts(definition)))


def key_of(url: str) -> str:
    """The address without scheme and host, so that a site may move."""
    return "/" + url.partition("://")[2].partition("/")[2]


def _chapters(definition: Definition, answer: StepAnswer, step: ChaptersStep) -> Iterator[FoundChapter]:
    for row in answer.found.rows:
        link = values.one(row, "link", step.link)
        url = own_address(definition, link, answer.url) if link else None
        if url is not None:
            yield _chapter(definition, row, url, now=answer.received_at)


def _chapter(definition: Definition, row: Row, url: str, *, now: Millis) -> FoundChapter:
    step = definition.chapters
    title = values.one(row, "title", step.title) or ""
    read = read_name(title)
    number = parse_number(values.one(row, "number", step.number)) if step.number else read.number
    volume = parse_number(values.one(row, "volume", step.volume)) if step.volume else read.volume
    language = None if definition.language == "all" else definition.language
    return FoundChapter(
        url=url,
        title=title,
        source_key=values.one(row, "key", step.key),
        number=number,
        volume=volume,
        language=values.one(row, "language", step.language) or language,
        group=values.one(row, "group", step.group),
        published_at=values.date(row, "date", step.date, now=now),
        is_readable=definition.pages is not None,
    )
