"""Groups: added, renamed, put in order, deleted."""

from starlette.requests import Request
from starlette.responses import Response

from tsuzuki.accounts.caller import Caller
from tsuzuki.accounts.types import MemberShelf
from tsuzuki.http.routing import Resource
from tsuzuki.model.errors import Conflict
from tsuzuki.web.feeds.page import PATH as FEEDS
from tsuzuki.web.forms import BLANK, Form, Rules, Sheet, fill, problem, read_form, see
from tsuzuki.web.frame import framing_of
from tsuzuki.web.ids import id_of
from tsuzuki.web.site import Site, with_query
from tsuzuki.web.texts import gettext as _

PATH = "/groups"
LONGEST = 200
_RULES = Rules(keep=("name",), beside={Conflict: "name"})


def group_pages(site: Site) -> tuple[Resource, ...]:
    """`/groups/new` and `/groups/{id}`: the forms."""
    framing = framing_of(site)
    groups, feeds = site.reading.groups, site.reading.subscriptions

    async def show_form(request: Request, caller: Caller, sheet: Sheet = BLANK) -> Response:
        frame = await framing.frame(request, caller, "feeds")
        return framing.show(frame, "group.html", sheet, group=None, count=0)

    async def show_one(request: Request, caller: Caller, sheet: Sheet = BLANK) -> Response:
        frame = await framing.frame(request, caller, "feeds")
        group = await groups.get(frame.shelf.id, id_of(request, "group_id"))
        count = len(await feeds.list(frame.shelf.id, group=group.public_id))
        return framing.show(frame, "group.html", sheet, group=group, count=count, id=request.path_params["group_id"])

    async def show_new(request: Request, caller: Caller) -> Response:
        return await show_form(request, caller)

    async def show_group(request: Request, caller: Caller) -> Response:
        return await show_one(request, caller)

    async def add(request: Request, caller: Caller) -> Response:
        async def act(form: Form) -> Response:
            shelf = await site.accounts.current_user.shelf_of(caller)
            await groups.add(shelf.id, _name(form))
            return see(with_query(FEEDS, done="group_added"))

        return await fill(request, act, lambda sheet: show_form(request, caller, sheet), rules=_RULES)

    async def rename(request: Request, caller: Caller) -> Response:
        async def act(form: Form) -> Response:
            shelf = await site.accounts.current_user.shelf_of(caller)
            await groups.change(shelf.id, id_of(request, "group_id"), name=_name(form))
            return see(with_query(FEEDS, done="group_saved"))

        return await fill(request, act, lambda sheet: show_one(request, caller, sheet), rules=_RULES)

    one = f"{PATH}/{{group_id}}"
    return (
        Resource(f"{PATH}/new", {"GET": site.signed_in(show_new), "POST": site.signed_in(add, FEEDS)}),
        Resource(one, {"GET": site.signed_in(show_group), "POST": site.signed_in(rename, FEEDS)}),
    )


def group_acts(site: Site) -> tuple[Resource, ...]:
    """What the buttons of a group post to."""
    groups = site.reading.groups

    async def move(request: Request, shelf: MemberShelf) -> Response:
        form = await read_form(request)
        moved = await groups.get(shelf.id, id_of(request, "group_id"))
        order = [group.public_id for group in await groups.list(shelf.id)]
        place = order.index(moved.public_id)
        order.insert(max(0, place + (-1 if form.one("to") == "up" else 1)), order.pop(place))
        for position, public_id in enumerate(order):
            await groups.change(shelf.id, public_id, position=position)
        return see(with_query(FEEDS, done="group_moved"))

    async def delete(request: Request, shelf: MemberShelf) -> Response:
        await groups.delete(shelf.id, id_of(request, "group_id"))
        return see(with_query(FEEDS, done="group_deleted"))

    one = f"{PATH}/{{group_id}}"
    return (
        Resource(f"{one}/move", {"POST": site.on_shelf(move, FEEDS)}),
        Resource(f"{one}/delete", {"POST": site.on_shelf(delete, FEEDS)}),
    )


def _name(form: Form) -> str:
    name = " ".join(form.one("name").split())[:LONGEST]
    if not name:
        raise problem("name", _("Enter a name."))
    return name
