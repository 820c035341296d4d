"""Adding a feed: an address is looked at, what is there is shown, then it is followed."""

from collections.abc import Mapping

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from tsuzuki.accounts.caller import Caller
from tsuzuki.connectors.discovery import guesses_told
from tsuzuki.connectors.feed_addresses import typed_address
from tsuzuki.http.routing import Resource
from tsuzuki.model.errors import Conflict, RefusedAddress, SourceError
from tsuzuki.model.ids import PublicId, read_id, show_id
from tsuzuki.polling.addresses import TriedAddress
from tsuzuki.shelves.subscriptions.nouns import NewSubscription
from tsuzuki.web.feeds.page import PATH as FEEDS
from tsuzuki.web.forms import BLANK, Form, Rules, Sheet, fill, problem, see
from tsuzuki.web.frame import framing_of
from tsuzuki.web.site import Site, with_query
from tsuzuki.web.texts import gettext as _

PATH = f"{FEEDS}/add"
LONGEST_URL = 8192
MOST_SHOWN = 5
_LOOKING = Rules(keep=("url",), beside={SourceError: "url", RefusedAddress: "url"})
_FOLLOWING = Rules(keep=("url", "link", "name", "group", "full_text"), beside={Conflict: "url", SourceError: "url"})


class Found(msgspec.Struct, frozen=True):
    """What an address is."""

    tried: TriedAddress
    links: list[tuple[str, str]]
    """Feeds to choose from: address and title."""
    followed: Mapping[str, str]
    """Those of them that are on the shelf, with their ids."""

    @property
    def new(self) -> list[str]:
        """Those that can be followed."""
        return [link for link, _ in self.links if link not in self.followed]


def adding_pages(site: Site) -> tuple[Resource, ...]:
    """`/feeds/add` shows the form and follows; `/feeds/find` looks."""
    framing = framing_of(site)
    trier, feeds = site.trier, site.reading.subscriptions

    async def show(request: Request, caller: Caller, sheet: Sheet, found: Found | None = None) -> Response:
        frame = await framing.frame(request, caller, "feeds")
        return framing.show(frame, "feed_add.html", sheet, found=found, most=MOST_SHOWN)

    async def show_add(request: Request, caller: Caller) -> Response:
        url = request.query_params.get("url", "")[:LONGEST_URL]
        return await show(request, caller, Sheet(values={"url": (url,)}) if url else BLANK)

    async def look(request: Request, caller: Caller) -> Response:
        async def act(form: Form) -> Response:
            url = read_url(form)
            tried = await trier.try_url(url, site.accounts.deps.clock())
            if tried.kind == "page" and not tried.found:
                nothing = _("No feed was found at this address.")
                raise problem("url", f"{nothing} {guesses_told(tried.guessed)}".strip())
            links = _links(tried, url)
            shelf = await site.accounts.current_user.shelf_of(caller)
            followed = await feeds.followed(shelf.id, [link for link, _ in links])
            found = Found(tried, links, {link: show_id(public_id) for link, public_id in followed.items()})
            return await show(request, caller, Sheet(values={"url": (url,)}), found)

        return await fill(request, act, lambda sheet: show(request, caller, sheet), rules=_LOOKING)

    async def follow(request: Request, caller: Caller) -> Response:
        async def act(form: Form) -> Response:
            shelf = await site.accounts.current_user.shelf_of(caller)
            await feeds.add(shelf.id, _wish(form))
            return see(with_query(FEEDS, done="followed"))

        return await fill(request, act, lambda sheet: show(request, caller, sheet), rules=_FOLLOWING)

    return (
        Resource(PATH, {"GET": site.signed_in(show_add), "POST": site.signed_in(follow, PATH)}),
        Resource(f"{FEEDS}/find", {"POST": site.signed_in(look, PATH)}),
    )


def _links(tried: TriedAddress, url: str) -> list[tuple[str, str]]:
    if tried.kind == "page":
        return [(one.url or "", one.title or one.url or "") for one in tried.found]
    return [(url, tried.title or url)] if tried.kind == "feed" else []


def read_url(form: Form) -> str:
    """The address that was typed; https where it names no scheme."""
    url = form.one("url").strip()
    if not url:
        raise problem("url", _("Enter an address."))
    return typed_address(url)


def _wish(form: Form) -> NewSubscription:
    link = form.one("link").strip() or read_url(form)
    return NewSubscription(
        link=link,
        name=form.one("name").strip()[:500],
        group=chosen_group(form),
        full_text=form.one("full_text") == "on",
    )


def chosen_group(form: Form) -> PublicId | None:
    """The group that a form chose; None where it chose none."""
    return read_id(form.one("group")) if form.one("group") else None
