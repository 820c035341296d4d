"""The page of a series: chapters, sources, and the settings of its follow."""

import asyncio
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import takewhile
from typing import Any, TypeVar, get_args
from urllib.parse import urlencode

import msgspec
from msgspec import UNSET
from starlette.requests import Request
from starlette.responses import Response

from tsuzuki.accounts.caller import Caller
from tsuzuki.accounts.types import MemberShelf
from tsuzuki.http.routing import Resource, page
from tsuzuki.images.downloads import Download
from tsuzuki.model.errors import Conflict, Invalid, LimitExceeded, NotFound, SourceError, Unavailable
from tsuzuki.model.ids import ChapterId, PublicId, ReleaseId, SeriesSourceId, ShelfId, show_id
from tsuzuki.model.numbers import parse_number
from tsuzuki.model.times import Millis
from tsuzuki.shelves.policy import Gap, Gaps, Health, Stop, health, stopped_by
from tsuzuki.shelves.series import ChapterWithReleases, SeriesOverview
from tsuzuki.shelves.types import (
    ChapterName,
    ChapterProgressRow,
    ChapterSelection,
    Fit,
    FollowChange,
    FollowRequest,
    HistoryRow,
    Mode,
    PlainFollowRow,
    ReleasePreferences,
    SeriesRelease,
    SeriesSourceState,
)
from tsuzuki.web.feeds.feed import LONGEST_URL, chosen_group, read_url
from tsuzuki.web.forms import BLANK, Form, FormState, Rules, post_form, problem, read_form, see
from tsuzuki.web.frame import Frame
from tsuzuki.web.ids import id_of, number_of, numbers_of, page_of, slice_of
from tsuzuki.web.inbox.page import InboxNotes, UndoForm, unread_again
from tsuzuki.web.labels import find_label
from tsuzuki.web.library import PATH as LIBRARY
from tsuzuki.web.library import STATUSES
from tsuzuki.web.links import as_feed_path, chapter_path, series_path
from tsuzuki.web.scripts import data_of, wants_json
from tsuzuki.web.site import Site
from tsuzuki.web.texts import chapter_name
from tsuzuki.web.texts import gettext as _


class ReleaseLine(msgspec.Struct, frozen=True, kw_only=True):
    """One release in the picker."""

    id: int
    path: str
    source: str
    by: str
    is_preferred: bool
    is_readable: bool
    url: str


class ChapterLine(msgspec.Struct, frozen=True, kw_only=True):
    """One chapter; `above` are whole numbers that no source has, between it and the one before in the list."""

    row: ChapterProgressRow
    name: str
    path: str
    at: Millis
    releases: list[ReleaseLine]
    release: SeriesRelease | None
    download: Download | None
    above: Gap | None


def chapter_lines(
    chapters: Sequence[ChapterWithReleases], gaps: Gaps, downloads: Mapping[ReleaseId, Download], *, series_id: str
) -> list[ChapterLine]:
    """Chapters in their order; each gap is shown once, above the chapter that it follows."""
    missing = {gap.first - 1: gap for gap in gaps.ranges} if gaps.of == "chapters" else {}
    lines = []
    for chapter in chapters:
        number = None if chapter.row.number is None else parse_number(chapter.row.number)
        above = None if number is None else missing.pop(int(number), None)
        lines.append(_line(chapter, downloads, series_id, above))
    return lines


def release_lines(chapter: ChapterWithReleases, series_id: str) -> list[ReleaseLine]:
    """The releases, the preferred one first."""
    path = chapter_path(series_id, chapter.row.id)
    lines = [
        ReleaseLine(
            id=release.id,
            path=f"{path}?release={release.id}",
            source=release.source_name,
            by=" · ".join(part for part in (release.group_name, release.language) if part),
            is_preferred=release is chapter.preferred,
            is_readable=release.is_readable and release.is_available,
            url=release.url,
        )
        for release in chapter.releases
    ]
    return sorted(lines, key=lambda line: not line.is_preferred)


def _line(
    chapter: ChapterWithReleases, downloads: Mapping[ReleaseId, Download], series_id: str, above: Gap | None
) -> ChapterLine:
    row = chapter.row
    return ChapterLine(
        row=row,
        name=chapter_name(row.number, row.volume, row.title),
        path=chapter_path(series_id, row.id),
        at=row.published_at if row.published_at is not None else row.first_seen_at,
        releases=release_lines(chapter, series_id),
        release=chapter.preferred,
        download=next((downloads[release.id] for release in chapter.releases if release.id in downloads), None),
        above=above,
    )


PAGE = 100
MOST_OPENED = 10
CHOICES = 3
"""How many sources, groups and languages can be put in order here; the API takes more."""


