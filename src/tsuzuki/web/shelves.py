"""`/account/shelves`: the shelves of a person, whom they share them with, and another one (R91)."""

from typing import Any, get_args

from msgspec import UnsetType
from starlette.requests import Request
from starlette.responses import Response

from tsuzuki.accounts.caller import Caller
from tsuzuki.accounts.policy import LONGEST_SHELF_NAME
from tsuzuki.accounts.sharing import shelf_user
from tsuzuki.accounts.types import ShelfRole
from tsuzuki.http.routing import Resource
from tsuzuki.model.errors import Conflict, NotFound
from tsuzuki.model.ids import read_id, show_id
from tsuzuki.web.forms import BLANK, Form, FormState, Rules, post_form, problem, read_form, see
from tsuzuki.web.ids import id_of
from tsuzuki.web.retention_form import chosen_keep, keep_choices, keep_words, posted_keep, spans_to_count
from tsuzuki.web.site import ACCOUNT, Site, with_query
from tsuzuki.web.texts import gettext as _

SHELVES = f"{ACCOUNT}/shelves"
ONE = f"{SHELVES}/{{shelf_id}}"
ROLES: tuple[ShelfRole, ...] = get_args(ShelfRole)
_NEW_RULES = Rules(keep=("name",))
_RULES = Rules(keep=("name", "person", "role"))
_NAME_RULES = Rules(keep=_RULES.keep, beside={Conflict: "name"})


def own_shelf_pages(site: Site) -> tuple[Resource, ...]:
    """The list with the form for another one, what is done to each, and the offer to who shared one before."""
    sharing = site.accounts.sharing

    async def show(request: Request, caller: Caller, form_state: FormState = BLANK) -> Response:
        frame = await site.frame(request, caller, "account")
        is_billed = site.billing.is_on
        return site.show(frame, "shelves.html", form_state, is_billed=is_billed, most=LONGEST_SHELF_NAME)

    async def make(_request: Request, caller: Caller, form: Form) -> Response:
        made = await sharing.make(shelf_user(caller), form.one("name"))
        return see(with_query(f"{SHELVES}/{show_id(made.public_id)}", done="shelf_made"))

    async def open_(request: Request, caller: Caller) -> Response:
        wanted = read_id((await read_form(request)).one("shelf"))
        if wanted is None:
            raise NotFound("There is no such shelf.")
        await site.accounts.current_user.choose_shelf(caller, wanted)
        return see("/")

    async def take(_: Request, caller: Caller) -> Response:
        try:
            await sharing.take_offer(shelf_user(caller))
        except Conflict:
            return see(SHELVES)  # pressed twice
        return see(with_query(SHELVES, done="shelf_own"))

    async def decline(_: Request, caller: Caller) -> Response:
        await sharing.decline_offer(shelf_user(caller))
        return see("/")

    return (
        site.form_page(SHELVES, show, make, rules=_NEW_RULES),
        Resource(f"{ACCOUNT}/open-shelf", {"POST": site.signed_in(open_, SHELVES)}),
        Resource(f"{ACCOUNT}/own-shelf", {"POST": site.signed_in(take, SHELVES)}),
        Resource(f"{ACCOUNT}/own-shelf/decline", {"POST": site.signed_in(decline, SHELVES)}),
        *_one(site),
        _removing(site),
        _deleting(site),
    )


