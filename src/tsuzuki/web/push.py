"""`/notifications/push`: a browser adds itself as a channel, and takes itself away again. Scripts post here."""

from starlette.requests import Request
from starlette.responses import Response

from tsuzuki.accounts.caller import Caller
from tsuzuki.accounts.sessions import device_name
from tsuzuki.http.routing import Resource
from tsuzuki.notifications.channels import Browser
from tsuzuki.web.forms import read_form
from tsuzuki.web.scripts import data_of
from tsuzuki.web.site import Site

PATH = "/notifications/push"
_NOBODY = "mailto:admin@localhost"
"""The contact for push services without an https address: then only browsers on this machine can subscribe."""


def push_resources(site: Site) -> tuple[Resource, ...]:
    """What a page and the service worker post."""
    channels = site.channels

    def contact(request: Request) -> str:
        address = site.address(request)
        return address if address.startswith("https://") else _NOBODY

    async def add(request: Request, caller: Caller) -> Response:
        form = await read_form(request)
        browser = Browser(
            name=device_name(request.headers.get("user-agent", "")),
            url=form.one("url"),
            p256dh=form.one("p256dh"),
            auth=form.one("auth"),
            titles=form.one("titles") == "on",
            contact=contact(request),
        )
        # A new address of a browser keeps the choices of the one before.
        added = await channels.add_browser(await site.shelf_id(caller), caller.user_id, browser, form.one("was"))
        return data_of({"name": added.name})

    async def remove(request: Request, caller: Caller) -> Response:
        form = await read_form(request)
        await channels.remove_browser(await site.shelf_id(caller), caller.user_id, form.one("url"))
        return data_of({})

    return (
        Resource(PATH, {"POST": site.signed_in(add)}),
        Resource(f"{PATH}/remove", {"POST": site.signed_in(remove)}),
    )
