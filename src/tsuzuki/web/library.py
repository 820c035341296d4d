"""The library of series, and the history."""

from collections.abc import Mapping
from typing import Any, get_args
from urllib.parse import urlencode

import msgspec
from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import Response

from tsuzuki.accounts.caller import Caller
from tsuzuki.accounts.types import MemberShelf, Slice
from tsuzuki.http.routing import Resource, page
from tsuzuki.model.errors import Invalid, NotFound
from tsuzuki.model.ids import ChapterId, read_id
from tsuzuki.model.pages import FROM_THE_TOP, PageCursor
from tsuzuki.model.times import Millis
from tsuzuki.shelves.types import FollowFilter, FollowStatus, Sort
from tsuzuki.web.forms import read_form, see
from tsuzuki.web.ids import number_of, page_of
from tsuzuki.web.inbox.page import InboxNotes, UndoForm
from tsuzuki.web.labels import find_label
from tsuzuki.web.site import Site, with_query
from tsuzuki.web.texts import gettext as _

PATH = "/library"
PAGE = 60
MOST_NEXT = 12
SORTS: tuple[Sort, ...] = get_args(Sort)
STATUSES: tuple[FollowStatus, ...] = get_args(FollowStatus)


class LibraryView(msgspec.Struct, frozen=True, kw_only=True):
    """Which part of the library is looked at."""

    sort: Sort = "title"
    status: FollowStatus | None = None
    group: str | None = None
    unread: bool = False
    gaps: bool = False
    page: int = 1

    @property
    def is_narrowed(self) -> bool:
        """Whether a filter is set."""
        return bool(self.status or self.group or self.unread or self.gaps)

    def path(self, **changes: object) -> str:
        """Its address, or that of a view which differs in this."""
        query = self.query(**changes)
        return f"{PATH}?{query}" if query else PATH

    def query(self, **changes: object) -> str:
        """What its address says; nothing for what goes without saying."""
        values = msgspec.structs.asdict(self) | changes
        usual = msgspec.structs.asdict(LibraryView())
        return urlencode({name: _written(value) for name, value in values.items() if value != usual[name]})

    def wanted(self, groups: Mapping[str, str]) -> FollowFilter:
        """The filter for the library; an unknown group is ignored."""
        group = read_id(self.group) if self.group in groups and self.group else None
        return FollowFilter(
            status=self.status,
            group=group,
            unread=True if self.unread else None,
            has_gaps=True if self.gaps else None,
            sort=self.sort,
        )


