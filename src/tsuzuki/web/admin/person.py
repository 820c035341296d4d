"""`/admin/users/{id}`: somebody's role and address, another password, locking out and letting in, deleting."""

from starlette.requests import Request
from starlette.responses import Response

from tsuzuki.accounts.caller import Caller
from tsuzuki.accounts.policy import SHORTEST_PASSWORD
from tsuzuki.accounts.users import UserChange
from tsuzuki.http.routing import Resource
from tsuzuki.model.ids import show_id
from tsuzuki.web.admin.people import PATH, email_of, role_of
from tsuzuki.web.forms import BLANK, Act, Form, Rules, Sheet, fill, must_match, see
from tsuzuki.web.frame import framing_of
from tsuzuki.web.ids import id_of
from tsuzuki.web.labels import done_text
from tsuzuki.web.site import Site, with_query

ONE = f"{PATH}/{{user_id}}"
LONGEST_REASON = 500
_RULES = Rules(keep=("role", "email"))


def person_pages(site: Site) -> tuple[Resource, ...]:
    """The page, and what its forms post to; each shows it again when something is wrong."""
    users = site.accounts.users

    async def show_person(request: Request, caller: Caller) -> Response:
        return await _show(site, request, caller)

    async def change(request: Request, caller: Caller) -> Response:
        async def act(form: Form) -> Response:
            wanted = UserChange(role=role_of(form), email=email_of(form))
            await users.change(caller.actor, id_of(request, "user_id"), wanted)
            return see(with_query(_path(request), done="person_saved"))

        return await _filled(site, request, caller, act)

    return (
        Resource(ONE, {"GET": site.operator(show_person), "POST": site.operator(change, PATH)}),
        *_acts(site),
        _deleting(site),
    )


def _acts(site: Site) -> tuple[Resource, ...]:
    users = site.accounts.users

    async def reset(request: Request, caller: Caller) -> Response:
        async def act(form: Form) -> Response:
            password = must_match(form, "password", "repeat")
            await users.reset_password(caller.actor, id_of(request, "user_id"), password)
            return see(with_query(_path(request), done="person_password"))

        return await _filled(site, request, caller, act)

    async def switch(request: Request, caller: Caller) -> Response:
        async def act(form: Form) -> Response:
            user_id = id_of(request, "user_id")
            if form.one("enabled") == "on":
                await users.enable(caller.actor, user_id)
                return see(with_query(_path(request), done="person_on"))
            reason = form.one("reason").strip()[:LONGEST_REASON] or None
            await users.disable(caller.actor, user_id, reason=reason)
            return see(with_query(_path(request), done="person_off"))

        return await _filled(site, request, caller, act)

    return (
        Resource(f"{ONE}/password", {"POST": site.operator(reset, PATH)}),
        Resource(f"{ONE}/switch", {"POST": site.operator(switch, PATH)}),
    )


def _path(request: Request) -> str:
    return f"{PATH}/{show_id(id_of(request, 'user_id'))}"


async def _show(site: Site, request: Request, caller: Caller, sheet: Sheet = BLANK) -> Response:
    framing = framing_of(site)
    user, tenant = await site.accounts.users.get(id_of(request, "user_id"))
    return framing.show(
        await framing.frame(request, caller, "users"),
        "admin/person.html",
        sheet,
        user=user,
        user_id=show_id(user.public_id),
        tenant=tenant,
        is_self=user.id == caller.user_id,
        least=SHORTEST_PASSWORD,
        done=done_text(request),
    )


async def _filled(site: Site, request: Request, caller: Caller, act: Act) -> Response:
    await site.accounts.users.get(id_of(request, "user_id"))  # NotFound before anything that was typed is looked at
    return await fill(request, act, lambda sheet: _show(site, request, caller, sheet), rules=_RULES)


def _deleting(site: Site) -> Resource:
    """Asks first, and says what goes along."""
    framing, users = framing_of(site), site.accounts.users

    async def show(request: Request, caller: Caller, sheet: Sheet = BLANK) -> Response:
        user, tenant = await users.get(id_of(request, "user_id"))
        frame = await framing.frame(request, caller, "users")
        return framing.show(
            frame,
            "admin/person_delete.html",
            sheet,
            user=user,
            user_id=show_id(user.public_id),
            tenant=tenant,
            contents=await users.contents(user.public_id),
        )

    async def show_delete(request: Request, caller: Caller) -> Response:
        return await show(request, caller)

    async def delete(request: Request, caller: Caller) -> Response:
        async def act(_: Form) -> Response:
            await users.delete(caller.actor, id_of(request, "user_id"))
            return see(with_query(PATH, done="person_deleted"))

        return await fill(request, act, lambda sheet: show(request, caller, sheet), rules=_RULES)

    return Resource(f"{ONE}/delete", {"GET": site.operator(show_delete), "POST": site.operator(delete, PATH)})
