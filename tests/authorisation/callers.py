"""Everybody who may come to a door: with a cookie, with a token, with neither, and with what no longer opens it."""

from collections.abc import Awaitable, Callable

from tests.api.people import Town, Visitor
from tests.authorisation.policy import ADMIN, PUBLIC, READ, WRITE
from tsuzuki.accounts.types import SYSTEM
from tsuzuki.accounts.users import UserChange
from tsuzuki.model.times import MINUTE, Millis

# What each caller meets at a route of each policy; 0 is being let in.
CALLERS: dict[str, dict[str, int]] = {
    "anonymous": {PUBLIC: 0, READ: 401, WRITE: 401, ADMIN: 401},
    "reader": {PUBLIC: 0, READ: 0, WRITE: 0, ADMIN: 403},
    "other tenant's reader": {PUBLIC: 0, READ: 0, WRITE: 0, ADMIN: 403},
    "admin": {PUBLIC: 0, READ: 0, WRITE: 0, ADMIN: 0},
    "read token": {PUBLIC: 0, READ: 0, WRITE: 403, ADMIN: 403},
    "write token": {PUBLIC: 0, READ: 403, WRITE: 0, ADMIN: 403},
    "admin token": {PUBLIC: 0, READ: 403, WRITE: 403, ADMIN: 0},
    "demoted admin's token": {PUBLIC: 0, READ: 403, WRITE: 403, ADMIN: 403},
    "expired token": {PUBLIC: 0, READ: 401, WRITE: 401, ADMIN: 401},
    "revoked session": {PUBLIC: 0, READ: 401, WRITE: 401, ADMIN: 401},
    "disabled reader": {PUBLIC: 0, READ: 401, WRITE: 401, ADMIN: 401},
}


async def visitor(town: Town, name: str) -> Visitor:
    """Somebody new."""
    makers: dict[str, Callable[[Town], Awaitable[Visitor]]] = {
        "anonymous": _anonymous,
        "reader": _reader,
        "other tenant's reader": _other_reader,
        "admin": _admin,
        "read token": lambda town: _token(town, "read"),
        "write token": lambda town: _token(town, "write"),
        "admin token": lambda town: _token(town, "admin"),
        "demoted admin's token": _demoted,
        "expired token": _expired,
        "revoked session": _revoked,
        "disabled reader": _disabled,
    }
    return await makers[name](town)


async def _anonymous(town: Town) -> Visitor:
    return town.anyone


async def _reader(town: Town) -> Visitor:
    return await town.signed_in(await town.add())


async def _other_reader(town: Town) -> Visitor:
    return await town.signed_in(await town.add(tenant_id=town.other_tenant))


async def _admin(town: Town) -> Visitor:
    return await town.signed_in(await town.add(role="admin"))


async def _token(town: Town, scope: str) -> Visitor:
    return await town.with_token(await town.add(role="admin"), scope)


async def _demoted(town: Town) -> Visitor:
    user = await town.add(role="admin")
    holder = await town.with_token(user, "admin")
    await town.accounts.users.change(SYSTEM, user.public_id, UserChange(role="reader"))
    return holder


async def _expired(town: Town) -> Visitor:
    ends = Millis(town.time() + MINUTE)
    holder = await town.with_token(await town.add(role="admin"), "read", "write", "admin", ends=ends)
    town.time.pass_(MINUTE)
    return holder


async def _revoked(town: Town) -> Visitor:
    user = await town.add(role="admin")
    holder = await town.signed_in(user)
    await town.accounts.sign_in.sign_out(holder.headers["cookie"].partition("=")[2], "")
    return holder


async def _disabled(town: Town) -> Visitor:
    user = await town.add()
    holder = await town.signed_in(user)
    await town.accounts.users.disable(SYSTEM, user.public_id)
    return holder
