"""On to the identity provider.

A form may not lead to another site (`form-action 'self'`, redirects included), so the answer is a page that goes on by
itself: what a browser posts stays posted to us, and nothing begins by a GET.
"""

import structlog
from starlette.requests import Request
from starlette.responses import Response

from tsuzuki.accounts.caller import Caller
from tsuzuki.accounts.oidc.policy import ProviderFailed
from tsuzuki.http.csrf import refuse_cross_site
from tsuzuki.http.routing import Resource
from tsuzuki.web.forms import BLANK, read_form, see
from tsuzuki.web.site import SIGN_IN, Site, with_query

PATH = "/sign-in/provider"

_log = structlog.stdlib.get_logger("tsuzuki.oidc")


def provider_page(site: Site) -> Resource:
    """`/sign-in/provider`: begins a sign-in there."""

    async def begin(request: Request) -> Response:
        refuse_cross_site(request)
        form = await read_form(request)
        return await to_provider(site, request, None, wish=form.one("next"))

    return Resource(PATH, {"POST": begin})


async def to_provider(site: Site, request: Request, caller: Caller | None, *, wish: str) -> Response:
    """The page that goes on to the provider; with a caller, to link that account."""
    try:
        url = await site.oidc.begin(request, caller, wish)
    except ProviderFailed as error:
        _log.warning("provider_failed", why=str(error))
        return see(with_query(SIGN_IN, reason="oidc_failed"))
    return site.pages.private("to_provider.html", BLANK, url=url, provider=site.oidc.name)
