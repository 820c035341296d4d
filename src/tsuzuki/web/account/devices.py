"""Signing devices out: one, all others, or all."""

from starlette.requests import Request
from starlette.responses import Response

from tsuzuki.accounts.caller import Caller
from tsuzuki.http.entering import leave
from tsuzuki.http.routing import Resource
from tsuzuki.web.forms import see
from tsuzuki.web.ids import id_of
from tsuzuki.web.site import ACCOUNT, SIGN_IN, Site, with_query


def device_pages(site: Site) -> tuple[Resource, ...]:
    """What the buttons beside the devices post to."""

    async def end_one(request: Request, caller: Caller) -> Response:
        wanted = id_of(request, "session_id")
        if wanted == caller.key_public_id:
            return await _leave(request, "signed_out")
        await site.accounts.sessions.end(caller, wanted)
        return see(with_query(ACCOUNT, done="device"))

    async def end_others(_: Request, caller: Caller) -> Response:
        await site.accounts.sessions.end_others(caller)
        return see(with_query(ACCOUNT, done="others"))

    async def end_all(request: Request, caller: Caller) -> Response:
        await site.accounts.sessions.end_others(caller)
        return await _leave(request, "signed_out_everywhere")

    async def _leave(request: Request, done: str) -> Response:
        await leave(request, site.accounts.sign_in)
        return see(with_query(SIGN_IN, done=done))

    return (
        Resource(f"{ACCOUNT}/devices/{{session_id}}/sign-out", {"POST": site.signed_in(end_one, ACCOUNT)}),
        Resource(f"{ACCOUNT}/devices/sign-out-others", {"POST": site.signed_in(end_others, ACCOUNT)}),
        Resource(f"{ACCOUNT}/devices/sign-out-all", {"POST": site.signed_in(end_all, ACCOUNT)}),
    )
