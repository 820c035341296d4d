"""One feed: its state, and changing it."""

from msgspec import UNSET, UnsetType
from starlette.requests import Request
from starlette.responses import Response

from tsuzuki.accounts.caller import Caller
from tsuzuki.http.routing import Resource
from tsuzuki.model.errors import Conflict, RefusedProxy, SourceError
from tsuzuki.model.ids import show_id
from tsuzuki.model.secrets import mask_text
from tsuzuki.model.times import SECOND, Millis
from tsuzuki.shelves.subscriptions.nouns import Subscription, SubscriptionChange
from tsuzuki.web.feeds.adding import chosen_group
from tsuzuki.web.feeds.page import PATH, feed_row
from tsuzuki.web.forms import BLANK, Form, Rules, Sheet, fill, problem, see
from tsuzuki.web.frame import framing_of
from tsuzuki.web.ids import id_of
from tsuzuki.web.keeping_choices import chosen_keep, keep_choices, keep_words, posted_keep, spans_to_count
from tsuzuki.web.labels import done_text
from tsuzuki.web.site import Site, with_query
from tsuzuki.web.texts import gettext as _

INTERVALS = (3_600, 21_600, 86_400, 604_800)
_RULES = Rules(
    keep=("name", "group", "link", "interval", "retention", "proxy"),
    beside={Conflict: "link", RefusedProxy: "proxy", SourceError: "link"},
)


def changing_page(site: Site) -> Resource:
    """`/feeds/{id}`"""
    framing = framing_of(site)
    feeds, sources, preview = site.reading.subscriptions, site.crawling.sources, site.preview

    async def show(request: Request, caller: Caller, sheet: Sheet = BLANK) -> Response:
        frame = await framing.frame(request, caller, "feeds")
        feed = await feeds.get(frame.shelf.id, id_of(request, "feed_id"))
        usual = await preview.shelf_keeps(frame.shelf.id)
        counted = await preview.of_feed(frame.shelf.id, feed.feed_id, spans_to_count(feed.retention, usual))
        return framing.show(
            frame,
            "feed_edit.html",
            sheet,
            feed=feed,
            row=feed_row(feed, frame),
            pause=await sources.show_pause(),
            group_id=show_id(feed.group_public_id),
            interval=_named(feed.poll_interval, SECOND, INTERVALS),
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
            done=done_text(request),
        )

    async def show_feed(request: Request, caller: Caller) -> Response:
        return await show(request, caller)

    async def change(request: Request, caller: Caller) -> Response:
        async def act(form: Form) -> Response:
            shelf = await site.accounts.current_user.shelf_of(caller)
            feed = await feeds.get(shelf.id, id_of(request, "feed_id"))
            await feeds.change(shelf.id, feed.public_id, _change(form, feed))
            return see(with_query(f"{PATH}/{request.path_params['feed_id']}", done="feed_saved"))

        return await fill(request, act, lambda sheet: show(request, caller, sheet), rules=_RULES)

    one = f"{PATH}/{{feed_id}}"
    return Resource(one, {"GET": site.signed_in(show_feed), "POST": site.signed_in(change, PATH)})


def _named(span: Millis | None, unit: Millis, ours: tuple[int, ...]) -> str:
    if span is None:
        return "usual"
    return str(span // unit) if span // unit in ours else "own"


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
        poll_interval=_span(form, "interval", SECOND, INTERVALS),
        retention=posted_keep(form),
    )


def _span(form: Form, name: str, unit: Millis, ours: tuple[int, ...]) -> Millis | UnsetType | None:
    text = form.one(name)
    if text == "own":
        return UNSET
    if text in ("", "usual"):
        return None
    if text not in map(str, ours):
        raise problem(name, _("Choose one of the options."))
    return Millis(int(text) * unit)
