"""What every page is given: templates, services, the signed-in visitor, and the frame."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any
from urllib.parse import urlencode

import msgspec
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from tsuzuki.accounts.caller import Caller
from tsuzuki.accounts.people import found
from tsuzuki.accounts.policy import LONGEST_PATH
from tsuzuki.accounts.types import MemberShelf
from tsuzuki.http.auth import SAFE_METHODS, bearer_of, refuse_cross_site
from tsuzuki.http.routing import Handler, Resource
from tsuzuki.http.services import Services
from tsuzuki.model.errors import Forbidden
from tsuzuki.model.ids import ShelfId, show_id
from tsuzuki.web.forms import BLANK, ActOnForm, FormState, Rules, RulesOf, ShowForm, post_form, see
from tsuzuki.web.frame import Frame, GroupLink, OpenShelf
from tsuzuki.web.labels import find_label
from tsuzuki.web.locale import locale_of
from tsuzuki.web.renderer import Pages

SIGN_IN = "/sign-in"
ACCOUNT = "/account"
DEVICE_PASSWORDS = f"{ACCOUNT}/device-passwords"
APPS = "/apps"
SETUP = "/setup"

Owned = Callable[[Request, Caller], Awaitable[Response]]
"""A handler for someone who is signed in."""
OnShelf = Callable[[Request, MemberShelf], Awaitable[Response]]
"""A handler that needs to know no more of them than their shelf."""


class SettingRow(msgspec.Struct, frozen=True, kw_only=True):
    """A setting for people; its secrets are masked already."""

    name: str
    value: str
    is_set: bool
    """By the environment; else it is what it is by default."""
    group: str
    says: str


class Site(Services, frozen=True, kw_only=True):
    """The templates, and every service by its name."""

    pages: Pages
    settings: tuple[SettingRow, ...]
    """In the order of their table. The settings themselves lie above the pages."""
    public_url: str | None
    """The address at which people reach this server, if the operator set one; else it is taken from the request."""

    def address(self, request: Request) -> str:
        """Where people reach this server, without a slash at its end."""
        return (self.public_url or f"{request.url.scheme}://{request.url.netloc}").rstrip("/")

    async def visitor(self, request: Request) -> Caller | None:
        """The person of the cookie's session. Tokens open no pages: pages do more than a token's scopes may allow."""
        return None if bearer_of(request) is not None else await self.callers.of(request)

    def signed_in(self, handler: Owned, back: str | None = None) -> Handler:
        """For people who are signed in; everyone else signs in first, and comes back to `back`, else to the page."""

        async def ask(request: Request) -> Response:
            refuse_cross_site(request)
            caller = await self.visitor(request)
            if caller is None:
                return see(with_query(SIGN_IN, next=_here(request) if back is None else back))
            return await handler(request, msgspec.structs.replace(caller, writes=request.method not in SAFE_METHODS))

        return ask

    def on_shelf(self, handler: OnShelf, back: str | None = None) -> Handler:
        """The same for what is done on the shelf that is theirs, or that they have chosen."""

        async def ask(request: Request, caller: Caller) -> Response:
            return await handler(request, await self.accounts.current_user.shelf_of(caller))

        return self.signed_in(ask, back)

    def operator(self, handler: Owned, back: str | None = None) -> Handler:
        """Make a handler for administrators; other people are refused."""

        async def ask(request: Request, caller: Caller) -> Response:
            if not caller.may("admin"):
                raise Forbidden("This page is for administrators.")
            return await handler(request, caller)

        return self.signed_in(ask, back)

    def form_page(
        self,
        path: str,
        show: ShowForm,
        act: ActOnForm,
        *,
        rules: Rules | RulesOf,
        back: str | None = None,
        for_admin: bool = False,
    ) -> Resource:
        """A form: GET shows it, POST acts on it or shows it again with what is wrong."""
        guard = self.operator if for_admin else self.signed_in
        return Resource(path, {"GET": guard(show), "POST": guard(post_form(act, show, rules), back or path)})

    async def shelf_id(self, caller: Caller) -> ShelfId:
        """The shelf that is theirs, or that they have chosen."""
        return (await self.accounts.current_user.shelf_of(caller)).id

    async def open(self, caller: Caller) -> OpenShelf:
        """The open shelf of the caller."""
        shelves, preferences = await asyncio.gather(
            self.accounts.current_user.shelves_of(caller), self.accounts.preferences.get(caller)
        )
        shelf = found(next(iter(shelves), None), "shelf")
        return OpenShelf(shelf, shelves, preferences, await self.events.place(shelf.id))

    async def frame(self, request: Request, caller: Caller, here: str, opening: OpenShelf | None = None) -> Frame:
        """The frame of the caller's default shelf."""
        shelf, shelves, preferences, place = msgspec.structs.astuple(opening or await self.open(caller))
        counts, listed = await asyncio.gather(self.inbox.sums(shelf.id), self.reading.groups.list(shelf.id))
        language, done = request.headers.get("accept-language", ""), request.query_params.get("done")
        return Frame(
            caller=caller,
            shelf=shelf,
            shelves=shelves,
            preferences=preferences,
            locale=locale_of(language, clock=preferences.clock, zone=preferences.time_zone),
            place=place,
            counts=counts,
            groups=[GroupLink(show_id(one.public_id), one.name, counts.groups.get(one.id, 0)) for one in listed],
            here=here,
            done=find_label("done", done) if done else None,
            now=self.accounts.deps.clock(),
            dues=await self.billing.books.dues(caller.tenant_id) if self.billing.is_on else None,
        )

    def show(self, frame: Frame, template: str, form_state: FormState = BLANK, **values: Any) -> HTMLResponse:
        """A page within this frame; no cache keeps it."""
        values = {"done": frame.done, **values}
        return self.pages.private(template, form_state, frame=frame, visitor=frame.caller.username, **values)

    def ask(
        self, frame: Frame, *, title: str, text: str, yes: str, path: str, back: str, fields: Mapping[str, str] = {}
    ) -> HTMLResponse:
        """A page that asks before something goes and says what goes along; yes posts these fields to the path."""
        return self.show(frame, "confirm.html", question=title, text=text, yes=yes, path=path, back=back, fields=fields)

    def picture(self, address: str) -> str | None:
        """Where this server brings a picture of another site from, by a signed address; None when it does not.

        No third party learns what somebody reads.
        """
        return self.pictures.articles.url(address) if address.startswith(("http://", "https://")) else None


def with_query(path: str, **values: str) -> str:
    """The path with these values behind its `?`."""
    return f"{path}?{urlencode(values)}"


def _here(request: Request) -> str:
    """Where a reader wanted to go; what was posted is not posted again, nor does a header hold whatever was asked."""
    here = request.url.path + (f"?{request.url.query}" if request.url.query else "")
    return here if request.method in SAFE_METHODS and len(here) <= LONGEST_PATH else "/"
