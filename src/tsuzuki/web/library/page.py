"""`/library`: the series of the shelf, as covers or as a list, and where to read on."""

from collections.abc import Mapping
from typing import Any, get_args
from urllib.parse import urlencode

import msgspec
from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import Response

from tsuzuki.accounts.caller import Caller
from tsuzuki.accounts.nouns import Slice
from tsuzuki.http.routing import Resource, page
from tsuzuki.model.ids import read_id, show_id
from tsuzuki.shelves.library.follows.nouns import FollowFilter, Next, Sort, Status
from tsuzuki.shelves.library.follows.service import Follows
from tsuzuki.web.forms import read_form, see
from tsuzuki.web.frame import Frame, framing_of
from tsuzuki.web.ids import page_of
from tsuzuki.web.inbox.rows import chapter_name
from tsuzuki.web.labels import done_text
from tsuzuki.web.links import chapter_path
from tsuzuki.web.site import Site

PATH = "/library"
PAGE = 60
MOST_NEXT = 12
SORTS: tuple[Sort, ...] = get_args(Sort)
STATUSES: tuple[Status, ...] = get_args(Status)


class LibraryView(msgspec.Struct, frozen=True, kw_only=True):
    """Which part of the library is looked at."""

    sort: Sort = "title"
    status: Status | None = None
    group: str | None = None
    unread: bool = False
    gaps: bool = False
    page: int = 1

    @property
    def is_narrowed(self) -> bool:
        """Whether something of the library may be left out."""
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
        """The same for the library; a group that is not there counts as not said."""
        group = read_id(self.group) if self.group in groups and self.group else None
        return FollowFilter(
            status=self.status,
            group=group,
            unread=True if self.unread else None,
            has_gaps=True if self.gaps else None,
            sort=self.sort,
        )


class ContinueLink(msgspec.Struct, frozen=True):
    """Where to read on in a series."""

    next: Next
    path: str
    name: str


def library_pages(site: Site) -> tuple[Resource, ...]:
    """`/library`, and the choice between covers and a list."""
    framing = framing_of(site)
    follows = site.reading.follows

    async def show_library(request: Request, caller: Caller) -> Response:
        frame = await framing.frame(request, caller, "library")
        view = read_library_view(request.query_params)
        groups = {group.id: group.name for group in frame.groups}
        part = Slice.page(view.page, PAGE)
        rows, total = await follows.list(frame.shelf.id, view.wanted(groups), part)
        begun = [] if view.is_narrowed or view.page > 1 else await _onward(follows, frame)
        values: dict[str, Any] = {
            "rows": rows,
            "total": total,
            "view": view,
            "begun": begun,
            "pages": -(-total // PAGE),
        }
        if request.query_params.get("part") == "rows":
            return framing.show(frame, "library_rows.html", **values)
        done = done_text(request)
        values |= {"rows_shown": site.pages.part("library_rows.html", frame=frame, **values)}
        return framing.show(frame, "library.html", sorts=SORTS, statuses=STATUSES, done=done, **values)

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


async def _onward(follows: Follows, frame: Frame) -> list[ContinueLink]:
    return [
        ContinueLink(
            one,
            chapter_path(show_id(one.series_id), one.chapter_id),
            chapter_name(one.number, one.volume, one.chapter_title),
        )
        for one in await follows.continue_reading(frame.shelf.id, MOST_NEXT)
    ]


def _written(value: object) -> str:
    return "on" if value is True else "" if value is None else str(value)
