"""Adding a feed, changing one, and the actions on it."""

from collections.abc import Mapping

import msgspec
from msgspec import UNSET
from starlette.requests import Request
from starlette.responses import Response

from tsuzuki.accounts.caller import Caller
from tsuzuki.accounts.sharing import must_own
from tsuzuki.accounts.types import MemberShelf
from tsuzuki.connectors.discovery import describe_guesses
from tsuzuki.connectors.page_feeds import typed_address
from tsuzuki.http.routing import Resource
from tsuzuki.model.errors import Conflict, RefusedAddress, RefusedProxy, SourceError
from tsuzuki.model.ids import PublicId, read_id, show_id
from tsuzuki.model.secrets import mask_text
from tsuzuki.model.times import SECOND
from tsuzuki.polling.addresses import TriedAddress
from tsuzuki.shelves.deps import RefreshOutcome
from tsuzuki.shelves.types import NewSubscription, Subscription, SubscriptionChange
from tsuzuki.web.feeds.page import PATH, feed_row, feeds_done_text
from tsuzuki.web.feeds.page import PATH as FEEDS
from tsuzuki.web.forms import BLANK, Form, FormState, Rules, post_form, problem, read_form, see
from tsuzuki.web.ids import id_of
from tsuzuki.web.links import as_feed_path
from tsuzuki.web.retention_form import chosen_keep, keep_choices, keep_words, posted_keep, posted_span, spans_to_count
from tsuzuki.web.scripts import data_of, wants_json
from tsuzuki.web.site import Site, with_query
from tsuzuki.web.texts import gettext as _

INTERVALS = (3_600, 21_600, 86_400, 604_800)
_RULES = Rules(
    keep=("name", "group", "link", "interval", "retention", "proxy"),
    beside={Conflict: "link", RefusedProxy: "proxy", SourceError: "link"},
)


def changing_page(site: Site) -> Resource:
    """`/feeds/{id}`"""
    feeds, sources, preview = site.reading.subscriptions, site.crawling.sources, site.preview

    async def show(request: Request, caller: Caller, form_state: FormState = BLANK) -> Response:
        frame = await site.frame(request, caller, "feeds")
        feed = await feeds.get(frame.shelf.id, id_of(request, "feed_id"))
        span = None if feed.poll_interval is None else feed.poll_interval // SECOND
        usual = await preview.shelf_keeps(frame.shelf.id)
        counted = await preview.of_feed(frame.shelf.id, feed.feed_id, spans_to_count(feed.retention, usual))
        return site.show(
            frame,
            "feed_edit.html",
            form_state,
            feed=feed,
            row=feed_row(feed, frame),
            as_feed=as_feed_path(feed.shown_name, feed=show_id(feed.public_id)),
            pause=await sources.show_pause(),
            group_id=show_id(feed.group_public_id),
            interval="usual" if span is None else str(span) if span in INTERVALS else "own",
            proxy=mask_text(feed.proxy),
            intervals=INTERVALS,
            keeps=keep_choices(
                counted,
                feed.retention,
                usual,
                usual_text=_("as on this shelf: %(span)s", span=keep_words(usual)),
                locale=frame.locale,
            ),
            keep=chosen_keep(feed.retention),
        )

    async def change(request: Request, caller: Caller, form: Form) -> Response:
        shelf = await site.accounts.current_user.shelf_of(caller)
        feed = await feeds.get(shelf.id, id_of(request, "feed_id"))
        wanted = _change(form, feed)
        if wanted.retention not in (UNSET, feed.retention):
            must_own(shelf)
        await feeds.change(shelf.id, feed.public_id, wanted)
        return see(with_query(f"{PATH}/{request.path_params['feed_id']}", done="feed_saved"))

    one = f"{PATH}/{{feed_id}}"
    return site.form_page(one, show, change, rules=_RULES, back=PATH)


def _change(form: Form, feed: Subscription) -> SubscriptionChange:
    proxy = form.one("proxy").strip()
    return SubscriptionChange(
        name=form.one("name").strip()[:500],
        group=chosen_group(form) or UNSET,
        link=form.one("link").strip() or UNSET,
        proxy=UNSET if proxy == mask_text(feed.proxy) else proxy,  # R47: what was shown masked stays
        is_suspended=form.one("suspended") == "on",
        notify=form.one("notify") == "on",
        full_text=form.one("full_text") == "on",
        poll_interval=posted_span(form, "interval", INTERVALS, SECOND),
        retention=posted_keep(form) if "retention" in form.fields else UNSET,
    )


ONE = f"{PATH}/{{feed_id}}"


def feed_acts(site: Site) -> tuple[Resource, ...]:
    """The resources to which the forms of a feed post."""
    feeds = site.reading.subscriptions

    async def suspend(request: Request, shelf: MemberShelf) -> Response:
        form = await read_form(request)
        wanted = form.one("suspended") == "on"
        await feeds.change(shelf.id, id_of(request, "feed_id"), SubscriptionChange(is_suspended=wanted))
        return see(with_query(PATH, done="suspended") if wanted else with_query(PATH, done="resumed"))

    async def refresh(request: Request, caller: Caller) -> Response:
        asked = await feeds.refresh(await site.shelf_id(caller), id_of(request, "feed_id"))
        return await _answer_refresh(site, request, caller, asked, done="checking")

    async def refresh_all(request: Request, caller: Caller) -> Response:
        asked = await feeds.refresh_all(await site.shelf_id(caller))
        return await _answer_refresh(site, request, caller, asked, done="checking_all")

    return (
        Resource(f"{ONE}/suspend", {"POST": site.on_shelf(suspend, PATH)}),
        Resource(f"{ONE}/refresh", {"POST": site.signed_in(refresh, PATH)}),
        Resource(f"{PATH}/refresh", {"POST": site.signed_in(refresh_all, PATH)}),
        *_leaving(site),
    )


