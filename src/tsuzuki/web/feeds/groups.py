"""Groups: added, renamed, put in order, deleted."""

from starlette.requests import Request
from starlette.responses import Response

from tsuzuki.accounts.caller import Caller
from tsuzuki.accounts.types import MemberShelf
from tsuzuki.http.routing import Resource
from tsuzuki.model.errors import Conflict
from tsuzuki.web.feeds.page import PATH as FEEDS
from tsuzuki.web.forms import BLANK, Form, FormState, Rules, problem, read_form, see
from tsuzuki.web.ids import id_of
from tsuzuki.web.site import Site, with_query
from tsuzuki.web.texts import gettext as _

PATH = "/groups"
LONGEST = 200
_RULES = Rules(keep=("name",), beside={Conflict: "name"})


def group_pages(site: Site) -> tuple[Resource, ...]:
    """`/groups/new`, `/groups/{id}`, and what the buttons of a group post to."""
    groups, feeds = site.reading.groups, site.reading.subscriptions

    async def show_form(request: Request, caller: Caller, form_state: FormState = BLANK) -> Response:
        frame = await site.frame(request, caller, "feeds")
        return site.show(frame, "group.html", form_state, group=None, count=0)

    async def show_one(request: Request, caller: Caller, form_state: FormState = BLANK) -> Response:
        frame = await site.frame(request, caller, "feeds")
        group = await groups.get(frame.shelf.id, id_of(request, "group_id"))
        count = len(await feeds.list(frame.shelf.id, group=group.public_id))
        return site.show(frame, "group.html", form_state, group=group, count=count, id=request.path_params["group_id"])

    async def add(_request: Request, caller: Caller, form: Form) -> Response:
        await groups.add(await site.shelf_id(caller), _name(form))
        return see(with_query(FEEDS, done="group_added"))

    async def rename(request: Request, caller: Caller, form: Form) -> Response:
        await groups.change(await site.shelf_id(caller), id_of(request, "group_id"), name=_name(form))
        return see(with_query(FEEDS, done="group_saved"))

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
        site.form_page(f"{PATH}/new", show_form, add, rules=_RULES, back=FEEDS),
        site.form_page(one, show_one, rename, rules=_RULES, back=FEEDS),
        Resource(f"{one}/move", {"POST": site.on_shelf(move, FEEDS)}),
        Resource(f"{one}/delete", {"POST": site.on_shelf(delete, FEEDS)}),
    )


def _name(form: Form) -> str:
    name = " ".join(form.one("name").split())[:LONGEST]
    if not name:
        raise problem("name", _("Enter a name."))
    return name