class SourceLine(msgspec.Struct, frozen=True):
    """A source of the series and how it fares."""

    source: SeriesSourceState
    health: Health
    stop: Stop | None


class NextChapter(msgspec.Struct, frozen=True):
    """The chapter to read next."""

    path: str
    words: str


async def _show(site: Site, request: Request, caller: Caller, form_state: FormState = BLANK) -> Response:
    """The page, or with `part=chapters` only its list of chapters; the acts show it again where something is wrong."""
    frame = await site.frame(request, caller, "library")
    public_id, series_service = id_of(request, "series_id"), site.reading.series
    series = await series_service.get(frame.shelf.id, public_id)
    values = await _listed(site, request, frame, series)
    if request.query_params.get("part") == "chapters":
        return site.show(frame, "series_chapters.html", **values)
    lines = [SourceLine(source, health(source), stopped_by(source)) for source in series.sources]
    opened = await site.reading.progress.opened_of(frame.shelf.id, public_id, MOST_OPENED)
    return site.show(
        frame,
        "series.html",
        form_state,
        sources=lines,
        can_look=any(line.stop not in ("source_off", "paused") for line in lines),
        pause=await site.crawling.sources.show_pause(),
        opened=opened,
        onward=_onward(values["id"], await series_service.order(frame.shelf.id, public_id), opened),
        group_id=await _group(site, frame, series),
        offered=await series_service.offered(public_id),
        statuses=STATUSES,
        choices=CHOICES,
        longest_url=LONGEST_URL,
        as_feed=as_feed_path(series.details.title, series=values["id"]) if series.follow else None,
        notes=_notes(request, frame, values["id"]),
        failure=find_label("fail", request.query_params.get("fail")),
        **values,
    )