async def _answer_refresh(
    site: Site, request: Request, caller: Caller, asked: RefreshOutcome, *, done: str
) -> Response:
    """What became of it; R96: where nothing is asked, why, and until when."""
    if not wants_json(request):
        return see(with_query(PATH, **why_not(asked) or {"done": done}))
    refused = why_not(asked)
    if refused is None:
        return data_of({"queued": asked.queued})
    frame = await site.frame(request, caller, "feeds")
    return data_of({"queued": asked.queued, "text": feeds_done_text(refused, frame.locale)})


def why_not(asked: RefreshOutcome) -> dict[str, str] | None:
    """Why nothing was refreshed, as parameters of an address; None if something will be."""
    if asked.not_before is not None:
        return {"done": "held", "until": str(asked.not_before)}
    return {"done": "known"} if asked.is_known else None


def _leaving(site: Site) -> tuple[Resource, ...]:
    """Leaving a feed asks first, and says what goes along; for a while it can be taken back."""
    feeds = site.reading.subscriptions

    async def ask_delete(request: Request, caller: Caller) -> Response:
        frame = await site.frame(request, caller, "feeds")
        feed = await feeds.get(frame.shelf.id, id_of(request, "feed_id"))
        number, path = frame.locale.number, f"{PATH}/{show_id(feed.public_id)}"
        takes = frame.locale.ngettext(
            "%(count)s entry leaves your inbox, %(unread)s of them unread.",
            "%(count)s entries leave your inbox, %(unread)s of them unread.",
            feed.item_count,
            unread=number(feed.unread_count),
        )
        keeps = _("Bookmarks are kept. You can undo this within 30 days.")
        return site.ask(
            frame,
            title=_("Unfollow %(name)s?", name=feed.shown_name),
            text=f"{takes} {keeps}",
            yes=_("Unfollow"),
            path=f"{path}/delete",
            back=path,
        )

    async def delete(request: Request, shelf: MemberShelf) -> Response:
        feed_id = id_of(request, "feed_id")
        await feeds.delete(shelf.id, feed_id)
        return see(with_query(PATH, done="unfollowed", left=show_id(feed_id)))

    async def restore(request: Request, shelf: MemberShelf) -> Response:
        await feeds.restore(shelf.id, id_of(request, "feed_id"))
        return see(with_query(PATH, done="restored"))

    return (
        Resource(f"{ONE}/delete", {"GET": site.signed_in(ask_delete), "POST": site.on_shelf(delete, PATH)}),
        Resource(f"{ONE}/restore", {"POST": site.on_shelf(restore, PATH)}),
    )


ADD_PATH = f"{FEEDS}/add"
LONGEST_URL = 8192
MOST_SHOWN = 5
_LOOKING = Rules(keep=("url",), beside={SourceError: "url", RefusedAddress: "url"})
_FOLLOWING = Rules(keep=("url", "link", "name", "group", "full_text"), beside={Conflict: "url", SourceError: "url"})


class AddressResult(msgspec.Struct, frozen=True):
    """What was found at an address."""

    tried: TriedAddress
    links: list[tuple[str, str]]
    """Feeds to choose from: address and title."""
    followed: Mapping[str, str]
    """Those of them that are on the shelf, with their ids."""

    @property
    def new(self) -> list[str]:
        """The feeds among these that are not followed yet."""
        return [link for link, _ in self.links if link not in self.followed]


def adding_pages(site: Site) -> tuple[Resource, ...]:
    """`/feeds/add` shows the form and follows; `/feeds/find` looks."""
    trier, feeds = site.trier, site.reading.subscriptions

    async def show(
        request: Request, caller: Caller, form_state: FormState = BLANK, found: AddressResult | None = None
    ) -> Response:
        url = request.query_params.get("url", "")[:LONGEST_URL]
        if url and form_state is BLANK:
            form_state = FormState(values={"url": (url,)})
        frame = await site.frame(request, caller, "feeds")
        return site.show(frame, "feed_add.html", form_state, found=found, most=MOST_SHOWN)

    async def look(request: Request, caller: Caller, form: Form) -> Response:
        url = read_url(form)
        tried = await trier.try_url(url, site.accounts.deps.clock())
        if tried.kind == "page" and not tried.found:
            nothing = _("No feed was found at this address.")
            raise problem("url", f"{nothing} {describe_guesses(tried.guessed)}".strip())
        links = _links(tried, url)
        followed = await feeds.followed(await site.shelf_id(caller), [link for link, _ in links])
        found = AddressResult(tried, links, {link: show_id(public_id) for link, public_id in followed.items()})
        return await show(request, caller, FormState(values={"url": (url,)}), found)

    async def follow(_request: Request, caller: Caller, form: Form) -> Response:
        await feeds.add(await site.shelf_id(caller), _new_subscription(form))
        return see(with_query(FEEDS, done="followed"))

    return (
        site.form_page(ADD_PATH, show, follow, rules=_FOLLOWING),
        Resource(f"{FEEDS}/find", {"POST": site.signed_in(post_form(look, show, _LOOKING), ADD_PATH)}),
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


def _new_subscription(form: Form) -> NewSubscription:
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
