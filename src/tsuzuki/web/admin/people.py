"""`/admin/users`: people, invitations, and the page of one person."""

import re

from starlette.requests import Request
from starlette.responses import Response

from tsuzuki.accounts.caller import Caller
from tsuzuki.accounts.policy import SHORTEST_PASSWORD
from tsuzuki.accounts.types import Role, Slice
from tsuzuki.accounts.users import NewPerson, UserChange
from tsuzuki.http.routing import Resource, page
from tsuzuki.model.errors import Conflict, LimitExceeded
from tsuzuki.model.ids import PublicId, read_id, show_id
from tsuzuki.web.forms import BLANK, Form, FormState, Rules, must_match, post_form, problem, read_form, read_reason, see
from tsuzuki.web.ids import id_of, pages_of, slice_of
from tsuzuki.web.site import Site, with_query
from tsuzuki.web.texts import gettext as _

PATH = "/admin/users"
ADD = f"{PATH}/add"
MOST_TENANTS = 200
LONGEST_EMAIL = 254
_EMAIL = re.compile(r"[^@\s]+@[^@\s]+")
_RULES = Rules(keep=("username", "role", "email", "tenant"), beside={Conflict: "username", LimitExceeded: "tenant"})


def people_pages(site: Site) -> tuple[Resource, ...]:
    """The list, the form to add somebody, and what invitations need."""
    accounts, billing = site.accounts, site.billing

    async def show_people(request: Request, caller: Caller) -> Response:
        frame = await site.frame(request, caller, "users")
        people, total = await accounts.users.list(slice_of(request))
        tenants, _ = await accounts.tenants.list(Slice(most=MOST_TENANTS))
        return site.show(
            frame,
            "admin/people.html",
            people=people,
            pages=pages_of(request, total),
            invites=await accounts.invites.list(),
            tenants=tenants,
            is_billed=billing.is_on,
        )

    async def show(request: Request, caller: Caller, form_state: FormState = BLANK) -> Response:
        frame = await site.frame(request, caller, "users")
        tenants, _ = await accounts.tenants.list(Slice(most=MOST_TENANTS))
        return site.show(
            frame, "admin/person_add.html", form_state, tenants=tenants, least=SHORTEST_PASSWORD, show_id=show_id
        )

    async def add(_request: Request, caller: Caller, form: Form) -> Response:
        password = must_match(form, "password", "repeat")
        new = NewPerson(
            username=form.one("username"),
            role=role_of(form),
            tenant_id=_tenant(form),
            password=password or None,
            email=email_of(form),
        )
        user = await accounts.users.add(caller.actor, new)
        return see(with_query(f"{PATH}/{show_id(user.public_id)}", done="person_added"))

    async def invite(request: Request, caller: Caller) -> Response:
        """No redirect: what is shown once has no address to be found at again."""
        form = await read_form(request)
        made = await accounts.invites.make(caller, role_of(form), _tenant(form))
        link = f"{site.address(request)}{with_query('/invite', code=made.code)}"
        frame = await site.frame(request, caller, "users")
        return site.show(frame, "admin/invited.html", link=link, made=made)

    async def revoke(request: Request, caller: Caller) -> Response:
        await accounts.invites.revoke(caller, id_of(request, "invite_id"))
        return see(with_query(PATH, done="invite_revoked"))

    return (
        page(PATH, site.operator(show_people)),
        site.form_page(ADD, show, add, rules=_RULES, for_admin=True),
        Resource("/admin/invites", {"POST": site.operator(invite, PATH)}),
        Resource("/admin/invites/{invite_id}/revoke", {"POST": site.operator(revoke, PATH)}),
    )


def role_of(form: Form) -> Role:
    """The chosen role; a reader where none was."""
    return "admin" if form.one("role") == "admin" else "reader"


def email_of(form: Form) -> str | None:
    """The address; None where none was typed."""
    email = form.one("email").strip()
    if email and (len(email) > LONGEST_EMAIL or not _EMAIL.fullmatch(email)):
        raise problem("email", _("Enter a valid email address."))
    return email or None


def _tenant(form: Form) -> PublicId | None:
    """The chosen tenant; the first one where the form offered no choice."""
    return read_id(form.one("tenant")) if form.one("tenant") else None


ONE = f"{PATH}/{{user_id}}"
_PERSON_RULES = Rules(keep=("role", "email"))


def person_pages(site: Site) -> tuple[Resource, ...]:
    """The page, and what its forms post to; each shows it again when something is wrong."""
    users = site.accounts.users

    async def show(request: Request, caller: Caller, form_state: FormState = BLANK) -> Response:
        user, tenant = await users.get(id_of(request, "user_id"))
        return site.show(
            await site.frame(request, caller, "users"),
            "admin/person.html",
            form_state,
            user=user,
            user_id=show_id(user.public_id),
            tenant=tenant,
            is_self=user.id == caller.user_id,
            least=SHORTEST_PASSWORD,
        )

    async def change(request: Request, caller: Caller, form: Form) -> Response:
        wanted = UserChange(role=role_of(form), email=email_of(form))
        await users.change(caller.actor, id_of(request, "user_id"), wanted)
        return see(with_query(_path(request), done="person_saved"))

    async def reset(request: Request, caller: Caller, form: Form) -> Response:
        password = must_match(form, "password", "repeat")
        await users.reset_password(caller.actor, id_of(request, "user_id"), password)
        return see(with_query(_path(request), done="person_password"))

    async def switch(request: Request, caller: Caller, form: Form) -> Response:
        user_id = id_of(request, "user_id")
        if form.one("enabled") == "on":
            await users.enable(caller.actor, user_id)
            return see(with_query(_path(request), done="person_on"))
        reason = read_reason(form)
        await users.disable(caller.actor, user_id, reason=reason)
        return see(with_query(_path(request), done="person_off"))

    return (
        site.form_page(ONE, show, change, rules=_PERSON_RULES, back=PATH, for_admin=True),
        Resource(f"{ONE}/password", {"POST": site.operator(post_form(reset, show, _PERSON_RULES), PATH)}),
        Resource(f"{ONE}/switch", {"POST": site.operator(post_form(switch, show, _PERSON_RULES), PATH)}),
        _deleting(site),
    )


def _path(request: Request) -> str:
    return f"{PATH}/{show_id(id_of(request, 'user_id'))}"


def _deleting(site: Site) -> Resource:
    """Asks first, and says what goes along."""
    users = site.accounts.users

    async def show(request: Request, caller: Caller, form_state: FormState = BLANK) -> Response:
        user, tenant = await users.get(id_of(request, "user_id"))
        frame = await site.frame(request, caller, "users")
        return site.show(
            frame,
            "admin/person_delete.html",
            form_state,
            user=user,
            user_id=show_id(user.public_id),
            tenant=tenant,
            contents=await users.contents(user.public_id),
        )

    async def delete(request: Request, caller: Caller, _form: Form) -> Response:
        await users.delete(caller.actor, id_of(request, "user_id"))
        return see(with_query(PATH, done="person_deleted"))

    return site.form_page(f"{ONE}/delete", show, delete, rules=_PERSON_RULES, back=PATH, for_admin=True)
