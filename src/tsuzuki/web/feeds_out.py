"""`/account/feeds-out`: what of the shelf is published as feeds at secret addresses."""

from collections.abc import Mapping

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from tsuzuki.accounts.caller import Caller
from tsuzuki.http.routing import Resource
from tsuzuki.inbox.feeds_out.service import LONGEST_NAME, LONGEST_SEARCH
from tsuzuki.inbox.feeds_out.types import FORMATS, FeedFormat, FeedOut, NewFeedOut, State
from tsuzuki.model.errors import NotFound
from tsuzuki.model.harvest import Kind
from tsuzuki.model.ids import PublicId, read_id, show_id
from tsuzuki.web.forms import BLANK, Form, FormState, Rules, problem, read_name, see
from tsuzuki.web.ids import id_of
from tsuzuki.web.links import FEEDS_OUT
from tsuzuki.web.site import Site, with_query
from tsuzuki.web.texts import gettext as _

PATH = FEEDS_OUT
KINDS: dict[str, Kind | None] = {"both": None, "item": "item", "chapter": "chapter"}
STATES: dict[str, State] = {"all": "all", "unread": "unread", "saved": "saved"}
OF = ("feed", "group", "series", "tag")
_RULES = Rules(keep=("name", "kind", "show", "search", "summaries", *OF))


class FeedOutRow(msgspec.Struct, frozen=True):
    """A feed with its addresses by format, none where its secret cannot be read any more."""

    id: str
    feed: FeedOut
    addresses: Mapping[FeedFormat, str]
    is_gone: bool
    """Whether what it shows of the shelf is no longer there."""


def feeds_out_page(site: Site) -> Resource:
    """The list, and the form that adds one."""
    feeds = site.feeds_out

    async def show(request: Request, caller: Caller, form_state: FormState = BLANK) -> Response:
        frame = await site.frame(request, caller, "settings")
        base = site.address(request)
        mine = await feeds.list(frame.shelf.id, caller.user_id)
        asked = form_state if form_state.values else _asked(request)
        return site.show(
            frame,
            "feeds_out.html",
            msgspec.structs.replace(form_state, values=asked.values),
            rows=[await _row(site, feed, base) for feed in mine],
            of=next((name for name in OF if asked.value(name)), None),
            kinds=tuple(KINDS),
            states=tuple(STATES),
            most=LONGEST_NAME,
            most_search=LONGEST_SEARCH,
        )

    async def add(request: Request, caller: Caller, form: Form) -> Response:  # noqa: ARG001  as a form page is asked
        shelf_id = await site.shelf_id(caller)
        try:
            await feeds.add(shelf_id, caller.user_id, _wanted(form))
        except NotFound as error:
            raise problem("name", _("What it would show is no longer on this shelf.")) from error
        return see(with_query(PATH, done="feed_out_added"))

    return site.form_page(PATH, show, add, rules=_RULES)


def feed_out_acts(site: Site) -> tuple[Resource, ...]:
    """What asks before an address is replaced or removed, and does it."""
    feeds = site.feeds_out

    async def found(request: Request, caller: Caller) -> FeedOut:
        return await feeds.get(await site.shelf_id(caller), caller.user_id, id_of(request, "feed_out_id"))

    async def ask_replace(request: Request, caller: Caller) -> Response:
        feed = await found(request, caller)
        return site.ask(
            await site.frame(request, caller, "settings"),
            title=_("Replace the address of %(name)s?", name=feed.name),
            text=_("The old address stops working immediately. This cannot be undone."),
            yes=_("Replace"),
            path=f"{PATH}/{show_id(feed.public_id)}/replace",
            back=PATH,
        )

    async def replace(request: Request, caller: Caller) -> Response:
        await feeds.replace(await site.shelf_id(caller), caller.user_id, id_of(request, "feed_out_id"))
        return see(with_query(PATH, done="feed_out_replaced"))

    async def ask_remove(request: Request, caller: Caller) -> Response:
        feed = await found(request, caller)
        return site.ask(
            await site.frame(request, caller, "settings"),
            title=_("Remove %(name)s?", name=feed.name),
            text=_("Its address stops working immediately. This cannot be undone."),
            yes=_("Remove"),
            path=f"{PATH}/{show_id(feed.public_id)}/remove",
            back=PATH,
        )

    async def remove(request: Request, caller: Caller) -> Response:
        await feeds.remove(await site.shelf_id(caller), caller.user_id, id_of(request, "feed_out_id"))
        return see(with_query(PATH, done="feed_out_removed"))

    one = f"{PATH}/{{feed_out_id}}"
    return (
        Resource(f"{one}/replace", {"GET": site.signed_in(ask_replace), "POST": site.signed_in(replace, PATH)}),
        Resource(f"{one}/remove", {"GET": site.signed_in(ask_remove), "POST": site.signed_in(remove, PATH)}),
    )


async def _row(site: Site, feed: FeedOut, base: str) -> FeedOutRow:
    try:
        await site.feeds_out.entries(feed, 1)
        is_gone = False
    except NotFound:
        is_gone = True
    paths = {form: feed.path(form) for form in FORMATS}
    addresses = {form: f"{base}{path}" for form, path in paths.items() if path is not None}
    return FeedOutRow(show_id(feed.public_id), feed, addresses, is_gone)


def _asked(request: Request) -> FormState:
    """The form as a link from a list of the inbox fills it in."""
    said = {name: request.query_params.get(name, "").replace("\0", "")[:LONGEST_SEARCH] for name in _RULES.keep}
    return FormState(values={name: (text,) for name, text in said.items() if text})


def _wanted(form: Form) -> NewFeedOut:
    """What the form asks for; Invalid with the first thing that is wrong."""
    kind, state = form.one("kind") or "both", form.one("show") or "all"
    if kind not in KINDS or state not in STATES:
        raise problem("name", _("The form could not be read."))
    return NewFeedOut(
        name=read_name(form, most=LONGEST_NAME),
        kind=KINDS[kind],
        state=STATES[state],
        of_feed=_id(form.one("feed")),
        of_group=_id(form.one("group")),
        of_series=_id(form.one("series")),
        of_tag=_id(form.one("tag")),
        search=form.one("search").strip() or None,
        is_full=form.one("summaries") != "on",
    )


def _id(text: str) -> PublicId | None:
    if not text:
        return None
    public_id = read_id(text)
    if public_id is None:
        raise NotFound("There is no such list.")
    return public_id
