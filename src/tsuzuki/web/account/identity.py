"""Linking one's account to an identity at the provider, and unlinking it."""

from starlette.requests import Request
from starlette.responses import Response

from tsuzuki.accounts.caller import Caller
from tsuzuki.http.routing import Resource
from tsuzuki.web.auth.provider import to_provider
from tsuzuki.web.forms import see
from tsuzuki.web.site import ACCOUNT, Site, with_query


def identity_pages(site: Site) -> tuple[Resource, ...]:
    """What the two buttons post to."""

    async def link(request: Request, caller: Caller) -> Response:
        return await to_provider(site, request, caller, wish=with_query(ACCOUNT, done="linked"))

    async def unlink(_: Request, caller: Caller) -> Response:
        await site.accounts.current_user.unlink(caller)
        return see(with_query(ACCOUNT, done="unlinked"))

    return (
        Resource(f"{ACCOUNT}/identity/link", {"POST": site.signed_in(link, ACCOUNT)}),
        Resource(f"{ACCOUNT}/identity/unlink", {"POST": site.signed_in(unlink, ACCOUNT)}),
    )