def library_pages(site: Site) -> tuple[Resource, ...]:
    """`/library`, and the choice between covers and a list."""
    follows = site.reading.follows

    async def show_library(request: Request, caller: Caller) -> Response:
        frame = await site.frame(request, caller, "library")
        view = read_library_view(request.query_params)
        groups = {group.id: group.name for group in frame.groups}
        part = Slice.page(view.page, PAGE)
        rows, total = await follows.list(frame.shelf.id, view.wanted(groups), part)
        begun = [] if view.is_narrowed or view.page > 1 else await follows.continue_reading(frame.shelf.id, MOST_NEXT)
        values: dict[str, Any] = {
            "rows": rows,
            "total": total,
            "view": view,
            "begun": begun,
            "pages": -(-total // PAGE),
        }
        if request.query_params.get("part") == "rows":
            return site.show(frame, "library_rows.html", **values)
        values |= {"rows_shown": site.pages.part("library_rows.html", frame=frame, **values)}
        return site.show(frame, "library.html", sorts=SORTS, statuses=STATUSES, **values)

    async def look(request: Request, caller: Caller) -> Response:
        form = await read_form(request)
        wanted = "list" if form.one("look") == "list" else "grid"
        await site.accounts.preferences.change(caller, {"library_look": wanted})
        view = read_library_view(QueryParams(form.one("view")))
        return see(view.path())

    return (
        page(PATH, site.signed_in(show_library)),
        Resource(f"{PATH}/look", {"POST": site.signed_in(look, PATH)}),
    )


def read_library_view(query: QueryParams) -> LibraryView:
    """What an address asks for; a word that we do not know counts as not said."""
    return LibraryView(
        sort=next((sort for sort in SORTS if sort == query.get("sort")), "title"),
        status=next((status for status in STATUSES if status == query.get("status")), None),
        group=query.get("group") or None,
        unread=query.get("unread") == "on",
        gaps=query.get("gaps") == "on",
        page=page_of(query),
    )


def _written(value: object) -> str:
    return "on" if value is True else "" if value is None else str(value)


HISTORY_PATH = "/history"
HISTORY_PAGE = 50


def history_pages(site: Site) -> tuple[Resource, ...]:
    """The list, and what forgets one of it (which can be taken back) or all of it."""
    progress = site.reading.progress

    async def show_history(request: Request, caller: Caller) -> Response:
        frame = await site.frame(request, caller, "history")
        after = PageCursor.read(request.query_params.get("before", "")) or FROM_THE_TOP
        found = await progress.history(frame.shelf.id, after=after, most=HISTORY_PAGE)
        return site.show(
            frame,
            "history.html",
            rows=found.rows,
            total=found.total,
            older=None if found.next_cursor is None else with_query(HISTORY_PATH, before=str(found.next_cursor)),
            notes=_notes(request),
        )

    async def forget(request: Request, shelf: MemberShelf) -> Response:
        form = await read_form(request)
        chapter = number_of(form.one("chapter"))
        if chapter is None:
            raise NotFound("There is no such chapter in the history.")
        opened_at = await progress.forget(shelf.id, ChapterId(chapter))
        return see(with_query(HISTORY_PATH, forgotten=str(chapter), at=str(opened_at)))

    async def recall(request: Request, shelf: MemberShelf) -> Response:
        form = await read_form(request)
        chapter, opened_at = number_of(form.one("chapter")), number_of(form.one("at"))
        if chapter is None or opened_at is None:
            raise Invalid(_("The form could not be read."))
        await progress.recall(shelf.id, ChapterId(chapter), Millis(opened_at))
        return see(with_query(HISTORY_PATH, done="recalled"))

    async def ask_clear(request: Request, caller: Caller) -> Response:
        frame = await site.frame(request, caller, "history")
        found = await progress.history(frame.shelf.id, after=FROM_THE_TOP, most=1)
        count = frame.locale.ngettext(
            "%(count)s chapter is removed from the history.",
            "%(count)s chapters are removed from the history.",
            found.total,
        )
        return site.ask(
            frame,
            title=_("Clear history?"),
            text=" ".join((count, _("Your reading progress is kept. This cannot be undone."))),
            yes=_("Clear history"),
            path=f"{HISTORY_PATH}/clear",
            back=HISTORY_PATH,
        )

    async def clear(request: Request, shelf: MemberShelf) -> Response:
        await read_form(request)
        await progress.forget_all(shelf.id)
        return see(with_query(HISTORY_PATH, done="history_cleared"))

    return (
        page(HISTORY_PATH, site.signed_in(show_history)),
        Resource(f"{HISTORY_PATH}/forget", {"POST": site.on_shelf(forget, HISTORY_PATH)}),
        Resource(f"{HISTORY_PATH}/recall", {"POST": site.on_shelf(recall, HISTORY_PATH)}),
        Resource(
            f"{HISTORY_PATH}/clear", {"GET": site.signed_in(ask_clear), "POST": site.on_shelf(clear, HISTORY_PATH)}
        ),
    )


def _notes(request: Request) -> InboxNotes:
    """What was just done: numbers and words of ours only."""
    query = request.query_params
    chapter, opened_at = number_of(query.get("forgotten")), number_of(query.get("at"))
    if chapter is None or opened_at is None:
        return InboxNotes(find_label("done", query.get("done")))
    return InboxNotes(
        _("Removed from history. Your reading progress is kept."),
        UndoForm(f"{HISTORY_PATH}/recall", [("chapter", str(chapter)), ("at", str(opened_at))]),
    )