async def _listed(site: Site, request: Request, frame: Frame, series: SeriesOverview) -> dict[str, Any]:
    public_id, shelf_id = series.details.public_id, frame.shelf.id
    chapters, total = await site.reading.series.chapters(shelf_id, public_id, slice_of(request, PAGE))
    downloads = await site.pictures.downloads.among(shelf_id, [one.id for each in chapters for one in each.releases])
    return {
        "id": show_id(public_id),
        "series": series,
        "lines": chapter_lines(chapters, series.gaps, downloads, series_id=show_id(public_id)),
        "total": total,
        "page": page_of(request.query_params),
        "pages": -(-total // PAGE),
    }


async def _group(site: Site, frame: Frame, series: SeriesOverview) -> str | None:
    follow = series.follow
    if follow is None:
        return None
    groups = await site.reading.groups.list(frame.shelf.id)
    return next((show_id(group.public_id) for group in groups if group.id == follow.group_id), None)


def series_page(site: Site) -> Resource:
    """The page of a series."""
    return page(PATH, site.signed_in(partial(_show, site)))


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
    if (count := number_of(query.get("marked"))) is not None:
        moment = number_of(query.get("undo"))
        undo = UndoForm("/inbox/undo", [("undo", str(moment)), ("back", path)]) if moment and count else None
        words = frame.locale.ngettext("%(count)s chapter marked read.", "%(count)s chapters marked read.", count)
        return InboxNotes(words, undo)
    if (count := number_of(query.get("unmarked"))) is not None:
        moment = number_of(query.get("again"))
        undo = UndoForm(f"{path}/mark", [("again", str(moment))]) if moment and count else None
        words = frame.locale.ngettext("%(count)s chapter marked unread.", "%(count)s chapters marked unread.", count)
        return InboxNotes(words, undo)
    if (count := number_of(query.get("undone"))) is not None:
        return unread_again(count, frame)
    if (count := number_of(query.get("available"))) is not None:
        return InboxNotes(
            frame.locale.ngettext(
                "Followed. %(count)s chapter is ready to read; new ones arrive in your inbox.",
                "Followed. %(count)s chapters are ready to read; new ones arrive in your inbox.",
                count,
            )
        )
    release = number_of(query.get("dropped"))
    if release is not None:
        return InboxNotes(_("Download removed."), UndoForm(f"{path}/keep", [("keep", str(release))]))
    if query.get("done") == "left":
        return InboxNotes(_("Unfollowed."), UndoForm(f"{path}/follow", []))
    return InboxNotes(find_label("done", query.get("done")))


def back_to(series_id: str, **query: str) -> str:
    """The page of a series with what was done to it."""
    return f"{series_path(series_id)}?{urlencode(query)}"


def linking_page(site: Site) -> Resource:
    """`/link`: a series that no source here has becomes one that a source has."""
    show = partial(_show, site)

    async def link(request: Request, caller: Caller, form: Form) -> Response:
        shelf_id, series = await site.shelf_id(caller), id_of(request, "series_id")
        now = await site.series_links.link(caller.actor, shelf_id, series, read_url(form))
        return see(back_to(show_id(now), done="series_linked"))

    rules = Rules(keep=("url",), beside={SourceError: "url", Invalid: "url"})
    return Resource(f"{PATH}/link", {"POST": site.signed_in(post_form(link, show, rules), LIBRARY)})


PATH = "/series/{series_id}"
MOST_AT_ONCE = 500


def chapter_acts(site: Site) -> tuple[Resource, ...]:
    """`/mark` and `/keep` some of its chapters; `/refresh` asks every source for its chapters now."""
    progress, series_service, downloads = site.reading.progress, site.reading.series, site.pictures.downloads

    async def mark(request: Request, shelf: MemberShelf) -> Response:
        """Chapters by id, all up to one, or all; `again` is the moment of a mark that made some unread.

        `at` says when, for marks that waited for a network.
        """
        form = await read_form(request, most=MOST_AT_ONCE)
        series = id_of(request, "series_id")
        moment = number_of(form.one("again"))
        if moment is not None:
            marked = await progress.mark_again(shelf.id, series, Millis(moment))
            return _answered(request, form, marked.changed)
        some, is_read = _meant(form)
        at = number_of(form.one("at"))
        made_at = None if at is None else Millis(at)
        marked = await progress.mark(shelf.id, series, some, is_read=is_read, made_at=made_at)
        return _answered(request, form, marked.changed, **{"undo" if is_read else "again": str(marked.at)})

    async def refresh(request: Request, shelf: MemberShelf) -> Response:
        await read_form(request)
        series = await series_service.get(shelf.id, id_of(request, "series_id"))
        came = await asyncio.gather(
            *(_ask_source(site, shelf.id, source.id) for source in series.sources if source.is_on)
        )
        series_id = show_id(series.details.public_id)
        return see(back_to(series_id, done="refreshed") if any(came) else back_to(series_id, fail="refresh"))

    async def keep(request: Request, shelf: MemberShelf) -> Response:
        """Download a release, or remove its download."""
        form = await read_form(request)
        series_id = show_id(id_of(request, "series_id"))
        wanted, dropped = number_of(form.one("keep")), number_of(form.one("drop"))
        if wanted is not None:
            try:
                await downloads.add(shelf.id, ReleaseId(wanted))
            except LimitExceeded:
                if wants_json(request):
                    raise
                return see(back_to(series_id, fail="keep_full"))
        elif dropped is not None:
            await downloads.remove(shelf.id, ReleaseId(dropped))
        else:
            raise Invalid(_("The form could not be read."))
        if wants_json(request):
            return data_of({"dropped": dropped} if wanted is None else {})
        target = back_to(series_id, done="keeping") if wanted is not None else back_to(series_id, dropped=str(dropped))
        return see(target)

    return (
        Resource(f"{PATH}/mark", {"POST": site.on_shelf(mark, LIBRARY)}),
        Resource(f"{PATH}/refresh", {"POST": site.on_shelf(refresh, LIBRARY)}),
        Resource(f"{PATH}/keep", {"POST": site.on_shelf(keep, LIBRARY)}),
    )


async def _ask_source(site: Site, shelf_id: ShelfId, mapping: SeriesSourceId) -> bool:
    """Whether the source answered."""
    try:
        answered = await site.catalogue.chapter_lists.list(mapping, shelf_id, refresh=True)
    except (SourceError, Unavailable):
        return False
    return not answered.freshness.is_stale


def _meant(form: Form) -> tuple[ChapterSelection, bool]:
    """Which chapters, and whether they become read."""
    if "all" in form.fields:
        return ChapterSelection(), form.one("all") != "unread"
    for name, is_read in (("read", True), ("unread", False)):
        if numbers := numbers_of(form.several(name)):
            return ChapterSelection(chapters=[ChapterId(number) for number in numbers]), is_read
    if numbers := numbers_of(form.several("up_to")):
        return ChapterSelection(before=ChapterId(numbers[0]), is_inclusive=True), True
    raise Invalid(_("The form could not be read."))


def _answered(request: Request, form: Form, changed: int, **undo: str) -> Response:
    """What was done, with the way back where something was."""
    outcome = "unmarked" if "again" in undo else "marked"
    undo = undo if changed else {}
    if wants_json(request):
        return data_of({"changed": changed, **undo})
    place = {} if number_of(form.one("page")) is None else {"page": form.one("page")}
    return see(back_to(show_id(id_of(request, "series_id")), **{outcome: str(changed)}, **place, **undo))


def following_acts(site: Site) -> tuple[Resource, ...]:
    """`/follow`, and `/unfollow`, which says first what goes."""
    follows, series_service = site.reading.follows, site.reading.series

    async def follow(request: Request, shelf: MemberShelf) -> Response:
        await read_form(request)
        series = id_of(request, "series_id")
        try:
            followed = await follows.add(shelf.id, FollowRequest(series=series))
        except Conflict:
            return see(back_to(show_id(series), done="follows_already"))
        return see(back_to(show_id(series), available=str(followed.available)))

    async def ask_leave(request: Request, caller: Caller) -> Response:
        frame = await site.frame(request, caller, "library")
        series = await series_service.get(frame.shelf.id, id_of(request, "series_id"))
        follow = None if series.follow is None else await follows.get(frame.shelf.id, series.follow.public_id)
        new = 0 if follow is None else follow.new
        takes = frame.locale.ngettext(
            "%(count)s unread entry leaves your inbox.", "%(count)s unread entries leave your inbox.", new
        )
        keeps = _("Your reading progress is kept, and following again restores everything.")
        path = series_path(show_id(series.details.public_id))
        return site.ask(
            frame,
            title=_("Unfollow %(name)s?", name=series.details.title),
            text=f"{takes} {keeps}" if new else keeps,
            yes=_("Unfollow"),
            path=f"{path}/unfollow",
            back=path,
        )

    async def leave(request: Request, shelf: MemberShelf) -> Response:
        await read_form(request)
        series = await series_service.get(shelf.id, id_of(request, "series_id"))
        if series.follow is not None:
            await follows.leave(shelf.id, series.follow.public_id)
        return see(back_to(show_id(series.details.public_id), done="left"))

    return (
        Resource(f"{PATH}/follow", {"POST": site.on_shelf(follow, LIBRARY)}),
        Resource(f"{PATH}/unfollow", {"GET": site.signed_in(ask_leave), "POST": site.on_shelf(leave, LIBRARY)}),
    )


MODES: tuple[Mode, ...] = get_args(Mode)
FITS: tuple[Fit, ...] = get_args(Fit)
_LONGEST = 200
_RULES = Rules(keep=("status", "group"))

T = TypeVar("T", bound=str)
V = TypeVar("V")


def setting_acts(site: Site) -> tuple[Resource, ...]:
    """`/settings` is the form; `/reading` takes the mode and fit chosen in the reader."""
    follows, series_service, show = site.reading.follows, site.reading.series, partial(_show, site)

    async def followed(shelf_id: ShelfId, series: PublicId) -> PlainFollowRow | None:
        return (await series_service.get(shelf_id, series)).follow

    async def change(request: Request, caller: Caller, form: Form) -> Response:
        shelf_id, series = await site.shelf_id(caller), id_of(request, "series_id")
        follow = await followed(shelf_id, series)
        if follow is None:
            raise NotFound("This shelf does not follow it.")
        await follows.change(shelf_id, follow.public_id, _change(form, follow.preferences))
        return see(back_to(show_id(series), done="series_saved"))

    async def reading(request: Request, shelf: MemberShelf) -> Response:
        form = await read_form(request)
        series = id_of(request, "series_id")
        follow = await followed(shelf.id, series)
        if follow is not None:
            wanted = msgspec.structs.replace(
                follow.preferences, mode=_one_of(form.one("mode"), MODES), fit=_one_of(form.one("fit"), FITS)
            )
            await follows.change(shelf.id, follow.public_id, FollowChange(preferences=wanted))
        if wants_json(request):
            return data_of({"kept": follow is not None})
        return see(back_to(show_id(series), done="series_saved"))

    return (
        Resource(f"{PATH}/settings", {"POST": site.signed_in(post_form(change, show, _RULES), LIBRARY)}),
        Resource(f"{PATH}/reading", {"POST": site.on_shelf(reading, LIBRARY)}),
    )


def _change(form: Form, before: ReleasePreferences) -> FollowChange:
    status = _one_of(form.one("status"), STATUSES)
    if status is None:
        raise problem("status", _("Choose one of the options."))
    return FollowChange(
        status=status,
        group=chosen_group(form) or UNSET,
        notify=form.one("notify") == "on",
        preferences=msgspec.structs.replace(
            before,
            sources=_ordered(numbers_of(form.several("source")), before.sources),
            groups=_ordered(_words(form, "release_group"), before.groups),
            languages=_ordered(_words(form, "language"), before.languages),
        ),
    )


def _words(form: Form, name: str) -> list[str]:
    return [text[:_LONGEST] for text in form.several(name) if text.strip()]


def _ordered(chosen: Sequence[V], before: Sequence[V]) -> tuple[V, ...]:
    """The choices of the form, each once; what the API put behind them stays behind them."""
    more = before[CHOICES:] if chosen else before[:0]
    return tuple(dict.fromkeys([*chosen, *more]))


def _one_of(text: str, known: Sequence[T]) -> T | None:
    return next((each for each in known if each == text), None)
