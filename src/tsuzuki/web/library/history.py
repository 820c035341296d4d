"""`/history`: what was opened, the last first. Forgetting changes nothing about how far it was read."""

from starlette.requests import Request
from starlette.responses import Response

from tsuzuki.accounts.caller import Caller
from tsuzuki.accounts.shelves.nouns import MemberShelf
from tsuzuki.http.routing import Resource, page
from tsuzuki.model.errors import Invalid, NotFound
from tsuzuki.model.ids import ChapterId
from tsuzuki.model.pages import FROM_THE_TOP, PageCursor
from tsuzuki.model.times import Millis
from tsuzuki.web.asking import Asks, ask_first
from tsuzuki.web.forms import read_form, see
from tsuzuki.web.frame import framing_of
from tsuzuki.web.ids import number_of
from tsuzuki.web.inbox.notes import InboxNotes, Undo
from tsuzuki.web.inbox.rows import chapter_name
from tsuzuki.web.labels import find_label
from tsuzuki.web.site import Site, with_query
from tsuzuki.web.texts import gettext as _
from tsuzuki.web.texts import ngettext

PATH = "/history"
PAGE = 50


def history_pages(site: Site) -> tuple[Resource, ...]:
    """The list, and what forgets one of it (which can be taken back) or all of it."""
    framing = framing_of(site)
    progress = site.reading.progress

    async def show_history(request: Request, caller: Caller) -> Response:
        frame = await framing.frame(request, caller, "history")
        after = PageCursor.read(request.query_params.get("before", "")) or FROM_THE_TOP
        found = await progress.history(frame.shelf.id, after=after, most=PAGE)
        return framing.show(
            frame,
            "history.html",
            rows=found.rows,
            total=found.total,
            older=None if found.next_cursor is None else with_query(PATH, before=str(found.next_cursor)),
            chapter_name=chapter_name,
            notes=_notes(request),
        )

    async def forget(request: Request, shelf: MemberShelf) -> Response:
        form = await read_form(request)
        chapter = number_of(form.one("chapter"))
        if chapter is None:
            raise NotFound("There is no such chapter in the history.")
        opened_at = await progress.forget(shelf.id, ChapterId(chapter))
        return see(with_query(PATH, forgotten=str(chapter), at=str(opened_at)))

    async def recall(request: Request, shelf: MemberShelf) -> Response:
        form = await read_form(request)
        chapter, opened_at = number_of(form.one("chapter")), number_of(form.one("at"))
        if chapter is None or opened_at is None:
            raise Invalid(_("The form could not be read."))
        await progress.recall(shelf.id, ChapterId(chapter), Millis(opened_at))
        return see(with_query(PATH, done="recalled"))

    async def ask_clear(request: Request, caller: Caller) -> Response:
        frame = await framing.frame(request, caller, "history")
        found = await progress.history(frame.shelf.id, after=FROM_THE_TOP, most=1)
        count = ngettext(
            "%(count)s chapter is removed from the history.",
            "%(count)s chapters are removed from the history.",
            found.total,
            count=frame.locale.number(found.total),
        )
        asks = Asks(
            title=_("Clear history?"),
            text=" ".join((count, _("Your reading progress is kept. This cannot be undone."))),
            yes=_("Clear history"),
            no=_("Cancel"),
            path=f"{PATH}/clear",
            back=PATH,
        )
        return ask_first(framing, frame, asks)

    async def clear(request: Request, shelf: MemberShelf) -> Response:
        await read_form(request)
        await progress.forget_all(shelf.id)
        return see(with_query(PATH, done="history_cleared"))

    return (
        page(PATH, site.signed_in(show_history)),
        Resource(f"{PATH}/forget", {"POST": site.on_shelf(forget, PATH)}),
        Resource(f"{PATH}/recall", {"POST": site.on_shelf(recall, PATH)}),
        Resource(f"{PATH}/clear", {"GET": site.signed_in(ask_clear), "POST": site.on_shelf(clear, PATH)}),
    )


def _notes(request: Request) -> InboxNotes:
    """What was just done: numbers and words of ours only."""
    query = request.query_params
    chapter, opened_at = number_of(query.get("forgotten")), number_of(query.get("at"))
    if chapter is None or opened_at is None:
        return InboxNotes(find_label("done", query.get("done")))
    return InboxNotes(
        _("Removed from history. Your reading progress is kept."),
        Undo(f"{PATH}/recall", [("chapter", str(chapter)), ("at", str(opened_at))]),
    )