def _one(site: Site) -> tuple[Resource, ...]:
    """`/account/shelves/{shelf_id}`: who has it, sharing it, its name."""
    sharing, preview = site.accounts.sharing, site.preview

    async def show(request: Request, caller: Caller, form_state: FormState = BLANK) -> Response:
        who, shelf_id = shelf_user(caller), id_of(request, "shelf_id")
        shelf = await sharing.shelf(who, shelf_id)
        owns = shelf.role == "owner"
        values: dict[str, Any] = {"shelf": shelf, "id": show_id(shelf_id), "owns": owns, "roles": ROLES}
        frame = await site.frame(request, caller, "account")
        usual = await preview.usual(shelf.id)
        counted = await preview.of_shelf(shelf.id, spans_to_count(shelf.own_retention, usual))
        return site.show(
            frame,
            "shelf.html",
            form_state,
            people=await sharing.people(who, shelf_id),
            others=await sharing.others(who, shelf_id) if owns else [],
            most=LONGEST_SHELF_NAME,
            keeps=keep_choices(
                counted,
                shelf.own_retention,
                usual,
                usual_text=_("as on this server: %(span)s", span=keep_words(usual)),
                locale=frame.locale,
            ),
            keep=chosen_keep(shelf.own_retention),
            **values,
        )

    async def rename(request: Request, caller: Caller, form: Form) -> Response:
        await sharing.rename(shelf_user(caller), id_of(request, "shelf_id"), form.one("name"))
        return see(with_query(_path(request), done="shelf_named"))

    async def share(request: Request, caller: Caller, form: Form) -> Response:
        role = next((role for role in ROLES if role == form.one("role")), None)
        if role is None:
            raise problem("role", _("The form could not be read."))
        await sharing.share(shelf_user(caller), id_of(request, "shelf_id"), form.one("person"), role)
        if "is_known" in form.fields:
            return see(with_query(_path(request), done="shelf_role"))
        return see(with_query(_path(request), done="shelf_shared"))

    async def keep(request: Request, caller: Caller) -> Response:
        """How long it keeps articles after they were read."""
        chosen = posted_keep(await read_form(request))
        if not isinstance(chosen, UnsetType):
            await sharing.set_retention(shelf_user(caller), id_of(request, "shelf_id"), chosen)
        return see(with_query(_path(request), done="shelf_keeps"))

    return (
        site.form_page(ONE, show, rename, rules=_NAME_RULES, back=SHELVES),
        Resource(f"{ONE}/retention", {"POST": site.signed_in(keep, SHELVES)}),
        Resource(f"{ONE}/people", {"POST": site.signed_in(post_form(share, show, _RULES), SHELVES)}),
    )


def _removing(site: Site) -> Resource:
    """Removing somebody, or leaving: asked first."""
    sharing = site.accounts.sharing

    async def ask(request: Request, caller: Caller) -> Response:
        who, shelf_id, person = shelf_user(caller), id_of(request, "shelf_id"), request.path_params["person_name"]
        shelf = await sharing.shelf(who, shelf_id)
        if not any(one.username == person for one in await sharing.people(who, shelf_id)):
            raise NotFound("There is no such person here.")
        leaves, back = person == caller.username, _path(request)
        return site.ask(
            await site.frame(request, caller, "account"),
            title=_("Leave %(name)s?", name=shelf.name)
            if leaves
            else _("Remove %(person)s from %(name)s?", person=person, name=shelf.name),
            text=_(
                "You lose access to it, and your notification channels for it are deleted. "
                "Only an owner can add you again."
            )
            if leaves
            else _(
                "%(person)s loses access to this shelf, and their notification channels for it are deleted.",
                person=person,
            ),
            yes=_("Leave shelf") if leaves else _("Remove"),
            path=f"{back}/people/{person}/remove",
            back=back,
        )

    async def remove(request: Request, caller: Caller) -> Response:
        person = request.path_params["person_name"]
        await sharing.remove(shelf_user(caller), id_of(request, "shelf_id"), person)
        if person == caller.username:
            return see(with_query(SHELVES, done="shelf_left"))
        return see(with_query(_path(request), done="shelf_unshared"))

    return Resource(
        f"{ONE}/people/{{person_name}}/remove", {"GET": site.signed_in(ask), "POST": site.signed_in(remove, SHELVES)}
    )


def _deleting(site: Site) -> Resource:
    """Asks first, and says what goes along."""
    sharing = site.accounts.sharing

    async def ask(request: Request, caller: Caller) -> Response:
        who, shelf_id = shelf_user(caller), id_of(request, "shelf_id")
        shelf, contents = await sharing.shelf(who, shelf_id), await sharing.contents(who, shelf_id)
        frame = await site.frame(request, caller, "account")
        return site.ask(
            frame,
            title=_("Delete %(name)s?", name=shelf.name),
            text=_(
                "This deletes all feeds (%(feeds)s), series (%(series)s) and bookmarks (%(bookmarks)s) "
                "for everyone who has this shelf (%(people)s). It cannot be undone.",
                feeds=contents.subscriptions,
                series=contents.follows,
                bookmarks=contents.bookmarks,
                people=contents.people,
            ),
            yes=_("Delete shelf"),
            path=f"{_path(request)}/delete",
            back=_path(request),
        )

    async def delete(request: Request, caller: Caller) -> Response:
        await sharing.delete(shelf_user(caller), id_of(request, "shelf_id"))
        return see(with_query(SHELVES, done="shelf_deleted"))

    return Resource(f"{ONE}/delete", {"GET": site.signed_in(ask), "POST": site.signed_in(delete, SHELVES)})


def _path(request: Request) -> str:
    return f"{SHELVES}/{show_id(id_of(request, 'shelf_id'))}"
