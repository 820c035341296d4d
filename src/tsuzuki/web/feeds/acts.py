"""What the buttons beside a feed do: check it now, suspend it, leave it."""

from starlette.requests import Request
from starlette.responses import Response

from tsuzuki.accounts.caller import Caller
from tsuzuki.accounts.shelves.nouns import MemberShelf
from tsuzuki.http.routing import Resource
from tsuzuki.model.ids import show_id
from tsuzuki.shelves.deps import Asked
from tsuzuki.shelves.subscriptions.nouns import SubscriptionChange
from tsuzuki.web.asking import Asks, ask_first
from tsuzuki.web.feeds.page import PATH, done_text
from tsuzuki.web.forms import read_form, see
from tsuzuki.web.frame import Framing, framing_of
from tsuzuki.web.ids import id_of
from tsuzuki.web.scripts import data_of, wants_json
from tsuzuki.web.site import Site, with_query
from tsuzuki.web.texts import gettext as _
from tsuzuki.web.texts import ngettext

ONE = f"{PATH}/{{feed_id}}"


def feed_acts(site: Site) -> tuple[Resource, ...]:
    """What they post to."""
    framing, feeds = framing_of(site), site.reading.subscriptions

    async def suspend(request: Request, shelf: MemberShelf) -> Response:
        form = await read_form(request)
        wanted = form.one("suspended") == "on"
        await feeds.change(shelf.id, id_of(request, "feed_id"), SubscriptionChange(is_suspended=wanted))
        return see(with_query(PATH, done="suspended") if wanted else with_query(PATH, done="resumed"))

    async def refresh(request: Request, caller: Caller) -> Response:
        shelf = await site.accounts.current_user.shelf_of(caller)
        asked = await feeds.refresh(shelf.id, id_of(request, "feed_id"))
        return await _told(framing, request, caller, asked, done="checking")

    async def refresh_all(request: Request, caller: Caller) -> Response:
        shelf = await site.accounts.current_user.shelf_of(caller)
        asked = await feeds.refresh_all(shelf.id)
        return await _told(framing, request, caller, asked, done="checking_all")

    return (
        Resource(f"{ONE}/suspend", {"POST": site.on_shelf(suspend, PATH)}),
        Resource(f"{ONE}/refresh", {"POST": site.signed_in(refresh, PATH)}),
        Resource(f"{PATH}/refresh", {"POST": site.signed_in(refresh_all, PATH)}),
        *_leaving(site),
    )


async def _told(framing: Framing, request: Request, caller: Caller, asked: Asked, *, done: str) -> Response:
    """What became of it; R96: where nothing is asked, why, and until when."""
    if not wants_json(request):
        return see(with_query(PATH, **why_not(asked) or {"done": done}))
    told = why_not(asked)
    if told is None:
        return data_of({"queued": asked.queued})
    frame = await framing.frame(request, caller, "feeds")
    return data_of({"queued": asked.queued, "text": done_text(told, frame.locale)})


def why_not(asked: Asked) -> dict[str, str] | None:
    """As an address says it; None where something will be looked at."""
    if asked.not_before is not None:
        return {"done": "held", "until": str(asked.not_before)}
    return {"done": "known"} if asked.is_known else None


def _leaving(site: Site) -> tuple[Resource, ...]:
    """Leaving a feed asks first, and says what goes along; for a while it can be taken back."""
    framing, feeds = framing_of(site), site.reading.subscriptions

    async def ask_delete(request: Request, caller: Caller) -> Response:
        frame = await framing.frame(request, caller, "feeds")
        feed = await feeds.get(frame.shelf.id, id_of(request, "feed_id"))
        number, path = frame.locale.number, f"{PATH}/{show_id(feed.public_id)}"
        takes = ngettext(
            "%(count)s entry leaves your inbox, %(unread)s of them unread.",
            "%(count)s entries leave your inbox, %(unread)s of them unread.",
            feed.item_count,
            count=number(feed.item_count),
            unread=number(feed.unread_count),
        )
        keeps = _("Bookmarks are kept. You can undo this within 30 days.")
        asks = Asks(
            title=_("Unfollow %(name)s?", name=feed.shown_name),
            text=f"{takes} {keeps}",
            yes=_("Unfollow"),
            no=_("Cancel"),
            path=f"{path}/delete",
            back=path,
        )
        return ask_first(framing, frame, asks)

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
