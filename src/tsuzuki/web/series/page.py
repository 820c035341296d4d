"""`/series/{id}`: what it is, where it is published, its chapters, and how the shelf follows it."""

from collections.abc import Sequence
from itertools import takewhile
from typing import Any
from urllib.parse import urlencode

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from tsuzuki.accounts.caller import Caller
from tsuzuki.accounts.nouns import Slice
from tsuzuki.http.routing import Resource, page
from tsuzuki.model.ids import show_id
from tsuzuki.shelves.library.progress.nouns import HistoryRow
from tsuzuki.shelves.library.series.nouns import ChapterName, SourceOf
from tsuzuki.shelves.library.series.policy import Health, Stop, health, stopped_by
from tsuzuki.shelves.library.series.service import SeriesOverview
from tsuzuki.web.forms import BLANK, Sheet
from tsuzuki.web.frame import Frame, framing_of
from tsuzuki.web.ids import id_of, number_of, page_of
from tsuzuki.web.inbox.notes import InboxNotes, Undo
from tsuzuki.web.inbox.rows import chapter_name
from tsuzuki.web.labels import find_label
from tsuzuki.web.library.page import STATUSES
from tsuzuki.web.links import chapter_path, series_path
from tsuzuki.web.series.rows import chapter_lines
from tsuzuki.web.site import Site
from tsuzuki.web.texts import gettext as _
from tsuzuki.web.texts import ngettext

PAGE = 100
MOST_OPENED = 10
CHOICES = 3
"""How many sources, groups and languages can be put in order here; the API takes more."""


class SourceLine(msgspec.Struct, frozen=True):
    """A source of the series and how it fares."""

    source: SourceOf
    health: Health
    stop: Stop | None


class NextChapter(msgspec.Struct, frozen=True):
    """The chapter to read next."""

    path: str
    words: str


class SeriesPages:
    """Shows a series; the acts show it again where something is wrong."""

    def __init__(self, site: Site) -> None:
        self._framing = framing_of(site)
        self._looks = site.reading.series
        self._progress = site.reading.progress
        self._kept = site.pictures.kept
        self._groups = site.reading.groups
        self._sources = site.crawling.sources

    async def show(self, request: Request, caller: Caller, sheet: Sheet = BLANK) -> Response:
        """The page, or with `part=chapters` only its list of chapters."""
        frame = await self._framing.frame(request, caller, "library")
        public_id = id_of(request, "series_id")
        series = await self._looks.get(frame.shelf.id, public_id)
        values = await self._listed(request, frame, series)
        if request.query_params.get("part") == "chapters":
            return self._framing.show(frame, "series_chapters.html", **values)
        lines = [SourceLine(source, health(source), stopped_by(source)) for source in series.sources]
        values |= {
            "sources": lines,
            "can_look": any(line.stop not in ("source_off", "paused") for line in lines),
            "pause": await self._sources.show_pause(),
            "opened": (opened := await self._progress.opened_of(frame.shelf.id, public_id, MOST_OPENED)),
            "onward": _onward(values["id"], await self._looks.order(frame.shelf.id, public_id), opened),
            "group_id": await self._group(frame, series),
            "offered": await self._looks.offered(public_id),
            "statuses": STATUSES,
            "choices": CHOICES,
            "chapter_name": chapter_name,
            "notes": _notes(request, frame, values["id"]),
            "failure": find_label("fail", request.query_params.get("fail")),
        }
        return self._framing.show(frame, "series.html", sheet, **values)

    async def _listed(self, request: Request, frame: Frame, series: SeriesOverview) -> dict[str, Any]:
        series_id = show_id(series.details.public_id)
        number = page_of(request.query_params)
        part = Slice.page(number, PAGE)
        chapters, total = await self._looks.chapters(frame.shelf.id, series.details.public_id, part)
        kept = await self._kept.among(frame.shelf.id, [one.id for each in chapters for one in each.releases])
        return {
            "id": series_id,
            "series": series,
            "lines": chapter_lines(chapters, series.gaps, kept, series_id=series_id),
            "total": total,
            "page": number,
            "pages": -(-total // PAGE),
        }

    async def _group(self, frame: Frame, series: SeriesOverview) -> str | None:
        follow = series.follow
        if follow is None:
            return None
        groups = await self._groups.list(frame.shelf.id)
        return next((show_id(group.public_id) for group in groups if group.id == follow.group_id), None)


def series_page(site: Site) -> Resource:
    """The page of a series."""
    pages = SeriesPages(site)

    async def show_series(request: Request, caller: Caller) -> Response:
        return await pages.show(request, caller)

    return page("/series/{series_id}", site.signed_in(show_series))


def _onward(series_id: str, order: Sequence[ChapterName], opened: Sequence[HistoryRow]) -> NextChapter | None:
    """The chapter that is open, else the one after the newest that was read; None when nothing is left."""
    is_begun = any(chapter.is_read for chapter in order) or bool(opened)
    is_open = bool(opened) and not opened[0].is_read
    unread = list(takewhile(lambda chapter: not chapter.is_read, order))
    chapter = next((one for one in order if is_open and one.id == opened[0].chapter_id), None)
    if chapter is None and unread:
        chapter = unread[-1]
    if chapter is None:
        return None
    name = chapter_name(chapter.number, chapter.volume, chapter.title)
    words = _("Continue: %(name)s", name=name) if is_begun else _("Start: %(name)s", name=name)
    return NextChapter(chapter_path(series_id, chapter.id), words)


def _notes(request: Request, frame: Frame, series_id: str) -> InboxNotes:
    """What was just done, with the way back: numbers and words of ours only."""
    query = request.query_params
    path = series_path(series_id)
    count = number_of(query.get("marked"))
    if count is not None:
        moment = number_of(query.get("undo"))
        undo = Undo("/inbox/undo", [("undo", str(moment)), ("back", path)]) if moment and count else None
        return InboxNotes(
            ngettext(
                "%(count)s chapter marked read.",
                "%(count)s chapters marked read.",
                count,
                count=frame.locale.number(count),
            ),
            undo,
        )
    count = number_of(query.get("unmarked"))
    if count is not None:
        moment = number_of(query.get("again"))
        undo = Undo(f"{path}/mark", [("again", str(moment))]) if moment and count else None
        return InboxNotes(
            ngettext(
                "%(count)s chapter marked unread.",
                "%(count)s chapters marked unread.",
                count,
                count=frame.locale.number(count),
            ),
            undo,
        )
    count = number_of(query.get("undone"))
    if count is not None:
        return InboxNotes(
            ngettext(
                "%(count)s entry marked unread again.",
                "%(count)s entries marked unread again.",
                count,
                count=frame.locale.number(count),
            )
        )
    count = number_of(query.get("available"))
    if count is not None:
        return InboxNotes(
            ngettext(
                "Followed. %(count)s chapter is ready to read; new ones arrive in your inbox.",
                "Followed. %(count)s chapters are ready to read; new ones arrive in your inbox.",
                count,
                count=frame.locale.number(count),
            )
        )
    release = number_of(query.get("dropped"))
    if release is not None:
        return InboxNotes(_("Download removed."), Undo(f"{path}/keep", [("keep", str(release))]))
    if query.get("done") == "left":
        return InboxNotes(_("Unfollowed."), Undo(f"{path}/follow", []))
    return InboxNotes(find_label("done", query.get("done")))


def back_to(series_id: str, **told: str) -> str:
    """The page of a series with what was done to it."""
    return f"{series_path(series_id)}?{urlencode(told)}"
