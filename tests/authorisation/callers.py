"""Everybody who may come to a door: with a cookie, with a token, with neither, and with what no longer opens it."""

from collections.abc import Awaitable, Callable

from tests.api.people import RunningApp, Visitor
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


async def visitor(app: RunningApp, name: str) -> Visitor:
    """Somebody new."""
    makers: dict[str, Callable[[RunningApp], Awaitable[Visitor]]] = {
        "anonymous": _anonymous,
        "reader": _reader,
        "other tenant's reader": _other_reader,
        "admin": _admin,
        "read token": lambda app: _token(app, "read"),
        "write token": lambda app: _token(app, "write"),
        "admin token": lambda app: _token(app, "admin"),
        "demoted admin's token": _demoted,
        "expired token": _expired,
        "revoked session": _revoked,
        "disabled reader": _disabled,
    }
    return await makers[name](app)


async def _anonymous(app: RunningApp) -> Visitor:
    return app.anyone


async def _reader(app: RunningApp) -> Visitor:
    return await app.signed_in(await app.add())


async def _other_reader(app: RunningApp) -> Visitor:
    return await app.signed_in(await app.add(tenant_id=app.other_tenant))


async def _admin(app: RunningApp) -> Visitor:
    return await app.signed_in(await app.add(role="admin"))


async def _token(app: RunningApp, scope: str) -> Visitor:
    return await app.with_token(await app.add(role="admin"), scope)


async def _demoted(app: RunningApp) -> Visitor:
    user = await app.add(role="admin")
    holder = await app.with_token(user, "admin")
    await app.accounts.users.change(SYSTEM, user.public_id, UserChange(role="reader"))
    return holder


async def _expired(app: RunningApp) -> Visitor:
    ends = Millis(app.time() + MINUTE)
    holder = await app.with_token(await app.add(role="admin"), "read", "write", "admin", ends=ends)
    app.time.pass_(MINUTE)
    return holder


async def _revoked(app: RunningApp) -> Visitor:
    user = await app.add(role="admin")
    holder = await app.signed_in(user)
    await app.accounts.sign_in.sign_out(holder.headers["cookie"].partition("=")[2], "")
    return holder


async def _disabled(app: RunningApp) -> Visitor:
    user = await app.add()
    holder = await app.signed_in(user)
    await app.accounts.users.disable(SYSTEM, user.public_id)
    return holder
