"""The inbox, page by page. A script asks for `part=rows`, everyone else gets a whole page."""

import asyncio
from typing import Any

import msgspec
from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import Response

from tsuzuki.accounts.caller import Caller
from tsuzuki.accounts.types import MemberShelf
from tsuzuki.http.routing import Resource, page
from tsuzuki.inbox.entries import InboxPage
from tsuzuki.inbox.service import Inbox
from tsuzuki.model.errors import Unauthorized
from tsuzuki.model.ids import EntryId, read_id
from tsuzuki.model.pages import FROM_THE_TOP, PageCursor
from tsuzuki.web.forms import BLANK
from tsuzuki.web.frame import Frame
from tsuzuki.web.ids import number_of, numbers_of
from tsuzuki.web.inbox.rows import day_after, rows_of
from tsuzuki.web.inbox.view import InboxView, read_view
from tsuzuki.web.links import Picture, as_feed_path
from tsuzuki.web.navigation import PLACE_LABELS
from tsuzuki.web.scripts import data_of
from tsuzuki.web.site import Owned, Site
from tsuzuki.web.texts import gettext as _

PAGE = 50
MOST_STATES = 1_000
_ENGINES = {"sqlite": "SQLite", "postgres": "PostgreSQL"}


class InboxTab(msgspec.Struct, frozen=True):
    """A way to look at the list."""

    name: str
    path: str
    is_here: bool


def home_page(site: Site) -> Resource:
    """`/`: leads strangers to signing in, and the very first to setting up."""
    engine = _ENGINES[site.accounts.deps.db.engine]
    inbox = _inbox(site)

    async def show_home(request: Request) -> Response:
        caller = await site.visitor(request)
        if caller is not None:
            return await inbox(request, caller)
        if "part" in request.query_params:
            raise Unauthorized("Sign in again.")  # a script asks for rows: this page would not fit into its list
        is_new = await site.accounts.setup.is_needed()
        return site.pages.private("home.html", BLANK, engine=engine, visitor=None, is_new=is_new)

    return page("/", show_home)


def _inbox(site: Site) -> Owned:
    """What `/` shows to somebody who is signed in."""
    inbox = site.inbox

    async def show(request: Request, caller: Caller) -> Response:
        view = read_view(request.query_params)
        wanted = view.wanted  # before anything is read: NotFound for what is no id
        after = PageCursor.read(request.query_params.get("before", "")) or FROM_THE_TOP
        opening = await site.open(caller)
        frame, part = await asyncio.gather(  # the page that is asked for most: its parts are read at once
            site.frame(request, caller, view.place, opening),
            inbox.page(opening.shelf.id, wanted, after=after, most=PAGE),
        )
        values = _listed(request, frame, view, part=part, picture=site.picture)
        if request.query_params.get("part") == "rows":
            return site.show(frame, "inbox_rows.html", **values)
        title = await _name(site, frame, view, part)
        return site.show(
            frame,
            "inbox.html",
            title=title,
            as_feed=as_feed_path(title, **_as_form(view)),
            newest=part.newest,
            has_unread=await _has_unread(inbox, frame, view, part, is_below=values["is_below"]),
            notes=read_notes(request.query_params, frame),
            tabs=_tabs(view),
            shows=_shows(view),
            sorts=_sorts(view),
            rows_shown=site.pages.part("inbox_rows.html", **values),
            **values,
        )

    return show


def states_page(site: Site) -> Resource:
    """`/inbox/states?ids=1,2`: what became of entries that a page shows, for the script that keeps it true."""
    inbox = site.inbox

    async def show_states(request: Request, shelf: MemberShelf) -> Response:
        texts = request.query_params.get("ids", "").split(",")[:MOST_STATES]
        ids = [EntryId(number) for number in numbers_of(texts)]
        return data_of(await inbox.states(shelf.id, ids))

    return page("/inbox/states", site.on_shelf(show_states))


