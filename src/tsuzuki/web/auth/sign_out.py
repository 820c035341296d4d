"""Signing out."""

from starlette.requests import Request
from starlette.responses import Response

from tsuzuki.http.csrf import refuse_cross_site
from tsuzuki.http.entering import leave
from tsuzuki.http.routing import Resource
from tsuzuki.web.forms import see
from tsuzuki.web.site import SIGN_IN, Site, with_query

PATH = "/sign-out"


def sign_out_page(site: Site) -> Resource:
    """`/sign-out`: a button posts here; a link, or a picture in an article, signs nobody out (SEC-16)."""

    async def sign_out(request: Request) -> Response:
        refuse_cross_site(request)
        await leave(request, site.accounts.sign_in)
        return see(with_query(SIGN_IN, done="signed_out"))

    return Resource(PATH, {"POST": sign_out})
