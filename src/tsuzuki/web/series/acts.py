"""What the buttons on the page of a series do. Scripts post the same and ask for JSON."""

import asyncio

from starlette.requests import Request
from starlette.responses import Response

from tsuzuki.accounts.caller import Caller
from tsuzuki.accounts.shelves.nouns import MemberShelf
from tsuzuki.http.routing import Resource
from tsuzuki.model.errors import Conflict, Invalid, SourceError, Unavailable
from tsuzuki.model.ids import ChapterId, SeriesSourceId, ShelfId, show_id
from tsuzuki.model.times import Millis
from tsuzuki.shelves.library.follows.nouns import FollowRequest
from tsuzuki.shelves.library.progress.nouns import Some
from tsuzuki.web.asking import Asks, ask_first
from tsuzuki.web.forms import Form, read_form, see
from tsuzuki.web.frame import framing_of
from tsuzuki.web.ids import id_of, number_of, numbers_of
from tsuzuki.web.library.page import PATH as LIBRARY
from tsuzuki.web.links import series_path
from tsuzuki.web.scripts import data_of, wants_json
from tsuzuki.web.series.page import back_to
from tsuzuki.web.site import Site
from tsuzuki.web.texts import gettext as _
from tsuzuki.web.texts import ngettext

PATH = "/series/{series_id}"
MOST_AT_ONCE = 500


def marking_acts(site: Site) -> tuple[Resource, ...]:
    """`/mark`: chapters by id, all up to one, or all; `again` is the moment of a mark that made some unread.

    `at` says when, for marks that waited for a network.
    """
    progress = site.reading.progress

    async def mark(request: Request, shelf: MemberShelf) -> Response:
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

    return (Resource(f"{PATH}/mark", {"POST": site.on_shelf(mark, LIBRARY)}),)


def _meant(form: Form) -> tuple[Some, bool]:
    """Which chapters, and whether they become read."""
    if "all" in form.fields:
        return Some(), form.one("all") != "unread"
    for name, is_read in (("read", True), ("unread", False)):
        if numbers := numbers_of(form.several(name)):
            return Some(chapters=[ChapterId(number) for number in numbers]), is_read
    if numbers := numbers_of(form.several("up_to")):
        return Some(before=ChapterId(numbers[0]), is_inclusive=True), True
    raise Invalid(_("The form could not be read."))


def _answered(request: Request, form: Form, changed: int, **undo: str) -> Response:
    """What was done, with the way back where something was."""
    told = "unmarked" if "again" in undo else "marked"
    undo = undo if changed else {}
    if wants_json(request):
        return data_of({"changed": changed, **undo})
    place = {} if number_of(form.one("page")) is None else {"page": form.one("page")}
    return see(back_to(show_id(id_of(request, "series_id")), **{told: str(changed)}, **place, **undo))


def following_acts(site: Site) -> tuple[Resource, ...]:
    """`/follow`, and `/unfollow`, which says first what goes."""
    framing = framing_of(site)
    follows, looks = site.reading.follows, site.reading.series

    async def follow(request: Request, shelf: MemberShelf) -> Response:
        await read_form(request)
        series = id_of(request, "series_id")
        try:
            followed = await follows.add(shelf.id, FollowRequest(series=series))
        except Conflict:
            return see(back_to(show_id(series), done="follows_already"))
        return see(back_to(show_id(series), available=str(followed.available)))

    async def ask_leave(request: Request, caller: Caller) -> Response:
        frame = await framing.frame(request, caller, "library")
        series = await looks.get(frame.shelf.id, id_of(request, "series_id"))
        follow = None if series.follow is None else await follows.get(frame.shelf.id, series.follow.public_id)
        new = 0 if follow is None else follow.new
        takes = (
            [
                ngettext(
                    "%(count)s unread entry leaves your inbox.",
                    "%(count)s unread entries leave your inbox.",
                    new,
                    count=frame.locale.number(new),
                )
            ]
            if new
            else []
        )
        path = series_path(show_id(series.details.public_id))
        asks = Asks(
            title=_("Unfollow %(name)s?", name=series.details.title),
            text=" ".join((*takes, _("Your reading progress is kept, and following again restores everything."))),
            yes=_("Unfollow"),
            no=_("Cancel"),
            path=f"{path}/unfollow",
            back=path,
        )
        return ask_first(framing, frame, asks)

    async def leave(request: Request, shelf: MemberShelf) -> Response:
        await read_form(request)
        series = await looks.get(shelf.id, id_of(request, "series_id"))
        if series.follow is not None:
            await follows.leave(shelf.id, series.follow.public_id)
        return see(back_to(show_id(series.details.public_id), done="left"))

    return (
        Resource(f"{PATH}/follow", {"POST": site.on_shelf(follow, LIBRARY)}),
        Resource(f"{PATH}/unfollow", {"GET": site.signed_in(ask_leave), "POST": site.on_shelf(leave, LIBRARY)}),
    )


def refreshing_acts(site: Site) -> tuple[Resource, ...]:
    """`/refresh` asks every source for its chapters now."""
    looks, lists = site.reading.series, site.catalogue.chapter_lists

    async def asked(shelf_id: ShelfId, mapping: SeriesSourceId) -> bool:
        try:
            answered = await lists.list(mapping, shelf_id, refresh=True)
        except (SourceError, Unavailable):
            return False
        return not answered.freshness.is_stale

    async def refresh(request: Request, shelf: MemberShelf) -> Response:
        await read_form(request)
        series = await looks.get(shelf.id, id_of(request, "series_id"))
        came = await asyncio.gather(*(asked(shelf.id, source.id) for source in series.sources if source.is_on))
        series_id = show_id(series.details.public_id)
        return see(back_to(series_id, done="refreshed") if any(came) else back_to(series_id, fail="refresh"))

    return (Resource(f"{PATH}/refresh", {"POST": site.on_shelf(refresh, LIBRARY)}),)