def _listed(request: Request, frame: Frame, view: InboxView, *, part: InboxPage, picture: Picture) -> dict[str, Any]:
    rows = rows_of(part.rows, frame, view, picture=picture, last_day=request.query_params.get("day", ""))
    older = None
    if part.next_cursor is not None:
        older = view.path(before=str(part.next_cursor), day=day_after(part.rows, frame, view))
    is_below = "before" in request.query_params
    return {"rows": rows, "older": older, "view": view, "is_below": is_below}


def _as_form(view: InboxView) -> dict[str, str | None]:
    """The list as a form of feeds has it; all of it where it shows what is unread, which most readers do themselves."""
    show = "saved" if view.show == "saved" else None
    of = {"feed": view.feed, "group": view.group, "series": view.series, "tag": view.tag}
    return of | {"kind": view.kind, "show": show}


async def _has_unread(inbox: Inbox, frame: Frame, view: InboxView, part: InboxPage, *, is_below: bool) -> bool:
    """Whether there is something to mark: on this page, or elsewhere on a list that has more pages."""
    if any(line.unread for line in part.rows):
        return True
    if not is_below and part.next_cursor is None:
        return False
    return await inbox.total(frame.shelf.id, msgspec.structs.replace(view.wanted, unread=True)) > 0


async def _name(site: Site, frame: Frame, view: InboxView, part: InboxPage) -> str:
    """The heading of the list."""
    if view.feed is not None:
        public_id = read_id(view.feed)
        assert public_id is not None  # the list was found
        return (await site.reading.subscriptions.get(frame.shelf.id, public_id)).shown_name
    if view.wanted.tag is not None:
        return (await site.reading.tags.get(frame.shelf.id, view.wanted.tag)).name
    if view.group is not None:
        return next((group.name for group in frame.groups if group.id == view.group), _("Inbox"))
    if view.series is not None:
        return next((line.series_title for line in part.rows if line.series_title), _("Comics"))
    return _(PLACE_LABELS[view.place])


class UndoForm(msgspec.Struct, frozen=True):
    """A form that takes something back."""

    path: str
    fields: list[tuple[str, str]]


class InboxNotes(msgspec.Struct, frozen=True):
    """A sentence, and its undo."""

    text: str | None = None
    undo: UndoForm | None = None


def read_notes(query: QueryParams, frame: Frame) -> InboxNotes:
    """From the address that a mark led to; numbers only, so nothing of an address is ever shown."""
    count, undone = number_of(query.get("marked")), number_of(query.get("undone"))
    if count is not None:
        moment = number_of(query.get("undo"))
        fields = [("undo", str(moment)), ("back", read_view(query).path())]
        undo = None if moment is None or count == 0 else UndoForm("/inbox/undo", fields)
        words = frame.locale.ngettext("%(count)s entry marked read.", "%(count)s entries marked read.", count)
        return InboxNotes(words, undo)
    return InboxNotes() if undone is None else unread_again(undone, frame)


def unread_again(count: int, frame: Frame) -> InboxNotes:
    """The message after marks were undone."""
    return InboxNotes(
        frame.locale.ngettext("%(count)s entry marked unread again.", "%(count)s entries marked unread again.", count)
    )


def _tabs(view: InboxView) -> list[InboxTab]:
    """All kinds or one; a feed and a series are of one kind."""
    if view.feed or view.series:
        return []
    kinds = ((None, _("All")), ("chapter", _("Comics")), ("item", _("Articles")))
    return [InboxTab(name, view.but(kind=kind).path(), view.kind == kind) for kind, name in kinds]


def _shows(view: InboxView) -> list[InboxTab]:
    names = (("unread", _("Unread")), ("all", _("All entries")), ("saved", _("Saved")))
    return [InboxTab(name, view.but(show=show).path(), view.show == show) for show, name in names]


def _sorts(view: InboxView) -> list[InboxTab]:
    """The link that sorts by date, or by arrival again."""
    is_here = view.sort == "published"
    return [InboxTab(_("By date"), view.but(sort="arrived" if is_here else "published").path(), is_here)]
